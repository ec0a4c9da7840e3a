import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { objectHashPrefix } from '../../server/blobs/blobs.ts'
import { sha256 } from '../api/content.ts'
import { deterministicBytes, keep, listObjects, readAll, toBody, toLocation } from '../blobs/bytes.ts'
import { pluck } from '../support/pluck.ts'
import { MIB } from '../support/units.ts'
import { waitFor } from '../support/wait-for.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { requires } from '../tools/part.ts'
import { createStorage, type OpenStorage } from './storage.ts'

const SMALL = deterministicBytes('small', 10_000)
/** Four pieces, and a table of them. */
const LARGE = deterministicBytes('large', 3_500_000)
const LARGE_REQUESTS = 5

test('readers of the same bytes at the same time share a fetch of each piece', requires('ceph'), async () => {
  await using storage = await createStorage()
  const { blobs } = storage.open()
  const [small, large] = [await keep(blobs, SMALL), await keep(blobs, LARGE)]
  storage.proxy.requests.length = 0
  const reads = Array.from({ length: 20 }, async (_, number) => {
    if (number % 2 === 0) assert.ok((await blobs.bytes(small))?.equals(SMALL))
    else assert.ok((await readAll(blobs, large))?.equals(LARGE))
  })
  await Promise.all(reads)
  assert.equal(storage.proxy.requests.length, 1 + LARGE_REQUESTS)
})

test('the disk cache survives a restart, and what it has needs no request', requires('ceph'), async () => {
  await using storage = await createStorage()
  await using folder = await memoryFolder()
  const cache = { folder: folder.path, limit: 2 ** 26, processes: 1 }
  const { blobs: writer } = storage.open()
  const [small, large] = [await keep(writer, SMALL), await keep(writer, LARGE)]
  const read = async ({ blobs }: OpenStorage) => {
    assert.ok((await blobs.bytes(small))?.equals(SMALL))
    assert.ok(
      (await readAll(blobs, large, { start: 1_000_000, end: 3_499_999 }))?.equals(LARGE.subarray(1_000_000)),
    )
  }
  await read(storage.open({ cache }))
  await waitFor(() => listFiles(folder.path).length === 1 + LARGE_REQUESTS)
  storage.proxy.fault = () => 'reset'
  const second = storage.open({ cache })
  await read(second)
  const { 'slipway_disk_cache_reads_total{result="hit"}': hits, slipway_disk_cache_hit_bytes_total: bytes } =
    second.metrics.read()
  assert.deepEqual([hits, bytes], [1 + LARGE_REQUESTS, SMALL.length + LARGE.length + 4 * 32])
})

test('a damaged or incomplete file of the disk cache is fetched again', requires('ceph'), async () => {
  await using storage = await createStorage()
  await using folder = await memoryFolder()
  const open = () => storage.open({ cache: { folder: folder.path, limit: 2 ** 26, processes: 1 } })
  const first = open()
  const location = await keep(first.blobs, LARGE)
  await readAll(first.blobs, location)
  await waitFor(() => listFiles(folder.path).length === LARGE_REQUESTS)
  const [one, other, ...rest] = listFiles(folder.path)
  const bytes = readFileSync(one!)
  bytes[bytes.length - 1]! ^= 1
  writeFileSync(one!, bytes)
  writeFileSync(other!, readFileSync(other!).subarray(1))
  storage.proxy.requests.length = 0
  const second = open()
  assert.ok((await readAll(second.blobs, location))?.equals(LARGE))
  assert.equal(storage.proxy.requests.length, LARGE_REQUESTS - rest.length)
  await waitFor(() => listFiles(folder.path).length === LARGE_REQUESTS)
  storage.proxy.fault = () => 'reset'
  assert.ok((await readAll(open().blobs, location))?.equals(LARGE))
})

test('processes keep the bound of their disk cache, and a smaller one later', requires('ceph'), async () => {
  await using storage = await createStorage()
  await using folder = await memoryFolder()
  const { blobs: writer } = storage.open()
  const open = (limit: number) => storage.open({ cache: { folder: folder.path, limit, processes: 2 } })
  const limit = 6 * 2 ** 20
  const processes = [open(limit), open(limit)]
  const hot = await keep(writer, deterministicBytes('hot', 900_000))
  for (let number = 0; number < 16; number++) {
    const bytes = deterministicBytes(number, 900_000)
    const location = await keep(writer, bytes)
    assert.ok((await processes[number % 2]!.blobs.bytes(location))?.equals(bytes))
    await processes[0]!.blobs.bytes(hot)
    await waitFor(() => usedBytes(folder.path) <= limit)
  }
  assert.ok(usedBytes(folder.path) > limit / 2)
  assert.ok(
    processes[0]!.metrics.read()['slipway_disk_cache_reads_total{result="hit"}']! >= 8,
    'what is used is spared',
  )
  open(2 * 2 ** 20)
  await waitFor(() => usedBytes(folder.path) <= 2 * 2 ** 20)
})

test('a cache whose disk is full serves what it fetches', requires('ceph'), async () => {
  await using storage = await createStorage()
  await using folder = await memoryFolder()
  const { blobs, metrics } = storage.open({
    cache: { folder: join(folder.path, 'cache'), limit: 2 ** 26, processes: 1 },
  })
  writeFileSync(join(folder.path, 'file'), '')
  const location = await keep(storage.open().blobs, SMALL)
  // A file in place of the folder of the piece.
  writeFileSync(join(folder.path, 'cache', location.hash.slice(0, 2)), '')
  assert.ok((await blobs.bytes(location))?.equals(SMALL))
  await waitFor(() => metrics.read()['slipway_disk_cache_failures_total{operation="write"}'] === 1)
  assert.ok((await blobs.bytes(location))?.equals(SMALL))
})

test('thousands of objects are listed by page and deleted by the thousand', requires('ceph'), async () => {
  await using storage = await createStorage()
  const { blobs } = storage.open()
  const stored = await Promise.all(
    Array.from({ length: 1100 }, (_, number) => blobs.put(toBody(Buffer.from(`${number}`)), {})),
  )
  storage.proxy.requests.length = 0
  const objects = stored.map(({ object }) => object).sort()
  assert.deepEqual(await listObjects(blobs), objects)
  await blobs.remove(objects)
  assert.deepEqual(await blobs.list(), [])
  assert.deepEqual(pluck(storage.proxy.requests, 'method'), ['GET', 'GET', 'GET', 'POST', 'POST', 'GET'])
})

test('bodies of unknown length or beyond one request are stored in parts', requires('ceph'), async () => {
  await using storage = await createStorage()
  const { blobs } = storage.open({ maxPutBytes: 5_000_000 })
  const bytes = deterministicBytes('parts', 9_000_000)
  for (const expected of [{ limit: bytes.length }, { size: bytes.length }]) {
    storage.proxy.requests.length = 0
    const location = toLocation(await blobs.put(toBody(bytes), expected))
    assert.deepEqual(pluck(storage.proxy.requests, 'method'), ['POST', 'PUT', 'PUT', 'POST'])
    assert.ok((await readAll(blobs, location))?.equals(bytes))
  }
  const wrong = { size: bytes.length, hash: '0'.repeat(64) }
  await assert.rejects(blobs.put(toBody(bytes), wrong), { code: 'HASH_MISMATCH' })
  assert.equal(storage.proxy.requests.at(-1)!.method, 'DELETE', 'the parts are deleted')
  // The table of the pieces begins in one part and ends in the next.
  const almost = bytes.subarray(0, 8 * MIB - 16)
  assert.ok((await readAll(blobs, await keep(blobs, almost)))?.equals(almost))
  assert.equal((await blobs.list()).length, 3)
})

test('the row of an object is found by its name where its hash was known', requires('ceph'), async () => {
  await using storage = await createStorage()
  const { blobs } = storage.open()
  for (const [bytes, expected, isKnown] of [
    [SMALL, {}, true],
    [LARGE, { size: LARGE.length, hash: sha256(LARGE) }, true],
    [LARGE, { hash: sha256(LARGE) }, true],
    [LARGE, { size: LARGE.length }, false],
  ] as const) {
    const { object } = await blobs.put(toBody(bytes), expected)
    assert.equal(objectHashPrefix(object), isKnown ? sha256(bytes).slice(0, 12) : undefined)
  }
})

function listFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
}

function usedBytes(folder: string): number {
  const sizes = listFiles(folder).map((path) => statSync(path, { throwIfNoEntry: false })?.size ?? 0)
  return sizes.reduce((sum, size) => sum + size, 0)
}
