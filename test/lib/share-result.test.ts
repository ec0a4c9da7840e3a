import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shareResult } from '../../server/lib/share-result.ts'

test('calls within the lifetime have the result or the error of one run', async () => {
  let now = 0
  let runs = 0
  const run = async () => {
    if (++runs === 2) throw new Error('second')
    return runs
  }
  const call = shareResult(run, { lifetimeMs: 1000, clock: () => now })
  assert.deepEqual(await Promise.all([call(), call()]), [1, 1])
  now = 999
  assert.equal(await call(), 1)
  now = 1000
  await assert.rejects(call(), /second/)
  await assert.rejects(call(), /second/)
  now = 2000
  assert.equal(await call(), 3)
})
