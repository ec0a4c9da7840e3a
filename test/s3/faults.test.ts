import assert from 'node:assert/strict'
import { hostname } from 'node:os'
import { test } from 'node:test'
import { parseBucketUrl } from '../../packages/s3-client/bucket-url.ts'
import type { StoredBlob } from '../../server/blobs/blobs.ts'
import { forEachConcurrent } from '../../server/lib/concurrency.ts'
import { deterministicBytes, keep, listObjects, readAll, toBody, toLocation } from '../blobs/bytes.ts'
import { PATIENT } from '../support/patient.ts'
import { numbers } from '../support/random.ts'
import { MIB } from '../support/units.ts'
import { ALL_VARIANTS } from '../support/variants.ts'
import { waitFor } from '../support/wait-for.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { requires } from '../tools/part.ts'
import type { S3Fault, S3Proxy } from '../tools/s3-proxy.ts'
import { createStorage } from './storage.ts'

const SMALL = deterministicBytes('small', 10_000)
const LARGE = deterministicBytes('large', 3_500_000)

/** Short enough for tests; Ceph under load may take longer, see `untilAnswered`. */
const TIMEOUT_MS = 500

/** Objects that are stored while requests fail. */
const OBJECTS = ALL_VARIANTS ? 60 : 30

/** Half of all requests fail in this way. */
const HALF: readonly S3Fault[] = ['slow-down', 'lose-response', 'cut-body']

for (const fault of HALF) {
  test(
    `while half of all requests fail (${fault}), no wrong byte is read, and requests stay few`,
    requires('ceph'),
    async (context) => {
      const below = numbers(context)
      await using storage = await createStorage()
      const { proxy } = storage
      const { blobs } = storage.open()
      proxy.fault = () => (below(2) === 0 ? fault : undefined)
      const stored = new Map<string, Buffer>()
      let operations = 0
      await forEachConcurrent(8, Array.from({ length: OBJECTS }).keys().toArray(), async (number) => {
        const bytes = deterministicBytes(number, number % 6 === 0 ? 2_300_000 : 5000)
        operations++
        const blob = await blobs.put(toBody(bytes), { size: bytes.length }).catch(expectUnavailable)
        if (blob) stored.set(JSON.stringify(blob), bytes)
      })
      await forEachConcurrent(8, [...stored], async ([blob, bytes]) => {
        const location = toLocation(JSON.parse(blob) as StoredBlob)
        operations += bytes.length > 2 ** 20 ? 4 : 1
        const read = await blobs.bytes(location).catch(expectUnavailable)
        if (read) assert.ok(read.equals(bytes))
      })
      assert.ok(stored.size > OBJECTS / 2, `${stored.size} of ${OBJECTS} are stored`)
      assertFewTries(proxy, operations)
      proxy.fault = () => undefined
      for (const [blob, bytes] of stored)
        assert.ok((await blobs.bytes(toLocation(JSON.parse(blob) as StoredBlob)))?.equals(bytes))
    },
  )
}

/** At most three tries of each request, 2.2 in the mean. */
function assertFewTries({ requests }: S3Proxy, operations: number): void {
  const tries = Map.groupBy(requests, ({ method, path, headers }) => `${method} ${path} ${headers.range}`)
  assert.ok([...tries.values()].every(({ length }) => length <= 3))
  assert.ok(requests.length <= 2.2 * operations, `${requests.length} requests for ${operations} operations`)
}

function expectUnavailable(error: { code?: string }): undefined {
  assert.equal(error.code, 'UNAVAILABLE')
}

test('while every request fails, few are repeated', requires('ceph'), async () => {
  await using storage = await createStorage()
  const { blobs } = storage.open()
  storage.proxy.fault = () => 'reset'
  await forEachConcurrent(15, Array(150).fill(SMALL), async (bytes: Buffer) => {
    await assert.rejects(blobs.put(toBody(bytes), { size: bytes.length }), { code: 'UNAVAILABLE' })
  })
  assert.equal(storage.proxy.requests.length, 150 + 200)
})

test('a request without a response ends, and is repeated', requires('ceph'), async () => {
  await using storage = await createStorage()
  const { blobs, metrics } = storage.open({ timeouts: { ...PATIENT.blobs, request: TIMEOUT_MS } })
  const { proxy } = storage
  await untilAnswered(() => keep(blobs, LARGE))
  let silent = 2
  const silence: typeof proxy.fault = () => (silent-- > 0 ? 'silence' : undefined)
  proxy.fault = silence
  const location = await untilAnswered(() => keep(blobs, SMALL))
  silent = 2
  assert.ok((await untilAnswered(() => blobs.bytes(location)))?.equals(SMALL))
  // A request may arrive when its time is over.
  proxy.fault = () => 'silence'
  await assert.rejects(blobs.bytes(location), { code: 'UNAVAILABLE' })
  silent = 1
  proxy.fault = silence
  await untilAnswered(() => keep(blobs, LARGE))
  const timeouts = (operation: string) =>
    metrics.read()[`slipway_s3_requests_total{operation="${operation}",outcome="timeout"}`]!
  assert.ok(timeouts('get') >= 5 && timeouts('put') >= 2 && timeouts('put.begin') >= 1)
})

/** Repeats a call that failed because Ceph took longer than the time-out. */
async function untilAnswered<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      expectUnavailable(error as { code?: string })
    }
  }
}

test('bytes that change on their way to the bucket are not accepted', requires('ceph'), async () => {
  await using storage = await createStorage()
  const { blobs } = storage.open()
  const { proxy } = storage
  let turned = 1
  proxy.fault = () => (turned-- > 0 ? 'turn-request-bit' : undefined)
  assert.ok((await blobs.bytes(await keep(blobs, SMALL)))?.equals(SMALL))
  assert.equal(proxy.requests.length, 3)
  turned = 1
  await assert.rejects(blobs.put(toBody(LARGE), { size: LARGE.length }), { code: 'UNAVAILABLE' })
})

test('bytes that change on their way from the bucket are fetched once more', requires('ceph'), async () => {
  await using storage = await createStorage()
  const { blobs, log } = storage.open()
  const { proxy } = storage
  for (const bytes of [SMALL, LARGE]) {
    const location = await keep(blobs, bytes)
    let turned = 1
    proxy.fault = () => (turned-- > 0 ? 'turn-bit' : undefined)
    assert.ok((await readAll(blobs, location))?.equals(bytes))
  }
  assert.deepEqual(log, [])
})

test('an object with wrong bytes is not read, and logged once', requires('ceph'), async () => {
  await using storage = await createStorage()
  const { blobs, log, metrics } = storage.open()
  const { proxy } = storage
  for (const bytes of [SMALL, LARGE]) {
    const location = await keep(blobs, bytes)
    proxy.requests.length = 0
    proxy.fault = () => 'turn-bit'
    await assert.rejects(blobs.bytes(location), { code: 'UNAVAILABLE' })
    await assert.rejects(readAll(blobs, location, { start: 5, end: 7 }), { code: 'UNAVAILABLE' })
    assert.equal(proxy.requests.length, 4, 'two fetches for each read')
    proxy.fault = () => undefined
    assert.deepEqual(
      log.splice(0).map(({ level, message, node, object, hash }) => [level, message, node, object, hash]),
      [
        [
          'error',
          'a stored file is damaged',
          hostname(),
          location.object,
          location.piecesHash ?? location.hash,
        ],
      ],
    )
  }
  const { slipway_damaged_files_total: damaged } = await metrics.collect()
  assert.deepEqual(damaged?.map(([, found, count]) => [found, count]).sort(), [
    ['found="read"', 4],
    ['found="sweep"', 0],
  ])
})

test('damage in the bucket is found although the disk cache has a right copy', requires('ceph'), async () => {
  await using storage = await createStorage()
  await using folder = await memoryFolder()
  const { blobs, metrics } = storage.open({ cache: { folder: folder.path, limit: 64 * MIB, processes: 1 } })
  let kept = 0
  for (const bytes of [SMALL, LARGE]) {
    // By another node: this one would have the bytes in memory.
    const location = await keep(storage.open().blobs, bytes)
    assert.ok((await blobs.bytes(location))?.equals(bytes))
    kept += bytes.length
    await waitFor(() => metrics.read().slipway_disk_cache_bytes! >= kept)
    storage.proxy.fault = () => 'turn-bit'
    assert.equal(await blobs.verify(location), 'damaged')
    storage.proxy.fault = () => undefined
    assert.equal(await blobs.verify(location), 'intact')
  }
})

test('a large upload that is refused before its body is sent again', requires('ceph'), async () => {
  await using storage = await createStorage()
  const { blobs } = storage.open()
  const { proxy } = storage
  for (const fault of ['slow-down', 'reset'] as const) {
    proxy.requests.length = 0
    proxy.forwardedBytes = 0
    let failing = 2
    proxy.fault = () => (failing-- > 0 ? fault : undefined)
    await keep(blobs, LARGE)
    assert.equal(proxy.requests.length, 3)
    assert.equal(proxy.forwardedBytes, LARGE.length + 4 * 32)
  }
})

test('wrong bytes of a client never become an object', requires('ceph'), async () => {
  await using storage = await createStorage()
  const { blobs } = storage.open()
  for (const bytes of [SMALL, LARGE]) {
    const expected = { size: bytes.length, hash: '0'.repeat(64) }
    await assert.rejects(blobs.put(toBody(bytes), expected), { code: 'HASH_MISMATCH' })
  }
  assert.deepEqual(await listObjects(blobs), [])
  assert.ok(storage.proxy.forwardedBytes <= LARGE.length, 'the last bytes are held back')
})

test('a node whose clock is an hour late stores and reads', requires('ceph'), async () => {
  await using storage = await createStorage()
  const { blobs } = storage.open({ clock: () => Date.now() - 3_600_000 })
  assert.ok((await blobs.bytes(await keep(blobs, SMALL)))?.equals(SMALL))
  assert.equal(storage.proxy.requests.length, 3, 'the first request is repeated with the time of the server')
})

test('a missing bucket, wrong credentials and a lost server are unavailable', requires('ceph'), async () => {
  await using storage = await createStorage()
  const bucket = parseBucketUrl(storage.url.replace('s3://test/', 's3://absent/'))
  await assert.rejects(storage.open({ bucket }).blobs.check(), { code: 'UNAVAILABLE' })
  const wrong = { accessKeyId: 'TESTKEY', secretAccessKey: 'wrong' }
  await assert.rejects(storage.open({ credentials: wrong }).blobs.check(), { code: 'UNAVAILABLE' })
  const { blobs } = storage.open()
  await blobs.check()
  storage.proxy.fault = () => 'reset'
  await assert.rejects(storage.open().blobs.check(), { code: 'UNAVAILABLE' })
})
