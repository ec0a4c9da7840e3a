import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { nodeTransport } from '../../client/sdk/node-transport.ts'
import { type Published, Slipway } from '../../client/sdk/slipway.ts'
import { openForOperator } from '../../server/app.ts'
import { ENCODINGS } from '../../server/blobs/encoding.ts'
import { readConfig } from '../../server/config/settings.ts'
import { sweeps } from '../../server/jobs/jobs.ts'
import { runOnce } from '../../server/jobs/scheduler.ts'
import type { EncodingLocations } from '../../server/store/tables/blobs.ts'
import { Api, HOUR_MS, MINUTE_MS } from '../api/api.ts'
import { type Contents, sha256, toFiles } from '../api/content.ts'
import { deterministicBytes, listObjects, recordsOf } from '../blobs/bytes.ts'
import { Program } from '../operator/program.ts'
import { PATIENT } from '../support/patient.ts'
import { silentLog } from '../support/silent-log.ts'
import { startForAllTests } from '../support/started-fixture.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { compressibleText, decoded } from './encoded.ts'

describe('after a publish', () => {
  const api = startForAllTests(() => Api.start())

  test('compressible files have encodings of their bytes, and all others have none', async () => {
    const compressible: Contents = {
      'index.html': compressibleText('page', 5000),
      'style.css': compressibleText('style', 300),
      'app.js': compressibleText('script', 70_000),
      'data.json': compressibleText('data', 20_000),
      'drawing.svg': compressibleText('drawing', 2000),
      'program.bin': compressibleText('a program', 5000),
      'large.bin': compressibleText('a large program', 200_000),
    }
    const others: Contents = {
      'photo.png': compressibleText('not really a photo', 5000),
      'film.mp4': compressibleText('not really a film', 5000),
      'tiny.txt': compressibleText('tiny', 255),
    }
    const noises = [5000, 200_000].map((size) => deterministicBytes('noise', size))
    const { slug, versionId } = await publish({
      ...compressible,
      ...others,
      'noise.txt': noises[0]!,
      'noise.bin': noises[1]!,
    })
    for (const content of Object.values(compressible)) await assertPrepared(slug, content)
    for (const content of Object.values(others)) assert.equal(await encodingsOf(slug, content), null)
    const tried = { br: null, zstd: null, gzip: null }
    for (const noise of noises)
      assert.deepEqual(await encodingsOf(slug, noise), tried, 'it is not tried again')
    const { store } = await api.operator()
    assert.equal((await store.read.versions.header(versionId))?.isEncoded, true)
  })

  test('a file of several sites is encoded once, and recorded for each', async () => {
    const shared = compressibleText('of several', 3000)
    const first = await publish({ 'one.html': shared, 'two.html': shared })
    const { object } = (await encodingsOf(first.slug, shared))!.br!
    const other = await publish({ 'index.html': shared, 'own.css': compressibleText('its own', 3000) })
    await assertPrepared(other.slug, shared)
    assert.equal((await encodingsOf(other.slug, shared))!.br!.object, object, 'they were not made anew')
  })

  test('encodings are kept while their blob is referenced, and deleted with it', async () => {
    const { client } = await api.account()
    const [shared, own] = [compressibleText('shared', 3000), compressibleText('own', 3000)]
    const { slug } = await publish({ 'index.html': shared, 'own.html': own }, client)
    const other = await publish({ 'index.html': shared })
    const { object } = (await encodingsOf(slug, own))!.br!
    await client.delete(slug, { permanent: true })
    await collect()
    await assertDeleted(object)
    await assertPrepared(other.slug, shared)
    const again = await publish({ 'index.html': own })
    await assertPrepared(again.slug, own)
  })

  test('a draft has encodings, and a deleted version loses them', async () => {
    const { client } = await api.account()
    const { slug } = await publish({ 'index.html': compressibleText('live', 3000) }, client)
    const draft = compressibleText('draft', 3000)
    const { versionId } = await client.publish({ files: toFiles({ 'index.html': draft }), slug, live: false })
    await api.running.service.precompressor.onIdle()
    await assertPrepared(slug, draft)
    const { object } = (await encodingsOf(slug, draft))!.br!
    await client.deleteVersion(slug, versionId)
    await collect()
    await assertDeleted(object)
  })

  /** Publishes and waits for the background work. */
  async function publish(contents: Contents, client = api.anonymous): Promise<Published> {
    const published = await api.publish(client, contents)
    await api.running.service.precompressor.onIdle()
    return published
  }

  async function collect(): Promise<void> {
    api.pass(HOUR_MS)
    await api.sweep('blobs')
  }

  /** The encodings of a file in any version of a site; null when there is none. */
  async function encodingsOf(slug: string, content: string | Buffer): Promise<EncodingLocations | null> {
    const { read } = (await api.operator()).store
    const ids = (await read.versions.bySlug(slug)).map(({ id }) => id)
    const records = await recordsOf(read, ids)
    return records.find(({ hash }) => hash === sha256(content))!.encodings
  }

  async function assertDeleted(object: string): Promise<void> {
    const { blobs } = await api.operator()
    assert.ok(!(await listObjects(blobs)).includes(object))
  }

  /** Asserts that each encoding exists in one object, with the recorded hash, and decodes to the content. */
  async function assertPrepared(slug: string, content: string | Buffer): Promise<void> {
    const { blobs } = await api.operator()
    const locations = (await encodingsOf(slug, content))!
    for (const encoding of ENCODINGS) {
      const bytes = await blobs.bytes(locations[encoding]!)
      assert.ok(bytes && bytes.length < content.length, `smaller as ${encoding}`)
      assert.ok(decoded[encoding](bytes).equals(Buffer.from(content)), `itself as ${encoding}`)
      assert.equal(locations[encoding]!.hash, sha256(bytes))
      assert.equal(locations[encoding]!.object, locations.br!.object)
    }
  }
})

test('a service killed during the work leaves it to the next', async () => {
  await using folder = await memoryFolder()
  const pages = Array.from({ length: 8 }, (_, number) => deterministicBytes(number, 30_000).toString('hex'))
  const contents = Object.fromEntries(pages.map((page, number) => [`${number}.html`, page]))
  await using program = await Program.serve({ DATA: folder.path })
  const transport = nodeTransport()
  const client = new Slipway({ baseUrl: program.baseUrl, send: transport.send })
  const { versionId } = await client.publish({ files: toFiles(contents) })
  transport.close()
  program.child.kill('SIGKILL')
  await program.ended

  const later = Date.now() + 5 * MINUTE_MS
  const surroundings = { log: silentLog, version: 'test', deadlines: PATIENT, clock: () => later }
  await using context = await openForOperator(readConfig({ SLIPWAY_DATA: folder.path }), surroundings)
  const { store, blobs } = context
  assert.equal((await store.read.versions.header(versionId))?.isEncoded, false, 'there is work left')
  const sweep = sweeps.find(({ name }) => name === 'encodings')!
  assert.equal(await runOnce(sweep, context), 1)
  assert.equal((await store.read.versions.header(versionId))?.isEncoded, true)
  const records = await recordsOf(store.read, [versionId])
  for (const page of pages) {
    const { encodings } = records.find(({ hash }) => hash === sha256(page))!
    const bytes = await blobs.bytes(encodings!.br!)
    assert.ok(decoded.br(bytes!).equals(Buffer.from(page)))
  }
  assert.equal(await runOnce(sweep, context), 0, 'nothing is left to be done')
})
