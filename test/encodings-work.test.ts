import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Blobs } from '../server/blobs/blobs.ts'
import { diskBlobs } from '../server/blobs/disk.ts'
import type { Encoding } from '../server/blobs/encoding.ts'
import { type LogFields, makeLog } from '../server/lib/log.ts'
import { MemoryBudget } from '../server/lib/lru-cache.ts'
import { Precompressor } from '../server/precompress/precompressor.ts'
import { findInjection } from '../server/sites/page-metadata/head-metadata.ts'
import { InjectedDocuments } from '../server/sites/page-metadata/injected-document.ts'
import { UrlBuilder } from '../server/sites/urls.ts'
import { deleteVersions } from '../server/sites/version.ts'
import type { Version } from '../server/store/contract/versions.ts'
import { sqliteStore } from '../server/store/sqlite.ts'
import { deterministicBytes, keep, received } from './blobs/bytes.ts'
import { compressibleText } from './encoded.ts'
import { siteRow, versionRow } from './store/rows.ts'
import { requires } from './tools/part.ts'
import { mountSmallDisk } from './tools/small-disk.ts'

const MINUTE_MS = 60_000
const addresses = new UrlBuilder({ baseUrl: 'http://api.test', siteDomain: 'sites.test' })

interface File {
  path: string
  type?: string
  content: string
}

/** The rooms that the work is done in, and versions put straight into them. */
async function rooms(t: TestContext, folder?: string) {
  const data = await mkdtemp(join(tmpdir(), 'slipway-encodings-'))
  t.after(() => rm(data, { recursive: true, force: true }))
  const clock = { now: 1_000_000 }
  const store = await sqliteStore({ file: join(data, 'slipway.db'), clock: () => clock.now })
  t.after(() => store[Symbol.asyncDispose]())
  const blobs = diskBlobs({ folder: join(folder ?? data, 'blobs'), bootId: 'this-run' })
  const injectedDocuments = new InjectedDocuments({ blobs, budget: new MemoryBudget(2 ** 20) })
  const logged: { message: string; fields: LogFields }[] = []
  const log = makeLog({ level: 'silent', text: false, write: () => undefined })
  log.error = log.warn = (message, fields = {}) => void logged.push({ message, fields })
  return {
    data,
    clock,
    store,
    blobs,
    logged,
    /** As one process has it; `change` puts something else in the place of the blobs. */
    encodings(change: Partial<Blobs> = {}): Precompressor {
      const made = new Precompressor({
        store,
        blobs: { ...blobs, ...change },
        addresses,
        injectedDocuments,
        clock: () => clock.now,
        log,
      })
      t.after(() => made[Symbol.asyncDispose]())
      return made
    },
    async version(files: File[], row: Partial<Version> = {}, slug = 'a-site'): Promise<string> {
      for (const { content } of files) await keep(blobs, Buffer.from(content))
      const manifest = files.map(({ path, type = 'text/html', content }) => {
        return { path, contentType: type, ...received(Buffer.from(content)) }
      })
      const id = row.id ?? 'a-version'
      await store.write('relaxed', async (tx) => {
        if (!(await tx.sites.bySlug(slug))) await tx.sites.insert(siteRow(slug))
        await tx.versions.insert(versionRow(id, slug, { files: manifest, ...row }))
        await tx.blobReferences.addReferences(
          slug,
          manifest.map((file) => file.hash),
        )
      })
      return id
    },
    /** What a metadata change does. */
    async setTitle(title: string | null, id = 'a-version'): Promise<void> {
      await store.write('relaxed', async (tx) => {
        await tx.sites.update('a-site', { title })
        await tx.versions.update(id, { isEncoded: false })
      })
    },
    /** The hash of the root document with the metadata in its head. */
    async injectedHash(id = 'a-version'): Promise<string> {
      const [site, version] = [await store.read.sites.bySlug('a-site'), await store.read.versions.byId(id)]
      return (await injectedDocuments.get(findInjection(site!, version!, addresses)!))!.hash
    },
    isDone: async (id = 'a-version') => (await store.read.versions.header(id))?.isEncoded === true,
    rows: async () => (await store.read.encodings.ofSite('a-site')).map((row) => row.hash),
  }
}

function hashOf(content: string): string {
  return received(Buffer.from(content)).hash
}

test('what visitors ask for first is prepared first', async (t) => {
  const house = await rooms(t)
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
  const encodings = house.encodings({
    async putEncoding(hash, encoding, bytes) {
      if (encoding === 'br') order.push(files.find(({ content }) => hashOf(content) === hash)!.path)
      await house.blobs.putEncoding(hash, encoding, bytes)
    },
  })
  encodings.enqueue('a-site', await house.version(files))
  await encodings.onIdle()
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

test('a site with much to encode keeps no other site waiting for all of it', async (t) => {
  const house = await rooms(t)
  const large = Array.from({ length: 6 }, (_, number) => ({
    path: `${number}.html`,
    content: compressibleText(`large ${number}`, 200_000),
  }))
  const small = [{ path: 'index.html', content: compressibleText('small', 2000) }]
  const order: string[] = []
  const encodings = house.encodings({
    async putEncoding(hash, encoding, bytes) {
      await house.blobs.putEncoding(hash, encoding, bytes)
      if (encoding === 'br') order.push(hash === hashOf(small[0]!.content) ? 'small' : 'large')
    },
  })
  encodings.enqueue('a-site', await house.version(large))
  encodings.enqueue('other-site', await house.version(small, { id: 'other-version' }, 'other-site'))
  await encodings.onIdle()
  assert.deepEqual(order.toSorted(), [...Array(6).fill('large'), 'small'])
  assert.ok(order.indexOf('small') <= 2, `${order}`)
  assert.ok((await house.isDone()) && (await house.isDone('other-version')))
})

test('a root document with metadata in its head is prepared too, also with a change that comes meanwhile', async (t) => {
  const house = await rooms(t)
  const id = await house.version([{ path: 'index.html', content: compressibleText('root', 3000) }])
  await house.setTitle('One')
  const first = await house.injectedHash()
  const encodings = house.encodings({
    async putEncoding(hash, encoding, bytes) {
      await house.blobs.putEncoding(hash, encoding, bytes)
      if (hash !== first || encoding !== 'gzip') return
      await house.setTitle('Two')
      encodings.enqueue('a-site', id)
    },
  })
  encodings.enqueue('a-site', id)
  await encodings.onIdle()
  const second = await house.injectedHash()
  assert.notEqual(first, second)
  assert.ok((await house.rows()).includes(second))
  assert.ok(await house.isDone())
})

test('encodings of a root document with metadata are named before they are stored, and let go with the metadata', async (t) => {
  const house = await rooms(t)
  const id = await house.version([{ path: 'index.html', content: compressibleText('root', 3000) }])
  await house.setTitle('One')
  const hash = await house.injectedHash()
  const unnamed: string[] = []
  const encodings = house.encodings({
    async putEncoding(of, encoding, bytes) {
      unnamed.push(...(await house.store.read.blobReferences.findUnreferenced([of])))
      await house.blobs.putEncoding(of, encoding, bytes)
    },
  })
  encodings.enqueue('a-site', id)
  await encodings.onIdle()
  assert.deepEqual(unnamed, [])
  assert.ok((await house.rows()).includes(hash))
  await house.setTitle(null)
  encodings.enqueue('a-site', id)
  await encodings.onIdle()
  assert.deepEqual(await house.store.read.blobReferences.findUnreferenced([hash]), [hash])
  assert.ok(await house.isDone())
})

test('a change of the metadata that no process enqueues is left for the job', async (t) => {
  const house = await rooms(t)
  const id = await house.version([{ path: 'index.html', content: compressibleText('root', 3000) }])
  await house.setTitle('One')
  const encodings = house.encodings({
    async putEncoding(hash, encoding, bytes) {
      await house.blobs.putEncoding(hash, encoding, bytes)
      if (encoding === 'gzip') await house.setTitle('Two')
    },
  })
  encodings.enqueue('a-site', id)
  await encodings.onIdle()
  assert.equal(await house.isDone(), false)
  assert.deepEqual(
    (await house.store.read.versions.notPrecompressed(10)).map((version) => version.id),
    [id],
  )
})

test('whoever serves the site is told when something is prepared', async (t) => {
  const house = await rooms(t)
  const told: (readonly string[] | undefined)[] = []
  house.store.onChange((slugs) => void told.push(slugs))
  const encodings = house.encodings()
  encodings.enqueue('a-site', await house.version([{ path: 'a.html', content: compressibleText('a', 3000) }]))
  await encodings.onIdle()
  assert.deepEqual(told, [['a-site']])
})

test('on a full disk nothing is recorded, and there is another try', requires('small-disk'), async (t) => {
  await using disk = await mountSmallDisk(4 * 2 ** 20)
  const house = await rooms(t, disk.folder)
  const encodings = house.encodings()
  const id = await house.version([
    { path: 'a.html', content: deterministicBytes('a', 200_000).toString('hex') },
  ])
  await disk.fill(8192)
  encodings.enqueue('a-site', id)
  await encodings.onIdle()
  assert.deepEqual([await house.rows(), await house.isDone(), house.logged.length], [[], false, 1])
  await disk.clear()
  encodings.enqueue('a-site', id)
  await encodings.onIdle()
  assert.deepEqual([(await house.rows()).length, await house.isDone()], [1, true])
})

test('a version that one process is at is left alone by others, until that one is silent for minutes', async (t) => {
  const house = await rooms(t)
  const id = await house.version([{ path: 'a.html', content: compressibleText('a', 3000) }])
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const kept: Encoding[] = []
  const first = house.encodings({
    async putEncoding() {
      reached.resolve()
      await released.promise
    },
  })
  const second = house.encodings({ putEncoding: async (_, encoding) => void kept.push(encoding) })
  first.enqueue('a-site', id)
  await reached.promise
  const keptWithin = async (minutes: number) => {
    house.clock.now += minutes * MINUTE_MS
    second.enqueue('a-site', id)
    await second.onIdle()
    return kept.length
  }
  const counts = [await keptWithin(0), await keptWithin(1), await keptWithin(5)]
  released.resolve()
  assert.deepEqual(counts, [0, 0, 3])
  await first.onIdle()
  assert.ok(await house.isDone())
})

test('what was prepared for a version that went meanwhile is collected', async (t) => {
  const house = await rooms(t)
  const content = compressibleText('a', 3000)
  const id = await house.version([{ path: 'a.html', content }])
  const encodings = house.encodings({
    async putEncoding(hash, encoding, bytes) {
      await house.store.write('relaxed', async (tx) => {
        await deleteVersions(tx, 'a-site', [id], house.clock.now)
        await tx.blobReferences.unmark([hash])
      })
      await house.blobs.remove(hash)
      await house.blobs.putEncoding(hash, encoding, bytes)
    },
  })
  encodings.enqueue('a-site', id)
  await encodings.onIdle()
  assert.deepEqual(await Array.fromAsync(house.blobs.list()), [hashOf(content)])
  assert.deepEqual(await house.store.read.blobReferences.markedForDeletion(house.clock.now, 10), [
    hashOf(content),
  ])
  await house.store.write('relaxed', (tx) => tx.blobReferences.addReferences('a-site', [hashOf(content)]))
  assert.deepEqual(await house.rows(), [], 'nothing is said of encodings that are about to go')
})

test('a file that cannot be encoded keeps none of the others back, and is given up after a while', async (t) => {
  const house = await rooms(t)
  const files = [1, 2, 3].map((name) => ({
    path: `${name}.html`,
    content: compressibleText(`file ${name}`, 3000),
  }))
  const id = await house.version(files)
  const lost = hashOf(files[1]!.content)
  await house.blobs.remove(lost)
  const encodings = house.encodings()
  for (const done of [false, false, true, true]) {
    encodings.enqueue('a-site', id)
    await encodings.onIdle()
    assert.equal(await house.isDone(), done)
    assert.equal((await house.rows()).length, 2)
  }
  assert.deepEqual(
    house.logged.map(({ fields }) => [fields.hash, fields.failures]),
    [1, 2, 3].map((failures) => [lost, failures]),
  )
})

test('versions whose files are all lost are given up after three attempts, also when several wait for their turns', async (t) => {
  const house = await rooms(t)
  const slugs = ['a-site', 'other-site']
  for (const slug of slugs) {
    const files = [1, 2, 3].map((number) => ({
      path: `${number}.html`,
      content: compressibleText(`${slug} ${number}`, 200_000),
    }))
    await house.version(files, { id: `version of ${slug}` }, slug)
    for (const { content } of files) await house.blobs.remove(hashOf(content))
  }
  const encodings = house.encodings()
  for (const done of [false, false, true]) {
    for (const slug of slugs) encodings.enqueue(slug, `version of ${slug}`)
    await encodings.onIdle()
    for (const slug of slugs) assert.equal(await house.isDone(`version of ${slug}`), done)
  }
  assert.equal(house.logged.length, 2 * 3 * 3)
})

test('an encoding process that is killed over a file costs only another try', async (t) => {
  const house = await rooms(t)
  const files = [1, 2].map((name) => ({
    path: `${name}.html`,
    content: deterministicBytes(name, 400_000).toString('hex'),
  }))
  const id = await house.version(files)
  let kill = true
  const encodings = house.encodings({
    async bytes(hash, encoding) {
      if (encodings.pid && kill) {
        kill = false
        process.kill(encodings.pid, 'SIGKILL')
      }
      return house.blobs.bytes(hash, encoding)
    },
  })
  for (const _ of [1, 2]) {
    encodings.enqueue('a-site', id)
    await encodings.onIdle()
  }
  assert.equal(kill, false)
  assert.deepEqual((await house.rows()).sort(), files.map(({ content }) => hashOf(content)).sort())
  assert.ok(await house.isDone())
})

test('when it stops, so does the encoding process, whatever that is at', async (t) => {
  const house = await rooms(t)
  const large = deterministicBytes('large', 500_000).toString('hex')
  const id = await house.version([
    { path: 'index.html', content: compressibleText('small', 3000) },
    { path: 'large.html', content: large },
  ])
  const reached = Promise.withResolvers<void>()
  const encodings = house.encodings({
    async bytes(hash, encoding) {
      if (hash === hashOf(large)) reached.resolve()
      return house.blobs.bytes(hash, encoding)
    },
  })
  encodings.enqueue('a-site', id)
  await reached.promise
  assert.ok(encodings.pid)
  await encodings[Symbol.asyncDispose]()
  assert.equal(encodings.pid, undefined)
  assert.equal((await house.rows()).length, 1, 'what was done is recorded')
  assert.equal(await house.isDone(), false)
  assert.deepEqual(house.logged, [])
  const next = house.encodings()
  next.enqueue('a-site', id)
  await next.onIdle()
  assert.ok(await house.isDone(), 'the next need not wait')
})

test('once stopped it takes up nothing, and the versions wait for another', async (t) => {
  const house = await rooms(t)
  const id = await house.version([{ path: 'a.html', content: compressibleText('a', 3000) }])
  const encodings = house.encodings()
  await encodings[Symbol.asyncDispose]()
  encodings.enqueue('a-site', id)
  await encodings.onIdle()
  assert.deepEqual(
    (await house.store.read.versions.notPrecompressed(10)).map((version) => version.id),
    [id],
  )
})

test('versions without encodings are found newest first', async (t) => {
  const house = await rooms(t)
  for (const [id, row] of Object.entries({
    old: { createdAt: 1 },
    new: { createdAt: 3 },
    done: { createdAt: 4, isEncoded: true },
    pending: { createdAt: 5, state: 'pending' as const },
    middle: { createdAt: 2 },
  }))
    await house.version([], { id, ...row })
  const found = (limit: number) => house.store.read.versions.notPrecompressed(limit)
  assert.deepEqual(
    (await found(10)).map((version) => version.id),
    ['new', 'middle', 'old'],
  )
  assert.deepEqual(
    (await found(1)).map((version) => version.id),
    ['new'],
  )
})
