import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Report } from '../figures.ts'
import { ROOT, startServer } from '../server-process.ts'
import { PATHS, publishSite, siteFiles } from './content.ts'
import { markdown } from './figures.ts'
import { send } from './reply.ts'
import { browserRequest } from './request.ts'
import { SERVER_CORE, WRK_CORE } from './server.ts'
import { runWrk, writeScript } from './wrk.ts'

const SECONDS = 10
const TOP = 10

/** The used fields of a `.cpuprofile`. */
interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[]
  samples: number[]
  /** Microseconds before each sample. */
  timeDeltas: number[]
}

/** A CPU profile of a service that serves 4 kB to a browser: the functions with the most self time. */
export async function profile(folder: string): Promise<Report> {
  const profiles = join(folder, 'profiles')
  mkdirSync(profiles)
  const perSecond = await load(folder, profiles)
  const { rows, table } = hottest(profiles)
  const summary = `4 kB, browser, ${SECONDS} s under the profiler: ${perSecond.toFixed(0)} responses per second.`
  return { markdown: `${summary}\n\n${table}`, data: { perSecond, rows }, pages: {} }
}

/** The functions with the most self time in the only profile of a folder. */
export function hottest(profiles: string) {
  const [file] = readdirSync(profiles).filter((name) => name.endsWith('.cpuprofile'))
  const read = JSON.parse(readFileSync(join(profiles, file!), 'utf8')) as CpuProfile
  const rows = selfTimes(read).slice(0, TOP)
  const table = markdown(
    ['of the busy time', 'function', 'where'],
    rows.map(({ share, name, where }) => [`${(share * 100).toFixed(1)} %`, name, where]),
  )
  return { rows, table }
}

/** Node writes the profile when the service has exited. */
async function load(folder: string, profiles: string): Promise<number> {
  const environment = { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profiles} --cpu-prof-interval=250` }
  await using service = await startServer(join(folder, 'data'), { core: SERVER_CORE, environment })
  const port = Number(new URL(service.baseUrl).port)
  const slug = await publishSite(service.baseUrl, siteFiles())
  const request = browserRequest(`/${PATHS.plain}`, `${slug}.localhost:${port}`)
  const { status, wireBytes } = await send(port, request)
  const script = writeScript(folder, 'profile', { requests: [request] })
  const run = await runWrk({
    port,
    pid: service.pid,
    script,
    seconds: SECONDS,
    expected: { status, wireBytes },
    core: WRK_CORE,
  })
  return run?.perSecond ?? 0
}

function selfTimes({ nodes, samples, timeDeltas }: CpuProfile) {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]))
  const times = new Map<string, { name: string; where: string; time: number }>()
  let all = 0
  for (const [index, sample] of samples.entries()) {
    const { functionName, url, lineNumber } = frames.get(sample)!
    if (functionName === '(idle)') continue
    const name = functionName || '(anonymous)'
    const where = toLocation(url, lineNumber)
    const key = `${name} ${where}`
    const entry = times.get(key) ?? { name, where, time: 0 }
    entry.time += timeDeltas[index]!
    all += timeDeltas[index]!
    times.set(key, entry)
  }
  return [...times.values()]
    .sort((one, other) => other.time - one.time)
    .map(({ name, where, time }) => ({ name, where, share: time / all }))
}

function toLocation(url: string, line: number): string {
  if (url === '') return ''
  const path = url.startsWith('file:') ? relative(ROOT, fileURLToPath(url)) : url
  return `${path}:${line + 1}`
}
