import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RateLimits } from '../../server/accounts/rate-limits.ts'
import { requires } from '../tools/part.ts'
import { postgresServer } from './postgres-server.ts'
import { recordStatements } from './statements.ts'
import { openStore } from './test-database.ts'

const PLAN = { name: 'A plan', requestsPerHour: 5, domains: 1 }
const RATES = { anonymous: 5, session: 5, signIn: 5 }
const CALLER = { account: undefined, address: '192.0.2.1', signedInWith: 'anonymous' } as const

test(
  'a request is charged by one statement that does not wait for the disk, and by none once its caller exceeded the limit',
  requires('postgres'),
  async (t) => {
    await using store = await openStore(await (await postgresServer()).createDatabase())
    const limits = new RateLimits({
      store,
      clock: store.clock,
      rates: RATES,
      plans: { free: PLAN, hobby: PLAN },
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
