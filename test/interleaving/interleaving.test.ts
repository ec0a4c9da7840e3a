import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import pg from 'pg'
import type { WriteScope } from '../../server/store/store.ts'
import { repeatWrites } from '../support/repeated-writes.ts'
import { requires } from '../tools/part.ts'
import { sharedPostgres } from '../tools/postgres.ts'
import { CALLS } from './calls.ts'
import { LOCK_PAIRS, WITHOUT_PAIR } from './lock-pairs.ts'
import { explore, isSerialized, type Pair, runAlone, type Wraps } from './schedules.ts'
import { Call, interceptStatements, runInSteps } from './steps.ts'
import { type Node, World, type Wrap } from './world.ts'
import { listWrites, recordScopes, recordSites, type ScopedWrite, withoutScope } from './writes.ts'

/** Writes that no call of the table reaches, by the reason. */
const NOT_CALLED: Record<string, readonly string[]> = {
  'one statement, correct independently of others': [
    'server/accounts/account.ts #mailCode',
    'server/accounts/quotas.ts #noticeRefusal',
    'server/accounts/named-keys.ts #recordUse',
    'server/accounts/device-sign-in.ts exchange',
    'server/accounts/device-sign-in.ts #slowDown',
    'server/accounts/oauth/oauth-records.ts oauthAdapter',
    'server/analytics/retention.ts deleteVisitsOfDeletedSites',
    'server/analytics/retention.ts truncateDay',
    'server/analytics/visit-recorder.ts #getSalt',
    'server/certificates/issuance.ts stop',
    'server/certificates/maintenance.ts orderNow',
    'server/edge/password/attempt-limiter.ts reset',
    'server/jobs/scheduler.ts record',
    'server/operations/administration/activity.ts #record',
    'server/operations/fleet/fleet-settings.ts replaceDifferent',
    'server/operations/fleet/nodes.ts #report',
    'server/operations/fleet/nodes.ts Symbol.asyncDispose',
    'server/operations/fleet/fleet-settings.ts findDifferentSettings',
    'server/operations/notices/notices.ts #recordRefusal',
    'server/operations/notices/notices.ts #send',
    'server/operations/notices/notices.ts run',
    'server/publish/archive-upload.ts #discard',
    'server/publish/finalize.ts #makeDurable',
    'server/publish/scan/content-scan.ts check',
  ],
  'the decision about a request, which the library of OAuth keeps, and what follows': [
    'server/accounts/oauth/oauth-records.ts startAccess',
    'server/accounts/oauth/oauth-records.ts endAccess',
    'server/accounts/oauth/programs.ts #decideOnce',
    'server/accounts/oauth/programs.ts decide',
  ],
  'a lease, whose tests are in test/store and test/backup': [
    'server/jobs/job-lease.ts #fence',
    'server/jobs/job-lease.ts #renew',
    'server/jobs/job-lease.ts Symbol.asyncDispose',
    'server/jobs/job-lease.ts acquire',
    'server/operations/backup/backup.ts Symbol.asyncDispose',
    'server/operations/backup/backup.ts acquire',
    'server/operations/backup/backup.ts assertHeld',
    'server/operations/copies.ts identify',
    'server/operations/copies.ts recordOutcome',
    'server/publish/precompress/precompressor.ts #acquireLease',
  ],
  'the account at a certificate authority, which the call would need': [
    'server/certificates/acme-account.ts findOrCreate',
    'server/certificates/acme-account.ts forgetUrl',
    'server/certificates/acme-account.ts setUrl',
    'server/certificates/stored-keys.ts reencryptAccount',
  ],
  'the lease of due domains, and their next check after an error': [
    'server/domains/verifier.ts #postpone',
    'server/domains/verifier.ts verifyDue',
  ],
  'a wrapper that passes the writes of others on': ['server/operations/telemetry/observe.ts observeStore'],
  'the position of a sweep that changes nothing else': [
    'server/analytics/retention.ts truncateVisits',
    'server/jobs/verify-blobs.ts saveCursor',
  ],
  'one statement about an object, which is true at any time': [
    'server/backends.ts openBlobs',
    'server/jobs/verify-blobs.ts #recordDamage',
  ],
  'one statement, at the first start with another certificate authority': [
    'server/certificates/maintenance.ts maintain',
  ],
  'the hourly repair of names': ['server/certificates/maintenance.ts repairInPages'],
}

/** Calls that read before their write, or before their response, what the other one changes. */
const READERS: readonly Pair[] = [
  ['stage a site by name', 'stage a site by name'],
  ['stage a site by name', 'rename to a name'],
  ['stage an update by name', 'rename to a name'],
  ['stage an update by name', 'delete a site permanently'],
  ['report the places of threads', 'rename to a name'],
]

const KINDS = ['site', 'account', 'address', 'host', 'counter'] as const satisfies (keyof WriteScope)[]

describe('concurrent calls on PostgreSQL', requires('postgres'), () => {
  const stack = new AsyncDisposableStack()
  let database: { url: string }
  let world: World
  let all: ReturnType<typeof runEachAlone> | undefined
  const runAll = () => {
    all ??= runEachAlone(world)
    return all
  }

  before(async () => {
    const created = stack.use(await (await sharedPostgres()).createDatabase())
    database = created
    world = stack.use(await World.open(database.url))
  })

  after(() => stack.disposeAsync())

  test('two calls of which one locks what the other changes end as if one had followed the other', async (t) => {
    t.mock.method(Math, 'random', () => 0.5)
    using _ = interceptStatements()
    for (const [lock, { first, second = first, ...stop }] of Object.entries(LOCK_PAIRS))
      assert.ok(await isSerialized(world, [first, second], stop), `${lock}: ${first}, ${second}`)
  })

  test('two calls of which one reads what the other changes end as if one had followed the other', async (t) => {
    t.mock.method(Math, 'random', () => 0.5)
    using _ = interceptStatements()
    for (const pair of READERS) assert.deepEqual(await explore(world, pair), [], `${pair}`)
  })

  describe('the schedule of a call', () => {
    const run = (work: (node: Node) => Promise<unknown>, most?: number) => {
      const call = new Call('0', () => work(world.node(0)))
      const ended = runInSteps([call], { choose: ([first]) => first!, observer: world.observer, most })
      return { call, ended }
    }

    beforeEach(() => world.reset())

    test('executes the same statements, however many ran before it', async () => {
      using _ = interceptStatements()
      const executed = await run(CALLS['set the banner']!.run).ended
      assert.ok(executed.some((one) => /^0: select .* from "operator_settings"/.test(one)))
      await world.reset()
      assert.deepEqual(await run(CALLS['set the banner']!.run).ended, executed)
    })

    test('that waits for a session that does not wait for it ends with what it waits for', async () => {
      using _ = interceptStatements()
      const other = new pg.Client(database.url)
      await other.connect()
      await other.query('begin; lock operator_settings')
      const { call, ended } = run(CALLS['set the banner']!.run)
      await assert.rejects(
        ended,
        /after 2 statements:\n0: session \d+ executes insert into "operator_settings"/,
      )
      await other.end()
      assert.notEqual(await call.outcome, 'ok')
    })

    test('that has no end ends with its next statement', async () => {
      using _ = interceptStatements()
      let isEnded = false
      const { call, ended } = run(async ({ store }) => {
        while (!isEnded) await store.read.operatorSettings.find('banner')
      }, 9)
      await assert.rejects(ended, /after 9 statements:\n0: .*select \* from "operator_settings"/)
      isEnded = true
      await call.outcome
    })
  })

  for (const kind of KINDS)
    test(`a write that does not name its ${kind} is found`, async (t) => {
      t.mock.method(Math, 'random', () => 0.5)
      using _ = interceptStatements()
      const [, found] = Object.entries(LOCK_PAIRS).find(([lock]) => lock.endsWith(` ${kind}`))!
      const { first, second = first, ...stop } = found
      const wraps: Wraps = [withoutScope(kind), withoutScope(kind)]
      assert.equal(await isSerialized(world, [first, second], stop, wraps), false)
    })

  test('a write that is rolled back and runs again has the outcome of one that runs once', async (t) => {
    t.mock.method(Math, 'random', () => 0.5)
    const { outcomes } = await runAll()
    for (const [name, once] of outcomes) {
      assert.match(once.responses.join(), /^(ok|[A-Z_]+)$/, `${name} has an outcome that callers may see`)
      assert.deepEqual(await runAlone(world, name, repeatWrites), once, name)
    }
  })

  test('every name that a write of these calls locks is in the table of pairs', async () => {
    const { writes } = await runAll()
    const locks = writes.flatMap(({ name, scope }) => Object.keys(scope).map((kind) => `${name} ${kind}`))
    assert.deepEqual(
      [...new Set(locks)].sort(),
      [...Object.keys(LOCK_PAIRS), ...WITHOUT_PAIR].sort(),
      'node test/interleaving/find-pairs-main.ts prints the rows',
    )
  })

  test('every write of the service is in the table of calls', async () => {
    const { sites } = await runAll()
    const missing = listWrites().filter(({ site }) => !sites.has(site))
    const names = [...new Set(missing.map(({ name }) => name))].sort()
    assert.deepEqual(names, Object.values(NOT_CALLED).flat().sort())
  })
})

/** The outcomes of all calls of the table, each run alone, and their writes. */
async function runEachAlone(world: World) {
  const sites = new Set<string>()
  const writes: ScopedWrite[] = []
  const record: Wrap = (store) => recordSites(sites)(recordScopes(writes)(store))
  const outcomes = new Map<string, Awaited<ReturnType<typeof runAlone>>>()
  for (const name of Object.keys(CALLS)) outcomes.set(name, await runAlone(world, name, record))
  return { outcomes, sites, writes }
}
