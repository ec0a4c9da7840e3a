import type { FinalizeAnswer, FinalizeRequest } from '../client/wire.ts'
import type { Addresses } from './address.ts'
import type { Blobs } from './blobs/blobs.ts'
import type { Encodings } from './encodings/encodings.ts'
import { Failure, noSuchSite } from './failure.ts'
import type { StoredFile } from './file.ts'
import { type Fronts, type MadeFront, upToDate } from './front/fronts.ts'
import type { Log } from './log.ts'
import { lookOf } from './look.ts'
import { type Caller, ownedSite, signedIn, unexpired } from './ownership.ts'
import { readRules } from './rules/version-rules.ts'
import type { PendingFile } from './stage.ts'
import type { ArrivalRow, SiteRow, VersionRow } from './store/schema.ts'
import type { Store, Writing } from './store/store.ts'
import { finalizeAnswer, makeLive, refuseOtherBase, type Versions, versionOf } from './version.ts'
import { warningsColumn } from './warnings.ts'

interface FinalizingOptions {
  store: Store
  blobs: Blobs
  versions: Versions
  encodings: Pick<Encodings, 'prepare'>
  addresses: Addresses
  fronts: Fronts
  clock: () => number
  log: Log
}

/** A manifest whose bytes are all durable, and what its files say about serving them. */
interface Settled {
  files: StoredFile[]
  /** The columns of its row. */
  ready: Pick<VersionRow, 'state' | 'files' | 'rules' | 'warnings' | 'look'>
  /** The hashes that the site does not name yet. */
  came: string[]
}

/** The second half of a publish: what was uploaded becomes durable, then live (spec 4.5, contract "Finalize"). */
export class Finalizing implements AsyncDisposable {
  readonly #options: FinalizingOptions
  readonly #running = new Set<Promise<unknown>>()

  constructor(options: FinalizingOptions) {
    this.#options = options
  }

  /** Waits for the work that follows answers. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#running)
  }

  /** Whether finalizing this version completes a publish that was admitted, which is never refused for its rate. */
  async completes(slug: string, versionId: string): Promise<boolean> {
    const version = await this.#options.store.read.versions.head(versionId)
    return version?.slug === slug && version.state === 'pending'
  }

  /**
   * Contract, "Finalize": all or nothing, durable before it is answered, and repeatable. UPLOADS_MISSING names
   * what did not come.
   */
  async finalize(caller: Caller, slug: string, request: FinalizeRequest): Promise<FinalizeAnswer> {
    const { versionId } = request
    const answer = await upToDate(() => this.#finalize(caller, slug, request))
    this.#after(`finalize ${versionId}`, async () => {
      await this.#options.blobs.discard(versionId)
      await this.#options.versions.prune(slug)
    })
    this.#options.encodings.prepare(slug, versionId)
    return answer
  }

  async #finalize(caller: Caller, slug: string, request: FinalizeRequest): Promise<FinalizeAnswer> {
    const { store, fronts, clock } = this.#options
    const site = finalizable(await store.read.sites.bySlug(slug), caller, clock())
    // Before the version: while that is pending, no other finalize has cleared them.
    const arrived = await store.read.versions.arrivalsOf(request.versionId)
    const version = versionOf(await store.read.versions.byId(request.versionId), slug)
    const settled = version.state === 'pending' ? await this.#settle(site, version, arrived) : undefined
    const first = version.published_at === null ? { ...version, ...settled?.ready } : undefined
    await using front = await fronts.make(site, first)
    return await store.write('durable', async (tx) => {
      const current = finalizable(await tx.sites.bySlug(slug), caller, clock())
      return this.#commit(tx, current, request, { settled, front })
    })
  }

  /** The manifest with every hash, once all bytes are durable. UPLOADS_MISSING otherwise. */
  async #settle(site: SiteRow, version: VersionRow, arrived: readonly ArrivalRow[]): Promise<Settled> {
    const { store, blobs } = this.#options
    // Bytes that are settled for nothing wait for a sweep, so a version that cannot go live settles none.
    refuseOtherBase(site, version.base_version_id)
    const files = JSON.parse(version.files) as PendingFile[]
    const arrivals = new Map(arrived.map((row) => [row.file_number, row]))
    refuseMissing(
      files,
      files.flatMap((file, index) => (file.known || arrivals.has(index) ? [] : [index])),
    )
    const lost = new Set(await blobs.settle(version.id, arrived))
    if (lost.size > 0) {
      const rows = arrived.filter((row) => lost.has(row))
      await store.write('soft', (tx) => tx.versions.forgetArrivals(version.id, rows))
      refuseMissing(
        files,
        rows.map((row) => row.file_number),
      )
    }
    const whole = files.map(({ path, size, contentType, hash }, index) => {
      return { path, size, contentType, hash: arrivals.get(index)?.hash ?? hash! }
    })
    const { rules, warnings } = await readRules(blobs, whole)
    return {
      files: whole,
      ready: {
        state: 'ready',
        files: JSON.stringify(whole),
        rules: rules && JSON.stringify(rules),
        warnings: warningsColumn(warnings),
        look: JSON.stringify(lookOf(whole)),
      },
      came: arrived.map((row) => row.hash),
    }
  }

  /** The one transaction that makes a version ready and, if wanted, live. What was decided before is checked again. */
  async #commit(
    tx: Writing,
    site: SiteRow,
    { versionId, live = true }: FinalizeRequest,
    { settled, front }: { settled: Settled | undefined; front: MadeFront },
  ): Promise<FinalizeAnswer> {
    const { addresses, fronts, clock } = this.#options
    const now = clock()
    const { slug } = site
    let version = versionOf(await tx.versions.byId(versionId), slug)
    const isLive = site.live_version_id === versionId
    // A version that was live before comes back by a restore, not by a finalize that is sent again late.
    const wasLive = isLive || version.published_at !== null
    const replayed = wasLive || (version.state === 'ready' && !live)
    if (!replayed) {
      refuseOtherBase(site, version.base_version_id)
      if (version.state === 'pending') {
        refuseMissing(settled!.files, await putAgain(tx, versionId, settled!.files))
        await tx.versions.update(versionId, settled!.ready)
        version = { ...version, ...settled!.ready }
        await tx.blobNames.name(slug, settled!.came)
        await tx.versions.clearArrivals(versionId)
      }
      version = await fronts.keep(tx, front, site, version, now)
      if (live) await makeLive(tx, site, version, now)
      else await keepDraft(tx, slug, now)
    }
    const after = live && !replayed ? { ...site, live_version_id: versionId } : site
    const previousVersionId = wasLive ? site.previous_version_id : site.live_version_id
    return finalizeAnswer(addresses, after, version, { previousVersionId, replayed })
  }

  /** Work that follows an answer: its failure is logged, and a sweep does it again. */
  #after(what: string, work: () => Promise<unknown>): void {
    const running = work()
      .catch((error: unknown) =>
        this.#options.log.warn('clean-up failed; a sweep will do it', { what, error }),
      )
      .finally(() => this.#running.delete(running))
    this.#running.add(running)
  }
}

/** The draft's own address may be asked for at once. */
async function keepDraft(tx: Writing, slug: string, now: number): Promise<void> {
  await tx.sites.update(slug, { updated_at: now })
  await tx.changed(slug)
}

/** The site when the caller may finalize its versions: an anonymous one's are for whoever knows their id. */
function finalizable(site: SiteRow | undefined, caller: Caller, now: number): SiteRow {
  if (!site || site.gone_reason === 'deleted') throw noSuchSite()
  return site.owner_id === null ? unexpired(site, now) : ownedSite(site, signedIn(caller), now)
}

function refuseMissing(files: readonly StoredFile[], numbers: readonly number[]): void {
  if (numbers.length === 0) return
  const missing = numbers.slice(0, 20).map((number) => files[number]!.path)
  const sentence = `${numbers.length} of ${files.length} files did not arrive, the first is '${missing[0]}'`
  throw new Failure('UPLOADS_MISSING', sentence, { details: { missing, count: numbers.length } })
}

/** Files that came with other bytes since these were settled: nothing keeps the former ones from collection. */
async function putAgain(tx: Writing, versionId: string, files: readonly StoredFile[]): Promise<number[]> {
  const arrivals = await tx.versions.arrivalsOf(versionId)
  return arrivals.flatMap((row) => (row.hash === files[row.file_number]!.hash ? [] : [row.file_number]))
}
