import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anySeed } from '../support/random.ts'
import { type SimulationOptions, simulate } from './simulation.ts'

// `npm run renewals` is the long form. Short validities meet most outages and faults.

const RUNS: Omit<SimulationOptions, 'seed'>[] = [
  { life: '45d', years: 0.2, domains: 4, information: true },
  { life: '160h', years: 0.1, domains: 8, information: false },
]

for (const run of RUNS) {
  test(`no certificate of ${run.life} expires while the CA is available, and no limit is exceeded`, async (t) => {
    const seed = anySeed()
    t.diagnostic(`SEED=${seed}`)
    const result = await simulate({ ...run, seed })
    t.diagnostic(JSON.stringify(result))
    assert.deepEqual(result.expiredNeedlessly, [])
    assert.equal(result.passed, 0)
    assert.ok(result.issued >= 2 * run.domains)
    assert.equal(result.questions > 0, run.information)
  })
}
