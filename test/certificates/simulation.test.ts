import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anySeed } from '../support/random.ts'
import { simulate } from './simulation.ts'

// `npm run renewals` is the long form. Short validities meet most outages and faults.

test('no certificate of 160 hours expires while the CA is available, and no limit is exceeded', async (t) => {
  const seed = anySeed()
  t.diagnostic(`SEED=${seed}`)
  const result = await simulate({ life: '160h', years: 0.06, domains: 4, information: true, seed })
  t.diagnostic(JSON.stringify(result))
  assert.deepEqual(result.expiredNeedlessly, [])
  assert.equal(result.passed, 0)
  assert.ok(result.issued >= 8 && result.questions > 0)
})
