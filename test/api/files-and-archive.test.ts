import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { mediaType } from '../../protocol/manifest/media-type.ts'
import { pluck } from '../support/pluck.ts'
import { waitFor } from '../support/wait-for.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { requires } from '../tools/part.ts'
import { startApi } from './api.ts'
import { filesIn } from './archive-requests.ts'
import { type Contents, sha256 } from './content.ts'

const api = await startApi()
const owner = await api.account()

const contents: Contents = {
  'index.html': '<script>alert(1)</script>',
  'empty.css': '',
  'a b/c+d.txt': 'plus',
  '100%.txt': 'percent',
  'what?.txt': 'question',
  'x#y.txt': 'hash',
  'ünï/日本 😀.bin': randomBytes(300_000),
  "it's (fine).svg": '<svg/>',
  [`${'long/'.repeat(90)}name.txt`]: 'long',
  ['n'.repeat(255)]: 'name',
}

function filePath(slug: string, path: string): string {
  return `/api/v1/publish/${slug}/files/${path.split('/').map(encodeURIComponent).join('/')}`
}

async function readDownload(download: { bytes(): AsyncIterable<Uint8Array> }): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(download.bytes()))
}

describe('one file', () => {
  test('is returned as it was published, with its type and length, and cannot run as a page of the service', async () => {
    const { slug } = await api.publish(owner.client, contents)
    for (const [path, content] of Object.entries(contents)) {
      const download = await owner.client.file(slug, path)
      assert.equal(download.size, Buffer.byteLength(content), path)
      assert.deepEqual(await readDownload(download), Buffer.from(content))
    }
    for (const path of ['index.html', "it's (fine).svg"]) {
      const { headers } = await owner.request('GET', filePath(slug, path))
      assert.equal(headers['content-type'], mediaType(path))
      assert.match(headers['content-disposition']!, /^attachment/)
      assert.match(`${headers['content-security-policy']}`, /sandbox/)
      assert.equal(headers['x-content-type-options'], 'nosniff')
      assert.match(headers['cache-control']!, /no-store/)
      const head = await owner.request('HEAD', filePath(slug, path))
      assert.deepEqual([head.status, head.body.length], [200, 0])
      assert.equal(head.headers['content-length'], `${Buffer.byteLength(contents[path]!)}`)
    }
  })

  test('is read from the live version, or from another kept one', async () => {
    const first = await api.publish(owner.client, { 'a.txt': 'one' })
    const { slug } = first
    const draft = await api.publish(owner.client, { 'a.txt': 'draft' }, { slug, live: false })
    await api.publish(owner.client, { 'a.txt': 'two' }, { slug })
    const read = async (query: string) =>
      (await owner.request('GET', `${filePath(slug, 'a.txt')}${query}`)).text
    assert.equal(await read(''), 'two')
    assert.equal(await read(`?versionId=${first.versionId}`), 'one')
    assert.equal(await read(`?versionId=${draft.versionId}`), 'draft')
  })

  test('is read by either Unicode form of its name, as visitors do', async () => {
    const { slug } = await api.publish(owner.client, {
      'caf\u00e9.txt': 'composed',
      'u\u0308.txt': 'decomposed',
    })
    for (const path of ['caf\u00e9.txt', 'cafe\u0301.txt'])
      assert.equal((await owner.request('GET', filePath(slug, path))).text, 'composed')
    for (const path of ['\u00fc.txt', 'u\u0308.txt'])
      assert.equal((await owner.request('GET', filePath(slug, path))).text, 'decomposed')
  })

  test('is NOT_FOUND when the version has no such path', async () => {
    const { slug } = await api.publish(owner.client, contents)
    for (const path of ['INDEX.HTML', '', '/', 'a b', 'a b/', '..', '%2e%2e/x', 'index.html/']) {
      const answer = await owner.request('GET', `/api/v1/publish/${slug}/files/${path.replace(' ', '%20')}`)
      assert.equal(answer.json.code, 'NOT_FOUND', path)
    }
  })
})

describe('a whole version', () => {
  /** The files that another program unpacks. */
  async function unpacked(
    archive: Buffer,
    command: (file: string) => [string, ...string[]],
  ): Promise<Contents> {
    await using folder = await memoryFolder()
    const file = join(folder.path, 'archive')
    await writeFile(file, archive)
    const [program, ...args] = command(file)
    const data = join(folder.path, 'data')
    await mkdir(join(data, 'files'), { recursive: true })
    execFileSync(program, args, { cwd: join(data, 'files') })
    const read = (await filesIn({ data }, 'files')).map(
      async (path) => [path.slice('files/'.length), await readFile(join(data, path))] as const,
    )
    return Object.fromEntries(await Promise.all(read))
  }

  const untar = (archive: Buffer) => unpacked(archive, (file) => ['tar', '-xzf', file])
  const unzip = (archive: Buffer) =>
    unpacked(archive, (file) => ['python3', '-m', 'zipfile', '-e', file, '.'])

  const hashes = (files: Contents) =>
    Object.fromEntries(Object.entries(files).map(([path, content]) => [path, sha256(content)]))

  test('is returned as a tar.gz that tar unpacks to the same files', async () => {
    const many = Array.from({ length: 91 }, (_, number) => [`${number}.txt`, `${number}`])
    const files: Contents = { ...contents, ...Object.fromEntries(many) }
    const { slug } = await api.publish(owner.client, files)
    const answer = await owner.request('GET', `/api/v1/publish/${slug}/archive`)
    assert.equal(answer.status, 200)
    assert.equal(answer.headers['content-type'], 'application/gzip')
    assert.match(answer.headers['content-disposition']!, new RegExp(`^attachment;.*${slug}\\.tar\\.gz`))
    assert.deepEqual(hashes(await untar(answer.body)), hashes(files))
  })

  test('is a zip that other programs unpack to the same files', requires('archivers'), async () => {
    const files = { ...contents, 'ä/日本.txt': 'names', 'big.bin': randomBytes(3_000_000), 'c:.txt': 'drive' }
    const { slug } = await api.publish(owner.client, files)
    const answer = await owner.request('GET', `/api/v1/publish/${slug}/archive?format=zip`)
    assert.deepEqual([answer.status, answer.headers['content-type']], [200, 'application/zip'])
    assert.match(answer.headers['content-disposition']!, new RegExp(`^attachment;.*${slug}\\.zip`))
    assert.deepEqual(hashes(await unzip(answer.body)), hashes(files))
    const copy = await owner.client.publishArchive(answer.body, { contentType: 'application/zip' })
    assert.equal(copy.fileCount, Object.keys(files).length)
  })

  test('is sent to an account eight times at the same time whatever others read, and again when one of these downloads ends', async () => {
    const { slug } = await api.publish(owner.client, { 'big.bin': randomBytes(16_000_000) })
    const target = `/api/v1/publish/${slug}/archive`
    const headers = { authorization: `Bearer ${owner.key}` }
    const unread = await Promise.all(
      ['', '?format=zip']
        .flatMap((query) => Array<string>(4).fill(query))
        .map((query) => fetch(`http://127.0.0.1:${api.port}${target}${query}`, { headers })),
    )
    const read = () => owner.request('GET', target, { isStream: true })
    assert.deepEqual([pluck(unread, 'status'), (await read()).json.code], [Array(8).fill(200), 'UNAVAILABLE'])
    const other = await api.account()
    const own = await api.publish(other.client, { 'a.txt': 'one' })
    const { status } = await other.request('GET', `/api/v1/publish/${own.slug}/archive`, { isStream: true })
    assert.equal(status, 200)
    await unread[0]!.body!.cancel()
    await waitFor(async () => (await read()).status === 200)
    await Promise.all(unread.slice(1).map(({ body }) => body!.cancel()))
  })

  test('can be another version than the live one', async () => {
    const first = await api.publish(owner.client, { 'a.txt': 'one', 'old.txt': 'old' })
    const { slug } = first
    await api.publish(owner.client, { 'a.txt': 'two' }, { slug })
    const archive = async (query: string) =>
      untar((await owner.request('GET', `/api/v1/publish/${slug}/archive${query}`)).body)
    assert.deepEqual(hashes(await archive('')), hashes({ 'a.txt': 'two' }))
    const old = hashes({ 'a.txt': 'one', 'old.txt': 'old' })
    assert.deepEqual(hashes(await archive(`?versionId=${first.versionId}`)), old)
  })
})

test('files of pending versions and of those of other sites cannot be read', async () => {
  const pending = await api.create(owner.client, { 'a.txt': 'x' })
  const { slug } = await api.publish(owner.client, { 'a.txt': 'x' })
  const other = await api.publish(owner.client, { 'a.txt': 'x' })
  const { upload } = await api.update(owner.client, slug, { 'a.txt': 'y' })
  for (const what of ['files/a.txt', 'archive']) {
    const readCode = async (name: string, query = '') =>
      (await owner.request('GET', `/api/v1/publish/${name}/${what}${query}`)).json.code
    assert.equal(await readCode(pending.slug), 'SITE_PENDING')
    assert.equal(await readCode(slug, `?versionId=${upload.versionId}`), 'SITE_PENDING')
    assert.equal(await readCode(slug, `?versionId=${other.versionId}`), 'NOT_FOUND')
  }
})
