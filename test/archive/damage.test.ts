import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { describe, test } from 'node:test'
import { deflateRawSync, gzipSync } from 'node:zlib'
import { ApiError } from '../../server/lib/errors.ts'
import { Random } from '../support/random.ts'
import { KIB, MIB } from '../support/units.ts'
import { assertRefused } from './assert-refused.ts'
import { buildArchive, KINDS } from './build-archive.ts'
import { noise, text } from './bytes.ts'
import { aliased, folders, malformedZip64, overlapping, zip64Entry } from './malformed-zip.ts'
import { digests, read } from './reading.ts'
import { paxPart, TAR_END, tar, tarPart } from './tar-file.ts'
import { zip } from './zip-file.ts'

describe('damaged and falsified archives', () => {
  const zeros = Buffer.alloc(4 * MIB)
  for (const [what, archive, message] of [
    ['nothing at all', Buffer.alloc(0), /zip archive/],
    ['something else', text('<!doctype html>'), /zip archive/],
    [
      'a wrong checksum of a small file',
      zip([{ name: 'a', data: text('x'), crc32: 1 }]),
      /^a: does not match its size and checksum/,
    ],
    [
      'a wrong checksum of a large file',
      zip([{ name: 'a', data: zeros, crc32: 1 }]),
      /^a: does not match its size and checksum/,
    ],
    [
      'a wrong checksum of a stored file',
      zip([{ name: 'a', data: zeros, crc32: 1, method: 0 }]),
      /^a: does not match its size and checksum/,
    ],
    [
      'more bytes than declared',
      zip([{ name: 'a', data: text('1234'), size: 3 }]),
      /^a: does not match its size and checksum/,
    ],
    [
      'bytes where none are declared',
      zip([{ name: 'a', data: text('1234'), size: 0 }]),
      /^a: does not match its size and checksum/,
    ],
    [
      'fewer bytes than declared',
      zip([{ name: 'a', data: text('1234'), size: 5 }]),
      /^a: does not match its size and checksum/,
    ],
    [
      '4 MiB in 10 bytes',
      zip([{ name: 'a', data: zeros, size: 10 }]),
      /^a: does not match its size and checksum/,
    ],
    [
      '4 MiB in 3 MiB',
      zip([{ name: 'a', data: zeros, size: 3 * MIB }]),
      /^a: does not match its size and checksum/,
    ],
    [
      '4 MiB for 5 MiB',
      zip([{ name: 'a', data: zeros, size: 5 * MIB }]),
      /^a: does not match its size and checksum/,
    ],
    [
      'a stored file of two sizes',
      zip([{ name: 'a', data: text('12'), method: 0, size: 3 }]),
      /size mismatch/,
    ],
    [
      'a broken small stream',
      zip([{ name: 'a', data: text('x'), raw: Buffer.from([0xff, 0xff]) }]),
      /^a: does not match its size and checksum/,
    ],
    [
      'a broken large stream',
      zip([{ name: 'a', data: zeros, raw: Buffer.alloc(9999, 7) }]),
      /^a: does not match its size and checksum/,
    ],
    [
      'a stream that is cut off',
      zip([{ name: 'a', data: zeros, raw: deflateRawSync(zeros).subarray(0, -9) }]),
      /^a: does not match its size and checksum/,
    ],
    ['two entries of the same bytes', aliased(), /overlap/],
    ['a bomb of overlapping entries', overlapping(1000, 100 * KIB), /overlap.*and 99\d more/],
    [
      'an entry in the directory itself',
      zip([{ name: 'a', data: text('x'), compressedSize: 10_000 }]),
      /overlap/,
    ],
    [
      'a local header elsewhere',
      zip([{ name: 'a', data: text('x'), offset: 1 }]),
      /^a: does not match its size and checksum/,
    ],
    ['a local header beyond the end', zip([{ name: 'a', data: text('x'), offset: 2 ** 31 }]), /overlap/],
    [
      'fewer entries than there are',
      zip(
        [
          { name: 'a', data: text('x') },
          { name: 'b', data: text('x') },
        ],
        { count: 1 },
      ),
      /more entries/,
    ],
    ['more entries than there are', zip([{ name: 'a', data: text('x') }], { count: 2 }), /zip archive/],
    [
      '70,000 entries as 16 bits',
      zip([{ name: 'a', data: text('x') }, ...folders(65_536)], { count: 1 }),
      /more entries/,
    ],
    [
      'bytes behind the end',
      Buffer.concat([zip([{ name: 'a', data: text('x') }]), text('!')]),
      /comment length/,
    ],
    ['a directory beyond the end', zip([{ name: 'a', data: text('x') }], { start: 2 ** 31 }), /zip archive/],
    ['zip64: the end record beyond 2^63', malformedZip64({ record: 2n ** 64n - 1n }), /zip archive/],
    ['zip64: the directory beyond 2^63', malformedZip64({ directory: 2n ** 64n - 1n }), /zip archive/],
    ['zip64: endless entries', malformedZip64({ count: 2n ** 64n - 1n }), /zip archive/],
    ['zip64: a local header beyond 2^63', zip64Entry({ offset: 2n ** 64n - 1n }), /overlap/],
    ['zip64: compressed bytes beyond 2^63', zip64Entry({ compressedSize: 2n ** 64n - 1n }), /overlap/],
    [
      'an extra field that is too long',
      zip([{ name: 'a', data: text('x'), extra: Buffer.from([1, 0, 99, 0]) }]),
      /extra field/,
    ],
  ] as [string, Buffer, RegExp][]) {
    test(`zip: ${what}`, () => assertRefused('zip', archive, { code: 'VALIDATION_ERROR', message }))
  }

  test('zip64: a file that declares an endless size is refused before it is read', () =>
    assertRefused('zip', zip64Entry({ size: 2n ** 64n - 1n }), {
      code: 'PAYLOAD_TOO_LARGE',
      message: /^a: too large/,
      before: 0,
    }))

  for (const [what, archive, message] of [
    ['nothing at all', Buffer.alloc(0), /incomplete/],
    ['something else', Buffer.alloc(2000, '<!doctype html>'), /not a tar archive/],
    ['a wrong checksum', flipped(tar([{ name: 'a', data: text('x') }]), 100), /incorrect checksum/],
    ['no end', tarPart({ name: 'a' }), /archive: is incomplete/],
    [
      'half a small file',
      tarPart({ name: 'a', data: Buffer.alloc(9000) }).subarray(0, 5000),
      /^a: is incomplete/,
    ],
    ['half a large file', tarPart({ name: 'a', data: zeros }).subarray(0, MIB), /^a: is incomplete/],
    ['no padding', tarPart({ name: 'a', data: Buffer.alloc(MIB + 1) }).subarray(0, -1), /^a: is incomplete/],
    [
      'a second archive with files',
      Buffer.concat([tar([]), tar([{ name: 'a', data: text('x') }])]),
      /data after its end/,
    ],
    ['a negative size', tarPart({ name: 'a', sizeField: Buffer.alloc(12, 0xff) }), /invalid number/],
    [
      'a size beyond 2^53',
      tarPart({ name: 'a', sizeField: Buffer.from([0x80, ...Array(11).fill(255)]) }),
      /invalid number/,
    ],
    ['a size in words', tarPart({ name: 'a', sizeField: text('ninety-nine!') }), /invalid number/],
    [
      'a name that is not UTF-8',
      Buffer.concat([tarPart({ name: Buffer.from([0x66, 0xe9]) }), TAR_END]),
      /is not UTF-8/,
    ],
    ['a pax header of nothing', buildPax(text('\n')), /invalid extended header/],
    ['a pax record without a key', buildPax(text('6 abc\n')), /invalid extended header/],
    ['a pax record longer than it is', buildPax(text('99 a=b\n')), /invalid extended header/],
    ['a pax record shorter than it is', buildPax(text('5 a=b\n')), /invalid extended header/],
    ['a pax record of length 0', buildPax(text('0 a=b\n')), /invalid extended header/],
    ['a pax record of length -6', buildPax(text('-6 a=b\n')), /invalid extended header/],
    ['a pax size of -1', buildPax(text('11 size=-1\n')), /invalid extended header/],
    [
      'a pax size beyond 2^53',
      Buffer.concat([paxPart({ size: '9'.repeat(20) }), TAR_END]),
      /invalid extended header/,
    ],
  ] as [string, Buffer, RegExp][]) {
    test(`tar: ${what}`, () => assertRefused('tar', archive, { code: 'VALIDATION_ERROR', message }))
  }

  for (const [what, archive] of [
    ['nothing at all', Buffer.alloc(0)],
    ['a tar archive', tar([{ name: 'a', data: text('x') }])],
    ['a wrong checksum', flipped(gzipSync(tar([{ name: 'a', data: text('x') }])), -6)],
    ['garbage behind it', Buffer.concat([gzipSync(tar([{ name: 'a', data: text('x') }])), text('garbage')])],
    ['half a second member', Buffer.concat([gzipSync(tar([])), gzipSync(tar([])).subarray(0, 20)])],
  ] as [string, Buffer][]) {
    test(`tar.gz: ${what}`, () =>
      assertRefused('tar.gz', archive, {
        code: 'VALIDATION_ERROR',
        message: /gzip data is damaged or incomplete/,
      }))
  }

  for (const kind of KINDS) {
    test(`${kind}: truncated after any byte it is refused, or all its files are complete`, async () => {
      const small = [
        { name: 'index.html', data: text('<!doctype html>') },
        { name: 'empty', data: text('') },
        { name: 'assets/app.js', data: text('alert()') },
      ]
      const archive = buildArchive(kind, small)
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
      const seed = randomInt(2 ** 31)
      t.diagnostic(`seed ${seed}`)
      const random = new Random(seed)
      const archive = buildArchive(kind, [
        { name: 'index.html', data: noise(2000) },
        { name: 'large.bin', data: Buffer.concat([noise(1000), Buffer.alloc(300 * KIB)]) },
        { name: 'last', data: text('x') },
      ])
      for (let round = 0; round < 300; round++) {
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

function buildPax(body: Buffer): Buffer {
  return Buffer.concat([tarPart({ name: 'pax', type: 'x', data: body }), tarPart({ name: 'a' }), TAR_END])
}

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes)
  copy[(at + copy.length) % copy.length]! ^= 1
  return copy
}
