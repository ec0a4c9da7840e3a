import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import { FULL_GRANT } from '../../server/accounts/authorization.ts'
import { Blocklist } from '../../server/accounts/blocklist.ts'
import { BlobReader } from '../../server/blobs/blob-reader.ts'
import type { Blobs } from '../../server/blobs/blobs.ts'
import { type SweepParts, sweeps } from '../../server/jobs/jobs.ts'
import { runOnce } from '../../server/jobs/scheduler.ts'
import { ApiError } from '../../server/lib/errors.ts'
import { Metrics } from '../../server/lib/metrics.ts'
import { Finalizer } from '../../server/publish/finalize.ts'
import { PendingManifestCache } from '../../server/publish/pending-uploads.ts'
import { PendingVersionStore, type StagedVersion } from '../../server/publish/stage.ts'
import { UploadRecorder } from '../../server/publish/upload-recorder.ts'
import { deleteRest, deleteSite } from '../../server/sites/trash.ts'
import { UrlBuilder } from '../../server/sites/urls.ts'
import { Versions } from '../../server/sites/version-history.ts'
import type { Store } from '../../server/store/store.ts'
import { sha256 } from '../api/content.ts'
import { accountRow } from '../store/rows.ts'
import { plansWith, quotasWith, unlimitedQueue } from '../support/plans.ts'
import type { Random } from '../support/random.ts'
import { silentLog } from '../support/silent-log.ts'
import { deterministicBytes, listObjects, recordsOf, toBody } from './bytes.ts'
import { memoryBlobs } from './memory-blobs.ts'

const OWNER = accountRow('owner')
const PLANS = plansWith({ versionsKept: 3, draftsKept: 2, previews: 1 })
const CALLER = { account: OWNER, address: '127.0.0.1', signedInWith: 'key' as const, grant: FULL_GRANT }
const LIMITS = { files: 1000, fileBytes: 1e6, siteBytes: 1e9 }
const PENDING_LIFETIME_SECONDS = 100_000
const GRACE_SECONDS = 60

const NOT_DONE = 'not done'
const UNAVAILABLE_PAUSE_MS = 100

/** Attempts at a final step on an overloaded machine. */
const MAX_ATTEMPTS = 20

/** Contents that all sites share, so that their blobs are referenced and released all the time. */
const CONTENTS = Array.from({ length: 60 }, (_, name) => deterministicBytes(name, 20 + name))

/** The parts of a service that publish and collect, over one store. */
class PublishingNode {
  readonly store: Store
  readonly reader: BlobReader
  readonly versions: Versions
  readonly finalizer: Finalizer
  readonly #blobs: Blobs
  readonly #clock: () => number
  readonly #pendingVersions: PendingVersionStore
  readonly #recorder: UploadRecorder

  constructor(store: Store, blobs: Blobs, clock: () => number) {
    this.store = store
    this.#blobs = blobs
    this.#clock = clock
    this.reader = new BlobReader(blobs, store.read.blobs)
    const addresses = new UrlBuilder({ baseUrl: 'http://api.test', siteDomain: 'sites.test' })
    const precompressor = { enqueue: () => undefined }
    const publishQueue = unlimitedQueue()
    const parts = {
      store,
      blocklist: new Blocklist({ store, clock }),
      clock,
      addresses,
      precompressor,
      publishQueue,
    }
    this.versions = new Versions({
      ...parts,
      blobs: this.reader,
      plans: PLANS,
      draftLifetime: PENDING_LIFETIME_SECONDS,
    })
    this.finalizer = new Finalizer({
      ...parts,
      contentScan: { check: async () => undefined },
      secretScan: { check: async () => ({ warnings: [], allowed: [] }) },
      names: { suggest: async () => undefined },
      blobs,
      blobReader: this.reader,
      versions: this.versions,
      plans: PLANS,
      quotas: quotasWith(PLANS),
      log: silentLog,
      telemetry: { metrics: new Metrics() },
    })
    this.#pendingVersions = new PendingVersionStore({
      ...parts,
      names: undefined as never,
      anonymousLifetime: PENDING_LIFETIME_SECONDS,
      previewLifetime: PENDING_LIFETIME_SECONDS,
      plans: PLANS,
      quotas: quotasWith(PLANS),
      allowsAnonymous: true,
      anonymousLimits: LIMITS,
    })
    const manifests = new PendingManifestCache({ store })
    this.#recorder = new UploadRecorder({ store, blobs, manifests, log: silentLog })
  }

  async stage(slug: string | undefined, contents: readonly Buffer[], hashes: boolean) {
    const files = contents.map((bytes, index) => {
      const declared = hashes ? { hash: sha256(bytes) } : {}
      return {
        path: `${index}.bin`,
        size: bytes.length,
        contentType: 'application/octet-stream',
        ...declared,
      }
    })
    return slug === undefined
      ? this.#pendingVersions.newSite(CALLER, { files })
      : this.#pendingVersions.newVersion({ caller: CALLER, slug, request: { files } })
  }

  async upload({ slug, versionId }: StagedVersion, fileNumber: number, bytes: Buffer): Promise<void> {
    const blob = await this.#blobs.put(toBody(bytes), { size: bytes.length })
    await this.#recorder.add(slug, [{ ...blob, versionId, fileNumber }])
  }

  /** Runs a sweep. With `remove`, objects are deleted that way. */
  async sweep(name: string, remove: Blobs['remove'] = this.#blobs.remove): Promise<number> {
    const options = {
      store: this.store,
      blobs: { ...this.#blobs, remove },
      clock: this.#clock,
      config: {
        pendingLifetime: PENDING_LIFETIME_SECONDS,
        blobGrace: GRACE_SECONDS,
        data: join(tmpdir(), 'no-data'),
      },
    }
    return runOnce(sweeps.find((one) => one.name === name)!, options as unknown as SweepParts)
  }
}

interface NodesOptions {
  /** Opens the blobs of a node; by default all nodes share them in memory. */
  openBlobs?(clock: () => number): Blobs
  /** Called after each action. */
  onAction?(name: string): void
}

/**
 * Random publishes, restores, deletions and collections on several nodes at the same time. Each site is changed by one
 * worker at a time; all sites share their contents.
 */
export class PublishingNodes {
  readonly #random: Random
  readonly #nodes: readonly PublishingNode[]
  readonly #blobs: Blobs
  readonly #onAction: (name: string) => void
  readonly #clock: { now: number }
  readonly #postponed: (() => Promise<void>)[] = []
  readonly done = new Map<string, number>()

  constructor(stores: readonly Store[], random: Random, { openBlobs, onAction }: NodesOptions = {}) {
    this.#random = random
    this.#onAction = onAction ?? (() => undefined)
    this.#clock = { now: Date.now() }
    const clock = () => this.#clock.now
    const open =
      openBlobs ??
      (
        (blobs) => () =>
          blobs
      )(memoryBlobs(clock))
    this.#blobs = open(clock)
    this.#nodes = stores.map((store) => new PublishingNode(store, open(clock), clock))
  }

  /**
   * Runs these steps, checks that what is kept can be read, and that nothing else is left in the end. Servers of an
   * overloaded machine time out: such a step counts as not done, and has any of its effects.
   */
  async run(steps: number, workers = 6): Promise<void> {
    await this.#node.store.write('durable', {}, (tx) => tx.rows.insert('accounts', OWNER))
    await Promise.all(
      Array.from({ length: workers }, () => this.#work(Math.ceil(steps / workers), this.#random.fork())),
    )
    await repeatUnavailable(() => this.#settle())
    await repeatUnavailable(() => this.#assertReadable())
    await repeatUnavailable(() => this.#assertNothingElse())
    await repeatUnavailable(async () => {
      for (const slug of await this.#listSites()) await this.#deleteSite(slug)
      await this.#collectAll()
      assert.deepEqual(await listObjects(this.#blobs), [], 'nothing is left after the last site')
    })
    const notDone = this.done.get(NOT_DONE) ?? 0
    assert.ok(notDone < steps / 2, `${notDone} of ${steps} steps were not done`)
  }

  get #node(): PublishingNode {
    return this.#random.pick(this.#nodes)
  }

  async #work(steps: number, random: Random): Promise<void> {
    const sites: string[] = []
    for (let step = 0; step < steps; step++) {
      try {
        await this.#step(sites, random)
        this.#clock.now += random.below(5000)
      } catch (error) {
        if (!isUnavailable(error)) throw error
        this.#count(NOT_DONE)
        // During an outage steps fail immediately: the others are left for later, and the clock stands still, since an
        // object whose row is being written must not become a stray.
        await pause(UNAVAILABLE_PAUSE_MS)
      }
    }
  }

  async #step(sites: string[], random: Random): Promise<void> {
    const chance = random.next()
    const slug = sites.length > 0 ? random.pick(sites) : undefined
    if (slug === undefined || (chance < 0.1 && sites.length < 5)) {
      sites.push(await this.#publish(undefined, random))
      return this.#count('new site')
    }
    if (chance < 0.45) {
      await this.#publish(slug, random)
      return this.#count('update')
    }
    if (chance < 0.6) return this.#changeVersion(slug, random)
    if (chance < 0.66) {
      sites.splice(sites.indexOf(slug), 1)
      await this.#deleteSite(slug)
      return this.#count('deletion')
    }
    if (chance < 0.9) return this.#collect(random)
    await this.#assertSite(slug)
    return this.#count('check')
  }

  async #publish(slug: string | undefined, random: Random): Promise<string> {
    const contents = Array.from({ length: random.between(1, 4) }, () => random.pick(CONTENTS))
    const staged = await this.#node.stage(slug, contents, random.chance(0.7))
    const { versionId } = staged
    for (const [fileNumber, bytes] of contents.entries()) {
      if (staged.skipped.has(fileNumber)) continue
      await this.#node.upload(staged, fileNumber, bytes)
      if (random.chance(0.1)) await this.#node.upload(staged, fileNumber, bytes)
    }
    if (random.chance(0.1)) return staged.slug
    const finalize = () =>
      this.#node.finalizer.finalize(CALLER, staged.slug, { versionId, live: random.chance(0.8) })
    await Promise.all(random.chance(0.1) ? [finalize(), finalize().catch(assertRefusal)] : [finalize()])
    await this.#maybeEncode(staged.slug, versionId, random)
    return staged.slug
  }

  /** Records encodings, as the precompressor does. */
  async #maybeEncode(slug: string, versionId: string, random: Random): Promise<void> {
    if (random.chance(0.5)) return
    const { store } = this.#node
    const record = random.pick(await recordsOf(store.read, [versionId]))
    if (!record) return
    const [br] = await this.#blobs.putTogether([Buffer.from(`encoded ${record.hash}`)])
    await store.write('relaxed', { site: slug }, async (tx) => {
      const isKept = (await tx.versions.header(versionId)) !== undefined
      if (isKept) await tx.blobs.recordEncodings([{ hash: record.hash, br: br!, zstd: null, gzip: null }])
      else await tx.blobs.discard([br!.object])
    })
  }

  async #changeVersion(slug: string, random: Random): Promise<void> {
    const ready = (await this.#node.store.read.versions.bySlug(slug)).filter(({ state }) => state === 'ready')
    const version = ready.length > 0 ? random.pick(ready) : undefined
    if (!version) return
    const { versions } = this.#node
    const isRestored = random.chance(0.5)
    await (isRestored
      ? versions.restore(OWNER, slug, version.id)
      : versions.remove(CALLER, slug, version.id)
    ).catch(assertRefusal)
    this.#count(isRestored ? 'restore' : 'deleted version')
  }

  async #deleteSite(slug: string): Promise<void> {
    const { store } = this.#node
    await store.write('durable', { site: slug }, (tx) => deleteSite(tx, slug, 'deleted', this.#clock.now))
    await deleteRest({ store, clock: () => this.#clock.now }, slug)
  }

  /** A deletion of objects may come much later than that of their rows, and be repeated. */
  async #collect(random: Random): Promise<void> {
    const postpone = random.chance(0.3)
    await this.#node.sweep(random.chance(0.2) ? 'unnamed' : 'blobs', async (objects) => {
      for (let turns = random.below(20); turns > 0; turns--) await turn()
      if (postpone) this.#postponed.push(() => this.#blobs.remove(objects))
      else await this.#blobs.remove(objects)
    })
    if (random.chance(0.3)) await this.#removePostponed()
    this.#count(postpone ? 'late collection' : 'collection')
  }

  /** Does the oldest deletion that was postponed; one that fails is postponed again. */
  async #removePostponed(): Promise<void> {
    const remove = this.#postponed.shift()
    await remove?.().catch((error: unknown) => {
      this.#postponed.push(remove)
      throw error
    })
  }

  async #settle(): Promise<void> {
    await Promise.all(this.#nodes.map(({ finalizer }) => finalizer[Symbol.asyncDispose]()))
    while (this.#postponed.length > 0) await this.#removePostponed()
  }

  async #listSites(): Promise<string[]> {
    const sites = await this.#node.store.read.sites.byOwner(OWNER.id, { limit: 1000 })
    return sites.map(({ slug }) => slug)
  }

  /** Collects everything that is not needed, without waiting for the grace period. */
  async #collectAll(): Promise<void> {
    this.#clock.now += 2 * PENDING_LIFETIME_SECONDS * 1000
    for (const name of ['uploads', 'unnamed', 'blobs']) await this.#node.sweep(name)
    this.#clock.now += (GRACE_SECONDS + 1) * 1000
    await this.#node.sweep('blobs')
  }

  async #assertReadable(): Promise<void> {
    for (const slug of await this.#listSites()) await this.#assertSite(slug)
  }

  /** Every file of every kept version is readable with its bytes, and so is each recorded encoding. */
  async #assertSite(slug: string): Promise<void> {
    const { store, reader } = this.#node
    for (const { id, state } of await store.read.versions.bySlug(slug)) {
      const files = state === 'ready' ? await store.read.versions.findFiles(id) : undefined
      for (const { path, hash } of files ?? []) {
        const bytes = await reader.bytes(hash!)
        // Its site may have been pruned by a finalize whose cleanup is in progress.
        const isKept = (await store.read.versions.header(id)) !== undefined
        assert.ok(!isKept || (bytes && sha256(bytes) === hash), `${path} of version ${id} of ${slug}`)
      }
      for (const { hash, encodings } of await recordsOf(store.read, [id])) {
        const bytes = encodings?.br && (await this.#blobs.bytes(encodings.br))
        const isKept = (await store.read.versions.header(id)) !== undefined
        assert.ok(!encodings || !isKept || String(bytes) === `encoded ${hash}`, `the encoding of ${hash}`)
      }
    }
  }

  async #assertNothingElse(): Promise<void> {
    await this.#collectAll()
    const { read } = this.#node.store
    const ids: string[] = []
    const needed = new Set<string>()
    for (const slug of await this.#listSites())
      ids.push(...(await read.versions.bySlug(slug)).map(({ id }) => id))
    for (const id of ids) for (const { object } of await read.versions.listArrivals(id)) needed.add(object)
    for (const { location, encodings } of await recordsOf(read, ids))
      for (const one of [location, encodings?.br]) if (one) needed.add(one.object)
    assert.deepEqual(await listObjects(this.#blobs), [...needed].sort())
  }

  #count(action: string): void {
    this.done.set(action, (this.done.get(action) ?? 0) + 1)
    this.#onAction(action)
  }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'UNAVAILABLE'
}

async function repeatUnavailable(work: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!isUnavailable(error) || attempt === MAX_ATTEMPTS) throw error
    }
  }
}

/** Another action on the same version may win. */
function assertRefusal(error: unknown): void {
  if (!(error instanceof ApiError) || error.code === 'INTERNAL') throw error
}
