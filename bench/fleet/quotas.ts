import { join } from 'node:path'
import { whatIsMissing } from '../../scripts/test-dependencies.mjs'
import { forEachConcurrent } from '../../server/lib/concurrency.ts'
import { hashToken, newApiKey, newId } from '../../server/lib/tokens.ts'
import { postgresStore } from '../../server/store/postgres/postgres.ts'
import { accountRow } from '../../test/store/rows.ts'
import { freePort } from '../../test/tools/port.ts'
import { type Postgres, startPostgres } from '../../test/tools/postgres.ts'
import { compareEach, type Figure, type Measurement, median } from '../figures.ts'
import { type Headers, makeContent, publish, stage, touch, update } from '../publish-flow.ts'
import { scratchFolder, startServer } from '../server-process.ts'
import { nodeSettings } from './settings.ts'

const PUBLISHERS = 16
const PUBLISHES = 8
const ROUNDS = 9

const VERSIONS_PER_SITE = 10
const SITES = 1000
const FILES = 10
const BYTES = 1000
const UPDATES_PER_ROUND = 5

const CONTENTION = { publish: 'a publish of 10 files', stage: 'staging alone' }
const HISTORY = { stage: 'stage an update', finalize: 'finalize it' }

type Times<K extends string> = Record<K, number>

/** What counting for quotas costs: one row for all anonymous publishers, and an account with much to count. */
export const quotas: Measurement = {
  name: 'quotas',
  means:
    '16 publishers on two nodes of one PostgreSQL, with and without accounts, and an account with 10,000 versions beside one with 10',
  missing: () => whatIsMissing('postgres'),
  async run({ quick }) {
    await using postgres = await startPostgres({ isDurable: true })
    const rounds = quick ? 3 : ROUNDS
    return [...(await measureContention(postgres, rounds)), ...(await measureHistory(postgres, rounds))]
  },
}

/** The anonymous publishers have networks of their own, so that they have in common what all of them hold. */
async function measureContention(postgres: Postgres, count: number): Promise<Figure[]> {
  await using stack = new AsyncDisposableStack()
  const url = await postgres.createDatabase()
  const data = join(stack.use(await scratchFolder()).path, 'data')
  const settings = { ...(await nodeSettings(url)), RATE_FREE: '1000000000', TRUSTED_PROXIES: '1' }
  const accounts = await createAccounts(url, PUBLISHERS)
  const networks = accounts.map((_, number) => ({ 'x-forwarded-for': `198.51.${number}.1` }))
  const nodes = [
    stack.use(await startServer(data, { settings })),
    stack.use(await startServer(data, { settings: { ...settings, PORT: String(await freePort()) } })),
  ]
  const publishers = Array.from({ length: PUBLISHERS }, (_, number) => number)
  const perPublish = async (run: (baseUrl: string, number: number) => Promise<unknown>) => {
    const startedAt = performance.now()
    await forEachConcurrent(PUBLISHERS, publishers, async (number) => {
      for (let round = 0; round < PUBLISHES; round++) await run(nodes[number % nodes.length]!.baseUrl, number)
    })
    return (performance.now() - startedAt) / (PUBLISHERS * PUBLISHES)
  }
  const measure = async (headers: readonly Headers[]) => ({
    publish: await perPublish((node, number) => publish(node, makeContent(FILES, BYTES), headers[number])),
    stage: await perPublish((node, number) => stage(node, makeContent(FILES, BYTES), headers[number])),
  })
  const rounds = await repeat(
    count,
    async (): Promise<[Times<keyof typeof CONTENTION>, Times<keyof typeof CONTENTION>]> => [
      await measure(accounts),
      await measure(networks),
    ],
  )
  return compareEach(CONTENTION, { unit: 'ms', names: ['16 accounts', '16 networks'], target: 2 }, rounds)
}

/** Updates of a site of each account, one after another. */
async function measureHistory(postgres: Postgres, count: number): Promise<Figure[]> {
  await using stack = new AsyncDisposableStack()
  const url = await postgres.createDatabase()
  const data = join(stack.use(await scratchFolder()).path, 'data')
  const settings = { ...(await nodeSettings(url)), RATE_FREE: '1000000000' }
  const [few, many] = (await createAccounts(url, 2)) as [Headers, Headers]
  const { baseUrl } = stack.use(await startServer(data, { settings }))
  const owned = async (headers: Headers) => {
    const content = makeContent(FILES, BYTES)
    const { site } = await publish(baseUrl, content, headers)
    const again = async () => {
      touch(content, BYTES)
      return (await update(baseUrl, site, content, headers)).phases
    }
    for (let version = 1; version < VERSIONS_PER_SITE; version++) await again()
    return { slug: site.slug, again }
  }
  const small = await owned(few)
  const large = await owned(many)
  await copySite(postgres, url, large.slug)
  const measure = async ({ again }: typeof small) => {
    const phases = []
    for (let round = 0; round < UPDATES_PER_ROUND; round++) phases.push(await again())
    return {
      stage: median(phases.map((one) => one.create)),
      finalize: median(phases.map((one) => one.finalize)),
    }
  }
  const rounds = await repeat(
    count,
    async (): Promise<[Times<keyof typeof HISTORY>, Times<keyof typeof HISTORY>]> => [
      await measure(small),
      await measure(large),
    ],
  )
  const names = [`${VERSIONS_PER_SITE} versions`, `${SITES * VERSIONS_PER_SITE} versions`] as const
  return compareEach(HISTORY, { unit: 'ms', names, target: 2 }, rounds)
}

/** Without the first round, which fills caches. */
async function repeat<T>(count: number, run: () => Promise<T>): Promise<T[]> {
  const found: T[] = []
  for (let round = 0; round <= count; round++) found.push(await run())
  return found.slice(1)
}

/** The headers of requests of new accounts. */
async function createAccounts(url: string, count: number): Promise<Headers[]> {
  await using store = await postgresStore({ url })
  const keys = Array.from({ length: count }, newApiKey)
  for (const key of keys) {
    const id = newId(Date.now())
    const account = accountRow(id, { keyHash: hashToken(key), createdAt: Date.now() })
    await store.write('durable', { account: id }, (tx) => tx.rows.insert('accounts', account))
  }
  return keys.map((key) => ({ authorization: `Bearer ${key}` }))
}

/** Copies a site with its versions, which have their contents in common, until its account has `SITES` sites. */
async function copySite(postgres: Postgres, url: string, slug: string): Promise<void> {
  const copies = `generate_series(1, ${SITES - 1}) as n where slug = '${slug}'`
  const name = (column: string) => `${column} || '-' || n`
  const id = (column: string) => `left(${column}, 20) || lpad(n::text, 6, '0')`
  const changed = (columns: Record<string, string>) =>
    `jsonb_build_object(${Object.entries(columns)
      .flatMap(([column, value]) => [`'${column}'`, value])
      .join()})`
  const sites = changed({
    slug: name('slug'),
    visits_key: name('slug'),
    live_version_id: id('live_version_id'),
  })
  const versions = changed({ slug: name('slug'), id: id('id') })
  await postgres.run(
    url,
    `insert into sites select (jsonb_populate_record(sites, ${sites})).* from sites, ${copies}`,
  )
  await postgres.run(
    url,
    `insert into versions select (jsonb_populate_record(versions, ${versions})).* from versions, ${copies}`,
  )
  await postgres.run(
    url,
    `insert into blob_names (hash, site, owner_id) select hash, ${name('site')}, owner_id
      from (select hash, site, (select owner_id from sites where slug = '${slug}') as owner_id from blobs
        union select hash, site, owner_id from blob_names) as held, ${copies}`,
  )
  await postgres.run(url, 'vacuum analyze')
}
