import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { digestAll } from '../../client/cli/folder/digest.ts'
import { type FoundFile, scan } from '../../client/cli/folder/scan.ts'
import { CliHarness } from './desk.ts'

const paths = (files: FoundFile[]) => files.map(({ path }) => path)

describe('looking through a folder', () => {
  it('finds every file, in folders too, by path', () => {
    using desk = new CliHarness()
    desk.write({ 'index.html': 'hi', 'b/c/d.css': 'x', 'b/a.js': 'y' })
    assert.deepEqual(paths(scan(desk.cwd).files), ['b/a.js', 'b/c/d.css', 'index.html'])
  })

  it('names folders that are left out without looking into them', () => {
    using desk = new CliHarness()
    desk.write({ 'index.html': 'hi', 'node_modules/a/index.js': 'x', '.env': 'SECRET=1', 'b/.DS_Store': 'x' })
    const found = scan(desk.cwd)
    assert.deepEqual(found.ignored, ['.env', 'b/.DS_Store', 'node_modules/'])
    assert.deepEqual(paths(found.files), ['index.html'])
  })

  it('skips empty files and names them', () => {
    using desk = new CliHarness()
    desk.write({ 'index.html': 'hi', 'b/empty.txt': '' })
    const found = scan(desk.cwd)
    assert.deepEqual(found.empty, ['b/empty.txt'])
    assert.deepEqual(paths(found.files), ['index.html'])
  })

  it('follows links to files and folders inside', () => {
    using desk = new CliHarness()
    desk.write({ 'v2/index.html': 'two', 'real.txt': 'text' })
    symlinkSync('v2', join(desk.cwd, 'latest'))
    symlinkSync('real.txt', join(desk.cwd, 'alias.txt'))
    assert.deepEqual(paths(scan(desk.cwd).files), [
      'alias.txt',
      'latest/index.html',
      'real.txt',
      'v2/index.html',
    ])
  })

  it('leaves out links that lead outside, nowhere or round in a circle', () => {
    using desk = new CliHarness()
    using elsewhere = new CliHarness()
    elsewhere.write({ 'passwords.txt': 'secret' })
    desk.write({ 'a/index.html': 'hi' })
    symlinkSync(join(elsewhere.cwd, 'passwords.txt'), join(desk.cwd, 'file'))
    symlinkSync(elsewhere.cwd, join(desk.cwd, 'folder'))
    symlinkSync('missing', join(desk.cwd, 'broken'))
    symlinkSync('..', join(desk.cwd, 'a', 'up'))
    const found = scan(desk.cwd)
    assert.deepEqual(found.links, ['a/up', 'broken', 'file', 'folder'])
    assert.deepEqual(paths(found.files), ['a/index.html'])
  })

  it('does not let a link publish what is left out', () => {
    using desk = new CliHarness()
    desk.write({ 'index.html': 'hi', '.env': 'SECRET=1', '.aws/credentials': 'SECRET=2' })
    symlinkSync('.env', join(desk.cwd, 'config.txt'))
    symlinkSync('.aws', join(desk.cwd, 'aws'))
    const found = scan(desk.cwd)
    assert.deepEqual(paths(found.files), ['index.html'])
    assert.deepEqual(found.ignored, ['.aws/', '.env', 'aws', 'config.txt'])
  })

  it('publishes names in Unicode NFC whatever the disk says', () => {
    using desk = new CliHarness()
    desk.write({ 'cafe\u0301.html': 'hi' })
    assert.deepEqual(paths(scan(desk.cwd).files), ['caf\u00e9.html'])
  })

  it('takes a single file as a site of its own', () => {
    using desk = new CliHarness()
    desk.write({ 'photos/cat.jpg': 'meow', 'photos/dog.jpg': 'woof' })
    assert.deepEqual(paths(scan(join(desk.cwd, 'photos/cat.jpg')).files), ['cat.jpg'])
  })
})

describe('reading files', () => {
  it('gives each file its SHA-256, its size and its bytes back, large and small', async () => {
    using desk = new CliHarness()
    const large = randomBytes(3 * 1024 * 1024 + 1)
    desk.write({ 'small.txt': 'small', 'large.bin': large })
    const files = await digestAll(scan(desk.cwd).files)
    assert.deepEqual(
      files.map(({ path, size, hash }) => ({ path, size, hash })),
      [
        { path: 'large.bin', size: large.length, hash: sha256(large) },
        { path: 'small.txt', size: 5, hash: sha256(Buffer.from('small')) },
      ],
    )
    for (const file of files) assert.equal(sha256(await allOf(await file.open())), file.hash)
  })

  it('says which file went away', async () => {
    using desk = new CliHarness()
    desk.write({ 'index.html': 'hi' })
    const [file] = await digestAll(scan(desk.cwd).files)
    desk[Symbol.dispose]()
    assert.throws(() => file!.open(), { code: 'FILE_CHANGED', details: { path: 'index.html' } })
  })
})

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

async function allOf(bytes: Uint8Array | Blob | AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  if (bytes instanceof Uint8Array) return bytes
  if (bytes instanceof Blob) return new Uint8Array(await bytes.arrayBuffer())
  const chunks: Uint8Array[] = []
  for await (const chunk of bytes) chunks.push(chunk)
  return Buffer.concat(chunks)
}
