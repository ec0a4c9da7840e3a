import { join } from 'node:path'
import { nodeTransport } from '../../client/sdk/node-transport.ts'
import { Slipway } from '../../client/sdk/slipway.ts'
import { whatIsMissing } from '../../scripts/test-dependencies.mjs'
import { forEachConcurrent } from '../../server/lib/concurrency.ts'
import { hashToken, newApiKey } from '../../server/lib/tokens.ts'
import { postgresStore } from '../../server/store/postgres/postgres.ts'
import { accountRow } from '../../test/store/rows.ts'
import { freePort } from '../../test/tools/port.ts'
import { startPostgres } from '../../test/tools/postgres.ts'
import { compareEach, type Figure, type Measurement } from '../figures.ts'
import { scratchFolder, startServer } from '../server-process.ts'
import { nodeSettings } from './settings.ts'

const PUBLISHERS = 16
const PUBLISHES_PER_ROUND = 400
const ROUNDS = 7

/** Versions of the accounts that are compared, and the sites of the larger one, with as many versions each. */
const VERSIONS = { small: 10, large: 10_000, quick: 400 }
const SITES = 20
const TIMES_PER_ROUND = 20

const SETTINGS = {
  RATE_FREE: '1000000000',
  VERSIONS_KEPT: '1000',
  PLANS: JSON.stringify({ free: { sites: 1_000_000 } }),
}

/** What the rows cost in which publishes of one holder are counted. */
export const contention: Measurement = {
  name: 'contention',
  means:
    '16 publishers on two nodes of one PostgreSQL, without accounts and with one each; an account with 10,000 versions',
  missing: () => whatIsMissing('postgres'),
  async run({ quick }) {
    await using postgres = await startPostgres({ isDurable: true })
    await using scratch = await scratchFolder()
    const url = await postgres.createDatabase()
    const keys = Array.from({ length: PUBLISHERS }, newApiKey)
    await addAccounts(url, keys)
    const data = join(scratch.path, 'data')
    const settings = { ...SETTINGS, ...(await nodeSettings(url)) }
    await using first = await startServer(data, { settings })
    await using second = await startServer(data, {
      settings: { ...settings, PORT: String(await freePort()) },
    })
    await using stack = new AsyncDisposableStack()
    const transport = stack.adopt(nodeTransport({}), ({ close }) => close())
    const open = (number: number, key?: string) =>
      new Slipway({
        baseUrl: [first, second][number % 2]!.baseUrl,
        send: transport.send,
        ...(key && { key }),
      })
    const anonymous = keys.map((_, number) => open(number))
    const owners = keys.map((key, number) => open(number, key))
    const rounds = quick ? 2 : ROUNDS
    return [
      ...(await compareHolders(owners, anonymous, rounds)),
      ...(await compareVersions(owners[0]!, owners[2]!, quick ? VERSIONS.quick : VERSIONS.large, rounds)),
    ]
  },
}

async function compareHolders(
  owners: readonly Slipway[],
  anonymous: readonly Slipway[],
  rounds: number,
): Promise<Figure[]> {
  const taken: [{ publish: number }, { publish: number }][] = []
  for (let round = 0; round <= rounds; round++) {
    const times = [await publishAll(owners), await publishAll(anonymous)] as const
    if (round > 0) taken.push([{ publish: times[0] }, { publish: times[1] }])
  }
  const names = ['an account each', 'without accounts, of one network'] as const
  const measured = { publish: `${PUBLISHERS} publishers, a publish of all` }
  return compareEach(measured, { unit: 'ms', names, target: 2 }, taken)
}

/** Milliseconds for a publish, by the throughput of all. */
async function publishAll(publishers: readonly Slipway[]): Promise<number> {
  const numbers = Array.from({ length: PUBLISHES_PER_ROUND }, (_, number) => number)
  const startedAt = performance.now()
  await forEachConcurrent(PUBLISHERS, numbers, async (number) => {
    await publishers[number % PUBLISHERS]!.publishContents(makePage())
  })
  return (performance.now() - startedAt) / PUBLISHES_PER_ROUND
}

/** The same publishes of an account with few versions and of one with many, one after another, on the same node. */
async function compareVersions(
  small: Slipway,
  large: Slipway,
  versions: number,
  rounds: number,
): Promise<Figure[]> {
  const one = await small.publishContents(makePage())
  for (let version = 1; version < VERSIONS.small; version++) await small.publishContents(makePage(), one.slug)
  const slugs: string[] = []
  for (let site = 0; site < SITES; site++) slugs.push((await large.publishContents(makePage())).slug)
  await forEachConcurrent(SITES, slugs, async (slug) => {
    for (let version = 1; version < versions / SITES; version++) await large.publishContents(makePage(), slug)
  })
  const taken: [{ create: number; update: number }, { create: number; update: number }][] = []
  for (let round = 0; round <= rounds; round++) {
    const [ofSmall, ofLarge] = [await timePublishes(small, one.slug), await timePublishes(large, slugs[0]!)]
    if (round > 0) taken.push([ofSmall, ofLarge])
  }
  const names = [`an account with ${VERSIONS.small} versions`, `with ${versions}`] as const
  const measured = { create: 'publish of a new site', update: 'update of a site' }
  return compareEach(measured, { unit: 'ms', names, target: 1.3 }, taken)
}

async function timePublishes(client: Slipway, slug: string): Promise<{ create: number; update: number }> {
  const time = async (of?: string) => {
    const startedAt = performance.now()
    for (let number = 0; number < TIMES_PER_ROUND; number++) await client.publishContents(makePage(), of)
    return (performance.now() - startedAt) / TIMES_PER_ROUND
  }
  return { create: await time(), update: await time(slug) }
}

let pages = 0

function makePage(): { files: { path: string; content: string }[] } {
  return { files: [{ path: 'index.html', content: `page ${++pages}` }] }
}

async function addAccounts(url: string, keys: readonly string[]): Promise<void> {
  await using store = await postgresStore({ url })
  const createdAt = Date.now()
  await store.write('durable', {}, async (tx) => {
    for (const [number, key] of keys.entries())
      await tx.accounts.insert(accountRow(`account-${number}`, { keyHash: hashToken(key), createdAt }))
  })
}
