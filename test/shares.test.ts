import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure } from '../server/failure.ts'
import { Shares } from '../server/limits/shares.ts'

test('one who holds all of a share is turned away, and others go on', async () => {
  const shares = new Shares({ all: 3, each: 2 })
  const slow = Promise.withResolvers<string>()
  const held = [shares.take('slow', () => slow.promise), shares.take('slow', () => slow.promise)]
  await assert.rejects(
    shares.take('slow', async () => 'third'),
    isBusy,
  )
  assert.equal(await shares.take('other', async () => 'served'), 'served')

  const last = shares.take('other', () => slow.promise)
  await assert.rejects(
    shares.take('third', async () => 'one too many for all'),
    isBusy,
  )
  slow.resolve('done')
  assert.deepEqual(await Promise.all([...held, last]), ['done', 'done', 'done'])
  assert.equal(await shares.take('slow', async () => 'served again'), 'served again')
})

test('work that fails gives its place back', async () => {
  const shares = new Shares({ all: 1, each: 1 })
  await assert.rejects(
    shares.take('a', () => Promise.reject(new Error('broken'))),
    /broken/,
  )
  assert.equal(await shares.take('a', async () => 'served'), 'served')
})

function isBusy(error: unknown): boolean {
  return error instanceof Failure && error.code === 'UNAVAILABLE' && error.retryAfterSeconds === 1
}
