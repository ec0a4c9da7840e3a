import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runKills } from './faults/kills.ts'
import { anySeed, Random } from './support/random.ts'
import { requires } from './tools/part.ts'

// `npm run faults` is the long form.

/** Low, so that kills come soon: only an in-flight request can lose data. */
const MAX_STEPS = 60

test('kill -9 of a worker, then of the service, loses nothing acknowledged', requires('proc'), async (t) => {
  const seed = anySeed()
  t.diagnostic(`seed ${seed}`)
  const { faults, acknowledged, restarts } = await runKills({
    kills: 1,
    targets: [{ workers: 2, victim: 'worker' }],
    random: new Random(seed),
    maxSteps: MAX_STEPS,
    signal: t.signal,
  })
  assert.deepEqual(faults, [])
  assert.equal(restarts.length, 2)
  assert.ok(acknowledged > 0, 'no fact was acknowledged')
})
