import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { CommandContext } from '../../client/cli/command.ts'
import { isWritablePath } from '../../client/cli/folder/folder-writer.ts'
import { scanOrThrow } from '../../client/cli/folder/read-site.ts'
import { describeError } from '../../client/cli/format-error.ts'
import { digestAll } from '../../client/sdk/folder/digest.ts'
import { scan } from '../../client/sdk/folder/scan.ts'
import { sha256 } from '../api/content.ts'
import { pluck } from '../support/pluck.ts'
import { CliHarness } from './cli-harness.ts'

describe('scanning a folder', () => {
  it('ends for a folder that cannot be read, unless it is left out, and says what to do', () => {
    using cli = new CliHarness()
    cli.write({ 'site/index.html': 'hi', 'site/sub/a.txt': 'a' })
    const [site, sub] = ['site', 'site/sub'].map((path) => join(cli.cwd, path)) as [string, string]
    chmodSync(cli.cwd, 0o755)
    chmodSync(sub, 0)
    const ofRoot = process.getuid?.() === 0
    if (ofRoot) process.seteuid!(65_534)
    try {
      assert.throws(
        () => scanOrThrow(site),
        (error) => {
          const { message, hints } = describeError(error, {
            signal: new AbortController().signal,
          } as CommandContext)
          assert.equal(message, `${sub}: permission denied`)
          assert.deepEqual(hints, [
            `If the site needs it, make it readable: chmod -R u+rX ${sub}`,
            'If not, leave it out: add its path to .slipwayignore',
          ])
          return true
        },
      )
      const hints = [`Make it readable: chmod -R u+rX ${sub}`]
      assert.throws(() => scanOrThrow(sub), { path: sub, hints })
    } finally {
      if (ofRoot) process.seteuid!(0)
    }
    cli.write({ 'site/.slipwayignore': 'sub/' })
    if (ofRoot) process.seteuid!(65_534)
    try {
      assert.deepEqual(pluck(scanOrThrow(site).files, 'path'), ['index.html'])
    } finally {
      if (ofRoot) process.seteuid!(0)
      chmodSync(sub, 0o755)
    }
  })

  it('adds an index.html in place of another name, unless the files are merged with a site', () => {
    using cli = new CliHarness()
    cli.write({ 'index.htm': 'a' })
    const paths = (mode: 'merge' | 'replace') => scan(cli.cwd, { mode }).files.map(({ path }) => path)
    assert.deepEqual([paths('replace'), paths('merge')], [['index.htm', 'index.html'], ['index.htm']])
  })

  it('never publishes what a pull that was killed has left, also where hidden files are included', () => {
    using cli = new CliHarness()
    const name = '.slipway-00000000-0000-4000-8000-000000000000'
    cli.write({ '.slipwayignore': '!.*', '.htaccess': 'x', [name]: 'half', [`sub/${name}`]: 'half' })
    assert.deepEqual(pluck(scan(cli.cwd).files, 'path'), ['.htaccess'])
  })

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

  it('reports a link that has come in place of a file or a folder since the scan, and one that was deleted', async () => {
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
      await assert.rejects(digestAll(files), { code: 'FILE_CHANGED', message: /disappeared/ })
      symlinkSync(join(outside.cwd, target), join(cli.cwd, path))
      await assert.rejects(digestAll(files), { code: 'FILE_CHANGED', message: /has become a link/ })
      if (path === 'a.txt') assert.throws(() => file!.open(), { code: 'FILE_CHANGED' })
    }
  })

  it('leaves out a file that is deleted during the scan', { skip: process.platform !== 'linux' }, () => {
    // The list of open files has that of the list itself.
    assert.deepEqual(scan('/proc/self/fdinfo').misnamed, [])
  })

  it('publishes a single file as a site, unless the rules of its folder exclude it', () => {
    using cli = new CliHarness()
    cli.write({ 'photos/cat.jpg': 'meow', 'photos/dog.jpg': 'woof' })
    const [file, ...others] = scan(join(cli.cwd, 'photos/cat.jpg')).files
    assert.deepEqual([file!.path, others], ['cat.jpg', []])
    cli.write({ 'photos/.draft.jpg': 'x' })
    const draft = () => scan(join(cli.cwd, 'photos/.draft.jpg'))
    assert.deepEqual([draft().files, draft().excluded], [[], [{ path: '.draft.jpg', reason: 'dotfile' }]])
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

  it('hashes a file as it is read, not as long as it was when its folder was scanned', async () => {
    for (const changed of ['', 'hi', 'hello, world', 'x'.repeat(2_000_000)]) {
      using cli = new CliHarness()
      cli.write({ 'a.txt': 'hello', 'b.txt': 'world' })
      const { files } = scan(cli.cwd)
      cli.write({ 'a.txt': changed })
      const hashed = (await digestAll(files)).map(({ size, hash }) => [size, hash])
      assert.deepEqual(hashed, [
        [changed.length, sha256(changed)],
        [5, sha256('world')],
      ])
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

const cases: [path: string, onLinux: boolean, onWindows: boolean][] = [
  ['index.html', true, true],
  ['.well-known/security.txt', true, true],
  ['.gitignore', true, true],
  ['a/digit~1/x', true, true],
  ['.git', false, false],
  ['a/.GIT/config', false, false],
  ['.hg/hgrc', false, false],
  ['.Slipway/site.json', false, false],
  ['.ssh/authorized_keys', false, false],
  ['a/.AWS/config', false, false],
  ['.gnupg/gpg.conf', false, false],
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
  it(`a path that a server sends ${JSON.stringify(path)} is ${onLinux ? '' : 'not '}written on Linux and ${onWindows ? '' : 'not '}on Windows`, () => {
    assert.deepEqual([isWritablePath(path, 'linux'), isWritablePath(path, 'win32')], [onLinux, onWindows])
  })
}
