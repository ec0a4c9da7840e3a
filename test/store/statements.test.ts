import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RateLimits } from '../../server/accounts/rate-limits.ts'
import { ChangeHints } from '../../server/store/postgres/change-feed.ts'
import type { PrimaryPool } from '../../server/store/postgres/pool.ts'
import { DEFAULT_PLANS } from '../support/plans.ts'
import { requires } from '../tools/part.ts'
import { sharedPostgres } from '../tools/postgres.ts'
import { recordStatements } from './statements.ts'
import { openStore } from './test-database.ts'

const RATES = { anonymous: 5, session: 5, signIn: 5 }
const CALLER = { account: undefined, address: '192.0.2.1', signedInWith: 'anonymous' } as const

test(
  'a request is charged by one statement that does not wait for the disk, and by none once its caller exceeded the limit',
  requires('postgres'),
  async (t) => {
    await using database = await (await sharedPostgres()).borrowDatabase()
    await using store = await openStore(database.url)
    const limits = new RateLimits({
      store,
      clock: store.clock,
      rates: RATES,
      plans: DEFAULT_PLANS,
    })
    const statements = recordStatements(t)
    for (let charge = 1; charge <= 9; charge++) {
      const { admitted, remaining } = await limits.charge(CALLER, 'api')
      assert.deepEqual({ admitted, remaining }, { admitted: charge <= 5, remaining: Math.max(0, 5 - charge) })
    }
    assert.equal(statements.length, 6, statements.join('\n'))
    for (const statement of statements) assert.match(statement, /^insert into "counters".*'off'/)
  },
)

test('a change is announced to other nodes immediately, and many changes every 10 ms', (t) => {
  let now = 1000
  t.mock.method(performance, 'now', () => now)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let sent = 0
  const pool = { use: async () => void sent++ } as unknown as PrimaryPool
  using hints = new ChangeHints(pool, 1000)
  const counts: number[] = []
  for (const passedMs of [0, 1, 8, 1, 9, 1, 30]) {
    now += passedMs
    t.mock.timers.tick(passedMs)
    hints.send()
    counts.push(sent)
  }
  assert.deepEqual(counts, [1, 1, 1, 2, 2, 3, 4])
})
