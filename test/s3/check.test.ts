import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspectBucket } from '../../server/blobs/s3/inspect.ts'
import { checkBucket } from '../../server/operations/check/check-engines.ts'
import { listObjects } from '../blobs/bytes.ts'
import { requires } from '../tools/part.ts'
import { createStorage } from './storage.ts'

test('the check of a bucket tries everything, and leaves nothing behind', requires('ceph'), async () => {
  await using storage = await createStorage()
  assert.deepEqual(checkBucket(await inspectBucket(storage.url)), [
    {
      name: 'bucket',
      status: 'ok',
      message: 'put, read, read a range, list, compare hashes, delete: all work',
    },
  ])
  assert.deepEqual(await listObjects(storage.open().blobs), [])
})

test('the check names what does not work, and how to mend it', requires('ceph'), async () => {
  await using storage = await createStorage()
  const { proxy, url } = storage
  const check = async (given = url) => checkBucket(await inspectBucket(given)).map(({ message }) => message)
  assert.match(
    (await check(url.replace('s3://test/', 's3://absent/')))[0]!,
    /cannot put: .*404 NoSuchBucket.*check the URL/,
  )
  for (const [method, action] of [
    ['GET', /cannot read: .*SlowDown.*s3:GetObject/],
    ['POST', /cannot delete: .*SlowDown.*s3:DeleteObject/],
  ] as const) {
    proxy.fault = (request) => (request.method === method ? 'slow-down' : undefined)
    assert.match((await check())[0]!, action)
  }
})

test('the check warns of a server that accepts bytes of another hash', requires('ceph'), async () => {
  await using storage = await createStorage()
  let puts = 0
  storage.proxy.fault = ({ method }) => (method === 'PUT' && ++puts > 1 ? 'pretend' : undefined)
  const results = checkBucket(await inspectBucket(storage.url))
  assert.deepEqual(
    results.map(({ name, status }) => [name, status]),
    [
      ['bucket', 'ok'],
      ['bucket hashes', 'warning'],
    ],
  )
})
