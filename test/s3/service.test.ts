import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import type { PublishOptions } from '../../client/sdk/publish.ts'
import { MINUTE_MS } from '../../server/lib/time.ts'
import { make, TYPES } from '../api/archive-requests.ts'
import { sha256 } from '../api/content.ts'
import { deterministicBytes, listObjects } from '../blobs/bytes.ts'
import { type ServiceWithInternals, startServiceWithInternals } from '../blobs/service-with-internals.ts'
import { noise } from '../edge/fixture.ts'
import { openStore } from '../store/test-database.ts'
import { sendRequest } from '../support/http-client.ts'
import { type RunningService, startTestService } from '../support/service.ts'
import { MIB } from '../support/units.ts'
import { waitFor } from '../support/wait-for.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { requires } from '../tools/part.ts'
import { sharedPostgres } from '../tools/postgres.ts'
import { mountSmallDisk } from '../tools/small-disk.ts'
import { createStorage, type S3Storage } from './storage.ts'

const TEXT = 'The same line, again and again.\n'.repeat(2000)
const LARGE = deterministicBytes('large', 2_500_000)

async function start(storage: S3Storage): Promise<ServiceWithInternals> {
  return startServiceWithInternals({ BLOBS_URL: storage.url, TRASH_LIFETIME: '0', BLOB_GRACE: '0' })
}

function files(version: string): PublishOptions['files'] {
  const contents: [path: string, content: Buffer][] = [
    ['index.html', Buffer.from(`<p>${version}`)],
    ['text.txt', Buffer.from(TEXT)],
    ['large.bin', LARGE],
    ...Array.from({ length: 20 }, (_, number): [string, Buffer] => [
      `${number}.bin`,
      deterministicBytes(number, 10_000),
    ]),
  ]
  return contents.map(([path, content]) => ({
    path,
    size: content.length,
    hash: sha256(content),
    contentType: path.endsWith('.bin') ? 'application/zip' : 'text/html; charset=utf-8',
    open: () => content,
  }))
}

test('a site in a bucket is published, read, updated, restored and deleted', requires('ceph'), async () => {
  await using storage = await createStorage()
  await using running = await start(storage)
  const { service, operator } = running
  const client = service.client(await service.signIn('ann@example.org'))
  const takeRequests = () => storage.proxy.requests.splice(0).map(({ method }) => method)
  const visit = (path: string, headers: Record<string, string> = {}) =>
    sendRequest(service.port, { site: slug, path, headers })

  assert.deepEqual(takeRequests(), ['GET'], 'the first start lists files of another service')
  const { slug, versionId: first } = await client.publish({ files: files('one') })
  assert.deepEqual(takeRequests(), Array(23).fill('PUT'), 'a request for each file, and none to finalize')
  await service.service.precompressor.onIdle()
  assert.deepEqual(takeRequests(), ['PUT'], 'one object has all encodings of a file')

  assert.equal((await visit('/')).text, '<p>one')
  assert.ok((await visit('/large.bin')).body.equals(LARGE))
  assert.ok((await visit('/19.bin')).body.equals(deterministicBytes(19, 10_000)))
  const part = await visit('/large.bin', { range: 'bytes=1048570-1048580' })
  assert.equal(part.status, 206)
  assert.ok(part.body.equals(LARGE.subarray(1_048_570, 1_048_581)))
  const encoded = await visit('/text.txt', { 'accept-encoding': 'gzip' })
  assert.equal(encoded.headers['content-encoding'], 'gzip')
  assert.equal(gunzipSync(encoded.body).toString(), TEXT)
  takeRequests()

  const updated = await client.publish({ slug, files: files('two') })
  assert.deepEqual(takeRequests(), ['PUT'], 'only the file that differs')
  assert.notEqual(updated.versionId, first)
  assert.equal((await visit('/')).text, '<p>two')
  takeRequests()
  await client.restore(slug, first)
  assert.deepEqual(takeRequests(), [])
  assert.equal((await visit('/')).text, '<p>one')

  await client.delete(slug, { permanent: true })
  assert.equal((await visit('/')).status, 404)
  service.clock.now += 60_000
  await running.sweep('blobs')
  service.clock.now += 60_000
  await running.sweep('blobs')
  assert.deepEqual(await listObjects(operator.blobs), [])
})

test('without its bucket, a node serves cached files and publishes nothing', requires('ceph'), async () => {
  await using storage = await createStorage()
  await using site = await publishAndRestart(storage)
  const visit = (path: string) => sendRequest(site.service.port, { site: site.slug, path })
  assert.equal((await visit('/')).text, '<p>one')
  storage.proxy.fault = () => 'reset'
  assert.equal((await visit('/')).text, '<p>one')
  assert.equal((await visit('/1.bin')).status, 503)
  assert.equal((await sendRequest(site.service.port, { path: '/health' })).status, 503)
  const body = JSON.stringify({ files: [{ path: 'index.html', content: 'two' }] })
  const headers = { 'content-type': 'application/json' }
  const publish = { method: 'POST', path: '/api/v1/publish', headers, body }
  assert.equal((await sendRequest(site.service.port, publish)).status, 503)
  storage.proxy.fault = () => undefined
  assert.ok((await visit('/1.bin')).body.equals(deterministicBytes(1, 10_000)))
})

test(
  'a node whose disk is full publishes into the bucket of a fleet, except for archives that need its disk',
  requires('ceph', 'postgres', 'small-disk'),
  async () => {
    await using stack = new AsyncDisposableStack()
    const storage = stack.use(await createStorage())
    const disk = stack.use(await mountSmallDisk(16 * MIB))
    const database = stack.use(await (await sharedPostgres()).borrowDatabase())
    const { port } = stack.use(
      await startTestService({
        BLOBS_URL: storage.url,
        DATABASE_URL: database.url,
        DATA: disk.folder,
        DISK_RESERVE: 'automatic',
        SECRET: 'a secret that all of the nodes have in common',
        SMTP_URL: 'smtp://127.0.0.1:1',
        BASE_URL: 'http://localhost',
      }),
    )
    await disk.fill()
    await using store = await openStore(database.url)
    const other = { id: 'other', host: 'other:80', release: '1', startedAt: 0, numbers: {} }
    await store.execute('relaxed', ({ rows }) =>
      rows.put('nodes', { ...other, seenAt: Date.now() + MINUTE_MS }),
    )
    const publish = (type: string, body: string | Buffer) =>
      sendRequest(port, { method: 'POST', path: '/api/v1/publish', headers: { 'content-type': type }, body })
    const text = 'a line of a page\n'.repeat(100_000)
    const json = await publish(
      'application/json',
      JSON.stringify({ files: [{ path: 'a.txt', content: text }] }),
    )
    assert.equal(json.status, 201, json.text)
    const { slug } = json.json as { slug: string }
    assert.equal((await sendRequest(port, { site: slug, path: '/a.txt' })).text, text)
    const archive = async (bytes: number) =>
      publish(TYPES.zip, await make('zip', { 'index.html': 'new', 'b.bin': noise(bytes) }))
    assert.equal((await archive(100_000)).status, 201, 'it fits into memory')
    const { status, json: refusal } = await archive(3 * MIB)
    assert.deepEqual([status, (refusal as { code: string }).code], [507, 'INSUFFICIENT_STORAGE'])
    const ready = () => sendRequest(port, { path: '/ready' })
    await waitFor(async () => (await ready()).status === 503)
    assert.deepEqual((await ready()).json, { status: 'disk-full' }, 'the balancer uses the other one')
  },
)

interface RestartedSite extends AsyncDisposable {
  service: RunningService
  slug: string
}

/** A node that has none of the files in memory. */
async function publishAndRestart(storage: S3Storage): Promise<RestartedSite> {
  await using stack = new AsyncDisposableStack()
  const { path: DATA } = stack.use(await memoryFolder())
  const settings = { BLOBS_URL: storage.url, DATA }
  const slug = await publishOnce(settings)
  const service = stack.use(await startTestService(settings))
  const owned = stack.move()
  return { service, slug, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

async function publishOnce(settings: Record<string, string>): Promise<string> {
  await using service = await startTestService(settings)
  const { slug } = await service.client().publish({ files: files('one') })
  await service.service.precompressor.onIdle()
  return slug
}
