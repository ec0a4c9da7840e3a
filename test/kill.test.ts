import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type KillOptions, killAgainAndAgain } from './faults/kill.ts'
import { anySeed, Random } from './faults/random.ts'
import { requires } from './tools/part.ts'

// `npm run faults` does this longer.

/** Milliseconds; a kill takes a second or two. */
const timeout = 90_000

test('kill -9 of the service loses nothing that was acknowledged', { timeout }, async (t) => {
  await nothingLost({ kills: 6, targets: [{ workers: 1, victim: 'service' }], ...dice(), signal: t.signal })
})

test('kill -9 of one worker of two loses nothing, and clients go on', {
  ...requires('proc'),
  timeout,
}, async (t) => {
  await nothingLost({ kills: 4, targets: [{ workers: 2, victim: 'worker' }], ...dice(), signal: t.signal })
})

async function nothingLost(options: KillOptions): Promise<void> {
  const { faults, acknowledged, restarts } = await killAgainAndAgain(options)
  assert.deepEqual(faults, [])
  assert.equal(restarts.length, options.kills + 1)
  assert.ok(acknowledged > 0, 'there was something to lose')
}

function dice(): { random: Random } {
  const seed = anySeed()
  console.log(`seed ${seed}`)
  return { random: new Random(seed) }
}
