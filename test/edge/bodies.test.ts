import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { beforeEach, describe, test } from 'node:test'
import type { Blobs } from '../../server/blobs/blobs.ts'
import { BodyCache } from '../../server/edge/body/body-cache.ts'
import type { ChunkReader } from '../../server/edge/body/chunk-reader.ts'
import type { BlobSlice } from '../../server/edge/response.ts'
import { ClientMemory } from '../../server/lib/client-memory.ts'
import { MemoryBudget } from '../../server/lib/second-chance-cache.ts'
import { sha256 } from '../api/content.ts'
import { KIB, MIB } from '../support/units.ts'
import { EdgeFixture, noise } from './fixture.ts'

describe('the bodies of files', () => {
  const edge = EdgeFixture.shared()
  beforeEach(() => {
    edge.logged.length = 0
  })

  /** Blobs of the edge with other methods. */
  const blobsWith = (methods: Partial<Blobs>): Blobs => Object.assign(Object.create(edge.blobs), methods)

  for (const size of [100, MIB]) {
    test(`a lost blob of ${size} bytes is a logged error that is not cached`, async () => {
      const bytes = noise(size)
      const slug = await edge.publish({ 'a/b.bin': bytes, '404.html': 'lost' })
      const lost = edge.loseBlobs(bytes)
      const { status, headers } = await edge.get(slug, '/a/b.bin')
      assert.deepEqual([status, headers['cache-control'], headers.etag], [500, 'no-store', undefined])
      const { level, fields } = edge.logged.at(-1)!
      assert.equal(level, 'error')
      assert.deepEqual([fields.host, fields.path, fields.hash], [edge.host(slug), 'a/b.bin', sha256(bytes)])
      lost[Symbol.dispose]()
      assert.equal((await edge.get(slug, '/a/b.bin')).status, 200)
    })
  }

  test('a truncated blob never appears complete', async () => {
    const bytes = noise(MIB)
    const slug = await edge.publish({ 'big.bin': bytes, 'small.bin': noise(1000) })
    const { read, bytes: whole } = edge.blobs
    edge.blobs.read = async () => Readable.from([bytes.subarray(0, MIB - 1)])
    await assert.rejects(edge.get(slug, '/big.bin'), /aborted|terminated|hang up/)
    edge.blobs.read = read
    assert.match(String(edge.logged.at(-1)!.fields.error), /1048575 of 1048576 bytes received/)
    edge.blobs.bytes = async () => Buffer.alloc(999)
    assert.equal((await edge.get(slug, '/small.bin')).status, 500)
    edge.blobs.bytes = whole
    assert.equal((await edge.get(slug, '/small.bin')).status, 200)
  })

  test('a client that reads nothing causes no read-ahead, and leaves no file open when it disconnects', async () => {
    const slug = await edge.publish({ 'big.bin': noise(32 * MIB) })
    const opened: Readable[] = []
    let received = 0
    const { read } = edge.blobs
    edge.blobs.read = async (...given) => {
      const stream = await read(...given)
      opened.push(stream!.on('data', (chunk: Buffer) => (received += chunk.length)))
      return stream
    }
    const socket = connect(edge.port, '127.0.0.1')
    socket.pause()
    socket.write(`GET /big.bin HTTP/1.1\r\nHost: ${edge.host(slug)}\r\n\r\n`)
    // Reading stops once the socket buffers are full; other requests show that time passes.
    for (let quiet = 0, last = 0; quiet < 100; quiet = received > last || received === 0 ? 0 : quiet + 1) {
      last = received
      await edge.get(slug, '/nowhere')
    }
    edge.blobs.read = read
    assert.ok(received < 16 * MIB, `${received} bytes were read`)
    socket.destroy()
    for (const stream of opened) if (!stream.destroyed) await once(stream, 'close')
    assert.equal(edge.logged.length, 0)
  })

  test('large files are sent completely in small reads when there is no memory for read-ahead', async () => {
    const bytes = noise(400_000)
    let open = 0
    const blobs = blobsWith({
      streamBytes: MIB / 4,
      read: async ({ object }, range) => {
        if (object === 'broken') throw new Error('broken')
        if (object === 'missing') return undefined
        open++
        const stream = Readable.from([bytes.subarray(range!.start, range!.end + 1)])
        return stream.once('close', () => open--)
      },
    })
    const bodies = new BodyCache({ blobs, budget: new MemoryBudget(MIB) })
    const clientMemory = new ClientMemory({ totalBytes: MIB, perNetworkBytes: MIB / 2 })
    const download = (name = 'large') =>
      bodies.open(toSlice(name, bytes.length), clientMemory.reserve('192.0.2.1'))
    const reading = await Promise.all([download(), download()])
    for (const failing of ['broken', 'missing']) {
      assert.equal(await download(failing).catch(() => undefined), undefined)
    }
    assert.equal(clientMemory.heldBytes, MIB / 2)
    const economical = (await download()) as ChunkReader
    assert.equal(open, 2)
    const parts: Buffer[] = []
    for (let part = await economical.next(); part; part = await economical.next()) parts.push(part)
    assert.ok(Buffer.concat(parts).equals(bytes))
    for (const pieces of [economical, ...(reading as ChunkReader[])]) pieces.close()
    assert.equal(clientMemory.heldBytes, 0)
  })

  test('a download in ranges leaves what is cached in the cache, and chunks that are requested again are cached', async () => {
    const size = 5 * MIB
    let reads = 0
    const blobs = blobsWith({
      bytes: async () => Buffer.alloc(1000),
      read: async (_, range) => {
        reads++
        return Readable.from([Buffer.alloc(range!.end - range!.start + 1)])
      },
    })
    const bodies = new BodyCache({ blobs, budget: new MemoryBudget(4 * size) })
    const download = async (hash: string, start: number, end: number) => {
      const pieces = (await bodies.open({ ...toSlice(hash, size), range: { start, end } })) as ChunkReader
      for (let part = await pieces.next(); part; part = await pieces.next());
      pieces.close()
    }
    await bodies.open(toSlice('small', 1000))
    for (const rangeBytes of [50_000, 200_000, MIB]) {
      for (let video = 0; video < 8; video++) {
        for (let start = 0; start < size; start += rangeBytes)
          await download(`${rangeBytes} ${video}`, start, Math.min(start + rangeBytes, size) - 1)
      }
    }
    assert.ok(bodies.peek(toSlice('small', 1000)))
    const chunk = 128 * KIB
    for (const [hash, start] of Object.entries({ 'a whole file': 0, 'a part of it': 2 * chunk + 1000 })) {
      for (let time = 0; time < 2; time++) await download(hash, start, 3 * chunk)
      reads = 0
      await download(hash, start, 3 * chunk)
      assert.equal(reads, 0, hash)
    }
  })

  test('a full cache still serves, within its limit', async () => {
    await using small = await EdgeFixture.start({ cacheBytes: 300_000 })
    const contents = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [`${index}.bin`, noise(50_000)]),
    )
    const slug = await small.publish(contents)
    for (let round = 0; round < 2; round++) {
      for (const [name, bytes] of Object.entries(contents))
        assert.ok((await small.get(slug, `/${name}`)).body.equals(bytes))
    }
    small.loseBlobs()
    const left = await Promise.all(
      Object.keys(contents).map(async (name) => (await small.get(slug, `/${name}`)).status),
    )
    const kept = left.filter((status) => status === 200).length
    assert.ok(kept >= 1 && kept <= 6, `${kept} files of 50,000 bytes are in a cache of 300,000`)
  })
})

/** All bytes of a blob whose hash and object have this name. */
function toSlice(name: string, size: number): BlobSlice {
  const location = { hash: name, size, object: name, offset: 0, piecesHash: null }
  return { path: `${name}.bin`, hash: name, size, location }
}
