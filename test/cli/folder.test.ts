import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { digestAll } from '../../client/cli/folder/digest.ts'
import { type FoundFile, scan } from '../../client/cli/folder/scan.ts'
import { caseCollisions, manifestErrors } from '../../protocol/manifest/folder-errors.ts'
import { mediaType } from '../../protocol/manifest/media-type.ts'
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

describe('what the service would refuse', () => {
  const found = (...names: string[]) =>
    names.map((local) => ({ path: local.normalize('NFC'), local, source: local, size: 1 }))

  it('1,000 files are fine and 1,001 are not; the fullest folders are named', () => {
    const many = (count: number) => found(...Array.from({ length: count }, (_, at) => `img/${at}.png`))
    assert.deepEqual(manifestErrors(many(1000)), [])
    assert.deepEqual(manifestErrors(many(1001)), [
      '1,001 files; a site can have at most 1,000 (img/ has 1,001)',
    ])
  })

  it('a path of 500 characters is fine and one of 501 is not', () => {
    assert.deepEqual(manifestErrors(found('é'.repeat(500))), [])
    assert.match(manifestErrors(found('é'.repeat(501)))[0]!, /501 characters; a path can have at most 500/)
  })

  it('backslashes and control characters are named', () => {
    assert.equal(manifestErrors(found('a\\b.txt', 'a\nb.txt', 'fine.txt')).length, 2)
  })

  it('paths that Unicode takes for one are told apart by their code points', () => {
    const [sentence] = manifestErrors(found('caf\u00e9', 'cafe\u0301'))
    assert.equal(
      sentence,
      'café is there 2 times, written in different Unicode forms: caf\\u{e9} and cafe\\u{301}',
    )
  })

  it('names that differ only in case are worth a word but no refusal', () => {
    assert.deepEqual(manifestErrors(found('A.txt', 'a.txt')), [])
    assert.deepEqual(caseCollisions(found('A.txt', 'a.txt')), ['A.txt and a.txt differ only in case'])
  })

  it('names at most ten of a kind', () => {
    const lines = manifestErrors(found(...Array.from({ length: 15 }, (_, at) => `a\\${at}`)))
    assert.equal(lines.length, 11)
    assert.equal(lines.at(-1), 'and 5 more like these')
  })
})

describe('content types', () => {
  const expected = {
    'index.html': 'text/html; charset=utf-8',
    'INDEX.HTM': 'text/html; charset=utf-8',
    'a/app.mjs': 'text/javascript; charset=utf-8',
    'style.css': 'text/css; charset=utf-8',
    'logo.svg': 'image/svg+xml; charset=utf-8',
    'app.js.map': 'application/json; charset=utf-8',
    'site.webmanifest': 'application/manifest+json; charset=utf-8',
    'photo.JPG': 'image/jpeg',
    'font.woff2': 'font/woff2',
    'program.wasm': 'application/wasm',
    'film.mp4': 'video/mp4',
    _redirects: 'text/plain; charset=utf-8',
    '.well-known/apple-app-site-association': 'application/json',
    'no-extension': 'application/octet-stream',
    'strange.constructor': 'application/octet-stream',
    'v1.2/data': 'application/octet-stream',
  }
  for (const [path, type] of Object.entries(expected)) {
    it(`${path} is ${type}`, () => assert.equal(mediaType(path), type))
  }
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
