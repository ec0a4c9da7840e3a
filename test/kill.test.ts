import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type KillOptions, killAgainAndAgain } from './faults/kill.ts'
import { anySeed, Random } from './support/random.ts'
import { requires } from './tools/part.ts'

// `npm run faults` does this longer.

/** Few, so that each kill is soon: a request that is under way is what a kill can lose. */
const MAX_STEPS = 150

test('kill -9 of the service loses nothing that was acknowledged', async (t) => {
  await assertNothingLost(t, { kills: 3, targets: [{ workers: 1, victim: 'service' }] })
})

test('kill -9 of one worker of two loses nothing, and clients go on', requires('proc'), async (t) => {
  await assertNothingLost(t, { kills: 1, targets: [{ workers: 2, victim: 'worker' }] })
})

async function assertNothingLost(
  t: TestContext,
  options: Pick<KillOptions, 'kills' | 'targets'>,
): Promise<void> {
  const seed = anySeed()
  t.diagnostic(`seed ${seed}`)
  const random = new Random(seed)
  const { faults, acknowledged, restarts } = await killAgainAndAgain({
    ...options,
    random,
    maxSteps: MAX_STEPS,
    signal: t.signal,
  })
  assert.deepEqual(faults, [])
  assert.equal(restarts.length, options.kills + 1)
  assert.ok(acknowledged > 0, 'there was something to lose')
}
