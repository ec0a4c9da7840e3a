import { fork } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Figure, figure, type Measurement } from './figures.ts'
import { makeContent, publish } from './publish-flow.ts'
import { ROOT, scratchFolder, startServer } from './server-process.ts'

const ROUNDS = 9
const CALLERS = 16
const VISITS = 1000
const INTERVAL_MS = 4

/** What visitors wait while others publish: the longest turns of the event loop. */
export const besidePublishers: Measurement = {
  name: 'beside-publishers',
  means: `a visit every ${INTERVAL_MS} ms, alone and while ${CALLERS} callers publish sites of one file`,
  async run({ quick }) {
    await using scratch = await scratchFolder()
    await using started = new AsyncDisposableStack()
    const servers: Server[] = []
    for (const program of [undefined, join(ROOT, 'bench/bare-publisher.mjs')]) {
      const data = join(scratch.path, String(servers.length))
      const { baseUrl } = started.use(await startServer(data, program === undefined ? {} : { program }))
      const { site } = await publish(baseUrl, makeContent(1, 2000))
      await publishDuring(baseUrl, pause(2000))
      servers.push({ baseUrl, slug: site.slug, alone: [], beside: [] })
    }
    for (let round = 0; round <= (quick ? 2 : ROUNDS); round++)
      for (const server of servers) {
        const { baseUrl, slug } = server
        const alone = await visit(baseUrl, slug)
        const visits = visit(baseUrl, slug)
        await publishDuring(baseUrl, visits)
        if (round === 0) continue
        server.alone.push(alone)
        server.beside.push(await visits)
      }
    return figures(servers as [Server, Server])
  },
}

/** Milliseconds of each round. */
interface Server {
  baseUrl: string
  slug: string
  alone: number[]
  beside: number[]
}

/** The bare server is the floor of the machine, whose cores the client and the flushes of the publishes share with it. */
function figures([ours, bare]: readonly [Server, Server]): Figure[] {
  const divide = (waits: readonly number[], by: readonly number[]) =>
    waits.map((wait, round) => wait / by[round]!)
  const name = '99th percentile of a visit, '
  return [
    figure(`${name}without publishing`, 'ms', ours.alone),
    figure(`${name}while others publish`, 'ms', ours.beside),
    figure('the second, relative to the first', 'times', divide(ours.beside, ours.alone), 1.5),
    figure('the bare server, without publishing', 'ms', bare.alone),
    figure('the bare server, while others publish', 'ms', bare.beside),
    figure('the bare server, relative to itself', 'times', divide(bare.beside, bare.alone)),
    figure('while others publish, relative to the bare server', 'times', divide(ours.beside, bare.beside)),
  ]
}

async function publishDuring(baseUrl: string, until: Promise<unknown>): Promise<void> {
  let isOver = false
  const ended = until.finally(() => {
    isOver = true
  })
  const caller = async () => {
    while (!isOver) await publish(baseUrl, makeContent(1, 2000))
  }
  await Promise.all([ended, ...Array.from({ length: CALLERS }, caller)])
}

/** By a process of its own, which the publishers of this one do not delay. Milliseconds. */
async function visit(baseUrl: string, slug: string): Promise<number> {
  const visitor = fork(import.meta.filename, [baseUrl, slug])
  const ended = once(visitor, 'exit').then(([code]) => {
    throw new Error(`the visitor ended with ${code} before its report`)
  })
  const [wait] = await Promise.race([once(visitor, 'message'), ended])
  return wait as number
}

/** Sends visits at fixed times over as many connections as it needs, and reports the 99th percentile. */
async function runVisitor(baseUrl: string, slug: string): Promise<void> {
  // Without it the scheduler lets the visitor wait for the publishers, which are not what is measured.
  if (process.getuid?.() === 0) setPriority(constants.priority.PRIORITY_HIGHEST)
  const agent = new http.Agent({ keepAlive: true })
  const { port, host } = new URL(baseUrl)
  const send = () => timeVisit({ agent, port, host: '127.0.0.1', headers: { host: `${slug}.${host}` } })
  for (let number = 0; number < 50; number++) await send()
  const waits: Promise<number>[] = []
  for (let number = 0; number < VISITS; number++) {
    waits.push(send())
    await pause(INTERVAL_MS)
  }
  const sorted = (await Promise.all(waits)).sort((a, b) => a - b)
  process.send?.(sorted[Math.floor(VISITS * 0.99)])
  process.disconnect?.()
  agent.destroy()
}

function timeVisit(options: http.RequestOptions): Promise<number> {
  const startedAt = performance.now()
  return new Promise((resolve, reject) => {
    http
      .get(options, (response) => {
        if (response.statusCode !== 200) reject(new Error(`a visit was answered with ${response.statusCode}`))
        response.on('end', () => resolve(performance.now() - startedAt)).resume()
      })
      .on('error', reject)
  })
}

if (import.meta.main) await runVisitor(process.argv[2]!, process.argv[3]!)
