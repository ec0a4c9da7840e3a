import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { deflateRawSync, gzipSync } from 'node:zlib'
import { ApiError } from '../../server/lib/errors.ts'
import { anySeed, Random } from '../support/random.ts'
import { KIB, MIB } from '../support/units.ts'
import { buildArchive, KINDS } from './build-archive.ts'
import { noise, text } from './bytes.ts'
import { aliased, folders, malformedZip64, overlapping, zip64Entry } from './malformed-zip.ts'
import { assertRefused, digests, read } from './reading.ts'
import { paxPart, TAR_END, tar, tarPart } from './tar-file.ts'
import { type ZipPart, zip } from './zip-file.ts'

const FILE = { name: 'a', data: text('x') }
const MISMATCH = /^a: does not match its size and checksum/
const BEYOND = 2n ** 64n - 1n

const zipped = (part: Partial<ZipPart>) => zip([{ ...FILE, ...part }])
const pax = (body: string) =>
  Buffer.concat([tarPart({ name: 'pax', type: 'x', data: text(body) }), tarPart({ name: 'a' }), TAR_END])

describe('damaged and falsified archives', () => {
  const zeros = Buffer.alloc(4 * MIB)
  const deflated = deflateRawSync(zeros)
  const zips: [what: string, archive: Buffer, message: RegExp][] = [
    ['nothing at all', Buffer.alloc(0), /zip archive/],
    ['something else', text('<!doctype html>'), /zip archive/],
    ['a wrong checksum of a small file', zipped({ crc32: 1 }), MISMATCH],
    ['a wrong checksum of a large file', zipped({ data: zeros, crc32: 1 }), MISMATCH],
    ['more bytes than declared', zipped({ data: text('1234'), size: 3 }), MISMATCH],
    ['bytes where none are declared', zipped({ data: text('1234'), size: 0 }), MISMATCH],
    ['fewer bytes than declared', zipped({ data: text('1234'), size: 5 }), MISMATCH],
    ['4 MiB in 3 MiB', zipped({ data: zeros, size: 3 * MIB }), MISMATCH],
    ['a stored file of two sizes', zipped({ data: text('12'), method: 0, size: 3 }), /it is damaged/],
    ['a broken small stream', zipped({ raw: Buffer.from([0xff, 0xff]) }), MISMATCH],
    ['a broken large stream', zipped({ data: zeros, raw: Buffer.alloc(9999, 7) }), MISMATCH],
    ['a stream that is cut off', zipped({ data: zeros, raw: deflated.subarray(0, -9) }), MISMATCH],
    ['two entries of the same bytes', aliased(), /overlap/],
    [
      'a bomb of overlapping entries',
      overlapping(1000, 100 * KIB),
      /overlaps with other data in the archive \(like 99\d more\)/,
    ],
    ['an entry in the directory itself', zipped({ compressedSize: 10_000 }), /overlap/],
    ['a local header elsewhere', zipped({ offset: 1 }), MISMATCH],
    ['a local header beyond the end', zipped({ offset: 2 ** 31 }), /overlap/],
    ['fewer entries than there are', zip([FILE, { ...FILE, name: 'b' }], { count: 1 }), /more entries/],
    ['more entries than there are', zip([FILE], { count: 2 }), /zip archive/],
    ['70,000 entries as 16 bits', zip([FILE, ...folders(65_536)], { count: 1 }), /more entries/],
    ['bytes behind the end', Buffer.concat([zipped({}), text('!')]), /it is damaged/],
    ['a directory beyond the end', zip([FILE], { start: 2 ** 31 }), /zip archive/],
    ['zip64: the end record beyond 2^63', malformedZip64({ record: BEYOND }), /zip archive/],
    ['zip64: endless entries', malformedZip64({ count: BEYOND }), /zip archive/],
    ['zip64: a local header beyond 2^63', zip64Entry({ offset: BEYOND }), /overlap/],
    ['an extra field that is too long', zipped({ extra: Buffer.from([1, 0, 99, 0]) }), /it is damaged/],
  ]
  for (const [what, archive, message] of zips) {
    test(`zip: ${what}`, () => assertRefused('zip', archive, { message }))
  }

  test('zip64: a file that declares an endless size is refused before it is read', () => {
    const refusal = { code: 'PAYLOAD_TOO_LARGE', message: /^a: too large/, before: 0 }
    return assertRefused('zip', zip64Entry({ size: BEYOND }), refusal)
  })

  const large = (bytes: number) => tarPart({ name: 'a', data: zeros.subarray(0, bytes) })
  const tars: [what: string, archive: Buffer, message: RegExp][] = [
    ['nothing at all', Buffer.alloc(0), /incomplete/],
    ['something else', Buffer.alloc(2000, '<!doctype html>'), /not a tar archive/],
    ['a wrong checksum', flipped(tar([FILE]), 100), /incorrect checksum/],
    ['no end', tarPart({ name: 'a' }), /archive: is incomplete/],
    ['half a large file', large(4 * MIB).subarray(0, MIB), /^a: is incomplete/],
    ['no padding', large(MIB + 1).subarray(0, -1), /^a: is incomplete/],
    ['a second archive with files', Buffer.concat([tar([]), tar([FILE])]), /data after its end/],
    ['a negative size', tarPart({ sizeField: Buffer.alloc(12, 0xff) }), /invalid number/],
    [
      'a size beyond 2^53',
      tarPart({ sizeField: Buffer.from([0x80, ...Array(11).fill(255)]) }),
      /invalid number/,
    ],
    ['a pax header of nothing', pax('\n'), /invalid extended header/],
    ['a pax record without a key', pax('6 abc\n'), /invalid extended header/],
    ['a pax record longer than it is', pax('99 a=b\n'), /invalid extended header/],
    ['a pax record of length 0', pax('0 a=b\n'), /invalid extended header/],
    ['a pax size beyond 2^53', paxPart({ size: '9'.repeat(20) }), /invalid extended header/],
  ]
  for (const [what, archive, message] of tars) {
    test(`tar: ${what}`, () => assertRefused('tar', archive, { message }))
  }

  const gzipped = gzipSync(tar([FILE]))
  const gzips: [what: string, archive: Buffer][] = [
    ['nothing at all', Buffer.alloc(0)],
    ['a tar archive', tar([FILE])],
    ['a wrong checksum', flipped(gzipped, -6)],
    ['garbage behind it', Buffer.concat([gzipped, text('garbage')])],
    ['half a second member', Buffer.concat([gzipSync(tar([])), gzipSync(tar([])).subarray(0, 20)])],
  ]
  for (const [what, archive] of gzips) {
    const message = /gzip data is damaged or incomplete/
    test(`tar.gz: ${what}`, () => assertRefused('tar.gz', archive, { message }))
  }

  for (const kind of KINDS) {
    test(`${kind}: truncated after any byte it is refused, or all its files are complete`, async () => {
      const archive = buildArchive(kind, [
        { name: 'index.html', data: text('<!doctype html>') },
        { name: 'empty', data: text('') },
        { name: 'assets/app.js', data: text('alert()') },
      ])
      const whole = digests((await read(kind, archive)).files)
      let refusals = 0
      for (let length = 0; length < archive.length; length++) {
        try {
          const { files } = await read(kind, archive.subarray(0, length))
          assert.deepEqual(digests(files), whole, `after ${length} of ${archive.length} bytes`)
        } catch (error) {
          assert.ok(error instanceof ApiError && error.code === 'VALIDATION_ERROR', String(error))
          refusals++
        }
      }
      assert.ok(refusals >= archive.length - (kind === 'tar' ? 1024 : 0))
    })

    test(`${kind}: damaged at any byte it is refused with a message, or its files have their declared sizes`, async (t) => {
      const random = new Random(anySeed())
      t.diagnostic(`seed ${random.seed}`)
      const archive = buildArchive(kind, [
        { name: 'index.html', data: noise(2000) },
        { name: 'large.bin', data: Buffer.concat([noise(1000), Buffer.alloc(300 * KIB)]) },
        { name: 'last', data: text('x') },
      ])
      for (let round = 0; round < 100; round++) {
        const damaged = Buffer.from(archive)
        // The structure of a zip or tar is mostly near its ends and in its headers.
        for (let flips = random.between(1, 4); flips > 0; flips--) {
          const at = random.below(random.chance(0.5) ? damaged.length : Math.min(damaged.length, 700))
          damaged[random.chance(0.5) ? at : damaged.length - 1 - at] = random.below(256)
        }
        try {
          for (const { size, bytes } of (await read(kind, damaged)).files) assert.equal(bytes.length, size)
        } catch (error) {
          assert.ok(error instanceof ApiError, String((error as Error).stack))
          assert.match(error.code, /^(VALIDATION_ERROR|PAYLOAD_TOO_LARGE)$/)
        }
      }
    })
  }
})

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes)
  copy[(at + copy.length) % copy.length]! ^= 1
  return copy
}
