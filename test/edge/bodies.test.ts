import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { beforeEach, describe, test } from 'node:test'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { ClientMemory, type MemoryReservation } from '../../packages/http-server/clients/client-memory.ts'
import { type BodyReader, FULL_READ_BYTES } from '../../packages/http-server/http-handler.ts'
import { MemoryBudget } from '../../packages/http-server/memory/second-chance-cache.ts'
import type { BlobLocation, Blobs } from '../../server/blobs/blobs.ts'
import type { ContentCoding } from '../../server/blobs/content-coding.ts'
import { BodyCache } from '../../server/edge/body/body-cache.ts'
import type { BlobSlice } from '../../server/edge/response.ts'
import { sha256 } from '../api/content.ts'
import { PATIENT } from '../support/patient.ts'
import { MIB } from '../support/units.ts'
import { waitFor } from '../support/wait-for.ts'
import { EdgeFixture, gate, noise, type RequestOptions } from './fixture.ts'

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

  test('damaged bytes of a small file are not sent, one that is in memory is served', async () => {
    const encoded = { 'app.js': { br: noise(300) } }
    const files = { 'warm.bin': noise(1000), 'cold.bin': noise(1000), 'app.js': noise(1000) }
    const slug = await edge.publish(files, {}, { encoded })
    assert.equal((await edge.get(slug, '/warm.bin')).status, 200)
    const { bytes } = edge.blobs
    const isEncoding = ({ size }: BlobLocation) => size === 300
    const damaged = Object.keys(files).map((name) => sha256(files[name as keyof typeof files]))
    // The engine compares what it reads with another hash, as if the bytes had changed.
    edge.blobs.bytes = (location) =>
      bytes(
        location.hash === damaged[1] || isEncoding(location) ? { ...location, hash: damaged[0]! } : location,
      )
    for (const headers of [{}, { range: 'bytes=0-9' }, { 'if-none-match': '"other"' }]) {
      const { status, headers: answered } = await edge.get(slug, '/cold.bin', { headers })
      assert.deepEqual([status, answered['cache-control'], answered.etag], [500, 'no-store', undefined])
      assert.match(String(edge.logged.at(-1)!.fields.error), /missing or damaged/)
    }
    assert.equal((await edge.get(slug, '/warm.bin')).status, 200)
    const script = await edge.get(slug, '/app.js', { headers: { 'accept-encoding': 'br' } })
    assert.deepEqual([script.status, script.headers['content-encoding']], [200, undefined])
    edge.blobs.bytes = bytes
    assert.equal((await edge.get(slug, '/cold.bin')).status, 200)
  })

  test('an empty file is served by HTTP without a blob, also at a cold visit', async () => {
    const slug = await edge.publish({ 'a.css': '', 'index.html': 'x' })
    using _ = edge.loseBlobs()
    const etag = (await edge.get(slug, '/a.css')).headers.etag!
    const rows: [request: RequestOptions, status: number, length?: string, range?: string][] = [
      [{}, 200, '0'],
      [{ method: 'HEAD' }, 200, '0'],
      [{ headers: { 'accept-encoding': 'br, gzip, identity;q=0' } }, 200, '0'],
      [{ headers: { 'if-none-match': etag } }, 304],
      [{ headers: { 'if-match': '"other"' } }, 412],
      [{ headers: { range: 'bytes=-5' } }, 200, '0'],
      [{ headers: { range: 'bytes=0-' } }, 416, '', 'bytes */0'],
      [{ headers: { range: 'bytes=0-', 'if-range': '"other"' } }, 200, '0'],
    ]
    for (const [request, status, length, range] of rows) {
      const answer = await edge.get(slug, '/a.css', request)
      assert.deepEqual([answer.status, answer.headers['content-range']], [status, range])
      if (status >= 400) continue
      const { etag: tag, 'content-length': bytes } = answer.headers
      assert.deepEqual([tag, bytes, answer.text], [etag, length, ''], JSON.stringify(request))
    }
    assert.deepEqual(edge.logged, [])
  })

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

  test('an encoding that arrives after the file was sent in its place is closed', async (t) => {
    const held = gate()
    const names = Array.from({ length: 256 }, (_, index) => `${index}.bin`)
    const files = Object.fromEntries(names.map((name) => [name, noise(10)]))
    const slug = await edge.publish(
      { ...files, 'a.js': 'plain' },
      {},
      { encoded: { 'a.js': { br: 'encoded' } } },
    )
    Object.assign(edge.options, { deadlines: { ...PATIENT, encodedBody: 10 } })
    edge.forgetAll()
    t.after(() => {
      Object.assign(edge.options, { deadlines: PATIENT })
      edge.forgetAll()
    })
    const get = (headers = {}) => edge.get(slug, '/a.js', { headers })
    assert.equal((await get()).text, 'plain')
    const { bytes, read } = edge.blobs
    let reads = 0
    edge.blobs.bytes = async (location) => {
      reads++
      await held.opened
      return bytes.call(edge.blobs, location)
    }
    const late = Promise.withResolvers<Readable>()
    edge.blobs.read = async (location, range) => {
      await held.opened
      const body = await read.call(edge.blobs, location, range)
      late.resolve(body!)
      return body
    }
    const others = Promise.all(names.map((name) => edge.get(slug, `/${name}`)))
    await waitFor(() => reads === names.length)
    assert.equal((await get({ 'accept-encoding': 'br' })).text, 'plain')
    held.open()
    await once(await late.promise, 'close')
    await others
    Object.assign(edge.blobs, { bytes, read })
  })

  test('a large file that is closed before it is read leaves nothing open, also with text added to it', async () => {
    const size = 400_000
    const opened: Readable[] = []
    const read: Blobs['read'] = async () => {
      opened.push(Readable.from([noise(size)]))
      return opened.at(-1)
    }
    const bodies = new BodyCache({ blobs: blobsWith({ read }), budget: new MemoryBudget(MIB) })
    const head = Buffer.from('head')
    const ends = { head, tailStart: 0, tail: Buffer.from('tail') }
    const injected = { ...ends, hash: 'x', publishedHash: 'x', size: size + 8 }
    for (const slice of [toSlice('x', size), { ...toSlice('x', injected.size), injected }])
      ((await bodies.open(slice)) as BodyReader).close()
    for (const body of opened) if (!body.closed) await once(body, 'close')
    assert.equal(opened.length, 2)
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
    const clientMemory = new ClientMemory({ totalBytes: MIB, perNetworkBytes: 0.6 * MIB })
    const download = (name = 'large') =>
      bodies.open(toSlice(name, bytes.length), clientMemory.reserve('192.0.2.1'))
    const reading = await Promise.all([download(), download()])
    for (const failing of ['broken', 'missing']) {
      assert.equal(await download(failing).catch(() => undefined), undefined)
    }
    assert.equal(clientMemory.heldBytes, MIB / 2)
    const economical = (await download()) as BodyReader
    assert.equal(open, 2)
    assert.ok((await readAll(economical)).equals(bytes))
    for (const pieces of [economical, ...(reading as BodyReader[])]) pieces.close()
    assert.equal(clientMemory.heldBytes, 0)
  })
})

describe('a file that is decoded for a client', () => {
  const content = noise(300_000)
  const stored: Record<string, Buffer> = {
    gzip: gzipSync(content),
    br: brotliCompressSync(content),
    cut: gzipSync(content).subarray(0, 1000),
  }
  const open = (name: string, coding: ContentCoding, memory?: MemoryReservation, onError?: () => void) => {
    const read = async () => stored[name] && Readable.from([stored[name]])
    const bodies = new BodyCache({
      blobs: { streamBytes: 1000, read } as Partial<Blobs> as Blobs,
      budget: new MemoryBudget(MIB),
    })
    const decoded = { coding, decodedSize: content.length }
    return bodies.open({ ...toSlice(name, content.length), decoded }, memory, onError)
  }

  for (const coding of ['gzip', 'br'] as const) {
    test(`from ${coding} comes in parts of the requested size, also after its client has stalled`, async () => {
      const memory = new ClientMemory({ totalBytes: 4 * MIB, perNetworkBytes: MIB })
      const reader = (await open(coding, coding, memory.reserve('192.0.2.1'))) as BodyReader
      assert.ok(memory.heldBytes > 1000)
      const parts: Buffer[] = []
      for (let part = await reader.next(5000); part; part = await reader.next(5000)) {
        assert.ok(part.length <= 5000)
        parts.push(part)
        reader.stall()
      }
      assert.ok(Buffer.concat(parts).equals(content))
      assert.equal(memory.heldBytes, 0)
    })
  }

  test('is refused without memory for the decoder, and absent without its bytes', async () => {
    const memory = new ClientMemory({ totalBytes: 1000, perNetworkBytes: 1000 })
    await assert.rejects(open('gzip', 'gzip', memory.reserve('192.0.2.1')), { code: 'UNAVAILABLE' })
    assert.equal(await open('missing', 'gzip'), undefined)
    assert.equal(memory.heldBytes, 0)
  })

  test('ends with an error, which is logged, when its bytes have changed', async () => {
    let errors = 0
    const reader = (await open('cut', 'gzip', undefined, () => errors++)) as BodyReader
    await assert.rejects(readAll(reader), { code: 'Z_BUF_ERROR' })
    assert.equal(errors, 1)
  })
})

async function readAll(reader: BodyReader): Promise<Buffer> {
  const parts: Buffer[] = []
  for (let part = await reader.next(FULL_READ_BYTES); part; part = await reader.next(FULL_READ_BYTES))
    parts.push(part)
  return Buffer.concat(parts)
}

/** All bytes of a blob whose hash and object have this name. */
function toSlice(name: string, size: number): BlobSlice {
  const location = { hash: name, size, object: name, offset: 0, piecesHash: null }
  return { path: `${name}.bin`, hash: name, size, location }
}
