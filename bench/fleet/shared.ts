import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { whatIsMissing } from '../../scripts/test-dependencies.mjs'
import { forEachConcurrent } from '../../server/lib/concurrency.ts'
import type { Metrics } from '../../server/lib/metrics.ts'
import { postgresStore } from '../../server/store/postgres/postgres.ts'
import { startTestService } from '../../test/support/service.ts'
import { type Postgres, startPostgres } from '../../test/tools/postgres.ts'
import { type Figure, figure, type Measurement } from '../figures.ts'
import { makeContent, publish } from '../publish-flow.ts'
import { scratchFolder } from '../server-process.ts'
import { threadSeconds } from '../serving/processes.ts'
import { nodeSettings } from './settings.ts'

const NODES = 100
const PUBLISHERS = 16
const SECONDS = 20
const MAX_ATTEMPTS = 10

/** What nodes cost their database while nothing happens, and how often writes of unrelated sites are repeated. */
export const shared: Measurement = {
  name: 'shared',
  means:
    '100 nodes that poll one PostgreSQL, an idle node, and 16 publishers of unrelated sites on two nodes',
  missing: () => whatIsMissing('postgres'),
  async run({ quick }) {
    await using postgres = await startPostgres()
    const seconds = quick ? 10 : SECONDS
    return [
      await measurePolls(postgres, seconds),
      await measureIdle(postgres, seconds),
      await measureRetries(postgres, quick ? 5 : 25),
    ]
  },
}

/** The stores of all nodes in this process, each with the connection of its feed. */
async function measurePolls(postgres: Postgres, seconds: number): Promise<Figure> {
  const url = await postgres.createDatabase()
  await using stores = new AsyncDisposableStack()
  for (let node = 0; node < NODES; node++) stores.use(await postgresStore({ url, maxConnections: 1 }))
  const [before, startedAt] = [await readCpuSeconds(postgres, url), performance.now()]
  await pause(seconds * 1000)
  const used = (await readCpuSeconds(postgres, url)) - before
  const share = (100 * used * 1000) / (performance.now() - startedAt)
  return figure(`polls of ${NODES} nodes, on the database`, '% of a core', [share], 10)
}

/** CPU time of the server's processes for the connections of nodes. */
async function readCpuSeconds({ run }: Postgres, url: string): Promise<number> {
  const { rows } = await run(url, "select pid from pg_stat_activity where application_name = 'slipway'")
  return rows.reduce((sum, { pid }) => sum + threadSeconds(pid), 0)
}

/** Statements outside of transactions, and transactions, of a node that has been running for a while. */
async function measureIdle(postgres: Postgres, seconds: number): Promise<Figure> {
  await using nodes = await startNodes(postgres, 1)
  // All sweeps run soon after the start.
  await pause(60_000)
  const { url } = nodes
  const before = await countTransactions(postgres, url)
  await pause(seconds * 1000)
  const transactions = (await countTransactions(postgres, url)) - before
  return figure('transactions of an idle node', 'a second', [transactions / seconds], 6)
}

async function measureRetries(postgres: Postgres, rounds: number): Promise<Figure> {
  await using nodes = await startNodes(postgres, 2)
  const { baseUrls } = nodes
  const before = nodes.countRepeatedWrites()
  const publishers = Array.from({ length: PUBLISHERS }, (_, number) => number)
  await forEachConcurrent(PUBLISHERS, publishers, async (number) => {
    for (let round = 0; round < rounds; round++) await publishPatiently(baseUrls[number % baseUrls.length]!)
  })
  const perPublish = (nodes.countRepeatedWrites() - before) / (PUBLISHERS * rounds)
  return figure(`retries, ${PUBLISHERS} publishers of unrelated sites`, 'a publish', [perPublish], 0.05)
}

/** A machine that is too busy for the time limits of the database answers 503. */
async function publishPatiently(baseUrl: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return void (await publish(baseUrl, makeContent(10, 1000)))
    } catch (error) {
      if (attempt === MAX_ATTEMPTS) throw error
    }
    await pause(attempt * 1000)
  }
}

async function startNodes(postgres: Postgres, count: number) {
  await using stack = new AsyncDisposableStack()
  const scratch = stack.use(await scratchFolder())
  const url = await postgres.createDatabase()
  const settings = {
    ...(await nodeSettings(url)),
    DATA: join(scratch.path, 'data'),
  }
  const baseUrls: string[] = []
  const metrics: Metrics[] = []
  for (let node = 0; node < count; node++) {
    // Uploads go to the first node, which has the base URL.
    const port = node === 0 ? {} : { PORT: '0' }
    const running = stack.use(await startTestService({ ...settings, ...port }))
    baseUrls.push(`http://localhost:${running.port}`)
    metrics.push(running.service.metrics)
  }
  const owned = stack.move()
  return {
    url,
    baseUrls,
    countRepeatedWrites: () =>
      metrics.reduce((sum, counter) => sum + (counter.read().slipway_store_repeated_writes_total ?? 0), 0),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Transactions that were committed in a database, as of about a second ago. */
async function countTransactions({ run }: Postgres, url: string): Promise<number> {
  await pause(1500)
  const query = `select xact_commit::float8 as value from pg_stat_database where datname = current_database()`
  return (await run(url, query)).rows[0].value
}
