import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { ignoreRules } from '../../protocol/ignore/default-rules.ts'
import { Exclusions } from '../../protocol/ignore/exclusions.ts'
import { KIB } from '../support/units.ts'
import { buildArchive, KINDS } from './build-archive.ts'
import { noise, text } from './bytes.ts'
import { read, spoolFolder } from './reading.ts'
import { paxPart, TAR_END, tarPart } from './tar-file.ts'
import { unicodePath, type ZipPart, zip } from './zip-file.ts'

describe('excluded files, folders and names', () => {
  for (const kind of KINDS) {
    test(`${kind}: excluded files are listed with the reason, and folders are ignored`, async () => {
      const contents: Record<string, string> = {
        './index.html': 'home',
        './': '',
        'assets/': '',
        'assets/app.js': 'js',
        '__MACOSX/._index.html': 'fork',
        '__MACOSX/': '',
        'assets/.DS_Store': 'view',
        '._large': noise(400 * KIB).toString('latin1'),
        'kept.DS_Store': 'kept',
        '.well-known/security.txt': 'contact',
        'node_modules/a/index.js': 'a',
        'node_modules/b/index.js': 'b',
        '.ENV': 'PASSWORD=1',
        'server.key': 'key',
        '.nojekyll': '',
        'empty.css': '',
      }
      const parts = Object.entries(contents).map(([name, data]) => ({ name, data: text(data) }))
      const exclusions = new Exclusions(ignoreRules(''))
      const { files, excluded } = await read(kind, buildArchive(kind, parts), { limits: { exclusions } })
      assert.deepEqual(
        files.map(({ path, bytes }) => [path, bytes.toString()]),
        [
          ['index.html', 'home'],
          ['assets/app.js', 'js'],
          ['kept.DS_Store', 'kept'],
          ['.well-known/security.txt', 'contact'],
        ],
      )
      assert.deepEqual(
        excluded.map(({ path, reason }) => [path, reason]),
        [
          ['__MACOSX/', 'system'],
          ['assets/.DS_Store', 'system'],
          ['._large', 'system'],
          ['node_modules/', 'dependencies'],
          ['.ENV', 'secret'],
          ['server.key', 'secret'],
          ['.nojekyll', 'dotfile'],
          ['empty.css', 'empty'],
        ],
      )
    })

    test(`${kind}: invalid paths are passed on unchanged, and nothing is written to them`, async () => {
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
        buildArchive(
          kind,
          paths.map((name) => ({ name, data: Buffer.from('x') })),
        ),
      )
      assert.deepEqual(
        files.map((file) => file.path),
        paths.map((path) => (path === '././a' ? './a' : path)),
      )
      assert.ok(!existsSync('/etc/slipway-was-here'))
      assert.ok(!existsSync(join(spoolFolder, '../slipway-was-here')))
    })

    test(`${kind}: empty files are read`, async () => {
      const { files } = await read(kind, buildArchive(kind, [{ name: '.nojekyll', data: Buffer.alloc(0) }]))
      assert.deepEqual(
        files.map(({ path, size }) => [path, size]),
        [['.nojekyll', 0]],
      )
    })

    test(`${kind}: an archive without files is valid`, async () => {
      assert.deepEqual(await read(kind, buildArchive(kind, [])), { files: [], excluded: [] })
    })
  }

  for (const [what, entry, path] of [
    ['UTF-8 with its flag', { name: Buffer.from('é.txt'), flags: 0x800 }, 'é.txt'],
    ['UTF-8 without its flag', { name: Buffer.from('é.txt') }, 'é.txt'],
    ['CP437', { name: Buffer.from([0x82, 0x2e, 0x74]) }, 'é.t'],
    ['CP437 that message it is UTF-8', { name: Buffer.from([0x82, 0x2e, 0x74]), flags: 0x800 }, 'é.t'],
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
