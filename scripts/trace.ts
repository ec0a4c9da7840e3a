import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import type { Profiler } from 'node:inspector'
import { Session } from 'node:inspector/promises'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Slipway } from '../client/sdk/slipway.ts'
import { sha256 } from '../test/api/content.ts'
import { type RunningService, startTestService } from '../test/support/service.ts'
import { root } from './root.mjs'

// `npm run trace -- ROUTE` counts what one request runs, by V8's precise coverage: the files and functions of server/,
// packages/ and protocol/ with a call, and the calls. The code is warm: the same request ran before.

const WARM_ROUNDS = 3
const MEASURED_ROUNDS = 5
/** Of the columns of numbers. */
const WIDTHS = [6, 29, 14, 11, 7]

const { values, positionals } = parseArgs({
  options: { calls: { type: 'boolean', default: false } },
  allowPositionals: true,
})

interface Scene {
  running: RunningService
  client: Slipway
  slug: string
}

/** Each prepares one request, and returns what sends it. */
const ROUTES: Record<string, (scene: Scene) => Promise<() => Promise<unknown>>> = {
  listKeys:
    async ({ client }) =>
    () =>
      client.keys(),
  getSite:
    async ({ client, slug }) =>
    () =>
      client.details(slug),
  createSite:
    async ({ client }) =>
    () =>
      client.create({ files: [entry(newPage())] }),
  uploadFile: async ({ client }) => {
    const page = newPage()
    const { upload } = await client.create({ files: [entry(page)] })
    return () => client.upload(upload.uploads[0]!, Buffer.from(page))
  },
  finalizeVersion: async ({ client }) => {
    const page = newPage()
    const { slug, upload } = await client.create({ files: [entry(page)] })
    await client.upload(upload.uploads[0]!, Buffer.from(page))
    return () => client.finalize(slug, { versionId: upload.versionId })
  },
  'cold-visit': async ({ running, slug }) => {
    await running.service.invalidate([slug])
    return () => visit(running, slug)
  },
  'warm-visit': async ({ running, slug }) => {
    await visit(running, slug)
    return () => visit(running, slug)
  },
}

let pages = 0
const newPage = () => `<h1>${++pages}</h1>`
const entry = (page: string) => ({
  path: 'index.html',
  size: page.length,
  contentType: 'text/html',
  hash: sha256(page),
})

async function visit({ port }: RunningService, slug: string): Promise<void> {
  const request = get({ port, host: '127.0.0.1', headers: { Host: `${slug}.localhost:${port}` } })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  for await (const _ of response);
  if (response.statusCode !== 200) throw new Error(`The visit was answered with ${response.statusCode}`)
}

const chosen = positionals.length > 0 ? positionals : Object.keys(ROUTES)
const unknown = chosen.filter((name) => !Object.hasOwn(ROUTES, name))
if (unknown.length > 0) {
  console.error(`Unknown: ${unknown.join(', ')}. Routes: ${Object.keys(ROUTES).join(', ')}`)
  process.exit(1)
}
await using running = await startTestService({}, undefined, { scheduledSweeps: [] })
const client = running.client(await running.signIn('trace@example.com'))
const { slug } = await client.publishContents({ files: [{ path: 'index.html', content: newPage() }] })
const scene = { running, client, slug }
const session = new Session()
session.connect()
await session.post('Profiler.enable')
console.log('route             files  without lib/ and protocol/  and packages/  functions  calls')
for (const name of chosen) {
  const rounds: Map<string, number>[] = []
  for (let round = 0; round < WARM_ROUNDS + MEASURED_ROUNDS; round++) {
    const send = await ROUTES[name]!(scene)
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
    await session.post('Profiler.takePreciseCoverage')
    await send()
    const { result } = await session.post('Profiler.takePreciseCoverage')
    await session.post('Profiler.stopPreciseCoverage')
    if (round >= WARM_ROUNDS) rounds.push(countCalls(result))
  }
  // What timers run is not in every round.
  const common = [...rounds[0]!].flatMap(([place, calls]) => {
    const least = Math.min(calls, ...rounds.map((others) => others.get(place) ?? 0))
    return least > 0 ? [{ place, file: place.split(' ')[0]!, calls: least }] : []
  })
  const files = new Set(common.map(({ file }) => file))
  const own = [...files].filter((file) => !/^(server\/lib|protocol)\//.test(file))
  const ofServer = own.filter((file) => file.startsWith('server/'))
  const calls = common.reduce((sum, one) => sum + one.calls, 0)
  const numbers = [files.size, own.length, ofServer.length, common.length, calls]
  console.log(name.padEnd(16) + numbers.map((number, at) => `${number}`.padStart(WIDTHS[at]!)).join(''))
  if (values.calls) for (const one of common) console.log(`  ${one.calls}  ${one.place}`)
}
session.disconnect()

function countCalls(scripts: Profiler.ScriptCoverage[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { url, functions } of scripts) {
    const path = url.startsWith('file:') ? relative(root, fileURLToPath(url)) : ''
    if (!/^(packages|server|protocol)\/(?!.*\bdist\/)/.test(path)) continue
    for (const { functionName, ranges } of functions) {
      const [{ count, startOffset }] = ranges as [Profiler.CoverageRange]
      if (count > 0) counts.set(`${path} ${functionName}@${startOffset}`, count)
    }
  }
  return counts
}
