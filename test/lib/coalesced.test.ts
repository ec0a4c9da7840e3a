import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { Coalesced } from '../../server/lib/share-result.ts'

test('a call has the result of a run that began after it, and runs are few, one at a time', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const reads: PromiseWithResolvers<void>[] = []
  let value = 'before'
  const coalesced = new Coalesced(async () => {
    const read = Promise.withResolvers<void>()
    reads.push(read)
    const found = value
    await read.promise
    return found
  }, 50)
  const first = coalesced.run()
  await turn()
  value = 'after'
  const later = [coalesced.run(), coalesced.run()]
  t.mock.timers.tick(50)
  await turn()
  assert.equal(reads.length, 1, 'the first read is still running')
  reads[0]!.resolve()
  assert.equal(await first, 'before')
  await turn()
  reads[1]?.resolve()
  assert.deepEqual(await Promise.all(later), ['after', 'after'])
  assert.equal(reads.length, 2)
  const last = coalesced.run()
  await turn()
  assert.equal(reads.length, 2, 'the next read begins 50 ms after the previous one')
  t.mock.timers.tick(50)
  await turn()
  reads[2]!.resolve()
  assert.equal(await last, 'after')
})
