import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { brotliDecompressSync } from 'node:zlib'
import { MemoryBudget } from '../../packages/http-server/memory/second-chance-cache.ts'
import { BlobReader } from '../../server/blobs/blob-reader.ts'
import type { Blobs, StoredBlob } from '../../server/blobs/blobs.ts'
import { diskBlobs } from '../../server/blobs/disk.ts'
import { databaseUnavailable } from '../../server/lib/errors.ts'
import { type LogFields, makeLog } from '../../server/lib/log.ts'
import { Precompressor } from '../../server/publish/precompress/precompressor.ts'
import { InjectedDocuments } from '../../server/sites/page-metadata/injected-document.ts'
import { findInjection } from '../../server/sites/site-metadata.ts'
import { UrlBuilder } from '../../server/sites/urls.ts'
import { deleteVersions } from '../../server/sites/version.ts'
import { sqliteStore } from '../../server/store/sqlite.ts'
import type { Store } from '../../server/store/store.ts'
import type { Version } from '../../server/store/tables/versions.ts'
import { deterministicBytes, keep, listObjects, received, recordsOf } from '../blobs/bytes.ts'
import { siteRow, versionRow } from '../store/rows.ts'
import { PATIENT } from '../support/patient.ts'
import { requires } from '../tools/part.ts'
import { mountSmallDisk } from '../tools/small-disk.ts'
import { compressibleText } from './encoded.ts'

const MINUTE_MS = 60_000
const addresses = new UrlBuilder({ baseUrl: 'http://api.test', siteDomain: 'sites.test' })

interface File {
  path: string
  type?: string
  content: string
}

const ROOT: File[] = [{ path: 'index.html', content: compressibleText('root', 3000) }]
const PAGE: File[] = [{ path: 'a.html', content: compressibleText('a', 3000) }]

/** A store and blobs, with versions inserted directly. */
async function createFixture(t: TestContext, folder?: string) {
  const data = await mkdtemp(join(tmpdir(), 'slipway-encodings-'))
  t.after(() => rm(data, { recursive: true, force: true }))
  const clock = { now: 1_000_000 }
  const store = await sqliteStore({
    file: join(data, 'slipway.db'),
    clock: () => clock.now,
    deadlines: PATIENT,
  })
  t.after(() => store[Symbol.asyncDispose]())
  const blobs = diskBlobs({
    folder: join(folder ?? data, 'blobs'),
    bootId: 'this-run',
    clock: () => clock.now,
  })
  const injectedDocuments = new InjectedDocuments({
    blobs: new BlobReader(blobs, store.read.blobs),
    budget: new MemoryBudget(2 ** 20),
  })
  const logged: { message: string; fields: LogFields }[] = []
  const log = makeLog({ level: 'silent', text: false, write: () => undefined })
  log.error = log.warn = (message, fields = {}) => void logged.push({ message, fields })
  return {
    data,
    clock,
    store,
    blobs,
    logged,
    /** The precompressor of one process; `change` replaces methods of the blobs. */
    encodings(change: Partial<Blobs> = {}, changedStore: Store = store): Precompressor {
      const changed = { ...blobs, ...change }
      const made = new Precompressor({
        store: changedStore,
        blobs: changed,
        blobReader: new BlobReader(changed, store.read.blobs),
        addresses,
        injectedDocuments,
        clock: () => clock.now,
        log,
      })
      t.after(() => made[Symbol.asyncDispose]())
      return made
    },
    async encode(encodings: Precompressor, id: string): Promise<void> {
      encodings.enqueue('a-site', id)
      await encodings.onIdle()
    },
    async version(files: File[], row: Partial<Version> = {}, slug = 'a-site'): Promise<string> {
      const stored: StoredBlob[] = []
      for (const { content } of files) stored.push(await keep(blobs, Buffer.from(content)))
      const manifest = files.map(({ path, type = 'text/html', content }) => {
        return { path, contentType: type, ...received(Buffer.from(content)) }
      })
      const id = row.id ?? 'a-version'
      await store.write('relaxed', {}, async (tx) => {
        if (!(await tx.sites.find(slug))) await tx.sites.insert(siteRow(slug))
        await tx.rows.insert('versions', versionRow(id, slug, { files: manifest, ...row }))
        await tx.blobs.add(slug, stored)
      })
      return id
    },
    /** Changes the title as a metadata change does. */
    async setTitle(title: string | null, id = 'a-version'): Promise<void> {
      await store.write('relaxed', {}, async (tx) => {
        await tx.sites.update('a-site', { title })
        await tx.versions.update(id, { isEncoded: false })
      })
    },
    /** The hash of the root document with injected metadata. */
    async injectedHash(id = 'a-version'): Promise<string> {
      const [site, version] = [await store.read.sites.find('a-site'), await store.read.versions.find(id)]
      return (await injectedDocuments.get(findInjection(site!, version!, addresses)!))!.hash
    },
    isDone: async (id = 'a-version') => (await store.read.versions.header(id))?.isEncoded === true,
    notEncoded: async (limit = 10) =>
      (await store.read.versions.notPrecompressed(0, limit)).map((version) => version.id),
    rows: async (id = 'a-version') =>
      (await recordsOf(store.read, [id]))
        .filter(({ encodings }) => encodings !== null)
        .map(({ hash }) => hash),
    /** Deletes the stored bytes of some content. */
    async lose(content: string): Promise<string> {
      const { hash, object } = (await store.read.blobs.find(hashOf(content)))!
      await blobs.remove([object])
      return hash
    },
  }
}

function hashOf(content: string): string {
  return received(Buffer.from(content)).hash
}

/** The hash of the file that has these encodings, of which the first is Brotli's. */
function hashOfEncoded([brotli]: readonly Buffer[]): string {
  return received(brotliDecompressSync(brotli!)).hash
}

test('files that visitors load first are encoded first', async (t) => {
  const fixture = await createFixture(t)
  const files = [
    { path: 'data.json', type: 'application/json', content: compressibleText('data', 300) },
    { path: 'large.html', content: compressibleText('large', 9000) },
    { path: 'app.js', type: 'text/javascript', content: compressibleText('script', 6000) },
    { path: 'index.html', content: compressibleText('root', 8000) },
    { path: 'style.css', type: 'text/css', content: compressibleText('style', 2000) },
    { path: 'words.txt', type: 'text/plain', content: compressibleText('words', 7000) },
    { path: 'sub/index.html', content: compressibleText('sub', 500) },
  ]
  const order: string[] = []
  const encodings = fixture.encodings({
    async putTogether(contents) {
      const hash = hashOfEncoded(contents)
      order.push(files.find(({ content }) => hashOf(content) === hash)!.path)
      return fixture.blobs.putTogether(contents)
    },
  })
  await fixture.encode(encodings, await fixture.version(files))
  assert.deepEqual(order, [
    'index.html',
    'sub/index.html',
    'style.css',
    'app.js',
    'large.html',
    'data.json',
    'words.txt',
  ])
})

test('a site with many files does not delay other sites until all are encoded', async (t) => {
  const fixture = await createFixture(t)
  const large = Array.from({ length: 4 }, (_, number) => ({
    path: `${number}.html`,
    content: compressibleText(`large ${number}`, 200_000),
  }))
  const small = [{ path: 'index.html', content: compressibleText('small', 2000) }]
  const order: string[] = []
  const encodings = fixture.encodings({
    async putTogether(contents) {
      order.push(hashOfEncoded(contents) === hashOf(small[0]!.content) ? 'small' : 'large')
      return fixture.blobs.putTogether(contents)
    },
  })
  encodings.enqueue('a-site', await fixture.version(large))
  encodings.enqueue('other-site', await fixture.version(small, { id: 'other-version' }, 'other-site'))
  await encodings.onIdle()
  assert.deepEqual(order.toSorted(), [...Array(4).fill('large'), 'small'])
  assert.ok(order.indexOf('small') <= 2, `${order}`)
  assert.ok((await fixture.isDone()) && (await fixture.isDone('other-version')))
})

test('a root document with injected metadata is encoded too, also after a concurrent change', async (t) => {
  const fixture = await createFixture(t)
  const id = await fixture.version(ROOT)
  await fixture.setTitle('One')
  const first = await fixture.injectedHash()
  const encodings = fixture.encodings({
    async putTogether(contents) {
      if (hashOfEncoded(contents) === first) {
        await fixture.setTitle('Two')
        encodings.enqueue('a-site', id)
      }
      return fixture.blobs.putTogether(contents)
    },
  })
  await fixture.encode(encodings, id)
  const second = await fixture.injectedHash()
  assert.notEqual(first, second)
  assert.ok((await fixture.rows()).includes(second))
  assert.ok(await fixture.isDone())
})

test('encodings of a root document with metadata are referenced before they are stored, and released with the metadata', async (t) => {
  const fixture = await createFixture(t)
  const id = await fixture.version(ROOT)
  await fixture.setTitle('One')
  const hash = await fixture.injectedHash()
  const collect = () => fixture.store.write('relaxed', {}, (tx) => tx.blobs.collect(fixture.clock.now, 10))
  const encodings = fixture.encodings({
    async putTogether(contents) {
      assert.equal((await collect()).deleted, 0)
      return fixture.blobs.putTogether(contents)
    },
  })
  await fixture.encode(encodings, id)
  assert.ok((await fixture.rows()).includes(hash))
  await fixture.setTitle(null)
  await fixture.encode(encodings, id)
  assert.equal((await collect()).deleted, 1)
  assert.ok(!(await fixture.rows()).includes(hash))
  assert.ok(await fixture.isDone())
})

test('a metadata change that no process enqueues is encoded by the job', async (t) => {
  const fixture = await createFixture(t)
  const id = await fixture.version(ROOT)
  await fixture.setTitle('One')
  const encodings = fixture.encodings({
    async putTogether(contents) {
      await fixture.setTitle('Two')
      return fixture.blobs.putTogether(contents)
    },
  })
  await fixture.encode(encodings, id)
  assert.equal(await fixture.isDone(), false)
  assert.deepEqual(await fixture.notEncoded(), [id])
})

test('listeners of a site are notified once, when the encodings of a version are complete', async (t) => {
  const fixture = await createFixture(t)
  const notified: (readonly string[] | undefined)[] = []
  fixture.store.onChange((slugs) => void notified.push(slugs))
  const files = Array.from({ length: 4 }, (_, number) => ({
    path: `${number}.html`,
    content: compressibleText(`file ${number}`, 100_000),
  }))
  const encodings = fixture.encodings()
  encodings.enqueue('a-site', await fixture.version(files))
  encodings.enqueue('other-site', await fixture.version(PAGE, { id: 'other-version' }, 'other-site'))
  await encodings.onIdle()
  assert.deepEqual(notified.toSorted(), [['a-site'], ['other-site']])
})

test('listeners of a site that is renamed during the work are notified of its new name', async (t) => {
  const fixture = await createFixture(t)
  const { store, blobs } = fixture
  const id = await fixture.version(PAGE)
  const notified: (readonly string[] | undefined)[] = []
  store.onChange((slugs) => void notified.push(slugs))
  const encodings = fixture.encodings({
    async putTogether(contents) {
      await store.write('relaxed', {}, (tx) => tx.sites.rename('a-site', 'new-name', fixture.clock.now))
      return blobs.putTogether(contents)
    },
  })
  await fixture.encode(encodings, id)
  assert.deepEqual([notified, await fixture.isDone()], [[['new-name']], true])
})

test('a full disk records nothing, and the work is retried', requires('small-disk'), async (t) => {
  await using disk = await mountSmallDisk(4 * 2 ** 20)
  const fixture = await createFixture(t, disk.folder)
  const encodings = fixture.encodings()
  const id = await fixture.version([
    { path: 'a.html', content: deterministicBytes('a', 30_000).toString('hex') },
  ])
  await disk.fill(8192)
  await fixture.encode(encodings, id)
  assert.deepEqual([await fixture.rows(), await fixture.isDone(), fixture.logged.length], [[], false, 1])
  await disk.clear()
  await fixture.encode(encodings, id)
  assert.deepEqual([(await fixture.rows()).length, await fixture.isDone()], [1, true])
})

test('encodings of which the record fails once are recorded before the version counts as encoded', async (t) => {
  const fixture = await createFixture(t)
  const id = await fixture.version([...ROOT, ...PAGE])
  let milliseconds = 0
  // Each file takes long enough for a record of its own.
  t.mock.method(performance, 'now', () => (milliseconds += MINUTE_MS))
  let records = 0
  const write: Store['write'] = (durability, scope, work) => {
    if ('site' in scope && ++records === 2) throw databaseUnavailable()
    return fixture.store.write(durability, scope, work)
  }
  await fixture.encode(fixture.encodings({}, { ...fixture.store, write }), id)
  assert.deepEqual(
    [fixture.logged.length, (await fixture.rows()).length, await fixture.isDone()],
    [1, 2, true],
  )
})

test('a version in work by one process is skipped by others, until its lease expires', async (t) => {
  const fixture = await createFixture(t)
  const id = await fixture.version(PAGE)
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const { putTogether } = fixture.blobs
  let kept = 0
  const first = fixture.encodings({
    async putTogether(contents) {
      reached.resolve()
      await released.promise
      return putTogether(contents)
    },
  })
  const second = fixture.encodings({
    async putTogether(contents) {
      kept++
      return putTogether(contents)
    },
  })
  first.enqueue('a-site', id)
  await reached.promise
  const keptWithin = async (minutes: number) => {
    fixture.clock.now += minutes * MINUTE_MS
    await fixture.encode(second, id)
    return kept
  }
  const counts = [await keptWithin(0), await keptWithin(1), await keptWithin(5)]
  released.resolve()
  assert.deepEqual(counts, [0, 0, 1])
  await first.onIdle()
  assert.ok(await fixture.isDone())
  const discarded = await fixture.store.read.blobs.listDiscarded(fixture.clock.now, 10)
  assert.equal(discarded.length, 1, 'those that were recorded first stay')
})

test('encodings of a version deleted during the work are discarded', async (t) => {
  const fixture = await createFixture(t)
  const content = compressibleText('a', 3000)
  const id = await fixture.version([{ path: 'a.html', content }])
  const encodings = fixture.encodings({
    async putTogether(contents) {
      await fixture.store.write('relaxed', {}, async (tx) => {
        await deleteVersions(tx, 'a-site', { ids: [id], now: fixture.clock.now, effect: 'withdrawn' })
        await tx.blobs.collect(fixture.clock.now, 10)
      })
      return fixture.blobs.putTogether(contents)
    },
  })
  await fixture.encode(encodings, id)
  const discarded = await fixture.store.read.blobs.listDiscarded(fixture.clock.now, 10)
  assert.deepEqual(discarded.sort(), await listObjects(fixture.blobs))
  assert.equal(discarded.length, 2)
  await fixture.version([{ path: 'a.html', content }])
  assert.deepEqual(await fixture.rows(), [], 'no rows for encodings that are discarded')
})

test('a file that cannot be encoded does not delay others, and its retries end', async (t) => {
  const fixture = await createFixture(t)
  const files = [1, 2, 3].map((name) => ({
    path: `${name}.html`,
    content: compressibleText(`file ${name}`, 3000),
  }))
  const id = await fixture.version(files)
  const lost = await fixture.lose(files[1]!.content)
  const encodings = fixture.encodings()
  for (const done of [false, false, true, true]) {
    await fixture.encode(encodings, id)
    assert.equal(await fixture.isDone(), done)
    assert.equal((await fixture.rows()).length, 2)
  }
  assert.deepEqual(
    fixture.logged.map(({ fields }) => [fields.hash, fields.failures]),
    [1, 2, 3].map((failures) => [lost, failures]),
  )
})

test('versions with only lost files are dropped after three attempts, also when several are queued', async (t) => {
  const fixture = await createFixture(t)
  const slugs = ['a-site', 'other-site']
  for (const slug of slugs) {
    const files = [1, 2, 3].map((number) => ({
      path: `${number}.html`,
      content: compressibleText(`${slug} ${number}`, 200_000),
    }))
    await fixture.version(files, { id: `version of ${slug}` }, slug)
    for (const { content } of files) await fixture.lose(content)
  }
  const encodings = fixture.encodings()
  for (const done of [false, false, true]) {
    for (const slug of slugs) encodings.enqueue(slug, `version of ${slug}`)
    await encodings.onIdle()
    for (const slug of slugs) assert.equal(await fixture.isDone(`version of ${slug}`), done)
  }
  assert.equal(fixture.logged.length, 2 * 3 * 3)
})

test('a killed encoding process costs only one retry', async (t) => {
  const fixture = await createFixture(t)
  const files = [1, 2].map((name) => ({
    path: `${name}.html`,
    content: deterministicBytes(name, 30_000).toString('hex'),
  }))
  const id = await fixture.version(files)
  let kill = true
  const encodings = fixture.encodings({
    async bytes(location) {
      if (encodings.pid && kill) {
        kill = false
        process.kill(encodings.pid, 'SIGKILL')
      }
      return fixture.blobs.bytes(location)
    },
  })
  for (const _ of [1, 2]) {
    await fixture.encode(encodings, id)
  }
  assert.equal(kill, false)
  assert.deepEqual((await fixture.rows()).sort(), files.map(({ content }) => hashOf(content)).sort())
  assert.ok(await fixture.isDone())
})

test('stopping ends the encoding process at any point', async (t) => {
  const fixture = await createFixture(t)
  const large = deterministicBytes('large', 40_000).toString('hex')
  const id = await fixture.version([
    { path: 'index.html', content: compressibleText('small', 3000) },
    { path: 'large.html', content: large },
  ])
  const reached = Promise.withResolvers<void>()
  const encodings = fixture.encodings({
    async bytes(location) {
      if (location.hash === hashOf(large)) reached.resolve()
      return fixture.blobs.bytes(location)
    },
  })
  encodings.enqueue('a-site', id)
  await reached.promise
  assert.ok(encodings.pid)
  await encodings[Symbol.asyncDispose]()
  assert.equal(encodings.pid, undefined)
  assert.equal((await fixture.rows()).length, 1, 'completed encodings are recorded')
  assert.equal(await fixture.isDone(), false)
  assert.deepEqual(fixture.logged, [])
  const next = fixture.encodings()
  await fixture.encode(next, id)
  assert.ok(await fixture.isDone(), 'the next process starts immediately')
})

test('after stopping it accepts no work, and versions remain for another process', async (t) => {
  const fixture = await createFixture(t)
  const id = await fixture.version(PAGE)
  const encodings = fixture.encodings()
  await encodings[Symbol.asyncDispose]()
  await fixture.encode(encodings, id)
  assert.deepEqual(await fixture.notEncoded(), [id])
})

test('versions without encodings are listed newest first', async (t) => {
  const fixture = await createFixture(t)
  for (const [id, row] of Object.entries({
    old: { createdAt: 1 },
    new: { createdAt: 3 },
    done: { createdAt: 4, isEncoded: true },
    pending: { createdAt: 5, state: 'pending' as const },
    middle: { createdAt: 2 },
  }))
    await fixture.version([], { id, ...row })
  assert.deepEqual(await fixture.notEncoded(), ['new', 'middle', 'old'])
  assert.deepEqual(await fixture.notEncoded(1), ['new'])
})
