import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type KillOptions, runKills } from './faults/kills.ts'
import { anySeed, Random } from './support/random.ts'
import { requires } from './tools/part.ts'

// `npm run faults` is the long form.

/** Low, so that kills come soon: only an in-flight request can lose data. */
const MAX_STEPS = 150

test('kill -9 of the service loses nothing that was acknowledged', async (t) => {
  await assertNothingLost(t, { kills: 3, targets: [{ workers: 1, victim: 'service' }] })
})

test('kill -9 of one worker of two loses nothing, and clients continue', requires('proc'), async (t) => {
  await assertNothingLost(t, { kills: 1, targets: [{ workers: 2, victim: 'worker' }] })
})

async function assertNothingLost(
  t: TestContext,
  options: Pick<KillOptions, 'kills' | 'targets'>,
): Promise<void> {
  const seed = anySeed()
  t.diagnostic(`seed ${seed}`)
  const random = new Random(seed)
  const { faults, acknowledged, restarts } = await runKills({
    ...options,
    random,
    maxSteps: MAX_STEPS,
    signal: t.signal,
  })
  assert.deepEqual(faults, [])
  assert.equal(restarts.length, options.kills + 1)
  assert.ok(acknowledged > 0, 'no fact was acknowledged')
}
