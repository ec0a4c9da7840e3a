import { join } from 'node:path'
import { type Measurement, median } from '../figures.ts'
import { scratchFolder, startServer } from '../server-process.ts'
import { PATHS, publishSite, siteFiles, writeFolder } from './content.ts'
import { startCaddy, startNginx } from './peers.ts'
import { browserRequest, type Request } from './request.ts'
import { SERVER_CORE, WRK_CORE } from './server.ts'
import { whatIsMissing } from './serving.ts'
import { summarizeWrk, type WrkOptions, writeScript } from './wrk.ts'

/** A server on one core, and clients of which each sends its next request when it has the answer to the last one. */
const LOADS = [
  { what: '64 connections', connections: 64, closes: false },
  { what: '1,000 connections', connections: 1000, closes: false },
  { what: '10,000 connections', connections: 10_000, closes: false },
  { what: '64 clients, a connection for each request', connections: 64, closes: true },
  { what: '1,000 clients, a connection for each request', connections: 1000, closes: true },
] as const

/** Answers a second, the 99th percentile of their times in milliseconds, and requests without an answer. */
interface Answered {
  perSecond: number
  p99: number
  failed: number
}

/** What a server still answers when far more clients ask than it can serve. */
export const overload: Measurement = {
  name: 'overload',
  means: 'a page of 4 kB to up to 10,000 clients, on one core, beside nginx and Caddy',
  missing: whatIsMissing,
  async run({ quick }) {
    await using scratch = await scratchFolder()
    const folder = scratch.path
    const files = siteFiles()
    const folders = { site: join(folder, 'site'), sites: folder }
    writeFolder(folders.site, files)
    const settings = { CONNECTIONS_PER_ADDRESS: 'unlimited' }
    await using ours = await startServer(join(folder, 'data'), { core: SERVER_CORE, settings })
    await using nginx = await startNginx({ ...folders, own: join(folder, 'nginx') })
    await using caddy = await startCaddy({ ...folders, own: join(folder, 'caddy') })
    const slug = await publishSite(ours.baseUrl, files)
    const port = Number(new URL(ours.baseUrl).port)
    const servers = { Slipway: { pid: ours.pid, port }, nginx, Caddy: caddy }
    const lengths = quick ? { rounds: 1, seconds: 2 } : { rounds: 5, seconds: 4 }
    const runs = LOADS.map(() => Object.keys(servers).map((): Answered[] => []))
    for (let round = 0; round < lengths.rounds; round++) {
      for (const [row, load] of LOADS.entries()) {
        for (const [column, server] of Object.values(servers).entries()) {
          const script = writeScript(folder, `${row}-${column}`, {
            requests: [pageRequest(`${slug}.localhost:${port}`, load.closes)],
          })
          const run = { ...server, script, connections: load.connections, core: WRK_CORE }
          runs[row]![column]!.push(await measure(run, lengths.seconds))
        }
      }
    }
    const rows = LOADS.map(({ what }, row) => [what, ...runs[row]!.map(describe)])
    const head = ['clients', ...Object.keys(servers)]
    const lines = [head, head.map(() => '---'), ...rows]
    const markdown = lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
    return { markdown, data: { runs }, pages: {} }
  },
}

function pageRequest(host: string, closes: boolean): Request {
  const { path, headers } = browserRequest(`/${PATHS.plain}`, host)
  return {
    path,
    headers: headers.map(([name, value]) => [name, closes && name === 'Connection' ? 'close' : value]),
  }
}

/** A run after a second of the same load. */
async function measure(run: Omit<WrkOptions, 'seconds'>, seconds: number): Promise<Answered> {
  await summarizeWrk({ ...run, seconds: 1 })
  const { requests, microseconds, p99, connect, read, write, status, timeout } = (
    await summarizeWrk({ ...run, seconds })
  ).summary
  return {
    perSecond: requests / (microseconds / 1e6),
    p99: p99 / 1e3,
    failed: connect + read + write + status + timeout,
  }
}

function describe(runs: readonly Answered[]): string {
  const of = (field: keyof Answered) => Math.round(median(runs.map((run) => run[field]))).toLocaleString('en')
  return `${of('perSecond')}/s, 99 % within ${of('p99')} ms, ${of('failed')} failed`
}
