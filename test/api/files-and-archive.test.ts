import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { requires } from '../tools/part.ts'
import { expectFailure, startApi } from './api.ts'
import { assertInvalid } from './api-response.ts'
import { type Contents, sha256 } from './content.ts'

const api = await startApi()
const owner = await api.account()

const contents: Contents = {
  'index.html': '<script>alert(1)</script>',
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
  test('is returned as it was published, with its type and length', async () => {
    const { slug } = await api.publish(owner.client, contents)
    for (const [path, content] of Object.entries(contents)) {
      const download = await owner.client.file(slug, path)
      assert.equal(download.size, Buffer.byteLength(content), path)
      assert.deepEqual(await readDownload(download), Buffer.from(content))
    }
    const page = await owner.client.file(slug, 'index.html')
    assert.equal(page.contentType, 'text/html; charset=utf-8')
    await readDownload(page)
  })

  test('cannot run as a page of the service', async () => {
    const { slug } = await api.publish(owner.client, contents)
    for (const path of ['index.html', "it's (fine).svg"]) {
      const { headers } = await owner.request('GET', filePath(slug, path))
      assert.match(headers['content-disposition']!, /^attachment/)
      assert.match(`${headers['content-security-policy']}`, /sandbox/)
      assert.equal(headers['x-content-type-options'], 'nosniff')
      assert.match(headers['cache-control']!, /no-store/)
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

  test('is NOT_FOUND when the version has no such path', async () => {
    const { slug } = await api.publish(owner.client, contents)
    for (const path of [
      'nowhere.txt',
      'INDEX.HTML',
      '',
      '/',
      'a b',
      'a b/',
      '..',
      '%2e%2e/x',
      'index.html/',
      '/index.html',
    ]) {
      const answer = await owner.request('GET', `/api/v1/publish/${slug}/files/${path.replace(' ', '%20')}`)
      assert.equal(answer.json.code, 'NOT_FOUND', path)
    }
  })

  test('is answered to HEAD without a body', async () => {
    const { slug } = await api.publish(owner.client, contents)
    const answer = await owner.request('HEAD', filePath(slug, 'index.html'))
    assert.equal(answer.status, 200)
    assert.equal(answer.headers['content-length'], `${Buffer.byteLength(contents['index.html']!)}`)
    assert.equal(answer.body.length, 0)
  })
})

describe('a whole version', () => {
  /** Unpacks an archive with the tar command. */
  async function unpacked(archive: Buffer): Promise<Contents> {
    const folder = await mkdtemp(join(tmpdir(), 'slipway-untar-'))
    try {
      execFileSync('tar', ['-xzf', '-', '-C', folder], { input: archive })
      const entries = await readdir(folder, { recursive: true, withFileTypes: true })
      const files = entries
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
      const read = await Promise.all(
        files.map(async (file) => [file.slice(folder.length + 1), await readFile(file)]),
      )
      return Object.fromEntries(read) as Contents
    } finally {
      await rm(folder, { recursive: true })
    }
  }

  /** Unpacks a zip with another implementation, which checks sizes and CRCs. */
  async function unzipped(archive: Buffer): Promise<Contents> {
    const script =
      'import io,json,sys,zipfile,base64\nz=zipfile.ZipFile(io.BytesIO(sys.stdin.buffer.read()))\nprint(json.dumps({n:base64.b64encode(z.read(n)).decode() for n in z.namelist()}))'
    const output = execFileSync('python3', ['-c', script], { input: archive, maxBuffer: 2 ** 26 })
    const files = Object.entries(JSON.parse(output.toString()) as Record<string, string>)
    return Object.fromEntries(files.map(([path, base64]) => [path, Buffer.from(base64, 'base64')]))
  }

  const hashes = (files: Contents) =>
    Object.fromEntries(Object.entries(files).map(([path, content]) => [path, sha256(content)]))

  test('is returned as a tar.gz that tar unpacks to the same files', async () => {
    const { slug } = await api.publish(owner.client, contents)
    const answer = await owner.request('GET', `/api/v1/publish/${slug}/archive`)
    assert.equal(answer.status, 200)
    assert.equal(answer.headers['content-type'], 'application/gzip')
    assert.match(answer.headers['content-disposition']!, new RegExp(`^attachment;.*${slug}\\.tar\\.gz`))
    assert.deepEqual(hashes(await unpacked(answer.body)), hashes(contents))
  })

  test(
    'is returned as a zip that other programs unpack to the same files',
    requires('archivers'),
    async () => {
      const files = { ...contents, 'ä/日本.txt': 'names', 'big.bin': randomBytes(3_000_000) }
      const { slug } = await api.publish(owner.client, files)
      const answer = await owner.request('GET', `/api/v1/publish/${slug}/archive?format=zip`)
      assert.deepEqual([answer.status, answer.headers['content-type']], [200, 'application/zip'])
      assert.match(answer.headers['content-disposition']!, new RegExp(`^attachment;.*${slug}\\.zip`))
      assert.deepEqual(hashes(await unzipped(answer.body)), hashes(files))
      const copy = await owner.client.publishArchive(answer.body, { contentType: 'application/zip' })
      assert.equal(copy.fileCount, Object.keys(files).length)
      const wrong = await owner.request('GET', `/api/v1/publish/${slug}/archive?format=rar`)
      assertInvalid(wrong, 'format')
    },
  )

  test('can be another version than the live one', async () => {
    const first = await api.publish(owner.client, { 'a.txt': 'one', 'old.txt': 'old' })
    const { slug } = first
    await api.publish(owner.client, { 'a.txt': 'two' }, { slug })
    const archive = async (query: string) =>
      unpacked((await owner.request('GET', `/api/v1/publish/${slug}/archive${query}`)).body)
    assert.deepEqual(hashes(await archive('')), hashes({ 'a.txt': 'two' }))
    const old = hashes({ 'a.txt': 'one', 'old.txt': 'old' })
    assert.deepEqual(hashes(await archive(`?versionId=${first.versionId}`)), old)
  })

  test('can be published again as the same site', async () => {
    const { slug } = await api.publish(owner.client, contents)
    const archive = await readDownload(await owner.client.archive(slug))
    const copy = await owner.client.publishArchive(archive, { contentType: 'application/gzip' })
    const files = async (name: string) => {
      const { files } = await owner.client.details(name)
      return files.map(({ path, hash }) => [path, hash]).sort()
    }
    assert.deepEqual(await files(copy.slug), await files(slug))
  })

  test('can have 1,000 files', async () => {
    const many: Contents = {}
    for (let number = 0; number < 1000; number++) many[`${number}.txt`] = `${number}`
    const { slug } = await api.publish(owner.client, many)
    assert.deepEqual(
      hashes(await unpacked(await readDownload(await owner.client.archive(slug)))),
      hashes(many),
    )
  })
})

test('files of pending and unknown versions and of other accounts are NOT_FOUND', async () => {
  const otherAccount = await api.account()
  const pending = await api.create(owner.client, { 'a.txt': 'x' })
  const { slug } = await api.publish(owner.client, { 'a.txt': 'x' })
  const other = await api.publish(owner.client, { 'a.txt': 'x' })
  const { upload } = await api.update(owner.client, slug, { 'a.txt': 'y' })
  for (const what of ['files/a.txt', 'archive']) {
    const readCode = async (name: string, query = '', key: string | undefined = owner.key) =>
      (await api.request('GET', `/api/v1/publish/${name}/${what}${query}`, { key })).json.code
    assert.equal(await readCode(pending.slug), 'SITE_PENDING')
    assert.equal(await readCode(slug, `?versionId=${upload.versionId}`), 'SITE_PENDING')
    assert.equal(await readCode(slug, `?versionId=${other.versionId}`), 'NOT_FOUND')
    assert.equal(await readCode(slug, '?versionId=x'), 'NOT_FOUND')
    assert.equal(await readCode(slug, '?versionId=x&versionId=y'), 'VALIDATION_ERROR')
    assert.equal(await readCode(slug, '', otherAccount.key), 'NOT_FOUND')
  }
  await expectFailure(api.anonymous.archive(slug), 'UNAUTHORIZED')
  await expectFailure(api.anonymous.file(slug, 'a.txt'), 'UNAUTHORIZED')
})
