import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { platform } from 'node:process'
import { after, before, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { isCompressible, isWorthKeeping, shouldPrecompress } from '../../server/blobs/encoding.ts'
import { compressionProcess } from '../../server/publish/precompress/precompressor.ts'
import { compressibleText, decoded } from './encoded.ts'

const MINUTE_MS = 60_000

/** Between checks whether a process has ended, which needs the CPU. */
const POLL_INTERVAL_MS = 5

describe('the encoding process', () => {
  let encoder: ReturnType<typeof compressionProcess>
  before(() => {
    encoder = compressionProcess(MINUTE_MS)
  })
  after(() => encoder[Symbol.dispose]())

  test('encodes bytes of any size in every encoding, each of which decodes to them', async () => {
    for (const size of [256, 1000, 65_536, 1_000_003]) {
      const bytes = Buffer.from(compressibleText(`text of ${size}`, size))
      const encodings = await encoder.call(bytes)
      assert.deepEqual([...encodings.keys()], ['br', 'zstd', 'gzip'])
      for (const [encoding, encoded] of encodings) assert.ok(decoded[encoding](encoded).equals(bytes))
    }
  })

  test('is deterministic, so that encodings can have an ETag', async () => {
    const bytes = Buffer.from(compressibleText('text', 50_000))
    using another = compressionProcess(MINUTE_MS)
    const [first, second] = [await encoder.call(bytes), await another.call(bytes)]
    for (const [encoding, encoded] of first) assert.ok(second.get(encoding)?.equals(encoded))
  })

  test('uses no larger window for zstd than browsers support', async () => {
    const bytes = Buffer.from(compressibleText('more than a window', 9 * 2 ** 20))
    const zstd = (await encoder.call(bytes)).get('zstd')!
    assert.ok(windowOf(zstd) <= 8 * 2 ** 20, `${windowOf(zstd)} bytes`)
  })

  test('has low priority', { skip: platform !== 'linux' }, async () => {
    const niceOf = (pid: number) =>
      Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')[16])
    const own = niceOf(process.pid)
    await encoder.call(Buffer.alloc(1000))
    assert.equal(niceOf(encoder.pid!), constants.priority.PRIORITY_LOW)
    assert.equal(niceOf(process.pid), own, 'the service itself stays as it is')
  })

  test('rejects its work when it is killed, also while idle, and another one takes the next', async () => {
    await encoder.call(Buffer.alloc(1000))
    const { pid } = encoder
    const refused = assert.rejects(encoder.call(Buffer.from(compressibleText('much', 5_000_000))))
    process.kill(pid!, 'SIGKILL')
    await refused
    assert.equal((await encoder.call(Buffer.from(compressibleText('text', 1000)))).size, 3)
    const next = encoder.pid!
    assert.notEqual(next, pid)
    process.kill(next, 'SIGKILL')
    await untilGone(next)
    assert.equal((await encoder.call(Buffer.from(compressibleText('text', 1000)))).size, 3)
  })
})

/** RFC 8878, 3.1.1.1: the window of a single-segment frame is the content size, here a field of four bytes. */
function windowOf(frame: Buffer): number {
  const singleSegment = (frame[4]! & 0x20) !== 0
  if (singleSegment) return frame.readUInt32LE(5)
  const base = 2 ** (10 + (frame[5]! >> 3))
  return base + (base / 8) * (frame[5]! & 7)
}

test('a service that ends the process during its work learns that, and can end itself', async () => {
  const module = new URL('../../server/publish/precompress/precompressor.ts', import.meta.url).href
  const program = `
    import { compressionProcess } from ${JSON.stringify(module)}
    const encoder = compressionProcess(${MINUTE_MS})
    const work = encoder.call(Buffer.alloc(1_000_000)).catch(() => 'refused')
    encoder[Symbol.dispose]()
    console.log(await work)`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program])
  assert.equal(stdout, 'refused\n')
})

test('the process starts with the first work and ends when idle', async () => {
  using encoder = compressionProcess(1)
  assert.equal(encoder.pid, undefined)
  const pids: number[] = []
  for (let time = 0; time < 2; time++) {
    await encoder.call(Buffer.alloc(1000))
    pids.push(encoder.pid!)
    await untilGone(encoder.pid!)
    assert.equal(encoder.pid, undefined)
  }
  assert.notEqual(pids[0], pids[1])
})

test('disposal ends the process at any point, and no other starts', async () => {
  const encoder = compressionProcess(MINUTE_MS)
  await encoder.call(Buffer.alloc(1000))
  const pid = encoder.pid!
  const refused = assert.rejects(encoder.call(Buffer.from(compressibleText('much', 10_000_000))))
  encoder[Symbol.dispose]()
  await refused
  await untilGone(pid)
  await assert.rejects(encoder.call(Buffer.alloc(1000)), { code: 'UNAVAILABLE' })
  assert.equal(encoder.pid, undefined)
})

async function untilGone(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0)
    } catch {
      return
    }
    await pause(POLL_INTERVAL_MS)
  }
}

const TYPES: Record<string, boolean> = {
  'text/html': true,
  'TEXT/HTML; charset=UTF-8': true,
  'text/css ;charset=utf-8': true,
  'text/javascript': true,
  'text/markdown': true,
  'text/csv': true,
  'application/javascript': true,
  'application/json': true,
  'application/ld+json': true,
  'application/manifest+json': true,
  'application/vnd.api+json;profile=x': true,
  'application/xml': true,
  'application/rss+xml': true,
  'application/xhtml+xml': true,
  'application/wasm': true,
  'application/yaml': true,
  'application/vnd.ms-fontobject': true,
  'image/svg+xml': true,
  'image/bmp': true,
  'image/x-icon': true,
  'image/vnd.microsoft.icon': true,
  'font/ttf': true,
  'font/otf': true,
  'image/png': false,
  'image/jpeg': false,
  'image/webp': false,
  'image/avif': false,
  'image/gif': false,
  'video/mp4': false,
  'audio/mpeg': false,
  'font/woff': false,
  'font/woff2': false,
  'application/pdf': false,
  'application/zip': false,
  'application/gzip': false,
  'application/epub+zip': false,
  'application/octet-stream': true,
  'application/x-unheard-of': false,
  'application/jsonsomething': false,
  'x-text/html': false,
}

test('files of uncompressed types are encoded', () => {
  const compressible = Object.keys(TYPES).map((type) => [type, isCompressible(type)])
  assert.deepEqual(Object.fromEntries(compressible), TYPES)
})

test('tiny and huge files are not encoded', () => {
  const sizes = [0, 1, 255, 256, 2 ** 24, 2 ** 24 + 1]
  const prepared = sizes.filter((size) => shouldPrecompress({ contentType: 'text/html', size }))
  assert.deepEqual(prepared, [256, 2 ** 24])
})

test('an encoding is stored when it saves 32 bytes and two percent', () => {
  const cases: [before: number, after: number, kept: boolean][] = [
    [300, 268, true],
    [300, 269, false],
    [300, 400, false],
    [100_000, 98_000, true],
    [100_000, 98_001, false],
  ]
  for (const [before, after, kept] of cases)
    assert.equal(isWorthKeeping(before, after), kept, `${before}, ${after}`)
})
