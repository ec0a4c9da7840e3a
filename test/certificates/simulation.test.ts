import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anySeed } from '../support/random.ts'
import { type SimulationOptions, simulate } from './simulation.ts'

// `npm run renewals` is the long run. Short lives meet most outages and mishaps: of those there are enough here to see
// that retries are soon.

const RUNS: Omit<SimulationOptions, 'seed'>[] = [
  { life: '90d', years: 0.3, domains: 4, information: true },
  { life: '64d', years: 0.3, domains: 8, information: false },
  { life: '45d', years: 0.25, domains: 8, information: false },
  { life: '160h', years: 0.25, domains: 20, information: false },
]

for (const run of RUNS) {
  test(`no certificate of ${run.life} expires while the CA is there, and no limit is passed`, async (t) => {
    const seed = Number(process.env.SEED ?? anySeed())
    t.diagnostic(`SEED=${seed}`)
    const found = await simulate({ ...run, seed })
    t.diagnostic(JSON.stringify(found))
    assert.deepEqual(found.expiredForNothing, [])
    assert.equal(found.passed, 0)
    assert.ok(found.issued >= 2 * run.domains)
    assert.equal(found.questions > 0, run.information)
  })
}
