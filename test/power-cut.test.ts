import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CONTROLS, cutPower } from './faults/cutting.ts'
import { anySeed } from './support/random.ts'
import { requires } from './tools/part.ts'

// `npm run faults` does this longer.

/** Milliseconds. A last resort: a cut takes a few seconds, on a busy machine half a minute. */
const timeout = 300_000

test('a power cut loses nothing that was acknowledged', { ...requires('power-cut'), timeout }, async (t) => {
  const { cuts, lost, said } = await cutPower({ cuts: 3, seed: anySeed(), signal: t.signal })
  assert.deepEqual({ cuts, lost }, { cuts: 3, lost: 0 }, said)
})

for (const control of Object.keys(CONTROLS) as (keyof typeof CONTROLS)[]) {
  test(`power cuts show ${control}`, { ...requires('power-cut'), timeout }, async (t) => {
    const { lost, said } = await cutPower({ cuts: 5, control, seed: anySeed(), signal: t.signal })
    assert.equal(lost, 1, said)
  })
}
