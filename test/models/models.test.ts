import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anySeed } from '../support/random.ts'
import { ALL_VARIANTS } from '../support/variants.ts'
import { runModel } from './run.ts'

// In `npm test` one history that has most operations; others by `npm run models` and `npm run nightly`.
test('after each of many random operations, two nodes respond as their model, and as an edge without caches', async (t) => {
  const options = ALL_VARIANTS ? { seed: anySeed(), steps: 600 } : { seed: 3, steps: 120 }
  const command = `npm run models -- --seed ${options.seed} --steps ${options.steps}`
  t.diagnostic(command)
  const { problem, history } = await runModel(options)
  assert.equal(problem, undefined, [...history, problem, command].join('\n'))
})
