import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Slipway } from '../client/sdk/slipway.ts'
import { whatIsMissing } from '../scripts/test-dependencies.mjs'
import { sendRequest } from '../test/support/http-client.ts'
import { attachStrace } from '../test/tools/strace.ts'
import { type Figure, figure, type Measurement } from './figures.ts'
import { scratchFolder, startServer } from './server-process.ts'

const FLUSH_MS = 5000
const PERIOD_MS = 8000
const INTERVAL_MS = 100

/** What else waits while the disk does not confirm the commit of a publish. */
export const slowFlush: Measurement = {
  name: 'slow-flush',
  means: `one flush of the database takes ${FLUSH_MS / 1000} s, with requests over new connections every ${INTERVAL_MS} ms`,
  missing: () => whatIsMissing('strace'),
  async run() {
    return [...(await measure(1)), ...(await measure(2))]
  },
}

async function measure(workers: number): Promise<Figure[]> {
  await using scratch = await scratchFolder()
  await using server = await startServer(scratch.path, { settings: { WORKERS: `${workers}` } })
  const client = new Slipway({ baseUrl: server.baseUrl })
  const port = Number(new URL(server.baseUrl).port)
  const publish = async (content: string) =>
    (await client.publishContents({ files: [{ path: 'index.html', content }] })).slug
  const count = PERIOD_MS / INTERVAL_MS
  const warm = await publish('warm')
  const cold: string[] = []
  for (let number = 0; number < count; number++) cold.push(await publish(`cold ${number}`))
  for (let visit = 0; visit < 20; visit++) await sendRequest(port, { site: warm })
  const children = readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8')
  const processes = children.split(' ').flatMap((pid) => (pid === '' ? [] : ['-p', pid]))
  const delay = `inject=fsync,fdatasync:delay_enter=${FLUSH_MS * 1000}:when=1`
  const log = join(scratch.path, 'slipway.db-wal')
  await using _slow = await attachStrace(server.pid, [
    ...['-e', 'trace=fsync,fdatasync', '-e', delay, '-P', log],
    ...processes,
  ])
  const requests: Record<string, (number: number) => Promise<unknown>> = {
    'visits of a site in memory': () => sendRequest(port, { site: warm }),
    'first visits of a site': (number) => sendRequest(port, { site: cold[number]! }),
    'requests to the API': () => sendRequest(port, { path: `/api/v1/publish/${warm}` }),
  }
  const publishing = publish('slow')
  const waits = Object.values(requests).map((): Promise<number>[] => [])
  for (let number = 0; number < count; number++) {
    for (const [index, send] of Object.values(requests).entries()) waits[index]!.push(timed(send(number)))
    await pause(INTERVAL_MS)
  }
  await publishing
  const name = workers === 1 ? 'one process' : `SLIPWAY_WORKERS=${workers}`
  const figures = Object.keys(requests).map(async (what, index) => {
    const times = await Promise.all(waits[index]!)
    const late = times.filter((milliseconds) => milliseconds > 3 * INTERVAL_MS)
    return [
      figure(`${name}: ${what}, of ${count} later than ${3 * INTERVAL_MS} ms`, 'requests', [late.length], 0),
      figure(`${name}: slowest of them`, 'ms', [Math.max(...times)]),
    ]
  })
  return (await Promise.all(figures)).flat()
}

async function timed(request: Promise<unknown>): Promise<number> {
  const start = performance.now()
  await request
  return performance.now() - start
}
