import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { ZipArchive } from '../../dashboard/drop/reader/zip.ts'
import { archiveKind } from '../../server/publish/archive/archive.ts'
import { buildZip } from '../dashboard/file-drop.ts'
import { pluck } from '../support/pluck.ts'
import { buildArchive, KINDS } from './build-archive.ts'
import { text } from './bytes.ts'
import { assertRefused, read, spoolFolder } from './reading.ts'
import { paxPart, TAR_END, type TarPart, tarPart } from './tar-file.ts'
import { unicodePath, type ZipPart, zip } from './zip-file.ts'

test('the kind of an archive is that of its media type', () => {
  for (const [type, kind] of [
    ['application/zip', 'zip'],
    ['application/x-zip-compressed', 'zip'],
    ['application/x-tar', 'tar'],
    ['application/x-gtar', 'tar'],
    ['application/gzip', 'tar.gz'],
    ['application/x-gzip', 'tar.gz'],
    ['Application/ZIP ; charset=binary', 'zip'],
    ['text/html; charset=utf-8', 'html'],
    ['text/plain; application/zip', undefined],
    ['constructor', undefined],
    [undefined, undefined],
  ] as const)
    assert.equal(archiveKind(type), kind, type ?? 'none')
})

describe('excluded files, folders and names', () => {
  const invalid = [
    ...['/etc/slipway-was-here', '../slipway-was-here', 'a/../../b', 'a\\b', 'C:\\b'],
    ...['a\nb', '\u202egpj.exe', '__proto__', 'twice', 'twice'],
  ]

  for (const kind of KINDS) {
    test(`${kind}: invalid paths are passed on, and nothing is written to them`, async () => {
      const parts = invalid.map((name) => ({ name, data: text('x') }))
      const { files } = await read(kind, buildArchive(kind, parts))
      const expected = kind === 'zip' ? invalid.map((name) => name.replaceAll('\\', '/')) : invalid
      assert.deepEqual(pluck(files, 'path'), expected)
      assert.ok(!existsSync('/etc/slipway-was-here'))
      assert.ok(!existsSync(join(spoolFolder, '../slipway-was-here')))
    })

    test(`${kind}: empty files are read, and an archive without files is valid`, async () => {
      const { files } = await read(kind, buildArchive(kind, [{ name: '.nojekyll', data: text('') }]))
      assert.deepEqual(files, [{ path: '.nojekyll', size: 0, bytes: text('') }])
      assert.deepEqual(await read(kind, buildArchive(kind, [])), { files: [], excluded: [] })
    })
  }

  const zipNames: [what: string, part: Partial<ZipPart>, path: string][] = [
    ['UTF-8 with its flag', { name: 'é.txt', flags: 0x800 }, 'é.txt'],
    ['UTF-8 without its flag', { name: 'é.txt' }, 'é.txt'],
    ['CP437', { name: Buffer.from([0x82, 0x2e, 0x74]) }, 'é.t'],
    ['CP437 with the flag of UTF-8', { name: Buffer.from([0x82, 0x2e, 0x74]), flags: 0x800 }, 'é.t'],
    ['the Unicode path of Info-ZIP', { name: '#U00e9', extra: unicodePath('#U00e9', 'é') }, 'é'],
    ['a Unicode path for another name', { name: 'a', extra: unicodePath('b', 'é') }, 'a'],
  ]
  const long = `${'n/'.repeat(100)}a`
  const gnuName = (name: string) => tarPart({ name: 'L', type: 'L', data: text(`${name}\0`) })
  const tarNames: [what: string, parts: Buffer[], path: string][] = [
    ['a prefix', [tarPart({ name: 'b.txt', prefix: 'long/folder' })], 'long/folder/b.txt'],
    ['a prefix only where POSIX has it', [tarPart({ name: 'b', prefix: 'x', magic: 'ustar  \0' })], 'b'],
    ['no magic at all', [tarPart({ name: 'old.txt', magic: '' })], 'old.txt'],
    ['a NUL as the type', [tarPart({ name: 'old.txt', type: '\0' })], 'old.txt'],
    ['a size in binary', [tarPart({ binarySize: true })], 'a'],
    ['GNU long name', [gnuName(long), tarPart({ name: 'cut' })], long],
    ['pax path', [paxPart({ path: 'é/1' }), tarPart({ name: 'cut' })], 'é/1'],
    ['pax size', [paxPart({ size: '1' }), tarPart({ declares: 0 })], 'a'],
    [
      'pax of another file',
      [paxPart({ path: 'folder' }), tarPart({ name: 'f/', type: '5', data: text('') }), tarPart({})],
      'a',
    ],
    [
      'a size for the file, not for the headers between',
      [paxPart({ size: '1' }), gnuName('long'), tarPart({ declares: 0 })],
      'long',
    ],
    ['a global comment', [paxPart({ comment: 'commit' }, 'g'), tarPart({})], 'a'],
  ]
  for (const [kind, what, archive, path] of [
    ...zipNames.map(([what, part, path]) => {
      return ['zip', what, zip([{ name: '', data: text('x'), ...part }]), path] as const
    }),
    ...tarNames.map(
      ([what, parts, path]) => ['tar', what, Buffer.concat([...parts, TAR_END]), path] as const,
    ),
  ]) {
    test(`${kind} names: ${what}`, async () => {
      assert.deepEqual((await read(kind, archive)).files, [{ path, size: 1, bytes: text('x') }])
    })
  }
})

describe('entries that cannot be published', () => {
  const tars: [what: string, part: TarPart, message: RegExp][] = [
    ['a symbolic link', { type: '2' }, /^odd: is a symbolic link/],
    ['a hard link', { type: '1' }, /^odd: is a hard link/],
    ['a character device', { type: '3' }, /^odd: is a device/],
    ['a block device', { type: '4' }, /^odd: is a device/],
    ['a named pipe', { type: '6' }, /^odd: is a named pipe/],
    ['a sparse file of GNU', { type: 'S' }, /sparse/],
    ['a kind of its own', { type: 'Q' }, /^odd: is not a regular file/],
    ['a link that is called a folder', { type: '2', name: 'odd/' }, /^odd\/: is a symbolic link/],
  ]
  for (const [what, part, message] of tars) {
    const archive = Buffer.concat([tarPart({ name: 'odd', data: text(''), ...part }), TAR_END])
    test(`tar: ${what}`, () => assertRefused('tar', archive, { message }))
  }

  test('tar: a sparse file of pax', () => {
    const archive = Buffer.concat([paxPart({ 'GNU.sparse.major': '1' }), tarPart({}), TAR_END])
    return assertRefused('tar', archive, { message: /sparse/ })
  })

  const zips: [what: string, part: Partial<ZipPart>, message: RegExp][] = [
    ['a symbolic link', { mode: 0o120777 }, /^odd: is a symbolic link/],
    ['a device', { mode: 0o060644 }, /^odd: is a device/],
    ['encryption', { flags: 1 }, /^odd: is encrypted/],
    ['strong encryption', { flags: 0x41 }, /its directory is encrypted/],
    [
      'another method',
      { method: 12 },
      /^odd: uses BZip2 compression; create the ZIP with Deflate, in 7-Zip with -mm=Deflate$/,
    ],
  ]
  for (const [what, part, message] of zips) {
    const odd = { name: 'odd', data: text('target'), ...part }
    const archive = zip([{ name: 'fine', data: text('x') }, odd])
    test(`zip: ${what}`, () => assertRefused('zip', archive, { message, before: 0 }))
  }

  test('zip: folders without a final slash are those of their attributes', async () => {
    const folders = [
      { name: 'css', data: text(''), mode: 0o040755 },
      { name: 'img', data: text(''), attributes: 0x10 },
    ]
    const files = ['css/a.css', 'img/a.txt'].map((name) => ({ name, data: text('x') }))
    const paths = (await read('zip', zip([...folders, ...files]))).files.map(({ path }) => path)
    assert.deepEqual(paths, ['css/a.css', 'img/a.txt'])
  })

  test('zip: a self-extractor is read behind its program, from whose end its offsets are counted', async () => {
    const archive = buildZip([{ name: 'css/a.css', data: text('a{}') }])
    const sfx = Buffer.concat([Buffer.alloc(5000, 'MZ'), archive])
    assert.deepEqual(pluck((await read('zip', sfx)).files, 'path'), ['css/a.css'])
    const inBrowser = await ZipArchive.open(new Blob([new Uint8Array(sfx)]))
    assert.equal(await (await inBrowser.blob(0)).text(), 'a{}')
  })

  test('zip: each cause is reported once', async () => {
    const parts = ['a', 'b', 'c', 'd'].map((name) => ({ name, data: text('x'), flags: name === 'd' ? 0 : 1 }))
    const archive = zip(parts.map((part) => (part.name === 'd' ? { ...part, method: 9 } : part)))
    const details = [
      { field: 'a', message: 'is encrypted (like 2 more); create the ZIP without a password' },
      {
        field: 'd',
        message: 'uses Deflate64 compression; create the ZIP with Deflate, in 7-Zip with -mm=Deflate',
      },
    ]
    await assertRefused('zip', archive, { message: /and 1 more/, details })
  })

  test('a label of a tar, the list of a folder of an incremental one, and folders in names that programs drop are no files', async () => {
    const archive = Buffer.concat([
      ...[
        tarPart({ name: 'label', type: 'V', data: text('') }),
        tarPart({ name: 'css/', type: 'D', data: text('Ya\0') }),
      ],
      ...[tarPart({ name: './/css/./a.css' }), TAR_END],
    ])
    const { files } = await read('tar', archive)
    assert.deepEqual(pluck(files, 'path'), ['css/a.css'])
  })
})
