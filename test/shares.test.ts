import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConcurrencyLimiter } from '../server/lib/concurrency-limiter.ts'
import { ApiError } from '../server/lib/errors.ts'

test('a client that exhausts its share is refused, and others continue', async () => {
  const shares = new ConcurrencyLimiter({ total: 3, perKey: 2 })
  const slow = Promise.withResolvers<string>()
  const held = [shares.run('slow', () => slow.promise), shares.run('slow', () => slow.promise)]
  await assert.rejects(
    shares.run('slow', async () => 'third'),
    isBusy,
  )
  assert.equal(await shares.run('other', async () => 'served'), 'served')

  const last = shares.run('other', () => slow.promise)
  await assert.rejects(
    shares.run('third', async () => 'one too many for all'),
    isBusy,
  )
  slow.resolve('done')
  assert.deepEqual(await Promise.all([...held, last]), ['done', 'done', 'done'])
  assert.equal(await shares.run('slow', async () => 'served again'), 'served again')
})

test('failed work releases its slot', async () => {
  const shares = new ConcurrencyLimiter({ total: 1, perKey: 1 })
  await assert.rejects(
    shares.run('a', () => Promise.reject(new Error('broken'))),
    /broken/,
  )
  assert.equal(await shares.run('a', async () => 'served'), 'served')
})

function isBusy(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'UNAVAILABLE' && error.retryAfterSeconds === 1
}
