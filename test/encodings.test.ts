import assert from 'node:assert/strict'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { nodeTransport } from '../client/sdk/node-transport.ts'
import { type Published, Slipway } from '../client/sdk/slipway.ts'
import { openForOperator } from '../server/app.ts'
import { ENCODINGS } from '../server/blobs/encoding.ts'
import { readConfig } from '../server/config/settings.ts'
import { sweeps } from '../server/jobs/jobs.ts'
import { runOnce } from '../server/jobs/scheduler.ts'
import type { BlobEncodings } from '../server/store/contract/encodings.ts'
import { Api, HOUR_MS, MINUTE_MS } from './api/api.ts'
import { type Contents, sha256, toFiles } from './api/content.ts'
import { deterministicBytes } from './blobs/bytes.ts'
import { silence } from './blobs/service-with-internals.ts'
import { compressibleText, decoded } from './encoded.ts'
import { Program } from './operator/program.ts'
import { startTestService } from './support/service.ts'
import { memoryFolder } from './tools/memory-folder.ts'

/** A service; each publish waits for its background work. */
class Prepared implements AsyncDisposable {
  readonly api: Api

  constructor(api: Api) {
    this.api = api
  }

  static async start(t: TestContext): Promise<Prepared> {
    const prepared = new Prepared(await Api.start())
    t.after(() => prepared[Symbol.asyncDispose]())
    return prepared
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.api[Symbol.asyncDispose]()
  }

  async publish(contents: Contents): Promise<Published> {
    const published = await this.api.publish(this.api.anonymous, contents)
    await this.idle()
    return published
  }

  idle(): Promise<void> {
    return this.api.running.service.precompressor.onIdle()
  }

  async rowOf(slug: string, content: string | Buffer): Promise<BlobEncodings | undefined> {
    const { store } = await this.api.operator()
    return (await store.read.encodings.ofSite(slug)).find((row) => row.hash === sha256(content))
  }

  async isDone(versionId: string): Promise<boolean> {
    const { store } = await this.api.operator()
    return (await store.read.versions.header(versionId))?.isEncoded === true
  }

  /** Paths of the files stored beside a blob. */
  async beside(content: string | Buffer): Promise<string[]> {
    const hash = sha256(content)
    const folder = join(this.api.data, 'blobs', hash.slice(0, 2))
    const names = (await readdir(folder)).filter((name) => name.startsWith(`${hash}.`))
    return names.sort().map((name) => join(folder, name))
  }

  /** Asserts that each encoding exists with the recorded size and decodes to the content. */
  async assertPrepared(slug: string, content: string | Buffer): Promise<void> {
    const { blobs } = await this.api.operator()
    const row = await this.rowOf(slug, content)
    for (const encoding of ENCODINGS) {
      const bytes = await blobs.bytes(sha256(content), encoding)
      assert.ok(bytes && bytes.length < content.length, `smaller as ${encoding}`)
      assert.ok(decoded[encoding](bytes).equals(Buffer.from(content)), `itself as ${encoding}`)
      assert.equal(row?.[encoding], bytes.length)
    }
  }
}

test('after a publish every compressible file gets encodings of its bytes', async (t) => {
  const service = await Prepared.start(t)
  const contents: Contents = {
    'index.html': compressibleText('page', 5000),
    'style.css': compressibleText('style', 300),
    'app.js': compressibleText('script', 700_000),
    'data.json': compressibleText('data', 20_000),
    'drawing.svg': compressibleText('drawing', 2000),
  }
  const { slug, versionId } = await service.publish(contents)
  for (const content of Object.values(contents)) await service.assertPrepared(slug, content)
  assert.ok(await service.isDone(versionId))
})

test('compressed, unknown and tiny files are not encoded', async (t) => {
  const service = await Prepared.start(t)
  const contents: Contents = {
    'photo.png': compressibleText('not really a photo', 5000),
    'font.woff2': compressibleText('not really a font', 5000),
    'program.bin': compressibleText('a program', 5000),
    'tiny.txt': compressibleText('tiny', 255),
  }
  const { slug, versionId } = await service.publish(contents)
  for (const content of Object.values(contents)) {
    assert.equal(await service.rowOf(slug, content), undefined)
    assert.deepEqual(await service.beside(content), [])
  }
  assert.ok(await service.isDone(versionId))
})

test('incompressible text is tried once and stored without encodings', async (t) => {
  const service = await Prepared.start(t)
  const noise = deterministicBytes('noise', 5000)
  const { slug, versionId } = await service.publish({ 'noise.txt': noise })
  assert.deepEqual(
    { ...(await service.rowOf(slug, noise)) },
    {
      hash: sha256(noise),
      br: null,
      zstd: null,
      gzip: null,
    },
  )
  assert.deepEqual(await service.beside(noise), [])
  assert.ok(await service.isDone(versionId))
})

test('a file of several sites is encoded once, and recorded for each', async (t) => {
  const service = await Prepared.start(t)
  const shared = compressibleText('shared', 3000)
  await service.publish({ 'one.html': shared, 'two.html': shared })
  const [path] = await service.beside(shared)
  const { ino } = await stat(path!)
  const other = await service.publish({ 'index.html': shared, 'own.css': compressibleText('own', 3000) })
  await service.assertPrepared(other.slug, shared)
  assert.equal((await stat(path!)).ino, ino, 'the file was not made anew')
})

test('encodings are kept while their blob is referenced, and deleted with it', async (t) => {
  const service = await Prepared.start(t)
  const { api } = service
  const { client } = await api.account()
  const [shared, own] = [compressibleText('shared', 3000), compressibleText('own', 3000)]
  const { slug } = await api.publish(client, { 'index.html': shared, 'own.html': own })
  const other = await service.publish({ 'index.html': shared })
  const collect = async () => {
    api.pass(HOUR_MS)
    await api.sweep('blobs')
  }
  await client.delete(slug, { permanent: true })
  await collect()
  assert.deepEqual(await service.beside(own), [])
  await service.assertPrepared(other.slug, shared)

  const again = await service.publish({ 'index.html': own })
  await service.assertPrepared(again.slug, own)
})

test('a draft gets encodings, and a deleted version loses them', async (t) => {
  const service = await Prepared.start(t)
  const { api } = service
  const { client } = await api.account()
  const { slug } = await api.publish(client, { 'index.html': compressibleText('live', 3000) })
  const contents = { 'index.html': compressibleText('draft', 3000) }
  const { upload } = await api.update(client, slug, contents)
  await api.upload(upload, contents)
  await client.finalize(slug, { versionId: upload.versionId, live: false })
  await service.idle()
  await service.assertPrepared(slug, contents['index.html'])
  await client.deleteVersion(slug, upload.versionId)
  api.pass(HOUR_MS)
  await api.sweep('blobs')
  assert.deepEqual(await service.beside(contents['index.html']), [])
})

/** At least two seconds of work. */
const MUCH: Contents = Object.fromEntries(
  Array.from({ length: 40 }, (_, number) => [
    `${number}.html`,
    deterministicBytes(`page ${number}`, 30_000).toString('hex'),
  ]),
)

test('a service that stops during the work leaves it to the next, without incomplete encodings', async () => {
  await using folder = await memoryFolder()
  let published: Published
  {
    await using service = await startTestService({ DATA: folder.path })
    published = await service.client().publish({ files: toFiles(MUCH) })
  }
  assert.deepEqual(await readdir(join(folder.path, 'blobs', 'staged')), [])
  await assertFinishedByAnother(folder.path, published)
})

test('a service killed during the work leaves it to the next', async () => {
  await using folder = await memoryFolder()
  await using program = await Program.serve({ DATA: folder.path })
  const transport = nodeTransport()
  const client = new Slipway({ baseUrl: program.baseUrl, send: transport.send })
  const published = await client.publish({ files: toFiles(MUCH) })
  transport.close()
  program.child.kill('SIGKILL')
  await program.ended
  await assertFinishedByAnother(folder.path, published)
})

async function assertFinishedByAnother(data: string, { slug, versionId }: Published): Promise<void> {
  const later = Date.now() + 5 * MINUTE_MS
  const surroundings = { log: silence, version: 'test', clock: () => later }
  await using context = await openForOperator(readConfig({ SLIPWAY_DATA: data }), surroundings)
  const { store, blobs, sweepOptions } = context
  assert.equal((await store.read.versions.header(versionId))?.isEncoded, false, 'there is work left')
  const sweep = sweeps.find(({ name }) => name === 'encodings')!
  assert.equal(await runOnce(sweep, sweepOptions), 1)
  assert.equal((await store.read.versions.header(versionId))?.isEncoded, true)
  const rows = await store.read.encodings.ofSite(slug)
  assert.deepEqual(rows.map((row) => row.hash).sort(), Object.values(MUCH).map(sha256).sort())
  for (const content of Object.values(MUCH)) {
    const bytes = await blobs.bytes(sha256(content), 'br')
    assert.ok(decoded.br(bytes!).equals(Buffer.from(content)))
  }
  assert.equal(await runOnce(sweep, sweepOptions), 0, 'nothing is left to be done')
}
