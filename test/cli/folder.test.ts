import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdirSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { isWritablePath } from '../../client/cli/folder/folder-writer.ts'
import { digestAll } from '../../client/sdk/folder/digest.ts'
import { scan } from '../../client/sdk/folder/scan.ts'
import { sha256 } from '../api/content.ts'
import { CliHarness } from './cli-harness.ts'

interface Case {
  files: Record<string, string>
  /** Symbolic links: their targets by path. */
  links?: Record<string, string>
  found: Partial<Record<keyof ReturnType<typeof scan>, string[]>>
}

describe('scanning a folder', () => {
  const cases: Record<string, Case> = {
    'finds every file, also in folders, by path': {
      files: { 'index.html': 'hi', 'b/c/d.css': 'x', 'b/a.js': 'y' },
      found: { files: ['b/a.js', 'b/c/d.css', 'index.html'] },
    },
    'names excluded folders without scanning them': {
      files: { 'index.html': 'hi', 'node_modules/a/index.js': 'x', '.env': 'SECRET=1', 'b/.DS_Store': 'x' },
      found: { files: ['index.html'], ignored: ['.env', 'b/.DS_Store', 'node_modules/'] },
    },
    'adds the index.html of folders whose index has another name': {
      files: {
        ...{
          'INDEX.HTML': 'a',
          'index.htm': 'b',
          'a/index.htm': 'c',
          'b/Index.html': 'd',
          'b/index.html': 'e',
        },
        'c/myindex.html': 'f',
      },
      found: {
        files: [
          ...['INDEX.HTML', 'a/index.htm', 'a/index.html', 'b/Index.html', 'b/index.html', 'c/myindex.html'],
          ...['index.htm', 'index.html'],
        ],
        indexes: ['INDEX.HTML → index.html', 'a/index.htm → a/index.html'],
      },
    },
    'finds empty files': {
      files: { 'index.html': 'hi', 'b/empty.txt': '' },
      found: { files: ['b/empty.txt', 'index.html'] },
    },
    'follows links to files and folders inside': {
      files: { 'v2/index.html': 'two', 'real.txt': 'text' },
      links: { latest: 'v2', 'alias.txt': 'real.txt' },
      found: { files: ['alias.txt', 'latest/index.html', 'real.txt', 'v2/index.html'] },
    },
    'leaves out links that point outside, nowhere or to a parent folder': {
      files: { 'a/index.html': 'hi' },
      links: { file: process.execPath, folder: dirname(process.execPath), broken: 'missing', 'a/up': '..' },
      found: { files: ['a/index.html'], links: ['a/up', 'broken', 'file', 'folder'] },
    },
    'does not publish excluded files through a link': {
      files: {
        'index.html': 'hi',
        '.env': 'SECRET=1',
        '.aws/sso/token.json': 'SECRET=2',
        'node_modules/a/b/index.js': 'x',
      },
      links: {
        ...{ 'config.txt': '.env', aws: '.aws', sso: '.aws/sso', 'token.json': '.aws/sso/token.json' },
        ...{ a: 'node_modules/a', 'lib.js': 'node_modules/a/b/index.js' },
      },
      found: {
        files: ['index.html'],
        ignored: [
          ...['.aws/', '.env', 'a', 'aws', 'config.txt', 'lib.js', 'node_modules/', 'sso', 'token.json'],
        ],
      },
    },
    'publishes names in Unicode NFC, whatever their form on the disk': {
      files: { 'cafe\u0301.html': 'hi' },
      found: { files: ['caf\u00e9.html'] },
    },
  }
  for (const [sentence, { files, links = {}, found }] of Object.entries(cases)) {
    it(sentence, () => {
      using cli = new CliHarness()
      cli.write(files)
      for (const [path, target] of Object.entries(links)) symlinkSync(target, join(cli.cwd, path))
      const { folders, reasons, indexes, ...scanned } = scan(cli.cwd)
      assert.equal(folders[0], realpathSync(cli.cwd))
      assert.deepEqual([...reasons.keys()].sort(), scanned.ignored)
      const none = { ignored: [], links: [], unsupported: [], misnamed: [], indexes: [] }
      const paths = scanned.files.map(({ path }) => path)
      const named = Array.from(indexes, ([path, name]) => `${name} → ${path}`)
      assert.deepEqual({ ...scanned, files: paths, indexes: named }, { ...none, ...found })
      const merged = scan(cli.cwd, { mode: 'merge' })
      assert.equal(merged.files.length, paths.length - named.length)
    })
  }

  it('ends for links that make any number of paths, and for an ignore file without an end', () => {
    using cli = new CliHarness()
    cli.write({ 'index.html': 'hi', '40/.keep': 'x' })
    for (let at = 0; at < 40; at++) {
      mkdirSync(join(cli.cwd, String(at)))
      for (const name of ['a', 'b']) symlinkSync(`../${at + 1}`, join(cli.cwd, String(at), name))
    }
    assert.throws(() => scan(cli.cwd), /Links lead to more than 100,000 files/)
    using wide = new CliHarness()
    wide.write(Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`files/.${at}`, ''])))
    for (let at = 0; at < 100; at++) symlinkSync('files', join(wide.cwd, `link-${at}`))
    assert.throws(() => scan(wide.cwd), /Links lead to more than 100,000 files/)
    const ignore = join(cli.cwd, '.slipwayignore')
    symlinkSync('/dev/zero', ignore)
    assert.throws(() => scan(cli.cwd), /\.slipwayignore is not a file in this folder of at most 32 kB/)
    rmSync(ignore)
    symlinkSync(join(wide.cwd, 'files/.1'), ignore)
    assert.throws(() => scan(cli.cwd), /\.slipwayignore is not a file in this folder/)
    rmSync(ignore)
    cli.write({ '.slipwayignore': Buffer.alloc(40_000, '\n') })
    assert.throws(() => scan(cli.cwd), /\.slipwayignore is not a file in this folder of at most 32 kB/)
  })

  it('does not read through a link that has come in place of a file or a folder since the scan', async () => {
    using outside = new CliHarness()
    const large = Buffer.alloc(1_100_000)
    outside.write({ 'a.txt': 'private', 'large.bin': large })
    const changes: [path: string, target: string][] = [
      ['a.txt', 'a.txt'],
      ['large.bin', 'large.bin'],
      ['sub', '.'],
    ]
    for (const [path, target] of changes) {
      using cli = new CliHarness()
      cli.write({ 'a.txt': 'x', 'large.bin': large, 'sub/a.txt': 'x' })
      const { files } = scan(cli.cwd)
      const [file] = await digestAll(files)
      rmSync(join(cli.cwd, path), { recursive: true })
      symlinkSync(join(outside.cwd, target), join(cli.cwd, path))
      await assert.rejects(digestAll(files), { code: 'FILE_CHANGED', message: /has become a link/ })
      if (path === 'a.txt') assert.throws(() => file!.open(), { code: 'FILE_CHANGED' })
    }
  })

  it('publishes a single file as a site, unless the rules of its folder exclude it', () => {
    using cli = new CliHarness()
    cli.write({ 'photos/cat.jpg': 'meow', 'photos/dog.jpg': 'woof' })
    const [file, ...others] = scan(join(cli.cwd, 'photos/cat.jpg')).files
    assert.deepEqual([file!.path, others], ['cat.jpg', []])
    cli.write({ 'photos/.draft.jpg': 'x' })
    const draft = () => scan(join(cli.cwd, 'photos/.draft.jpg'))
    assert.deepEqual([draft().files, draft().ignored], [[], ['.draft.jpg']])
    cli.write({ 'photos/.slipwayignore': '!.draft.jpg' })
    assert.equal(draft().files[0]!.path, '.draft.jpg')
  })
})

describe('reading files', () => {
  it('returns SHA-256, size, type and bytes of each file, large and small', async () => {
    using cli = new CliHarness()
    const large = randomBytes(3 * 1024 * 1024 + 1)
    cli.write({ NEWS: 'small', 'large.bin': large })
    const files = await digestAll(scan(cli.cwd).files)
    assert.deepEqual(
      files.map(({ open: _, ...file }) => file),
      [
        { path: 'NEWS', size: 5, contentType: 'text/plain; charset=utf-8', hash: sha256('small') },
        {
          path: 'large.bin',
          size: large.length,
          contentType: 'application/octet-stream',
          hash: sha256(large),
        },
      ],
    )
    for (const file of files) {
      const opened = await file.open()
      const bytes =
        opened instanceof Blob ? opened.stream() : opened instanceof Uint8Array ? [opened] : opened
      assert.equal(sha256(Buffer.concat(await Array.fromAsync<Uint8Array>(bytes))), file.hash)
    }
  })

  it('names a file that was deleted', async () => {
    using cli = new CliHarness()
    cli.write({ 'index.html': 'hi' })
    const [file] = await digestAll(scan(cli.cwd).files)
    cli[Symbol.dispose]()
    assert.throws(() => file!.open(), { code: 'FILE_CHANGED', details: { path: 'index.html' } })
  })
})

describe('a path that a server sends', () => {
  const cases: [path: string, onLinux: boolean, onWindows: boolean][] = [
    ['index.html', true, true],
    ['.well-known/security.txt', true, true],
    ['.gitignore', true, true],
    ['a/digit~1/x', true, true],
    ['.git', false, false],
    ['a/.GIT/config', false, false],
    ['.hg/hgrc', false, false],
    ['.Slipway/site.json', false, false],
    // Names by which Windows and HFS+ find the same folders.
    ['GIT~1/config', false, false],
    ['slipwa~2/site.json', false, false],
    ['.git./config', false, false],
    ['.git /config', false, false],
    ['.git . ./config', false, false],
    ['.git::$INDEX_ALLOCATION/config', false, false],
    ['.g\u200cit/config', false, false],
    ['.\u017flipway/site.json', false, false],
    ['.\u017fvn/x', false, false],
    // Names that only Windows changes.
    ['a:stream', true, false],
    ['a. /x', true, false],
    ['.. /x', true, false],
    ['x/aux.txt', true, false],
    ['nul .txt', true, false],
    ['COM\u00b9', true, false],
    ['command.txt', true, true],
    ['../x', false, false],
    ['/x', false, false],
    ['a\\b', false, false],
    ['a\u0000', false, false],
  ]
  for (const [path, onLinux, onWindows] of cases) {
    it(`${JSON.stringify(path)} is ${onLinux ? '' : 'not '}written on Linux and ${onWindows ? '' : 'not '}on Windows`, () => {
      assert.deepEqual([isWritablePath(path, 'linux'), isWritablePath(path, 'win32')], [onLinux, onWindows])
    })
  }
})
