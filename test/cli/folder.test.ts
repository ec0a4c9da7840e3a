import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { digestAll } from '../../client/cli/folder/digest.ts'
import { type FoundFile, scan } from '../../client/cli/folder/scan.ts'
import { sha256 } from '../api/content.ts'
import { CliHarness } from './cli-harness.ts'

const paths = (files: FoundFile[]) => files.map(({ path }) => path)

describe('scanning a folder', () => {
  it('finds every file, also in folders, by path', () => {
    using cli = new CliHarness()
    cli.write({ 'index.html': 'hi', 'b/c/d.css': 'x', 'b/a.js': 'y' })
    assert.deepEqual(paths(scan(cli.cwd).files), ['b/a.js', 'b/c/d.css', 'index.html'])
  })

  it('names excluded folders without scanning them', () => {
    using cli = new CliHarness()
    cli.write({ 'index.html': 'hi', 'node_modules/a/index.js': 'x', '.env': 'SECRET=1', 'b/.DS_Store': 'x' })
    const found = scan(cli.cwd)
    assert.deepEqual(found.ignored, ['.env', 'b/.DS_Store', 'node_modules/'])
    assert.deepEqual(paths(found.files), ['index.html'])
  })

  it('skips empty files and names them', () => {
    using cli = new CliHarness()
    cli.write({ 'index.html': 'hi', 'b/empty.txt': '' })
    const found = scan(cli.cwd)
    assert.deepEqual(found.empty, ['b/empty.txt'])
    assert.deepEqual(paths(found.files), ['index.html'])
  })

  it('follows links to files and folders inside', () => {
    using cli = new CliHarness()
    cli.write({ 'v2/index.html': 'two', 'real.txt': 'text' })
    symlinkSync('v2', join(cli.cwd, 'latest'))
    symlinkSync('real.txt', join(cli.cwd, 'alias.txt'))
    assert.deepEqual(paths(scan(cli.cwd).files), [
      'alias.txt',
      'latest/index.html',
      'real.txt',
      'v2/index.html',
    ])
  })

  it('leaves out links that point outside, nowhere or to a parent folder', () => {
    using cli = new CliHarness()
    using elsewhere = new CliHarness()
    elsewhere.write({ 'passwords.txt': 'secret' })
    cli.write({ 'a/index.html': 'hi' })
    symlinkSync(join(elsewhere.cwd, 'passwords.txt'), join(cli.cwd, 'file'))
    symlinkSync(elsewhere.cwd, join(cli.cwd, 'folder'))
    symlinkSync('missing', join(cli.cwd, 'broken'))
    symlinkSync('..', join(cli.cwd, 'a', 'up'))
    const found = scan(cli.cwd)
    assert.deepEqual(found.links, ['a/up', 'broken', 'file', 'folder'])
    assert.deepEqual(paths(found.files), ['a/index.html'])
  })

  it('does not publish excluded files through a link', () => {
    using cli = new CliHarness()
    cli.write({ 'index.html': 'hi', '.env': 'SECRET=1', '.aws/credentials': 'SECRET=2' })
    symlinkSync('.env', join(cli.cwd, 'config.txt'))
    symlinkSync('.aws', join(cli.cwd, 'aws'))
    const found = scan(cli.cwd)
    assert.deepEqual(paths(found.files), ['index.html'])
    assert.deepEqual(found.ignored, ['.aws/', '.env', 'aws', 'config.txt'])
  })

  it('publishes names in Unicode NFC, whatever their form on the disk', () => {
    using cli = new CliHarness()
    cli.write({ 'cafe\u0301.html': 'hi' })
    assert.deepEqual(paths(scan(cli.cwd).files), ['caf\u00e9.html'])
  })

  it('publishes a single file as a site', () => {
    using cli = new CliHarness()
    cli.write({ 'photos/cat.jpg': 'meow', 'photos/dog.jpg': 'woof' })
    assert.deepEqual(paths(scan(join(cli.cwd, 'photos/cat.jpg')).files), ['cat.jpg'])
  })
})

describe('reading files', () => {
  it('returns SHA-256, size and bytes of each file, large and small', async () => {
    using cli = new CliHarness()
    const large = randomBytes(3 * 1024 * 1024 + 1)
    cli.write({ 'small.txt': 'small', 'large.bin': large })
    const files = await digestAll(scan(cli.cwd).files)
    assert.deepEqual(
      files.map(({ path, size, hash }) => ({ path, size, hash })),
      [
        { path: 'large.bin', size: large.length, hash: sha256(large) },
        { path: 'small.txt', size: 5, hash: sha256('small') },
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
