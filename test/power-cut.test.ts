import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CONTROLS, cutPower } from './faults/power-cuts.ts'
import { anySeed } from './support/random.ts'
import { requires } from './tools/part.ts'

// `npm run faults` is the long form.

/** A cut takes a few seconds, on a busy machine half a minute. */
const TIMEOUT_MS = 300_000

test('a power cut loses nothing that was acknowledged', {
  ...requires('power-cut'),
  timeout: TIMEOUT_MS,
}, async (t) => {
  const { cuts, lost, output } = await cutPower({ cuts: 3, seed: anySeed(), signal: t.signal })
  assert.deepEqual({ cuts, lost }, { cuts: 3, lost: 0 }, output)
})

for (const control of CONTROLS) {
  test(`power cuts detect a server that ${control}`, {
    ...requires('power-cut'),
    timeout: TIMEOUT_MS,
  }, async (t) => {
    const { lost, output } = await cutPower({ cuts: 5, control, seed: anySeed(), signal: t.signal })
    assert.equal(lost, 1, output)
  })
}
