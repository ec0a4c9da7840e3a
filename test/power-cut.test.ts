import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cutPower } from './faults/power-cuts.ts'
import { anySeed } from './support/random.ts'
import { requires } from './tools/part.ts'

// `npm run faults` is the long form, with all controls.

test('a power cut loses nothing that was acknowledged', requires('power-cut'), async (t) => {
  const options = { cuts: 1, facts: '10-20', seed: anySeed(), signal: t.signal }
  const { cuts, lost, output } = await cutPower(options)
  assert.deepEqual({ cuts, lost }, { cuts: 1, lost: 0 }, output)
})
