import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { Slipway } from '../../client/sdk/slipway.ts'
import type { Blobs } from '../../server/blobs/blobs.ts'
import { Finalizer } from '../../server/publish/finalize.ts'
import { UrlBuilder } from '../../server/sites/urls.ts'
import type { Store } from '../../server/store/store.ts'
import { SiteVisitor } from '../faults/visitor.ts'
import { withMethods } from '../store/with-methods.ts'
import { deterministicBytes, received } from './bytes.ts'
import { type ServiceWithInternals, silence, startServiceWithInternals } from './house.ts'

// The moments at which something that is wanted could be collected, each brought about on purpose (promise 3).

const X = deterministicBytes('x', 300)
const Y = deterministicBytes('y', 400)
const DAY_MS = 86_400_000

test('bytes that a pending version takes from a live one outlive it', async () => {
  await using town = await settle()
  const { slug, versionId } = await town.publish({ 'index.html': X })
  const { upload } = await town.owner.update(slug, { files: manifest({ 'index.html': X }) })
  assert.equal(upload.uploads.length, 0)
  await town.publish({ 'index.html': Y }, slug)
  await town.owner.deleteVersion(slug, versionId)
  await town.collect()
  await town.owner.finalize(slug, upload)
  await town.assertServes(slug, X)
})

test('bytes that are in place and not yet named by a commit stay', async () => {
  await using town = await settle()
  await town.leaveBehind(X)
  const { slug, upload } = await town.stage({ 'index.html': X })
  const finalizing = town.finalizing({
    async commit(batch, blobs) {
      const missing = await town.house.blobs.commit(batch, blobs)
      await town.collect()
      return missing
    },
  })
  await finalizing.finalize(await town.caller(), slug, upload)
  await town.assertServes(slug, X)
})

test('a file that is put again during its finalize is one or the other, and all there', async () => {
  await using town = await settle()
  await town.leaveBehind(X)
  const { slug, upload } = await town.stage({ 'index.html': X }, { hashes: false })
  const other = deterministicBytes('another', X.length)
  const finalizing = town.finalizing({
    async commit(batch, blobs) {
      const missing = await town.house.blobs.commit(batch, blobs)
      await town.owner.upload(upload.uploads[0]!, other)
      await town.collect()
      return missing
    },
  })
  const outcome = await finalizing.finalize(await town.caller(), slug, upload).then(
    () => 'live',
    (error: { code: string }) => error.code,
  )
  if (outcome !== 'live') {
    assert.equal(outcome, 'UPLOADS_MISSING')
    await town.owner.finalize(slug, upload)
  }
  const body = await town.visit(slug)
  assert.ok(body.equals(X) || body.equals(other))
})

test('bytes that come while the same ones are being deleted are there afterwards', async () => {
  await using town = await settle()
  await town.leaveBehind(X)
  const staged = await town.owner.create({ files: manifest({ 'index.html': X }) })
  let publishing: Promise<unknown> | undefined
  const remove = async (hash: string) => {
    publishing ??= town.owner
      .upload(staged.upload.uploads[0]!, X)
      .then(() => town.owner.finalize(staged.slug, staged.upload))
    for (let turns = 0; turns < 20; turns++) await turn()
    await town.house.blobs.remove(hash)
  }
  assert.equal(await town.sweep('blobs', { blobs: { ...town.house.blobs, remove } }), 1)
  await publishing
  await town.assertServes(staged.slug, X)
})

test('a sweep that dies between deleting and committing harms nobody, and the next one ends its work', async () => {
  await using town = await settle()
  await town.leaveBehind(X)
  await town.leaveBehind(Y)
  let removed = 0
  const remove = async (hash: string) => {
    if (removed++ === 1) throw new Error('the process dies')
    await town.house.blobs.remove(hash)
  }
  await assert.rejects(town.sweep('blobs', { blobs: { ...town.house.blobs, remove } }), /dies/)
  const { slug } = await town.publish({ 'index.html': X, 'y.txt': Y })
  await town.collect()
  await town.assertServes(slug, X)
  await town.owner.delete(slug)
  await town.collect()
  assert.deepEqual(await Array.fromAsync(town.house.blobs.list()), [])
})

test('a version that is staged while its site is being abandoned wins', async () => {
  await using town = await settle()
  const { slug } = await town.owner.create({ files: manifest({ 'index.html': Y }) })
  town.service.clock.now += 2 * DAY_MS
  let staged: { upload: { versionId: string } } | undefined
  const { store } = town.house
  const sites = withMethods(store.read.sites, {
    async abandoned(before: number, limit: number) {
      const found = await store.read.sites.abandoned(before, limit)
      staged ??= await town.stage({ 'index.html': X }, { slug })
      return found
    },
  })
  await town.sweep('abandoned', { store: { ...store, read: { ...store.read, sites } } as Store })
  await town.owner.finalize(slug, staged!.upload)
  await town.assertServes(slug, X)
})

test('two processes that collect the same at the same time do no harm', async () => {
  await using town = await settle()
  for (let number = 0; number < 5; number++) await town.leaveBehind(deterministicBytes(number, 50))
  const { slug } = await town.publish({ 'index.html': X })
  const sweeps = ['blobs', 'unnamed', 'uploads', 'abandoned', 'old-versions', 'expired-sites', 'blobs']
  await Promise.all([...sweeps, ...sweeps].map((name) => town.sweep(name)))
  assert.deepEqual(await Array.fromAsync(town.house.blobs.list()), [received(X).hash])
  await town.assertServes(slug, X)
})

/** A service without grace time, an owner, and what the stories above are made of. */
async function settle() {
  await using started = new AsyncDisposableStack()
  const both = started.use(await startServiceWithInternals({ BLOB_GRACE: '0' }))
  const owner = both.service.client(await both.service.signIn('owner@example.test'))
  const visitor = started.use(new SiteVisitor(both.service.port))
  const visit = async (slug: string) => {
    const { status, body } = await visitor.get(slug, 'index.html')
    assert.equal(status, 200)
    return body
  }
  const owned = started.move()
  return {
    ...both,
    owner,
    visit,
    assertServes: async (slug: string, bytes: Buffer) => assert.ok((await visit(slug)).equals(bytes)),
    ...publishing(owner),
    ...collecting(both, owner),
    finalizing: (change: Partial<Blobs>) => finalizingOf(both, change),
    async caller() {
      const account = await both.house.store.read.accounts.byEmail('owner@example.test')
      return { account, address: '127.0.0.1', signedInWith: 'key' as const }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function publishing(owner: Slipway) {
  /** Everything but the finalize. */
  async function stage(files: Record<string, Buffer>, { slug = '', hashes = true } = {}) {
    const request = { files: manifest(files, hashes) }
    const staged = slug ? await owner.update(slug, request) : await owner.create(request)
    for (const target of staged.upload.uploads) await owner.upload(target, files[target.path]!)
    return staged
  }
  async function publish(files: Record<string, Buffer>, slug = '') {
    const staged = await stage(files, { slug })
    return owner.finalize(staged.slug, staged.upload)
  }
  return { stage, publish }
}

function collecting({ service, sweep }: ServiceWithInternals, owner: Slipway) {
  return {
    /** These bytes are in place, and condemned because nobody names them any more. */
    async leaveBehind(bytes: Buffer) {
      const { slug } = await publishing(owner).publish({ 'index.html': bytes })
      await owner.delete(slug)
      service.clock.now += 1000
    },
    /** Everything that may go goes. */
    async collect() {
      service.clock.now += 1000
      await sweep('unnamed')
      await sweep('blobs')
    },
  }
}

/** Finalizing as another process does it, with something else in the place of the blobs. */
function finalizingOf({ service, house }: ServiceWithInternals, change: Partial<Blobs>): Finalizer {
  const rooms = {
    store: house.store,
    blobs: { ...house.blobs, ...change },
    versions: house.sweepOptions.versions,
    precompressor: house.sweepOptions.precompressor,
    addresses: new UrlBuilder({ baseUrl: service.baseUrl, siteDomain: 'localhost' }),
    clock: () => service.clock.now,
    log: silence,
  }
  return new Finalizer(rooms)
}

function manifest(files: Record<string, Buffer>, hashes = true) {
  return Object.entries(files).map(([path, bytes]) => ({
    path,
    size: bytes.length,
    contentType: 'text/plain',
    ...(hashes ? { hash: received(bytes).hash } : {}),
  }))
}
