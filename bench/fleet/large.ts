import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { nodeTransport } from '../../client/sdk/node-transport.ts'
import { Slipway } from '../../client/sdk/slipway.ts'
import { whatIsMissing } from '../../scripts/test-dependencies.mjs'
import { DAY_MS } from '../../server/lib/time.ts'
import { hashToken, newApiKey, newId } from '../../server/lib/tokens.ts'
import { postgresStore } from '../../server/store/postgres/postgres.ts'
import { accountRow } from '../../test/store/rows.ts'
import { startTestService } from '../../test/support/service.ts'
import { type Postgres, startPostgres } from '../../test/tools/postgres.ts'
import { compareEach, type Figure, figure, type Measurement, median } from '../figures.ts'
import { type Content, makeContent, publish, toFiles } from '../publish-flow.ts'
import { scratchFolder, startServer } from '../server-process.ts'
import { copyRows, readTables, SITE_TABLES } from './copied-sites.ts'
import { nodeSettings } from './settings.ts'

const SITES = { small: 1000, large: 1_000_000, quick: 100_000 }

/** Over which all sites were published. */
const PERIOD_MS = 365 * DAY_MS

/** Of one publish. */
const FILES = 1000
const BYTES = 1024

const ROUNDS = 15
const LOOKUPS_PER_ROUND = 40

const MAX_RATIO = 1.2

const MEASURED = {
  stage: 'stage 1,000 files',
  finalize: 'finalize 1,000 files',
  lookup: 'cold lookup of a site',
}

/** Milliseconds of one round. */
type Times = Record<keyof typeof MEASURED, number>

/** Publishing and cold visits in a large database, beside a small one of the same server. */
export const large: Measurement = {
  name: 'large',
  means: 'PostgreSQL with 1,000,000 sites of ten files, beside one with 1,000',
  missing: () => whatIsMissing('postgres'),
  async run({ quick }) {
    await using postgres = await startPostgres({ isDurable: true })
    await using scratch = await scratchFolder()
    const pair = await publishPair(await postgres.createDatabase(), join(scratch.path, 'pair'))
    const sites = quick ? SITES.quick : SITES.large
    const urls = { small: await createSites(postgres, pair, SITES.small), large: '' }
    const startedAt = performance.now()
    urls.large = await createSites(postgres, pair, sites)
    const load = figure(`load ${sites} sites`, 'ms', [performance.now() - startedAt])
    const sizes = await measureSizes(postgres, urls.large, sites)
    await using small = await openNode(postgres, urls.small, join(scratch.path, 'small'))
    await using large = await openNode(postgres, urls.large, join(scratch.path, 'large'))
    const rounds: [small: Times, large: Times][] = []
    for (let round = 0; round <= (quick ? 5 : ROUNDS); round++) {
      const taken: [Times, Times] = [await small.measure(), await large.measure()]
      if (round > 0) rounds.push(taken)
    }
    const names = [`${SITES.small} sites`, `${sites} sites`] as const
    return [load, ...compareEach(MEASURED, { unit: 'ms', names, target: MAX_RATIO }, rounds), ...sizes]
  },
}

type Pair = Pick<Parameters<typeof copyRows>[1], 'tables' | 'slugs'>

/** The rows of two sites of an account, with ten files each, of which they have one in common. */
async function publishPair(url: string, data: string): Promise<Pair> {
  const key = newApiKey()
  {
    await using store = await postgresStore({ url })
    const id = newId(Date.now())
    const account = accountRow(id, { keyHash: hashToken(key), createdAt: Date.now() })
    await store.write('durable', { account: id }, (tx) => tx.rows.insert('accounts', account))
  }
  await using running = await startTestService({ ...(await nodeSettings(url)), DATA: data })
  const transport = nodeTransport({})
  const slipway = new Slipway({ baseUrl: running.baseUrl, send: transport.send, key })
  const font = randomBytes(20_000)
  const slugs: string[] = []
  for (let site = 0; site < 2; site++)
    slugs.push((await slipway.publish({ files: toFiles(makeSite(font)) })).slug)
  transport.close()
  await running.service.precompressor.onIdle()
  return { tables: await readTables(url), slugs }
}

function makeSite(font: Buffer): Content {
  const text = () => Buffer.from(randomBytes(4000).toString('hex'))
  const images = Array.from({ length: 5 }, (_, number) => [`images/photo-${number}.jpg`, randomBytes(30_000)])
  return new Map([
    ['index.html', Buffer.concat([Buffer.from('<!doctype html><title>A site</title>'), text()])],
    ['about/index.html', text()],
    ['assets/style.css', text()],
    ['assets/font.woff2', font],
    ['favicon.ico', randomBytes(1000)],
    ...(images as [string, Buffer][]),
  ])
}

/** A new database with so many copies; returns its URL. */
async function createSites(postgres: Postgres, pair: Pair, sites: number): Promise<string> {
  const url = await postgres.createDatabase()
  const copies = sites / pair.slugs.length
  // Whole pages in the WAL of each checkpoint would be most of what the load writes.
  await configure(postgres, ['set full_page_writes = off', "set max_wal_size = '8GB'"])
  await copyRows(url, { ...pair, copies, intervalMs: Math.floor(PERIOD_MS / copies) })
  await configure(postgres, ['reset full_page_writes', 'reset max_wal_size'])
  await postgres.run(url, 'vacuum analyze')
  await postgres.run(url, 'checkpoint')
  return url
}

async function configure(postgres: Postgres, changes: readonly string[]): Promise<void> {
  for (const change of changes) await postgres.run(postgres.url(), `alter system ${change}`)
  await postgres.run(postgres.url(), 'select pg_reload_conf()')
}

/** A node of a database, and a store with which nothing is cached. */
async function openNode(postgres: Postgres, url: string, data: string) {
  const chosen = 'select slug from sites order by random() limit 1000'
  const { rows } = await postgres.run(url, chosen)
  await using stack = new AsyncDisposableStack()
  const server = stack.use(await startServer(data, { settings: await nodeSettings(url) }))
  const store = stack.use(await postgresStore({ url, maxConnections: 1 }))
  const owned = stack.move()
  return {
    async measure(): Promise<Times> {
      const { phases } = await publish(server.baseUrl, makeContent(FILES, BYTES))
      const lookups: number[] = []
      for (const { slug } of rows.splice(0, LOOKUPS_PER_ROUND)) {
        const startedAt = performance.now()
        const found = await store.read.serving.findSite(slug, { now: Date.now(), withLive: true })
        lookups.push(performance.now() - startedAt)
        if (found?.live?.files.length !== 10) throw new Error(`${slug} is not as published`)
      }
      return { stage: phases.create, finalize: phases.finalize, lookup: median(lookups) }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Bytes of rows and of indexes, divided by the number of sites. */
async function measureSizes(postgres: Postgres, url: string, sites: number): Promise<Figure[]> {
  const { rows } = await postgres.run(
    url,
    `select name, pg_table_size(name::regclass)::float8 as rows, pg_indexes_size(name::regclass)::float8 as indexes
      from unnest(array['${SITE_TABLES.join("','")}']) as name`,
  )
  return rows.flatMap((row) => [
    figure(`${row.name}, of a site: rows`, 'bytes', [row.rows / sites]),
    figure(`${row.name}, of a site: indexes`, 'bytes', [row.indexes / sites]),
  ])
}
