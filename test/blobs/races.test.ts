import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { Slipway } from '../../client/sdk/slipway.ts'
import { FULL_GRANT } from '../../server/accounts/authorization.ts'
import { Blocklist } from '../../server/accounts/blocklist.ts'
import { BlobReader } from '../../server/blobs/blob-reader.ts'
import { type Blobs, createObjectName, objectCreatedAt } from '../../server/blobs/blobs.ts'
import { ApiError } from '../../server/lib/errors.ts'
import { Metrics } from '../../server/lib/metrics.ts'
import { Finalizer } from '../../server/publish/finalize.ts'
import { UrlBuilder } from '../../server/sites/urls.ts'
import type { Store } from '../../server/store/store.ts'
import { SiteVisitor } from '../publishing/site-visitor.ts'
import { withMethods } from '../store/with-methods.ts'
import { DEFAULT_PLANS, quotasWith, unlimitedQueue } from '../support/plans.ts'
import { silentLog } from '../support/silent-log.ts'
import { waitFor } from '../support/wait-for.ts'
import { deterministicBytes, listObjects, received } from './bytes.ts'
import { type ServiceWithInternals, startServiceWithInternals } from './service-with-internals.ts'

// The races of publishes, claims and sweeps, each of them forced: no referenced blob is deleted (promise 3 of the design).

const X = deterministicBytes('x', 300)
const Y = deterministicBytes('y', 400)
const DAY_MS = 86_400_000

test('a blob that is stored but not yet referenced by a commit is kept', async () => {
  await using fixture = await startFixture()
  await fixture.leaveBehind(X)
  const { slug, upload } = await fixture.stage({ 'index.html': X })
  const finalizer = fixture.finalizerWith({
    async commit(blobs) {
      const missing = await fixture.operator.blobs.commit(blobs)
      await fixture.collect()
      return missing
    },
  })
  await finalizer.finalize(await fixture.caller(), slug, upload)
  await fixture.assertServes(slug, X)
})

test('a file that is uploaded again during finalize is served completely, in its old or its new content', async () => {
  await using fixture = await startFixture()
  await fixture.leaveBehind(X)
  const { slug, upload } = await fixture.stage({ 'index.html': X }, { hashes: false })
  const other = deterministicBytes('another', X.length)
  const finalizer = fixture.finalizerWith({
    async commit(blobs) {
      const missing = await fixture.operator.blobs.commit(blobs)
      await fixture.owner.upload(upload.uploads[0]!, other)
      await fixture.collect()
      return missing
    },
  })
  const outcome = await finalizer.finalize(await fixture.caller(), slug, upload).then(
    () => 'live',
    (error: { code: string }) => error.code,
  )
  if (outcome !== 'live') {
    assert.equal(outcome, 'UPLOADS_MISSING')
    await fixture.owner.finalize(slug, upload)
  }
  const body = await fixture.visit(slug)
  assert.ok(body.equals(X) || body.equals(other))
})

test('a blob that is uploaded while the same blob is being deleted is kept', async () => {
  await using fixture = await startFixture()
  await fixture.leaveBehind(X)
  const staged = await fixture.owner.create({ files: manifest({ 'index.html': X }) })
  let publishing: Promise<unknown> | undefined
  const remove = async (objects: readonly string[]) => {
    publishing ??= fixture.owner
      .upload(staged.upload.uploads[0]!, X)
      .then(() => fixture.owner.finalize(staged.slug, staged.upload))
    await publishing
    await fixture.operator.blobs.remove(objects)
  }
  assert.equal(await fixture.sweep('blobs', { blobs: { ...fixture.operator.blobs, remove } }), 1)
  await publishing
  await fixture.assertServes(staged.slug, X)
})

test('a sweep that is killed between the deletion of rows and of objects loses no data, and the next sweep completes it', async () => {
  await using fixture = await startFixture()
  await fixture.leaveBehind(X)
  await fixture.leaveBehind(Y)
  const remove = async (objects: readonly string[]) => {
    await fixture.operator.blobs.remove(objects.slice(0, 1))
    throw new Error('the process dies')
  }
  await assert.rejects(fixture.sweep('blobs', { blobs: { ...fixture.operator.blobs, remove } }), /dies/)
  fixture.service.clock.now += 5 * 60_000
  const { slug } = await fixture.publish({ 'index.html': X, 'y.txt': Y })
  await fixture.collect()
  await fixture.assertServes(slug, X)
  await fixture.owner.delete(slug, { permanent: true })
  await fixture.collect()
  assert.deepEqual(await listObjects(fixture.operator.blobs), [])
})

test('an object that cannot be deleted does not keep others, and is deleted once it can be', async () => {
  await using fixture = await startFixture()
  const { store, blobs } = fixture.operator
  const own = await Promise.all([X, Y].map((bytes) => blobs.putTogether([bytes])))
  const [stuck, other] = own.map(([location]) => location!.object)
  await store.write('durable', {}, (tx) => tx.blobs.discard([stuck!], 0))
  const remove = async (objects: readonly string[]) => {
    if (objects.includes(stuck!)) throw new Error('a lock of the bucket')
    await blobs.remove(objects)
  }
  const locked = { blobs: { ...blobs, remove } }
  await assert.rejects(fixture.sweep('blobs', locked), /a lock of the bucket/)
  await store.write('durable', {}, (tx) => tx.blobs.discard([other!], 1))
  assert.equal(await fixture.sweep('blobs', locked), 1)
  assert.deepEqual(await listObjects(blobs), [stuck])
  fixture.service.clock.now += 5 * 60_000
  assert.equal(await fixture.sweep('blobs'), 1)
  assert.deepEqual(await listObjects(blobs), [])
})

test('an archive that took longer than the sweep waits keeps its files', async () => {
  await using fixture = await startFixture()
  const { slug } = await fixture.publish({ 'index.html': X })
  const { store, blobs } = fixture.operator
  const objects = await listObjects(blobs)
  await store.write('durable', {}, (tx) => tx.blobs.discard(objects))
  await fixture.sweep('blobs')
  assert.deepEqual(await listObjects(blobs), objects)
  await fixture.assertServes(slug, X)
})

test('an object without a row is discarded after the grace time, and what others store in the same bucket never', async () => {
  await using fixture = await startFixture()
  const { store, blobs } = fixture.operator
  await fixture.publish({ 'index.html': X })
  const stray = createObjectName(1)
  const others = ['backups/a.sql', `b/${stray}`, `${stray}.tar.gz`, 'f'.repeat(64)]
  const all = [...others, stray, ...(await listObjects(blobs))].sort()
  const list = async (after = '') => all.filter((object) => object > after)
  fixture.service.clock.now += 2 * DAY_MS
  const bucket = { ...blobs, list, createdAt: objectCreatedAt }
  assert.equal(
    await fixture.sweep('unnamed', {
      blobs: bucket,
      config: { ...fixture.operator.config, blobGrace: DAY_MS / 1000 },
    }),
    1,
  )
  const due = fixture.service.clock.now + DAY_MS
  assert.deepEqual(await store.read.blobs.listDiscarded(due - 1, 10), [])
  assert.deepEqual(await store.read.blobs.listDiscarded(due, 10), [stray])
})

test('a version that is staged while the sweep deletes its abandoned site keeps the site', async () => {
  await using fixture = await startFixture()
  const { slug } = await fixture.owner.create({ files: manifest({ 'index.html': Y }) })
  fixture.service.clock.now += 2 * DAY_MS
  let staged: { upload: { versionId: string } } | undefined
  const { store } = fixture.operator
  const sites = withMethods(store.read.sites, {
    async due(...given: Parameters<typeof store.read.sites.due>) {
      const found = await store.read.sites.due(...given)
      staged ??= await fixture.stage({ 'index.html': X }, { slug })
      return found
    },
  })
  await fixture.sweep('abandoned', { store: { ...store, read: withMethods(store.read, { sites }) } as Store })
  await fixture.owner.finalize(slug, staged!.upload)
  await fixture.assertServes(slug, X)
})

/** Prepares a site that expires after a day; `keep` prevents that. */
type PrepareExpiring = (fixture: Fixture) => Promise<{ slug: string; keep(): Promise<unknown> }>

const keptInTime: Record<string, PrepareExpiring> = {
  'is claimed': async ({ service, owner }) => {
    const anonymous = service.client()
    const { slug, claimToken, upload } = await anonymous.create({ files: manifest({ 'index.html': X }) })
    await anonymous.upload(upload.uploads[0]!, X)
    await anonymous.finalize(slug, upload)
    return { slug, keep: () => owner.claim(slug, claimToken!) }
  },
  'is set to expire later': async ({ owner, publish }) => {
    const { slug } = await publish({ 'index.html': X })
    await owner.setMetadata(slug, { ttlSeconds: DAY_MS / 1000 })
    return { slug, keep: () => owner.setMetadata(slug, { ttlSeconds: (9 * DAY_MS) / 1000 }) }
  },
}
for (const [what, prepare] of Object.entries(keptInTime))
  test(`a site that ${what} while the sweep deletes expired sites is kept`, async () => {
    await using fixture = await startFixture()
    const { slug, keep } = await prepare(fixture)
    const { store } = fixture.operator
    // The clock of the node that sweeps is the first to reach the expiry.
    const now = fixture.service.clock.now + DAY_MS
    let found = 0
    const sites = withMethods(store.read.sites, {
      async due(...given: Parameters<typeof store.read.sites.due>) {
        const expired = await store.read.sites.due(...given)
        found += expired.length
        if (expired.length > 0) await keep()
        return expired
      },
    })
    const swept = { ...store, read: withMethods(store.read, { sites }) } as Store
    await fixture.sweep('expired-sites', { store: swept, clock: () => now })
    assert.equal(found, 1)
    await fixture.assertServes(slug, X)
  })

test('a file that is deleted and published again while it is opened is read', async () => {
  await using fixture = await startFixture()
  await fixture.leaveBehind(X)
  const { store, blobs } = fixture.operator
  let replaced: Promise<unknown> | undefined
  const replace = async () => {
    await fixture.collect()
    await fixture.publish({ 'index.html': X })
  }
  const bytes: Blobs['bytes'] = async (location) => {
    replaced ??= replace()
    await replaced
    return blobs.bytes(location)
  }
  const reader = new BlobReader({ ...blobs, bytes }, store.read.blobs)
  assert.deepEqual(await reader.bytes(received(X).hash), X)
})

test('two processes can sweep the same blobs at the same time', async () => {
  await using fixture = await startFixture()
  for (let number = 0; number < 5; number++) await fixture.leaveBehind(deterministicBytes(number, 50))
  const { slug } = await fixture.publish({ 'index.html': X })
  const sweeps = ['blobs', 'unnamed', 'uploads', 'abandoned', 'old-versions', 'expired-sites', 'blobs']
  await Promise.all([...sweeps, ...sweeps].map((name) => fixture.sweep(name)))
  const { store, blobs } = fixture.operator
  assert.deepEqual(await listObjects(blobs), [(await store.read.blobs.find(received(X).hash))!.object])
  await fixture.assertServes(slug, X)
})

test('a finalize overtaken by another of the same version reports that it is live', async () => {
  await using fixture = await startFixture()
  const { slug, upload } = await fixture.stage({ 'index.html': X })
  const { versionId } = upload
  const { store } = fixture.operator
  const versions = withMethods(store.newest.versions, {
    async find(id) {
      const version = await store.newest.versions.find(id)
      await fixture.owner.finalize(slug, { versionId })
      return version
    },
  })
  const overtaken = fixture.finalizerWith(
    {},
    { store: { ...store, newest: withMethods(store.newest, { versions }) } },
  )
  const answer = await overtaken.finalize(await fixture.caller(), slug, { versionId })
  assert.deepEqual([answer.currentVersionId, answer.replayed], [versionId, true])
})

test('a draft that waits for a refused finalize of its version does not stop the event loop', async () => {
  await using fixture = await startFixture()
  const { slug, upload } = await fixture.stage({ 'index.html': X })
  const [started, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let commits = 0
  await using finalizer = fixture.finalizerWith({
    async commit(received) {
      if (++commits === 2) {
        started.resolve()
        await released.promise
      }
      return [...received]
    },
  })
  const caller = await fixture.caller()
  const finalize = (live: boolean) =>
    finalizer.finalize(caller, slug, { ...upload, live }, async () => void (await turn()))

  await assert.rejects(finalize(true), { code: 'UPLOADS_MISSING' })
  for (const target of upload.uploads) await fixture.owner.upload(target, X)
  const refused = finalize(true)
  await started.promise
  const both = Promise.allSettled([refused, finalize(false)])
  await turn()
  released.resolve()
  const codes = (await both).map((outcome) => outcome.status === 'rejected' && outcome.reason.code)
  assert.deepEqual(codes, ['UPLOADS_MISSING', 'UPLOADS_MISSING'])
})

test('a finalize that waits for one of the same version as a draft makes that draft live', async () => {
  await using fixture = await startFixture()
  const { slug, upload } = await fixture.stage({ 'index.html': X })
  const [started, waiting] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  await using finalizer = fixture.finalizerWith({
    async commit(received) {
      started.resolve()
      await waiting.promise
      return fixture.operator.blobs.commit(received)
    },
  })
  const caller = await fixture.caller()
  const draft = finalizer.finalize(caller, slug, { ...upload, live: false })
  await started.promise
  const live = finalizer.finalize(caller, slug, upload, async () => void setImmediate(waiting.resolve))
  assert.equal((await draft).currentVersionId, null)
  assert.equal((await live).currentVersionId, upload.versionId)
  await fixture.assertServes(slug, X)
})

test('files are scanned while they are flushed, and missing ones are reported rather than a secret, after the scan', async () => {
  await using fixture = await startFixture()
  const { slug, upload } = await fixture.stage({ 'index.html': X })
  const [scanning, released] = [Promise.withResolvers<number | undefined>(), Promise.withResolvers<void>()]
  const secretScan: ReplacedParts['secretScan'] = {
    async check(_files, { reader }) {
      scanning.resolve((await reader.localPlace(received(X).hash))?.size)
      await released.promise
      throw new ApiError('SECRET_DETECTED', 'A secret')
    },
  }
  const commit: Blobs['commit'] = async (blobs) => {
    assert.equal(await scanning.promise, X.length)
    return [...blobs]
  }
  const finalizer = fixture.finalizerWith({ commit }, { secretScan })
  const answered = finalizer.finalize(await fixture.caller(), slug, upload).catch(({ code }) => code)
  const { versions } = fixture.operator.store.newest
  await waitFor(async () => (await versions.listArrivals(upload.versionId)).length === 0)
  assert.equal(await Promise.race([answered, turn('the scan is running')]), 'the scan is running')
  released.resolve()
  assert.equal(await answered, 'UPLOADS_MISSING')
})

test('a finalize reads files after they are flushed, so that what a power cut left of them is no damage', async () => {
  await using fixture = await startFixture()
  const { commit, bytes } = fixture.operator.blobs
  const { slug, upload } = await fixture.stage({ 'index.html': X, _headers: Buffer.from('/*\n  X-A: b\n') })
  const steps: string[] = []
  const finalizer = fixture.finalizerWith({
    async commit(blobs) {
      await turn()
      steps.push('flushed')
      return commit(blobs)
    },
    takeUnread: () => undefined,
    async bytes(location) {
      steps.push('read')
      return bytes(location)
    },
  })
  await finalizer.finalize(await fixture.caller(), slug, upload)
  assert.deepEqual(steps, ['flushed', 'read'])
})

test('a late retry of a finalize does not restore an older version', async () => {
  await using fixture = await startFixture()
  const { slug, versionId } = await fixture.publish({ 'index.html': X })
  const second = await fixture.publish({ 'index.html': Y }, slug)
  const again = await fixture.owner.finalize(slug, { versionId })
  assert.deepEqual([again.currentVersionId, again.replayed], [second.versionId, true])
  await fixture.assertServes(slug, Y)
})

test('a claim during the finalize of an anonymous version moves the site and that version to the account', async () => {
  await using fixture = await startFixture()
  const anonymous = fixture.service.client()
  const { slug, claimToken, upload } = await anonymous.create({ files: manifest({ 'index.html': X }) })
  await anonymous.upload(upload.uploads[0]!, X)
  await anonymous.finalize(slug, upload)
  const update = await anonymous.update(slug, {
    files: manifest({ 'index.html': Y }),
    claimToken: claimToken!,
  })
  await anonymous.upload(update.upload.uploads[0]!, Y)
  const finalizer = fixture.finalizerWith({
    async commit(received) {
      await fixture.owner.claim(slug, claimToken!)
      return fixture.operator.blobs.commit(received)
    },
  })
  const caller = { account: undefined, address: '127.0.0.1', signedInWith: 'anonymous' as const }
  await assert.rejects(finalizer.finalize(caller, slug, update.upload), { code: 'UNAUTHORIZED' })
  assert.equal((await fixture.owner.details(slug)).currentVersionId, upload.versionId)
})

test('a version whose site is renamed during finalize goes live under the new name', async () => {
  await using fixture = await startFixture()
  const { slug, upload } = await fixture.stage({ 'index.html': X })
  const finalizer = fixture.finalizerWith({
    async commit(received) {
      await fixture.owner.renameSite(slug, 'renamed')
      return fixture.operator.blobs.commit(received)
    },
  })
  const finalized = await finalizer.finalize(await fixture.caller(), slug, upload)
  assert.equal(finalized.slug, 'renamed')
  await fixture.assertServes('renamed', X)
})

type Fixture = Awaited<ReturnType<typeof startFixture>>

/** A service that deletes unreferenced blobs without a grace period, an account, and the steps of the tests above. */
async function startFixture() {
  await using started = new AsyncDisposableStack()
  const running = started.use(await startServiceWithInternals({ BLOB_GRACE: '0' }))
  const owner = running.service.client(await running.service.signIn('owner@example.test'))
  const visitor = started.use(new SiteVisitor(running.service.port))
  const visit = async (slug: string) => {
    const { status, body } = await visitor.get(slug, 'index.html')
    assert.equal(status, 200)
    return body
  }
  const owned = started.move()
  return {
    ...running,
    owner,
    visit,
    assertServes: async (slug: string, bytes: Buffer) => assert.ok((await visit(slug)).equals(bytes)),
    ...publishing(owner),
    ...collecting(running, owner),
    finalizerWith: (change: Partial<Blobs>, parts: ReplacedParts = {}) => toFinalizer(running, change, parts),
    async caller() {
      const account = await running.operator.store.read.accounts.byEmail('owner@example.test')
      return { account, address: '127.0.0.1', signedInWith: 'key' as const, grant: FULL_GRANT }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function publishing(owner: Slipway) {
  /** Creates or updates a site and uploads all files, without finalize. */
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
    /** Stores a blob without references, marked for deletion. */
    async leaveBehind(bytes: Buffer) {
      const { slug } = await publishing(owner).publish({ 'index.html': bytes })
      await owner.delete(slug, { permanent: true })
      service.clock.now += 1000
    },
    /** Runs the sweeps that delete unreferenced blobs. */
    async collect() {
      service.clock.now += 1000
      await sweep('unnamed')
      await sweep('blobs')
    },
  }
}

type ReplacedParts = Partial<Pick<ConstructorParameters<typeof Finalizer>[0], 'store' | 'secretScan'>>

/** A finalizer as another process has it, with parts of its blob store or others replaced. */
function toFinalizer(
  { service, operator }: ServiceWithInternals,
  change: Partial<Blobs>,
  {
    store = operator.store,
    secretScan = { check: async () => ({ warnings: [], allowed: [] }) },
  }: ReplacedParts,
): Finalizer {
  const blobs = { ...operator.blobs, ...change }
  const dependencies = {
    store,
    blobs,
    blocklist: new Blocklist({ store, clock: () => service.clock.now }),
    contentScan: { check: async () => undefined },
    secretScan,
    blobReader: new BlobReader(blobs, store.read.blobs),
    versions: operator.versions,
    plans: DEFAULT_PLANS,
    quotas: quotasWith(DEFAULT_PLANS),
    publishQueue: unlimitedQueue(),
    names: { suggest: async () => undefined },
    precompressor: operator.precompressor,
    addresses: new UrlBuilder({ baseUrl: service.baseUrl, siteDomain: 'localhost' }),
    clock: () => service.clock.now,
    log: silentLog,
    telemetry: { metrics: new Metrics() },
  }
  return new Finalizer(dependencies)
}

function manifest(files: Record<string, Buffer>, hashes = true) {
  return Object.entries(files).map(([path, bytes]) => ({
    path,
    size: bytes.length,
    contentType: 'text/plain',
    ...(hashes ? { hash: received(bytes).hash } : {}),
  }))
}
