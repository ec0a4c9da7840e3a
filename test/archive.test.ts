import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash, randomBytes, randomInt } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { after, describe, test } from 'node:test'
import { constants, crc32, createGzip, deflateRawSync, gzipSync } from 'node:zlib'
import {
  type ArchiveFile,
  type ArchiveKind,
  archiveKind,
  type Limits,
  readArchive,
} from '../server/archive/archive.ts'
import { Failure } from '../server/failure.ts'

const KIB = 2 ** 10
const MIB = 2 ** 20
const GIB = 2 ** 30
const KINDS = ['zip', 'tar', 'tar.gz'] as const
const LIMITS: Limits = { files: 1000, fileBytes: 64 * MIB, totalBytes: 128 * MIB, pathCharacters: 500 }

const TAR_END = Buffer.alloc(1024)

const PYTHON_ZIP = `
import os, sys, zipfile
class Pipe:
    def write(self, data): return sys.stdout.buffer.write(data)
    def flush(self): sys.stdout.buffer.flush()
root, how = sys.argv[1:]
if how == 'zip64': zipfile.ZIP64_LIMIT = 100
with zipfile.ZipFile(Pipe(), 'w', zipfile.ZIP_DEFLATED) as archive:
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            archive.write(path, os.path.relpath(path, root))
`

const folder = mkdtempSync(join(tmpdir(), 'slipway-archive-'))
const spoolFolder = join(folder, 'spool')
mkdirSync(spoolFolder)
after(() => rmSync(folder, { recursive: true }))

describe('the kind of an archive', () => {
  for (const [type, kind] of [
    ['application/zip', 'zip'],
    ['application/x-zip-compressed', 'zip'],
    ['application/x-tar', 'tar'],
    ['application/x-gtar', 'tar'],
    ['application/gzip', 'tar.gz'],
    ['application/x-gzip', 'tar.gz'],
    ['Application/ZIP ; charset=binary', 'zip'],
    ['application/json', undefined],
    ['text/html; application/zip', undefined],
    ['constructor', undefined],
    ['', undefined],
    [undefined, undefined],
  ] as const) {
    test(`${type} is ${kind}`, () => assert.equal(archiveKind(type), kind))
  }
})

describe('what common archivers make', () => {
  const site = sampleSite()

  for (const [name, kind, make] of [
    ['tar', 'tar', () => tarOf('--format=gnu')],
    ['tar --format=pax', 'tar', () => tarOf('--format=pax')],
    ['tar --format=ustar', 'tar', () => tarOf('--format=ustar')],
    ['tar with large blocks', 'tar', () => tarOf('--format=gnu', '--blocking-factor=1024')],
    ['tar -z', 'tar.gz', () => tarOf('--format=gnu', '-z')],
    ['tar.gz of two members', 'tar.gz', () => inTwoMembers(tarOf())],
    ['tar.gz with zeros behind it', 'tar.gz', () => padded(tarOf('-z'))],
    ['zip', 'zip', () => zipOf()],
    ['zip -0', 'zip', () => zipOf('-0')],
    ['zip with a comment', 'zip', () => commented(zipOf())],
    ['zip through a pipe, with data descriptors', 'zip', () => pythonZip('pipe')],
    ['zip64', 'zip', () => pythonZip('zip64')],
  ] as [string, ArchiveKind, () => Buffer | undefined][]) {
    test(`${name} comes out as it went in`, async (t) => {
      const archive = make()
      if (!archive) return t.skip('the archiver is not installed')
      const { files, skipped } = await read(kind, archive)
      assert.deepEqual(digests(files), digests(site))
      assert.deepEqual(skipped, [])
    })
  }

  test('the way the bytes are split does not matter', async (t) => {
    const seed = randomInt(2 ** 31)
    t.diagnostic(`seed ${seed}`)
    const next = pseudorandom(seed)
    for (const kind of KINDS) {
      for (const [archive, least] of [
        [
          made(
            kind,
            [700, 0, 512].map((size, index) => ({ name: `f${index}`, data: noise(size) })),
          ),
          1,
        ],
        [
          made(
            kind,
            [700, 300 * KIB, 512].map((size, index) => ({ name: `f${index}`, data: noise(size) })),
          ),
          500,
        ],
      ] as const) {
        const expected = digests((await read(kind, archive)).files)
        assert.equal(expected.size, 3)
        for (let round = 0; round < 10; round++) {
          const most = least + next() ** 4 * 100_000
          const chunks = split(archive, () => Math.floor(least + next() * (most - least)))
          assert.deepEqual(digests((await read(kind, streamOf(chunks))).files), expected)
        }
      }
    }
  })

  function tarOf(...options: string[]): Buffer | undefined {
    return outputOf('tar', ['-c', ...options, '-C', join(folder, 'site'), '.'])
  }

  function zipOf(...options: string[]): Buffer | undefined {
    const path = join(folder, `${randomBytes(6).toString('hex')}.zip`)
    const { status } = spawnSync('zip', ['-qr', ...options, path, '.'], { cwd: join(folder, 'site') })
    return status === 0 ? readFileSync(path) : undefined
  }

  function pythonZip(how: 'pipe' | 'zip64'): Buffer | undefined {
    return outputOf('python3', ['-c', PYTHON_ZIP, join(folder, 'site'), how])
  }
})

describe('litter, folders and names', () => {
  for (const kind of KINDS) {
    test(`${kind}: litter of archivers is left out and named, folders are ignored`, async () => {
      const names = [
        './index.html',
        './',
        'assets/',
        'assets/app.js',
        '__MACOSX/._index.html',
        '__MACOSX/',
        'assets/.DS_Store',
        'assets/._app.js',
        '._large',
        'notes/__MACOSX/kept.txt',
        'kept.DS_Store',
        '.well-known/security.txt',
      ]
      const { files, skipped } = await read(
        kind,
        made(
          kind,
          names.map((name) => ({
            name,
            data: name === '._large' ? noise(400 * KIB) : text(name.endsWith('/') ? '' : name),
          })),
        ),
      )
      assert.deepEqual(
        files.map(({ path, bytes }) => [path, bytes.toString()]),
        [
          ['index.html', './index.html'],
          ['assets/app.js', 'assets/app.js'],
          ['notes/__MACOSX/kept.txt', 'notes/__MACOSX/kept.txt'],
          ['kept.DS_Store', 'kept.DS_Store'],
          ['.well-known/security.txt', '.well-known/security.txt'],
        ],
      )
      assert.deepEqual(
        skipped,
        ['__MACOSX/._index.html', 'assets/.DS_Store', 'assets/._app.js', '._large'].map((path) => ({
          path,
          reason: 'junk',
        })),
      )
    })

    test(`${kind}: paths that the rules refuse are handed on as they are, and nothing is written there`, async () => {
      const paths = [
        '/etc/slipway-was-here',
        '../slipway-was-here',
        'a/../../b',
        'a\\b',
        'C:\\b',
        'a//b',
        '././a',
        'a\nb',
        '\u202egpj.exe',
        '__proto__',
        'twice',
        'twice',
      ]
      const { files } = await read(
        kind,
        made(
          kind,
          paths.map((name) => ({ name, data: Buffer.from('x') })),
        ),
      )
      assert.deepEqual(
        files.map((file) => file.path),
        paths.map((path) => (path === '././a' ? './a' : path)),
      )
      assert.ok(!existsSync('/etc/slipway-was-here'))
      assert.ok(!existsSync(join(folder, 'slipway-was-here')))
    })

    test(`${kind}: a file of no bytes is a file`, async () => {
      const { files } = await read(kind, made(kind, [{ name: '.nojekyll', data: Buffer.alloc(0) }]))
      assert.deepEqual(
        files.map(({ path, size }) => [path, size]),
        [['.nojekyll', 0]],
      )
    })

    test(`${kind}: an archive without files is whole`, async () => {
      assert.deepEqual(await read(kind, made(kind, [])), { files: [], skipped: [] })
    })
  }

  for (const [what, entry, path] of [
    ['UTF-8 with its flag', { name: Buffer.from('é.txt'), flags: 0x800 }, 'é.txt'],
    ['UTF-8 without its flag', { name: Buffer.from('é.txt') }, 'é.txt'],
    ['CP437', { name: Buffer.from([0x82, 0x2e, 0x74]) }, 'é.t'],
    ['CP437 that says it is UTF-8', { name: Buffer.from([0x82, 0x2e, 0x74]), flags: 0x800 }, 'é.t'],
    ['the Unicode path of Info-ZIP', { name: Buffer.from('#U00e9'), extra: unicodePath('#U00e9', 'é') }, 'é'],
    ['a Unicode path for another name', { name: Buffer.from('a'), extra: unicodePath('b', 'é') }, 'a'],
  ] as [string, Partial<ZipPart> & { name: Buffer }, string][]) {
    test(`zip names: ${what}`, async () => {
      const { files } = await read('zip', zip([{ data: Buffer.from('x'), ...entry }]))
      assert.deepEqual(
        files.map((file) => file.path),
        [path],
      )
    })
  }

  for (const [what, parts, path] of [
    ['a prefix', [tarPart({ name: 'b.txt', prefix: 'long/folder' })], 'long/folder/b.txt'],
    ['a prefix only where POSIX has it', [tarPart({ name: 'b', prefix: 'x', magic: 'ustar  \0' })], 'b'],
    ['no magic at all', [tarPart({ name: 'old.txt', magic: '' })], 'old.txt'],
    ['a NUL as the type', [tarPart({ name: 'old.txt', type: '\0' })], 'old.txt'],
    ['a size in binary', [tarPart({ name: 'a', binarySize: true })], 'a'],
    [
      'GNU long name',
      [tarPart({ name: 'L', type: 'L', data: text(`${'n/'.repeat(100)}a\0`) }), tarPart({ name: 'cut' })],
      `${'n/'.repeat(100)}a`,
    ],
    ['pax path', [paxPart({ path: 'é/1' }), tarPart({ name: 'cut' })], 'é/1'],
    ['pax size', [paxPart({ size: '1' }), tarPart({ name: 'a', declares: 0 })], 'a'],
    [
      'pax of another file',
      [
        paxPart({ path: 'folder' }),
        tarPart({ name: 'f/', type: '5', data: text('') }),
        tarPart({ name: 'a' }),
      ],
      'a',
    ],
    [
      'a size for the file, not for the headers between',
      [
        paxPart({ size: '1' }),
        tarPart({ name: 'L', type: 'L', data: text('long\0') }),
        tarPart({ name: 'a', declares: 0 }),
      ],
      'long',
    ],
    ['a global comment', [paxPart({ comment: 'commit' }, 'g'), tarPart({ name: 'a' })], 'a'],
  ] as [string, Buffer[], string][]) {
    test(`tar names: ${what}`, async () => {
      const { files } = await read('tar', Buffer.concat([...parts, TAR_END]))
      assert.deepEqual(
        files.map((file) => [file.path, file.bytes.toString()]),
        [[path, 'x']],
      )
    })
  }
})

describe('limits', () => {
  for (const kind of KINDS) {
    for (const [what, limits, sizes, says] of [
      ['too many files', { files: 2 }, [1, 1, 1], /more than 2 files/],
      ['a small file over its limit', { fileBytes: 10 }, [10, 11], /^f1: a file may have at most 10 bytes/],
      [
        'a large file over its limit',
        { fileBytes: MIB },
        [1, MIB + 1],
        /^f1: a file may have at most 1048576/,
      ],
      ['too much together', { totalBytes: 1000 }, [500, 500, 1], /at most 1000 bytes together/],
    ] as [string, Partial<Limits>, number[], RegExp][]) {
      test(`${kind}: ${what} is refused, one less is fine`, async () => {
        const files = sizes.map((size, index) => ({ name: `f${index}`, data: Buffer.alloc(size, 'x') }))
        await refused(kind, made(kind, files), { code: 'PAYLOAD_TOO_LARGE', says, limits })
        const { files: fine } = await read(kind, made(kind, files.slice(0, -1)), { limits })
        assert.equal(fine.length, files.length - 1)
      })
    }

    test(`${kind}: a path over its limit is refused with its beginning, characters being code points`, async () => {
      const fine = `${'a/'.repeat(100)}${'😀'.repeat(300)}`
      const { files } = await read(kind, made(kind, [{ name: fine, data: text('x') }]))
      assert.equal(files[0]?.path, fine)
      for (const name of [`${fine}a`, `__MACOSX/${fine}`]) {
        await refused(kind, made(kind, [{ name, data: text('x') }]), {
          code: 'VALIDATION_ERROR',
          says: /^(a\/|__MACOSX\/)[a/]+…: a path may have at most 500 characters$/,
        })
      }
    })

    test(`${kind}: litter is bounded too`, async () => {
      const files = Array.from({ length: 41 }, (_, index) => ({ name: `._${index}`, data: text('x') }))
      await refused(kind, made(kind, files), {
        code: 'PAYLOAD_TOO_LARGE',
        says: /more than 40 files that are left out/,
        limits: { files: 10 },
      })
      await refused(kind, made(kind, [{ name: '._big', data: Buffer.alloc(1001) }]), {
        code: 'PAYLOAD_TOO_LARGE',
        says: /1000 bytes together/,
        limits: { totalBytes: 1000 },
      })
    })
  }
})

describe('what cannot be published', () => {
  for (const [what, part, says] of [
    ['a symbolic link', { type: '2' }, /^odd: is a symbolic link/],
    ['a hard link', { type: '1' }, /^odd: is a hard link/],
    ['a character device', { type: '3' }, /^odd: is a device/],
    ['a block device', { type: '4' }, /^odd: is a device/],
    ['a named pipe', { type: '6' }, /^odd: is a named pipe/],
    ['a sparse file of GNU', { type: 'S' }, /sparse/],
    ['a kind of its own', { type: 'Q' }, /^odd: is of a kind that cannot be published/],
    ['a link that is called a folder', { type: '2', name: 'odd/' }, /^odd\/: is a symbolic link/],
  ] as [string, Partial<TarPart>, RegExp][]) {
    test(`tar: ${what}`, () =>
      refused('tar', Buffer.concat([tarPart({ name: 'odd', data: text(''), ...part }), TAR_END]), {
        code: 'VALIDATION_ERROR',
        says,
      }))
  }

  test('tar: a sparse file of pax', () =>
    refused('tar', Buffer.concat([paxPart({ 'GNU.sparse.major': '1' }), tarPart({ name: 'a' }), TAR_END]), {
      code: 'VALIDATION_ERROR',
      says: /sparse/,
    }))

  for (const [what, part, says] of [
    ['a symbolic link', { mode: 0o120777 }, /^odd: is a symbolic link/],
    ['a device', { mode: 0o060644 }, /^odd: is a device/],
    ['encryption', { flags: 1 }, /^odd: is encrypted/],
    ['strong encryption', { flags: 0x41 }, /strong encryption/],
    ['another method', { method: 93 }, /^odd: is compressed by method 93/],
  ] as [string, Partial<ZipPart>, RegExp][]) {
    test(`zip: ${what}`, () =>
      refused(
        'zip',
        zip([
          { name: 'fine', data: text('x') },
          { name: 'odd', data: text('target'), ...part },
        ]),
        {
          code: 'VALIDATION_ERROR',
          says,
          before: 0,
        },
      ))
  }

  test('zip: everything that is wrong is named at once', async () => {
    const odd = ['a', 'b', 'c'].map((name) => ({ name, data: text('x'), mode: 0o120777 }))
    const failure = await failureOf('zip', zip(odd), { code: 'VALIDATION_ERROR', says: /and 2 more/ })
    assert.deepEqual(
      failure.details,
      odd.map(({ name }) => ({ field: name, message: 'is a symbolic link' })),
    )
  })
})

describe('damage and lies', () => {
  const zeros = Buffer.alloc(4 * MIB)
  for (const [what, archive, says] of [
    ['nothing at all', Buffer.alloc(0), /zip archive/],
    ['something else', text('<!doctype html>'), /zip archive/],
    ['a wrong checksum of a small file', zip([{ name: 'a', data: text('x'), crc32: 1 }]), /^a: its bytes/],
    ['a wrong checksum of a large file', zip([{ name: 'a', data: zeros, crc32: 1 }]), /^a: its bytes/],
    [
      'a wrong checksum of a stored file',
      zip([{ name: 'a', data: zeros, crc32: 1, method: 0 }]),
      /^a: its bytes/,
    ],
    ['more bytes than declared', zip([{ name: 'a', data: text('1234'), size: 3 }]), /^a: its bytes/],
    ['bytes where none are declared', zip([{ name: 'a', data: text('1234'), size: 0 }]), /^a: its bytes/],
    ['fewer bytes than declared', zip([{ name: 'a', data: text('1234'), size: 5 }]), /^a: its bytes/],
    ['4 MiB in 10 bytes', zip([{ name: 'a', data: zeros, size: 10 }]), /^a: its bytes/],
    ['4 MiB in 3 MiB', zip([{ name: 'a', data: zeros, size: 3 * MIB }]), /^a: its bytes/],
    ['4 MiB for 5 MiB', zip([{ name: 'a', data: zeros, size: 5 * MIB }]), /^a: its bytes/],
    [
      'a stored file of two sizes',
      zip([{ name: 'a', data: text('12'), method: 0, size: 3 }]),
      /size mismatch/,
    ],
    [
      'a broken small stream',
      zip([{ name: 'a', data: text('x'), raw: Buffer.from([0xff, 0xff]) }]),
      /^a: its bytes/,
    ],
    ['a broken large stream', zip([{ name: 'a', data: zeros, raw: Buffer.alloc(9999, 7) }]), /^a: its bytes/],
    [
      'a stream that is cut off',
      zip([{ name: 'a', data: zeros, raw: deflateRawSync(zeros).subarray(0, -9) }]),
      /^a: its bytes/,
    ],
    ['two entries of the same bytes', aliased(), /overlap/],
    ['a bomb of overlapping entries', overlapping(1000, 100 * KIB), /overlap.*and 99\d more/],
    [
      'an entry in the directory itself',
      zip([{ name: 'a', data: text('x'), compressedSize: 10_000 }]),
      /overlap/,
    ],
    ['a local header elsewhere', zip([{ name: 'a', data: text('x'), offset: 1 }]), /^a: its bytes/],
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
    ['zip64: the end record beyond 2^63', zip64Lie({ record: 2n ** 64n - 1n }), /zip archive/],
    ['zip64: the directory beyond 2^63', zip64Lie({ directory: 2n ** 64n - 1n }), /zip archive/],
    ['zip64: endless entries', zip64Lie({ count: 2n ** 64n - 1n }), /zip archive/],
    ['zip64: a local header beyond 2^63', zip64Entry({ offset: 2n ** 64n - 1n }), /overlap/],
    ['zip64: compressed bytes beyond 2^63', zip64Entry({ compressedSize: 2n ** 64n - 1n }), /overlap/],
    [
      'an extra field that is too long',
      zip([{ name: 'a', data: text('x'), extra: Buffer.from([1, 0, 99, 0]) }]),
      /extra field/,
    ],
  ] as [string, Buffer, RegExp][]) {
    test(`zip: ${what}`, () => refused('zip', archive, { code: 'VALIDATION_ERROR', says }))
  }

  test('zip64: an endless file is too large before a byte of it is read', () =>
    refused('zip', zip64Entry({ size: 2n ** 64n - 1n }), {
      code: 'PAYLOAD_TOO_LARGE',
      says: /^a: a file may have at most/,
      before: 0,
    }))

  for (const [what, archive, says] of [
    ['nothing at all', Buffer.alloc(0), /cut off/],
    ['something else', Buffer.alloc(2000, '<!doctype html>'), /not a tar archive/],
    ['a wrong checksum', flipped(tar([{ name: 'a', data: text('x') }]), 100), /wrong checksum/],
    ['no end', tarPart({ name: 'a' }), /archive: ends too early/],
    [
      'half a small file',
      tarPart({ name: 'a', data: Buffer.alloc(9000) }).subarray(0, 5000),
      /^a: the archive ends/,
    ],
    ['half a large file', tarPart({ name: 'a', data: zeros }).subarray(0, MIB), /^a: the archive ends/],
    [
      'no padding',
      tarPart({ name: 'a', data: Buffer.alloc(MIB + 1) }).subarray(0, -1),
      /^a: the archive ends/,
    ],
    [
      'a second archive with files',
      Buffer.concat([tar([]), tar([{ name: 'a', data: text('x') }])]),
      /follows its end/,
    ],
    ['a negative size', tarPart({ name: 'a', sizeField: Buffer.alloc(12, 0xff) }), /broken number/],
    [
      'a size beyond 2^53',
      tarPart({ name: 'a', sizeField: Buffer.from([0x80, ...Array(11).fill(255)]) }),
      /broken number/,
    ],
    ['a size in words', tarPart({ name: 'a', sizeField: text('ninety-nine!') }), /broken number/],
    [
      'a name that is not UTF-8',
      Buffer.concat([tarPart({ name: Buffer.from([0x66, 0xe9]) }), TAR_END]),
      /is not UTF-8/,
    ],
    ['a pax header of nothing', paxOf(text('\n')), /broken extended header/],
    ['a pax record without a key', paxOf(text('6 abc\n')), /broken extended header/],
    ['a pax record longer than it is', paxOf(text('99 a=b\n')), /broken extended header/],
    ['a pax record shorter than it is', paxOf(text('5 a=b\n')), /broken extended header/],
    ['a pax record of length 0', paxOf(text('0 a=b\n')), /broken extended header/],
    ['a pax record of length -6', paxOf(text('-6 a=b\n')), /broken extended header/],
    ['a pax size of -1', paxOf(text('11 size=-1\n')), /broken extended header/],
    [
      'a pax size beyond 2^53',
      Buffer.concat([paxPart({ size: '9'.repeat(20) }), TAR_END]),
      /broken extended header/,
    ],
  ] as [string, Buffer, RegExp][]) {
    test(`tar: ${what}`, () => refused('tar', archive, { code: 'VALIDATION_ERROR', says }))
  }

  for (const [what, archive] of [
    ['nothing at all', Buffer.alloc(0)],
    ['a tar archive', tar([{ name: 'a', data: text('x') }])],
    ['a wrong checksum', flipped(gzipSync(tar([{ name: 'a', data: text('x') }])), -6)],
    ['garbage behind it', Buffer.concat([gzipSync(tar([{ name: 'a', data: text('x') }])), text('garbage')])],
    ['half a second member', Buffer.concat([gzipSync(tar([])), gzipSync(tar([])).subarray(0, 20)])],
  ] as [string, Buffer][]) {
    test(`tar.gz: ${what}`, () =>
      refused('tar.gz', archive, { code: 'VALIDATION_ERROR', says: /gzip data is damaged or cut off/ }))
  }

  for (const kind of KINDS) {
    test(`${kind}: cut off after any byte it is refused, or every file was there`, async () => {
      const small = [
        { name: 'index.html', data: text('<!doctype html>') },
        { name: 'empty', data: text('') },
        { name: 'assets/app.js', data: text('alert()') },
      ]
      const archive = made(kind, small)
      const whole = digests((await read(kind, archive)).files)
      let refusals = 0
      for (let length = 0; length < archive.length; length++) {
        try {
          const { files } = await read(kind, archive.subarray(0, length))
          assert.deepEqual(digests(files), whole, `after ${length} of ${archive.length} bytes`)
        } catch (error) {
          assert.ok(error instanceof Failure && error.code === 'VALIDATION_ERROR', String(error))
          refusals++
        }
      }
      assert.ok(refusals >= archive.length - (kind === 'tar' ? 1024 : 0))
    })

    test(`${kind}: damaged anywhere it is refused with a sentence, or its files are as long as they say`, async (t) => {
      const seed = randomInt(2 ** 31)
      t.diagnostic(`seed ${seed}`)
      const next = pseudorandom(seed)
      const archive = made(kind, [
        { name: 'index.html', data: noise(2000) },
        { name: 'large.bin', data: Buffer.concat([noise(1000), Buffer.alloc(300 * KIB)]) },
        { name: 'last', data: text('x') },
      ])
      for (let round = 0; round < 300; round++) {
        const damaged = Buffer.from(archive)
        // Most of a zip or tar that matters is near its ends and around headers.
        for (let flips = 1 + Math.floor(next() * 4); flips > 0; flips--) {
          const at = Math.floor(next() * (next() < 0.5 ? damaged.length : Math.min(damaged.length, 700)))
          damaged[next() < 0.5 ? at : damaged.length - 1 - at] = Math.floor(next() * 256)
        }
        try {
          for (const { size, bytes } of (await read(kind, damaged)).files) assert.equal(bytes.length, size)
        } catch (error) {
          assert.ok(error instanceof Failure, String((error as Error).stack))
          assert.match(error.code, /^(VALIDATION_ERROR|PAYLOAD_TOO_LARGE)$/)
        }
      }
    })
  }
})

describe('bombs are cut off early', () => {
  const block = tarPart({ name: 'folder/', type: '5', data: text('') })

  test('tar.gz: a file of 10 GiB in 10 MB is refused at its header', async () => {
    const { body, taken } = counted(
      gzipped(tarHeader({ name: 'a', declares: 10 * GIB }), Buffer.alloc(MIB), 10 * KIB),
    )
    await refused('tar.gz', body, { code: 'PAYLOAD_TOO_LARGE', says: /^a: a file may have/, before: 0 })
    assert.ok(taken() < MIB, `took ${taken()} bytes`)
  })

  for (const [what, first, repeated, says] of [
    ['folders', text(''), repeat(block, KIB), /beside the contents/],
    ['empty files', text(''), repeat(tarPart({ name: 'a', data: text('') }), KIB), /more than 1000 files/],
    ['litter', text(''), repeat(tarPart({ name: '._', data: text('') }), KIB), /more than 4000 files/],
    ['extended headers', text(''), repeat(paxPart({ a: 'b' }), KIB), /beside the contents/],
    ['large extended headers', text(''), paxPart({ a: 'b'.repeat(MIB - 100) }), /beside the contents/],
    ['global headers', text(''), paxPart({ a: 'b'.repeat(MIB - 100) }, 'g'), /beside the contents/],
    [
      'long names',
      text(''),
      tarPart({ name: 'L', type: 'L', data: Buffer.alloc(MIB, 'n') }),
      /beside the contents/,
    ],
    ['zeros behind the end', TAR_END, Buffer.alloc(MIB), /beside the contents/],
    [
      'a folder with contents',
      tarHeader({ name: 'a/', declares: 10 * GIB }),
      Buffer.alloc(MIB),
      /beside the contents/,
    ],
    [
      'an extended header of 10 GiB',
      tarHeader({ name: 'x', type: 'x', declares: 10 * GIB }),
      Buffer.alloc(MIB),
      /beside the contents/,
    ],
    [
      'an extended header of 2 MiB',
      tarHeader({ name: 'x', type: 'x', declares: 2 * MIB }),
      Buffer.alloc(MIB),
      /extended header may have at most/,
    ],
  ] as [string, Buffer, Buffer, RegExp][]) {
    test(`tar: endless ${what}`, async () => {
      const { body, taken } = counted(endless(first, repeated))
      await refused('tar', body, { code: 'PAYLOAD_TOO_LARGE', says })
      assert.ok(taken() <= 32 * MIB, `took ${taken()} bytes`)
    })
    test(`tar.gz: endless ${what}`, async () => {
      const { body, taken } = counted(gzipped(first, repeated, Number.POSITIVE_INFINITY))
      await refused('tar.gz', body, { code: 'PAYLOAD_TOO_LARGE', says })
      assert.ok(taken() <= 2 * MIB, `took ${taken()} bytes`)
    })
  }

  test('tar: a global header of 100,000 records costs the headers after it nothing', async () => {
    let keys = ''
    for (let key = 0; keys.length < MIB - 100; key++) keys += paxRecord(`k${key.toString(36)}`, '')
    const global = tarPart({ name: 'g', type: 'g', data: text(keys) })
    const archive = Buffer.concat([
      global,
      repeat(paxPart({ a: 'b' }), 5000),
      tarPart({ name: 'a' }),
      TAR_END,
    ])
    const { files } = await read('tar', archive)
    assert.equal(files.length, 1)
  })

  test('tar.gz: members without end that hold nothing', async () => {
    const { body, taken } = counted(endless(text(''), repeat(gzipSync(''), KIB)))
    await refused('tar.gz', body, {
      code: 'PAYLOAD_TOO_LARGE',
      says: /archive may have at most/,
      limits: { totalBytes: MIB },
    })
    assert.ok(taken() <= 32 * MIB, `took ${taken()} bytes`)
  })

  test('zip: a body without end', async () => {
    const { body, taken } = counted(endless(text('PK'), Buffer.alloc(MIB)))
    await refused('zip', body, {
      code: 'PAYLOAD_TOO_LARGE',
      says: /archive may have at most/,
      limits: { totalBytes: MIB },
    })
    assert.ok(taken() <= 32 * MIB, `took ${taken()} bytes`)
    assert.deepEqual(readdirSync(spoolFolder), [])
  })

  for (const [declared, code, most] of [
    [10, 'VALIDATION_ERROR', 0],
    [MIB, 'VALIDATION_ERROR', MIB],
    [2 ** 31, 'PAYLOAD_TOO_LARGE', 0],
    [2 ** 32 - 2, 'PAYLOAD_TOO_LARGE', 0],
  ] as const) {
    test(`zip: 10 GiB in 10 MB that say they are ${declared} bytes give at most ${most}`, async () => {
      let bytes = 0
      const raw = repeat(deflateRawSync(Buffer.alloc(MIB), { finishFlush: constants.Z_FULL_FLUSH }), 10 * KIB)
      await refused('zip', zip([{ name: 'a', data: text(''), raw, size: declared }]), {
        code,
        says: /^a: /,
        async each({ body }) {
          for await (const chunk of body) bytes += chunk.length
        },
      })
      assert.ok(bytes <= most, `${bytes} bytes came out`)
    })
  }

  test('zip: 65,535 entries in the directory', () =>
    refused('zip', zip(folders(65_535)), {
      code: 'PAYLOAD_TOO_LARGE',
      says: /beside the contents/,
      before: 0,
    }))
})

describe('reading', () => {
  const small = Array.from({ length: 50 }, (_, index) => ({ name: `f${index}`, data: noise(100 + index) }))
  const large = { name: 'large', data: noise(3 * MIB) }

  for (const kind of KINDS) {
    test(`${kind}: small files are read beside each other, 16 at most`, async () => {
      let running = 0
      let most = 0
      const several = Promise.withResolvers<void>()
      await readArchive(options(kind, streamOf([made(kind, small)])), async ({ body }) => {
        running++
        most = Math.max(most, running)
        if (running === 16) several.resolve()
        await several.promise
        for await (const _ of body);
        running--
      })
      assert.equal(most, 16)
    })

    test(`${kind}: what is left unread is passed over`, async () => {
      const paths: string[] = []
      const files = [large, ...small.slice(0, 3), { ...large, name: 'last' }]
      await readArchive(options(kind, streamOf([made(kind, files)])), async ({ path, body }) => {
        paths.push(path)
        if (path === 'last') for await (const _ of body) break
      })
      assert.deepEqual(
        paths,
        files.map((file) => file.name),
      )
    })

    for (const [what, files] of [
      ['a small file', small],
      ['a large file', [large, ...small]],
    ] as const) {
      test(`${kind}: when the user of ${what} fails, that is the reason, and nothing goes on`, async () => {
        const reason = new Error('no room')
        const { body } = counted(split(made(kind, [...files]), () => 1000))
        let running = 0
        let calls = 0
        const promise = readArchive(options(kind, body), async () => {
          calls++
          running++
          await new Promise(setImmediate)
          running--
          if (calls >= 1) throw reason
        })
        await assert.rejects(promise, (error) => error === reason)
        assert.equal(running, 0)
        const settled = calls
        await drained(body)
        assert.equal(calls, settled)
        assert.ok(calls <= 16)
      })
    }

    test(`${kind}: a failure does not wait for a client that sends nothing more`, async () => {
      const archive = made(kind, small.slice(0, 3))
      const body = new Readable({ read() {} })
      body.push(kind === 'zip' ? archive : archive.subarray(0, -20))
      if (kind === 'zip') body.push(null)
      const promise = readArchive(options(kind, body), async () => {
        for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate)
        throw new Error('no room')
      })
      await assert.rejects(promise, /no room/)
      assert.equal(body.listenerCount('readable') + body.listenerCount('end'), 0)
    })

    for (const [what, files] of [
      ['between files', small],
      ['in a file', [large]],
    ] as const) {
      test(`${kind}: a client that goes away ${what} is the reason`, async () => {
        const gone = Object.assign(new Error('aborted'), { code: 'ECONNRESET' })
        const archive = made(kind, [...files])
        const body = new Readable({ read() {} })
        body.push(archive.subarray(0, archive.length >> 1))
        const started = Promise.withResolvers<void>()
        if (kind === 'zip') started.resolve()
        const promise = readArchive(options(kind, body), async (file) => {
          started.resolve()
          await used(file)
        })
        void started.promise.then(() => body.destroy(gone))
        await assert.rejects(promise, (error) => error === gone)
        assert.deepEqual(readdirSync(spoolFolder), [])
      })
    }

    test(`${kind}: a body that was closed before it ended is no archive`, async () => {
      const body = new Readable({ read() {} })
      body.push(made(kind, small).subarray(0, 600))
      setImmediate(() => body.destroy())
      await assert.rejects(read(kind, body), /cut off/)
      await assert.rejects(read(kind, body), /cut off/)
    })

    test(`${kind}: no handle and no file is left behind`, async (t) => {
      if (!existsSync('/proc/self/fd')) return t.skip('handles cannot be counted here')
      const archive = made(kind, [large, ...small])
      await read(kind, archive)
      const before = readdirSync('/proc/self/fd').length
      for (const each of [
        async () => {},
        async () => {
          throw new Error('no room')
        },
      ]) {
        await read(kind, archive, { each }).catch(() => {})
        await read(kind, archive.subarray(0, -50), { each }).catch(() => {})
      }
      assert.equal(readdirSync('/proc/self/fd').length, before)
      assert.deepEqual(readdirSync(spoolFolder), [])
    })

    test(`${kind}: a client that is still sending gets the answer`, async () => {
      const server = createServer((incoming, answer) => {
        readArchive(
          { ...options(kind, incoming), limits: { ...LIMITS, files: 3, totalBytes: MIB } },
          async () => {},
        )
          .then(() => answer.writeHead(200).end())
          .catch((error) => answer.writeHead(413, { connection: 'close' }).end(String(error.message)))
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const { port } = server.address() as AddressInfo
      const upload = request({ port, host: '127.0.0.1', method: 'POST' })
      upload.on('error', () => {})
      const source = Readable.from(endlessOf(kind))
      source.pipe(upload)
      const answer = await new Promise<{ status: number | undefined; text: string }>((resolve) => {
        upload.on('response', async (response) => {
          let body = ''
          for await (const chunk of response) body += chunk
          resolve({ status: response.statusCode, text: body })
        })
      })
      source.destroy()
      upload.destroy()
      await new Promise((resolve) => server.close(resolve))
      assert.equal(answer.status, 413)
      assert.match(answer.text, kind === 'zip' ? /archive may have at most/ : /more than 3 files/)
    })
  }

  for (const kind of ['tar', 'tar.gz'] as const) {
    test(`${kind}: a large file is not read ahead of whoever uses it`, async () => {
      const huge = { name: 'huge', data: Buffer.alloc(20 * MIB, noise(MIB)) }
      const { body, taken } = counted(split(made(kind, [huge]), () => 64 * KIB))
      let early = 0
      await readArchive(options(kind, body), async (file) => {
        for await (const _ of file.body) {
          if (early === 0) {
            for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate)
            early = taken()
          }
        }
      })
      assert.ok(early > 0 && early < 2 * MIB, `${early} bytes were taken for the first piece`)
    })
  }

  for (const [what, recover] of [
    ['fails with something else', () => Promise.reject(new Error('upload failed'))],
    ['goes on as if nothing was', () => Promise.resolve()],
  ] as [string, () => Promise<void>][]) {
    for (const [kind, archive] of [
      ['tar', tarPart({ name: 'a', data: Buffer.alloc(MIB) }).subarray(0, MIB / 2)],
      ['zip', zip([{ name: 'a', data: Buffer.alloc(MIB), crc32: 1 }])],
    ] as const) {
      test(`${kind}: what broke a body is the reason, even when its user ${what}`, async () => {
        const promise = readArchive(options(kind, streamOf([archive])), (file) => used(file).catch(recover))
        await assert.rejects(promise, (error) => error instanceof Failure && error.message.startsWith('a: '))
      })
    }
  }
})

interface File {
  path: string
  size: number
  bytes: Buffer
}

interface ReadOptions {
  limits?: Partial<Limits>
  each?: (file: ArchiveFile) => Promise<void>
}

function options(kind: ArchiveKind, body: Readable) {
  return { kind, body, limits: LIMITS, spoolFolder }
}

/** Everything in an archive, in the order in which it was handed on. */
async function read(kind: ArchiveKind, source: Buffer | Readable, { limits, each }: ReadOptions = {}) {
  const body = source instanceof Readable ? source : streamOf(split(source, () => 64 * KIB))
  const files: File[] = []
  const { skipped } = await readArchive(
    { ...options(kind, body), limits: { ...LIMITS, ...limits } },
    each ??
      (async ({ path, size, body: contents }) => {
        const file = { path, size, bytes: Buffer.alloc(0) }
        files.push(file)
        const chunks: Buffer[] = []
        for await (const chunk of contents) chunks.push(chunk)
        file.bytes = Buffer.concat(chunks)
      }),
  )
  return { files, skipped }
}

interface Refusal extends ReadOptions {
  code: string
  says: RegExp
  /** How many files may have been handed on before. */
  before?: number
}

async function refused(kind: ArchiveKind, source: Buffer | Readable, refusal: Refusal): Promise<void> {
  await failureOf(kind, source, refusal)
}

async function failureOf(kind: ArchiveKind, source: Buffer | Readable, refusal: Refusal): Promise<Failure> {
  const { code, says, limits, before = Number.POSITIVE_INFINITY, each = used } = refusal
  let calls = 0
  const promise = read(kind, source, {
    ...(limits ? { limits } : {}),
    each(file) {
      calls++
      return each(file)
    },
  })
  const failure = await promise.then(
    () => assert.fail('the archive was taken'),
    (error) => error,
  )
  assert.ok(failure instanceof Failure, String(failure.stack))
  assert.equal(failure.code, code, failure.message)
  assert.match(failure.message, says)
  assert.ok(calls <= before, `${calls} files were handed on`)
  if (code === 'VALIDATION_ERROR') {
    const [problem] = failure.details as { field: string; message: string }[]
    assert.ok(problem && failure.message.startsWith(`${problem.field}: ${problem.message}`))
  }
  return failure
}

async function used({ body }: ArchiveFile): Promise<void> {
  for await (const _ of body);
}

function digests(files: Iterable<{ path: string; bytes: Buffer }>): Map<string, string> {
  const pairs = [...files].map(({ path, bytes }): [string, string] => [
    path,
    createHash('sha256').update(bytes).digest('hex'),
  ])
  return new Map(pairs.sort())
}

function text(characters: string): Buffer {
  return Buffer.from(characters, 'utf8')
}

/** Bytes that do not compress, the same in every run. */
function noise(length: number): Buffer {
  return createHash('shake256', { outputLength: length }).update('slipway').digest()
}

function pseudorandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes)
  copy[(at + copy.length) % copy.length]! ^= 1
  return copy
}

function repeat(bytes: Buffer, times: number): Buffer {
  return Buffer.alloc(bytes.length * times, bytes)
}

function split(bytes: Buffer, next: () => number): Buffer[] {
  const chunks: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const chunk = bytes.subarray(at, at + next())
    chunks.push(chunk)
    at += chunk.length
  }
  return chunks
}

function streamOf(chunks: Iterable<Buffer> | AsyncIterable<Buffer>): Readable {
  return Readable.from(chunks, { objectMode: false })
}

/** A body that counts what is taken from it. */
function counted(chunks: Iterable<Buffer> | AsyncIterable<Buffer>): { body: Readable; taken: () => number } {
  let bytes = 0
  async function* counting() {
    for await (const chunk of chunks) {
      bytes += chunk.length
      yield chunk
    }
  }
  return { body: streamOf(counting()), taken: () => bytes }
}

async function drained(body: Readable): Promise<void> {
  body.resume()
  if (!body.readableEnded) await new Promise((resolve) => body.once('end', resolve))
}

function* endless(first: Buffer, repeated: Buffer, times = Number.POSITIVE_INFINITY): Generator<Buffer> {
  if (first.length > 0) yield first
  for (let round = 0; round < times; round++) yield repeated
}

async function* gzipped(first: Buffer, repeated: Buffer, times: number): AsyncGenerator<Buffer> {
  const gzip = createGzip({ level: 1 })
  const source = Readable.from(endless(first, repeated, times))
  try {
    yield* source.pipe(gzip)
  } finally {
    source.destroy()
    gzip.destroy()
  }
}

function endlessOf(kind: ArchiveKind): Iterable<Buffer> | AsyncIterable<Buffer> {
  const file = tarPart({ name: 'a', data: Buffer.alloc(10 * KIB) })
  if (kind === 'zip') return endless(text('PK'), Buffer.alloc(64 * KIB))
  return kind === 'tar' ? endless(file, file) : gzipped(file, file, Number.POSITIVE_INFINITY)
}

interface Part {
  name: string | Buffer
  data: Buffer
}

/** An archive of the kind with these files; names that end in a slash are folders. */
function made(kind: ArchiveKind, files: Part[]): Buffer {
  if (kind === 'zip') return zip(files)
  return kind === 'tar' ? tar(files) : gzipSync(tar(files))
}

interface TarPart extends Partial<Part> {
  type?: string
  prefix?: string
  magic?: string
  /** The size in the header, when it lies. */
  declares?: number
  binarySize?: boolean
  sizeField?: Buffer
}

function tar(files: Part[]): Buffer {
  const parts = files.flatMap((file) => {
    if (Buffer.byteLength(file.name) <= 100) return [tarPart(folderOrFile(file))]
    return [paxPart({ path: String(file.name) }), tarPart({ ...folderOrFile(file), name: 'cut' })]
  })
  return Buffer.concat([...parts, TAR_END])
}

function folderOrFile(file: Part): TarPart {
  return String(file.name).endsWith('/') ? { ...file, type: '5' } : file
}

function tarPart(part: TarPart): Buffer {
  const { data = text('x') } = part
  const padding = Buffer.alloc((512 - (data.length % 512)) % 512)
  return Buffer.concat([tarHeader({ ...part, declares: part.declares ?? data.length }), data, padding])
}

function tarHeader({ name = 'a', type = '0', prefix = '', magic = 'ustar\x0000', ...size }: TarPart): Buffer {
  const block = Buffer.alloc(512)
  Buffer.from(name as string).copy(block)
  block.write('0000644\0', 100)
  tarSize(size).copy(block, 124)
  block.write('00000000000\0', 136)
  block.write(type, 156, 'latin1')
  block.write('target', 157)
  block.write(magic, 257, 'latin1')
  block.write(prefix, 345)
  block.fill(' ', 148, 156)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return block
}

function tarSize({ declares = 0, binarySize, sizeField }: Omit<TarPart, 'name'>): Buffer {
  if (sizeField) return sizeField
  if (!binarySize && declares < 8 ** 11) return text(`${declares.toString(8).padStart(11, '0')}\0`)
  const field = Buffer.alloc(12)
  field[0] = 0x80
  field.writeBigUInt64BE(BigInt(declares), 4)
  return field
}

function paxPart(records: Record<string, string>, type = 'x'): Buffer {
  const body = Object.entries(records).map(([key, value]) => paxRecord(key, value))
  return tarPart({ name: 'pax', type, data: text(body.join('')) })
}

function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`
  let length = Buffer.byteLength(rest)
  while (String(length).length + Buffer.byteLength(rest) !== length) {
    length = String(length).length + Buffer.byteLength(rest)
  }
  return `${length}${rest}`
}

function paxOf(body: Buffer): Buffer {
  return Buffer.concat([tarPart({ name: 'pax', type: 'x', data: body }), tarPart({ name: 'a' }), TAR_END])
}

interface ZipPart extends Part {
  method?: number
  flags?: number
  mode?: number
  extra?: Buffer
  /** The compressed bytes, when they are not those of `data`. */
  raw?: Buffer
  crc32?: number
  size?: number
  compressedSize?: number
  offset?: number
  /** Only in the directory. */
  nowhere?: boolean
}

function zip(parts: ZipPart[], { count, start }: { count?: number; start?: number } = {}): Buffer {
  const locals: Buffer[] = []
  const directory: Buffer[] = []
  let at = 0
  for (const part of parts) {
    const { local, central } = zipPart(part, at)
    if (!part.nowhere) {
      locals.push(local)
      at += local.length
    }
    directory.push(central)
  }
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50)
  end.writeUInt16LE((count ?? parts.length) & 0xffff, 10)
  end.writeUInt32LE(start ?? at, 16)
  return Buffer.concat([...locals, ...directory, end])
}

function zipPart(part: ZipPart, at: number): { local: Buffer; central: Buffer } {
  const { data, method = data.length > 0 ? 8 : 0, flags = 0, mode = 0o100644, extra = text('') } = part
  const name = Buffer.from(part.name as string)
  const raw = part.raw ?? (method === 8 ? deflateRawSync(data) : data)
  const both = Buffer.alloc(26)
  both.writeUInt16LE(20)
  both.writeUInt16LE(flags, 2)
  both.writeUInt16LE(part.raw ? 8 : method, 4)
  both.writeUInt32LE(part.crc32 ?? crc32(data), 10)
  both.writeUInt32LE(part.compressedSize ?? raw.length, 14)
  both.writeUInt32LE(part.size ?? data.length, 18)
  both.writeUInt16LE(name.length, 22)
  const local = Buffer.concat([signature(0x04034b50), both, name, raw])
  both.writeUInt16LE(extra.length, 24)
  const rest = Buffer.alloc(14)
  rest.writeUInt32LE((mode << 16) >>> 0, 6)
  rest.writeUInt32LE(part.offset ?? at, 10)
  const central = Buffer.concat([signature(0x02014b50), Buffer.from([20, 3]), both, rest, name, extra])
  return { local, central }
}

function signature(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

function folders(count: number): ZipPart[] {
  return Array.from({ length: count }, () => ({ name: 'folder/', data: text(''), nowhere: true }))
}

function aliased(): Buffer {
  const part = { name: 'a', data: text('x') }
  return zip([part, { ...part, name: 'b', nowhere: true, offset: 0 }])
}

/** Every entry's bytes reach to the end of the last one's. */
function overlapping(count: number, size: number): Buffer {
  const kernel = deflateRawSync(Buffer.alloc(size))
  return zip(
    Array.from({ length: count }, (_, index) => ({
      name: `f${String(index).padStart(4, '0')}`,
      data: Buffer.alloc(size),
      raw: index === count - 1 ? kernel : text(''),
      compressedSize: (count - 1 - index) * 35 + kernel.length,
    })),
  )
}

/** What a program prints, or undefined when it is not installed or does not know its options. */
function outputOf(program: string, args: string[]): Buffer | undefined {
  const { status, stdout } = spawnSync(program, args, { maxBuffer: GIB })
  return status === 0 ? stdout : undefined
}

function commented(archive: Buffer | undefined): Buffer | undefined {
  if (!archive) return undefined
  const copy = Buffer.concat([archive, text('made by hand')])
  copy.writeUInt16LE('made by hand'.length, archive.length - 2)
  return copy
}

function padded(archive: Buffer | undefined): Buffer | undefined {
  return archive && Buffer.concat([archive, Buffer.alloc(1000)])
}

function inTwoMembers(archive: Buffer | undefined): Buffer | undefined {
  if (!archive) return undefined
  const middle = archive.length >> 1
  return Buffer.concat([gzipSync(archive.subarray(0, middle)), gzipSync(archive.subarray(middle))])
}

function unicodePath(plain: string, unicode: string): Buffer {
  const body = Buffer.concat([Buffer.from([1]), signature(crc32(plain)), text(unicode)])
  return Buffer.concat([extraHeader(0x7075, body.length), body])
}

function extraHeader(id: number, length: number): Buffer {
  const header = Buffer.alloc(4)
  header.writeUInt16LE(id)
  header.writeUInt16LE(length, 2)
  return header
}

function zip64Lie({ record = 0n, directory = 0n, count = 1n }): Buffer {
  const bytes = Buffer.alloc(98)
  bytes.writeUInt32LE(0x06064b50)
  bytes.writeBigUInt64LE(count, 32)
  bytes.writeBigUInt64LE(directory, 48)
  bytes.writeUInt32LE(0x07064b50, 56)
  bytes.writeBigUInt64LE(record, 64)
  bytes.writeUInt32LE(0x06054b50, 76)
  return bytes
}

function zip64Entry({ size = 1n, compressedSize = 3n, offset = 0n }): Buffer {
  const fields = Buffer.alloc(24)
  fields.writeBigUInt64LE(size)
  fields.writeBigUInt64LE(compressedSize, 8)
  fields.writeBigUInt64LE(offset, 16)
  const none = 0xffffffff
  const extra = Buffer.concat([extraHeader(1, 24), fields])
  return zip([{ name: 'a', data: text('x'), size: none, compressedSize: none, offset: none, extra }])
}

/** A folder with what sites have, and what archives find hard: long names, other alphabets, empty and large files. */
function sampleSite(): { path: string; bytes: Buffer }[] {
  const files = [
    ['index.html', text('<!doctype html>')],
    ['empty', text('')],
    ['assets/app.js', Buffer.alloc(100_000, 'alert(1);\n')],
    ['assets/large.bin', noise(3 * MIB)],
    ['assets/zeros.bin', Buffer.alloc(5 * MIB + 1)],
    ['Ünïcödé/日本語.html', text('あ')],
    [`${'deep/'.repeat(20)}${'n'.repeat(60)}.txt`, text('deep')],
    ['.well-known/security.txt', text('Contact: mailto:a@example.org')],
    ['block', Buffer.alloc(512, 'b')],
  ] as [string, Buffer][]
  for (const [path, bytes] of files) {
    mkdirSync(dirname(join(folder, 'site', path)), { recursive: true })
    writeFileSync(join(folder, 'site', path), bytes)
  }
  return files.map(([path, bytes]) => ({ path, bytes }))
}
