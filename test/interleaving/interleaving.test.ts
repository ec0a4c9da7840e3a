import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { WriteScope } from '../../server/store/store.ts'
import { numbers } from '../support/random.ts'
import { repeatWrites } from '../support/repeated-writes.ts'
import { requires } from '../tools/part.ts'
import { sharedPostgres } from '../tools/postgres.ts'
import { CALLS } from './calls.ts'
import { explore, listPairs, type Pair, runAlone, type Wraps } from './schedules.ts'
import { interceptStatements } from './steps.ts'
import { World } from './world.ts'
import { listWrites, recordSites, withoutScope } from './writes.ts'

/** Pairs in one run; `PAIRS=all` explores all, which takes minutes. */
const PAIRS = process.env.PAIRS ?? '6'

/** Writes that no call of the table reaches, by the reason. */
const NOT_CALLED: Record<string, readonly string[]> = {
  'one statement, correct independently of others': [
    'server/accounts/account.ts #mailCode',
    'server/accounts/quotas.ts #noticeRefusal',
    'server/accounts/named-keys.ts #recordUse',
    'server/accounts/device-sign-in.ts #slowDown',
    'server/accounts/oauth/oauth-records.ts oauthAdapter',
    'server/analytics/retention.ts deleteVisitsOfDeletedSites',
    'server/analytics/retention.ts truncateYesterday',
    'server/analytics/visit-recorder.ts #getSalt',
    'server/certificates/issuance.ts stop',
    'server/edge/password/attempt-limiter.ts reset',
    'server/jobs/sweep-runs.ts record',
    'server/operations/administration/activity.ts #record',
    'server/operations/fleet/node-reporter.ts #begin',
    'server/operations/fleet/node-reporter.ts #report',
    'server/operations/fleet/node-reporter.ts Symbol.asyncDispose',
    'server/operations/fleet/shared-settings.ts findDifferentSettings',
    'server/operations/fleet/shared-settings.ts replaceSharedSettings',
    'server/operations/fleet/shared-settings.ts storeBranding',
    'server/operations/notices/notices.ts #recordRefusal',
    'server/operations/notices/notices.ts #send',
    'server/publish/archive-upload.ts #discard',
    'server/publish/finalize.ts #promote',
    'server/publish/scan/content-scan.ts check',
  ],
  'the decision about a request, which the library of OAuth keeps': [
    'server/accounts/oauth/programs.ts #extend',
    'server/accounts/oauth/programs.ts #makeRoom',
  ],
  'a lease, whose tests are in test/store and test/backup': [
    'server/jobs/job-lease.ts #fence',
    'server/jobs/job-lease.ts #renew',
    'server/jobs/job-lease.ts Symbol.asyncDispose',
    'server/jobs/job-lease.ts acquire',
    'server/operations/backup/backup-lease.ts Symbol.asyncDispose',
    'server/operations/backup/backup-lease.ts acquire',
    'server/operations/backup/backup-lease.ts assertHeld',
    'server/publish/precompress/precompressor.ts #acquireLease',
  ],
  'the account at a certificate authority, which the call would need': [
    'server/certificates/acme/session.ts #createAccount',
    'server/certificates/acme/session.ts #forgetAccount',
    'server/certificates/acme/session.ts #loadAccount',
    'server/certificates/reencrypt-keys.ts reencryptAccount',
  ],
  'the lease of due domains, and their next check after an error': [
    'server/domains/verifier.ts #postpone',
    'server/domains/verifier.ts #verifyPieces',
  ],
  'a wrapper that passes the writes of others on': [
    'server/operations/telemetry/observe-engines.ts observeStore',
  ],
  'references of earlier releases': ['server/jobs/usage-recount.ts repairOwner'],
  'the hourly repair of names': ['server/certificates/maintenance.ts repairNames'],
}

/** A pair that fails when the writes of both calls leave out a kind of names. */
const CONTROLS: Record<keyof WriteScope, Pair> = {
  site: ['restore', 'delete a version'],
  account: ['add a domain', 'add another domain'],
  address: ['try a wrong code', 'try a wrong code'],
  host: ['delete a site', 'issue a certificate'],
  counter: ['try a password', 'try a password'],
  notice: ['sweep emails', 'sweep emails'],
  authority: ['issue a certificate of a site', 'issue a certificate of another site'],
}

describe('concurrent calls on PostgreSQL', requires('postgres'), () => {
  const stack = new AsyncDisposableStack()
  let world: World
  let all: ReturnType<typeof runEachAlone> | undefined
  const runAll = () => {
    all ??= runEachAlone(world)
    return all
  }

  before(async () => {
    const database = stack.use(await (await sharedPostgres()).createDatabase())
    world = stack.use(await World.open(database.url))
  })

  after(() => stack.disposeAsync())

  test('two calls about one thing end as if one had followed the other', async (t) => {
    const pairs = choosePairs(numbers(t))
    t.mock.method(Math, 'random', () => 0.5)
    using _ = interceptStatements()
    for (const pair of pairs) assert.deepEqual(await explore(world, pair), [], `${pair}`)
  })

  for (const [kind, pair] of Object.entries(CONTROLS) as [keyof WriteScope, Pair][])
    test(`a write that does not name its ${kind} is found`, async (t) => {
      t.mock.method(Math, 'random', () => 0.5)
      using _ = interceptStatements()
      const wraps: Wraps = [withoutScope(kind), withoutScope(kind)]
      const { length: found } = await explore(world, pair, { wraps, most: 1 })
      assert.equal(found, 1)
    })

  test('a write that is rolled back and runs again has the outcome of one that runs once', async (t) => {
    t.mock.method(Math, 'random', () => 0.5)
    const { outcomes } = await runAll()
    for (const [name, once] of outcomes) {
      assert.match(once.responses.join(), /^(ok|[A-Z_]+)$/, `${name} has an outcome that callers may see`)
      assert.deepEqual(await runAlone(world, name, repeatWrites), once, name)
    }
  })

  test('every write of the service is in the table of calls', async () => {
    const { sites } = await runAll()
    const missing = listWrites().filter(({ site }) => !sites.has(site))
    assert.deepEqual(
      [...new Set(missing.map(({ name }) => name))].sort(),
      Object.values(NOT_CALLED).flat().sort(),
    )
  })
})

/** The outcomes of all calls of the table, each run alone, and the places of their writes. */
async function runEachAlone(world: World) {
  const sites = new Set<string>()
  const outcomes = new Map<string, Awaited<ReturnType<typeof runAlone>>>()
  for (const name of Object.keys(CALLS)) outcomes.set(name, await runAlone(world, name, recordSites(sites)))
  return { outcomes, sites }
}

/** Different pairs in each run, so that many runs explore all. */
function choosePairs(below: (bound: number) => number): readonly Pair[] {
  const pairs = listPairs()
  if (PAIRS === 'all') return pairs
  return Array.from({ length: Number(PAIRS) }, () => pairs.splice(below(pairs.length), 1)[0]!)
}
