import type { FinalizeRequest, FinalizeResponse } from '../../protocol/api/publish.ts'
import type { StoredFile } from '../../protocol/manifest/manifest.ts'
import {
  type Caller,
  requireAccount,
  requireClaimToken,
  requireNotExpired,
  requireOwner,
} from '../accounts/authorization.ts'
import type { Blobs } from '../blobs/blobs.ts'
import { ApiError, siteNotFound } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import type { Precompressor } from '../precompress/precompressor.ts'
import {
  type IndexRenderer,
  type PendingRender,
  retryOnConflict,
} from '../sites/page-metadata/document-renderer.ts'
import { describeSite } from '../sites/site-preview.ts'
import type { UrlBuilder } from '../sites/urls.ts'
import {
  activateVersion,
  assertBaseIsLive,
  buildFinalizeResponse,
  requireVersion,
  type Versions,
} from '../sites/version.ts'
import { serializeWarnings } from '../sites/warnings.ts'
import type { ArrivalRow, SiteRow, VersionRow } from '../store/schema.ts'
import type { Store, WriteTransaction } from '../store/store.ts'
import { loadRules } from './load-rules.ts'
import { ManifestFiles } from './pending-versions.ts'
import type { PendingFile } from './stage.ts'

/** Refusals of one version that are answered when the rate limit of the caller is used up; the next ones are not tried. */
const MAX_ANSWERED_REFUSALS = 5

const MAX_REFUSED_VERSIONS = 10_000

interface FinalizerOptions {
  store: Store
  blobs: Blobs
  versions: Versions
  precompressor: Pick<Precompressor, 'enqueue'>
  addresses: UrlBuilder
  indexRenderer: IndexRenderer
  clock: () => number
  log: Log
}

/** A manifest whose bytes are all durable, and its parsed rules. */
interface PreparedVersion {
  files: StoredFile[]
  /** Columns of the version's row. */
  columns: Pick<VersionRow, 'state' | 'files' | 'rules' | 'warnings' | 'look'>
  /** Hashes that the site does not reference yet. */
  newHashes: string[]
}

/** The second half of a publish: uploaded bytes become durable, then live (spec 4.5, contract "Finalize"). */
export class Finalizer implements AsyncDisposable {
  readonly #options: FinalizerOptions
  /** Work that follows answers. */
  readonly #following = new Set<Promise<unknown>>()
  /** The finalize in progress of a version, by its id. */
  readonly #running = new Map<string, { live: boolean; answer: Promise<FinalizeResponse> }>()
  readonly #refusals = new Refusals()

  constructor(options: FinalizerOptions) {
    this.#options = options
  }

  /** Waits for background work that follows responses. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#following)
  }

  /**
   * Contract, "Finalize": all or nothing, durable before it is answered, and repeatable. UPLOADS_MISSING names
   * what did not come. One finalize of a version runs at a time; callers that ask for the same get its answer.
   *
   * `charge` charges one request, and rejects when that is one too many. Completing an admitted publish is free; whatever
   * changes nothing is charged, but for the first refusal of a version.
   */
  async finalize(
    caller: Caller,
    slug: string,
    request: FinalizeRequest,
    charge: () => Promise<void> = async () => undefined,
  ): Promise<FinalizeResponse> {
    const { versionId, live = true } = request
    const charged = once(charge)
    const isPending = await this.#isPending(caller, slug, request).catch(async (error: unknown) => {
      await charged()
      throw error
    })
    const isRepeat = !isPending || this.#running.has(versionId)
    if (isRepeat || this.#refusals.count(versionId) >= MAX_ANSWERED_REFUSALS) await charged()
    for (let running = this.#running.get(versionId); running; running = this.#running.get(versionId)) {
      if (running.live === live) return { ...(await running.answer), replayed: true }
      await running.answer.catch(() => undefined)
    }
    const answer = this.#complete(caller, slug, request)
    this.#running.set(versionId, { live, answer })
    try {
      return await answer
    } catch (error) {
      // The refusal says what to do, so it is the answer even when the charge is one too many.
      if (isRefusal(error) && this.#refusals.add(versionId) > 1) await charged().catch(() => undefined)
      throw error
    } finally {
      this.#running.delete(versionId)
    }
  }

  /** Whether the version waits to be finalized; rejects as `finalize` does when the caller may not do that. */
  async #isPending(caller: Caller, slug: string, request: FinalizeRequest): Promise<boolean> {
    const { read } = this.#options.store
    const site = requireFinalizable(await read.sites.bySlug(slug), caller, request, this.#options.clock())
    const version = requireVersion(await read.versions.summary(request.versionId), slug)
    refuseStrangersDraft(site, version, request)
    return version.state === 'pending'
  }

  async #complete(caller: Caller, slug: string, request: FinalizeRequest): Promise<FinalizeResponse> {
    const { versionId } = request
    const answer = await retryOnConflict(() => this.#finalize(caller, slug, request))
    this.#refusals.forget(versionId)
    this.#runInBackground(`finalize ${versionId}`, async () => {
      await this.#options.blobs.discard(versionId)
      await this.#options.versions.prune(slug)
    })
    this.#options.precompressor.enqueue(slug, versionId)
    return answer
  }

  async #finalize(caller: Caller, slug: string, request: FinalizeRequest): Promise<FinalizeResponse> {
    const { store, indexRenderer, clock } = this.#options
    const site = requireFinalizable(await store.read.sites.bySlug(slug), caller, request, clock())
    // Read before the version: while that is pending, no other finalize has deleted them.
    const arrived = await store.read.versions.arrivalsOf(request.versionId)
    const version = requireVersion(await store.read.versions.byId(request.versionId), slug)
    const settled =
      version.state === 'pending' ? await this.#promoteUploads(site, version, arrived) : undefined
    const first = version.published_at === null ? { ...version, ...settled?.columns } : undefined
    await using front = await indexRenderer.render(site, first)
    return await store.write('durable', async (tx) => {
      const current = requireFinalizable(await tx.sites.bySlug(slug), caller, request, clock())
      return this.#commit(tx, current, request, { settled, front })
    })
  }

  /** The manifest with every hash, once all bytes are durable. UPLOADS_MISSING otherwise, and when they are not as it says. */
  async #promoteUploads(
    site: SiteRow,
    version: VersionRow,
    recorded: readonly ArrivalRow[],
  ): Promise<PreparedVersion> {
    const { store, blobs } = this.#options
    // Checked first: settled bytes of a version that cannot go live would wait for a sweep.
    assertBaseIsLive(site, version.base_version_id)
    const files = JSON.parse(version.files) as PendingFile[]
    const manifest = new ManifestFiles(version.slug, files)
    const arrived = recorded.filter((row) => manifest.has(row))
    const arrivals = new Map(arrived.map((row) => [row.file_number, row]))
    assertComplete(
      files,
      files.flatMap((file, index) => (file.known || arrivals.has(index) ? [] : [index])),
    )
    if (arrived.length > 0) await blobs.assertSpace()
    const lost = new Set(await blobs.commit(version.id, arrived))
    if (lost.size > 0) {
      const rows = arrived.filter((row) => lost.has(row))
      await store.write('soft', (tx) => tx.versions.deleteArrivals(version.id, rows))
      assertComplete(
        files,
        rows.map((row) => row.file_number),
      )
    }
    const whole = files.map(({ path, size, contentType, hash }, index) => {
      return { path, size, contentType, hash: arrivals.get(index)?.hash ?? hash! }
    })
    const { rules, warnings } = await loadRules(blobs, whole)
    return {
      files: whole,
      columns: {
        state: 'ready',
        files: JSON.stringify(whole),
        rules: rules && JSON.stringify(rules),
        warnings: serializeWarnings(warnings),
        look: JSON.stringify(describeSite(whole)),
      },
      newHashes: arrived.map((row) => row.hash),
    }
  }

  /** The transaction that makes a version ready and, if requested, live. Repeats the earlier checks. */
  async #commit(
    tx: WriteTransaction,
    site: SiteRow,
    request: FinalizeRequest,
    { settled, front }: { settled: PreparedVersion | undefined; front: PendingRender },
  ): Promise<FinalizeResponse> {
    const { addresses, indexRenderer, clock } = this.#options
    const now = clock()
    const { versionId, live = true } = request
    const { slug } = site
    let version = requireVersion(await tx.versions.byId(versionId), slug)
    refuseStrangersDraft(site, version, request)
    const isLive = site.live_version_id === versionId
    // A version that was live before returns by restore, not by a repeated finalize.
    const wasLive = isLive || version.published_at !== null
    const replayed = wasLive || (version.state === 'ready' && !live)
    if (!replayed) {
      assertBaseIsLive(site, version.base_version_id)
      if (version.state === 'pending') {
        assertComplete(settled!.files, await findOverwritten(tx, versionId, settled!.files))
        await tx.versions.update(versionId, settled!.columns)
        version = { ...version, ...settled!.columns }
        await tx.blobReferences.addReferences(slug, settled!.newHashes)
        await tx.versions.clearArrivals(versionId)
      }
      version = await indexRenderer.commit(tx, front, site, version, now)
      if (live) await activateVersion(tx, site, version, now)
      else await saveDraft(tx, slug, now)
    }
    const after = live && !replayed ? { ...site, live_version_id: versionId } : site
    const previousVersionId = wasLive ? site.previous_version_id : site.live_version_id
    return buildFinalizeResponse(addresses, after, version, { previousVersionId, replayed })
  }

  /** Runs background work: a failure is logged, and a job repeats it. */
  #runInBackground(task: string, work: () => Promise<unknown>): void {
    const running = work()
      .catch((error: unknown) =>
        this.#options.log.warn('clean-up failed; a job will retry', { what: task, error }),
      )
      .finally(() => this.#following.delete(running))
    this.#following.add(running)
  }
}

/** Invalidates caches, so that the draft's own URL works at once. */
async function saveDraft(tx: WriteTransaction, slug: string, now: number): Promise<void> {
  await tx.sites.update(slug, { updated_at: now })
  await tx.notifyChanged(slug)
}

/** The site when the caller may finalize its versions; those of an anonymous one are for everyone who knows their id. */
function requireFinalizable(
  site: SiteRow | undefined,
  caller: Caller,
  { claimToken }: FinalizeRequest,
  now: number,
): SiteRow {
  if (!site || site.gone_reason === 'deleted') throw siteNotFound()
  if (site.owner_id !== null) return requireOwner(site, requireAccount(caller), now)
  return claimToken === undefined ? requireNotExpired(site, now) : requireClaimToken(site, claimToken, now)
}

/**
 * The address of a draft contains its id, so the id does not prove the right to make it live: that takes the claim token,
 * which `finalizable` has checked.
 */
function refuseStrangersDraft(
  site: SiteRow,
  { state, published_at }: Pick<VersionRow, 'state' | 'published_at'>,
  { live = true, claimToken }: FinalizeRequest,
): void {
  const isDraft = state === 'ready' && published_at === null
  if (site.owner_id !== null || !isDraft || !live || claimToken !== undefined) return
  throw new ApiError(
    'INVALID_CLAIM_TOKEN',
    'A draft of an anonymous site needs the claim token of the site to go live',
  )
}

/** How often each version was refused lately. */
class Refusals {
  /** The one that was refused first comes first. */
  readonly #counts = new Map<string, number>()

  count(versionId: string): number {
    return this.#counts.get(versionId) ?? 0
  }

  /** Counts one more; returns how many there are. */
  add(versionId: string): number {
    const count = this.count(versionId) + 1
    this.#counts.set(versionId, count)
    if (this.#counts.size > MAX_REFUSED_VERSIONS) this.#counts.delete(this.#counts.keys().next().value!)
    return count
  }

  forget(versionId: string): void {
    this.#counts.delete(versionId)
  }
}

/** Whether the caller could have known; what the service cannot do now is not counted against it. */
function isRefusal(error: unknown): boolean {
  return !(error instanceof ApiError && ['UNAVAILABLE', 'INSUFFICIENT_STORAGE'].includes(error.code))
}

/** Runs `work` at the first call only. */
function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () => {
    done ??= work()
    return done
  }
}

function assertComplete(files: readonly StoredFile[], numbers: readonly number[]): void {
  if (numbers.length === 0) return
  const missing = numbers.slice(0, 20).map((number) => files[number]!.path)
  const sentence = `${numbers.length} of ${files.length} files did not arrive, the first is '${missing[0]}'`
  throw new ApiError('UPLOADS_MISSING', sentence, { details: { missing, count: numbers.length } })
}

/**
 * Files that were uploaded again with other bytes since these were settled: the former ones are not protected
 * from collection.
 */
async function findOverwritten(
  tx: WriteTransaction,
  versionId: string,
  files: readonly StoredFile[],
): Promise<number[]> {
  const arrivals = await tx.versions.arrivalsOf(versionId)
  return arrivals.flatMap(({ file_number, hash }) => {
    const file = files[file_number]
    return file === undefined || file.hash === hash ? [] : [file_number]
  })
}
