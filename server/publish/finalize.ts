import { createHash } from 'node:crypto'
import type { FinalizeRequest, FinalizeResponse, PublishWarning } from '../../protocol/api/publish.schema.ts'
import { pluralize } from '../../protocol/format.ts'
import { listContents, type StoredFile } from '../../protocol/manifest/manifest.ts'
import { sanitizePath } from '../../protocol/manifest/paths.ts'
import {
  assertPermitted,
  type Caller,
  isRetired,
  mayPublish,
  publishScope,
  requireAccessTo,
  requireAccount,
  requireChangeable,
  requireClaimToken,
} from '../accounts/authorization.ts'
import type { Blocklist } from '../accounts/blocklist.ts'
import type { BlobReader } from '../blobs/blob-reader.ts'
import type { StoredBlob } from '../blobs/blobs.ts'
import { Component } from '../lib/component.ts'
import { decodeUtf8 } from '../lib/decode-utf8.ts'
import { ApiError, siteNotFound } from '../lib/errors.ts'
import { shareResult } from '../lib/share-result.ts'
import { trace } from '../lib/telemetry.ts'
import type { Parts } from '../parts.ts'
import { runInSlices } from '../site-rules/parse/slices.ts'
import { MAX_RULE_FILE_BYTES, type ParsedRules, ruleSteps, tooLongWarning } from '../site-rules/site-rules.ts'
import { type SiteNames, withCurrentName } from '../sites/names.ts'
import { assertPreviewLimit, endPreview, findReplacedId, isShown, renewedPreview } from '../sites/preview.ts'
import { metadataChange } from '../sites/site-metadata.ts'
import {
  activateVersion,
  assertBaseIsCurrent,
  countNewBytes,
  countRecord,
  deleteVersions,
  isEncodable,
  recordFormerFiles,
  requireVersion,
} from '../sites/version.ts'
import { buildFinalizeResponse, type Versions } from '../sites/version-history.ts'
import type { Queries } from '../store/queries.ts'
import { INDEPENDENT, type WriteTransaction } from '../store/store.ts'
import type { Site } from '../store/tables/sites.ts'
import {
  type Arrival,
  type ManifestFile,
  needsUpload,
  sumUploads,
  type Version,
} from '../store/tables/versions.ts'
import { findContentCodings } from './content-codings.ts'
import { describeSite, loadDocument } from './describe-version.ts'
import type { Precompressor } from './precompress/precompressor.ts'
import { shareKey } from './publish-queue.ts'
import type { ContentScan } from './scan/content-scan.ts'
import type { SecretScan } from './secrets/secret-scan.ts'

/** Of one version, beyond the caller's rate limit; further requests are rejected unprocessed. */
const MAX_ANSWERED_REFUSALS = 5

const MAX_REFUSED_VERSIONS = 10_000

/** Of a site; further ones take the place of the oldest. */
const MAX_ALLOWED_SECRETS = 200

/** Replaced contents, and sites with them; a visit to others notices it when the damaged object has been deleted. */
const MAX_NOTIFIED = 1000

type FinalizerParts = Pick<
  Parts,
  | 'store'
  | 'blobs'
  | 'blobReader'
  | 'plans'
  | 'quotas'
  | 'publishQueue'
  | 'addresses'
  | 'clock'
  | 'log'
  | 'telemetry'
> & {
  blocklist: Blocklist
  contentScan: Pick<ContentScan, 'check'>
  secretScan: Pick<SecretScan, 'check'>
  versions: Versions
  names: Pick<SiteNames, 'suggest'>
  precompressor: Pick<Precompressor, 'enqueue'>
}

interface FinalizeCall {
  caller: Caller
  slug: string
  request: FinalizeRequest
}

interface FinalizableVersion {
  site: Site
  version: Version
}

/** A manifest with durable bytes only, and its parsed rules. */
interface PreparedFiles {
  files: readonly ManifestFile[]
  change: Pick<Version, 'state' | 'rules' | 'warnings' | 'preview' | 'title' | 'contentHash'>
  arrived: readonly Arrival[]
  /** Fingerprints of secrets that the files have and that the site accepts from now on. */
  allowedSecrets: readonly string[]
}

interface UploadedVersion extends FinalizableVersion {
  arrivals: readonly Arrival[]
}

/** The result of the transaction, or of an earlier one that did the same. */
interface FinalizeOutcome extends FinalizableVersion {
  previousVersionId: string | null
  replayed: boolean
  /** `version` is then the live one. */
  unchanged?: boolean
}

/** The second half of a publish: uploaded bytes become durable, then live (spec 4.5, contract "Finalize"). */
export class Finalizer extends Component<FinalizerParts> implements AsyncDisposable {
  readonly #following = new Set<Promise<unknown>>()
  /** The finalize in progress of a version, by its id. */
  readonly #running = new Map<string, { key: string; response: Promise<FinalizeResponse> }>()
  /** By the id of a version, the oldest first. */
  readonly #refusals = new Map<string, number>()

  /** Waits for work that follows responses. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#following)
  }

  /**
   * Contract, "Finalize": all or nothing, durable before the response, and repeatable. UPLOADS_MISSING lists the
   * missing files. One finalize of a version runs at a time; concurrent equal requests share its response.
   *
   * `charge` charges one request, and rejects beyond the rate limit. Completing an admitted publish is free;
   * requests that change nothing are charged, except the first refusal of a version.
   */
  async finalize(
    caller: Caller,
    slug: string,
    request: FinalizeRequest,
    charge: () => Promise<void> = async () => undefined,
  ): Promise<FinalizeResponse> {
    const call = { caller, slug, request }
    const { versionId } = request
    const key = identify(call)
    const chargeOnce = shareResult(charge, { lifetimeMs: Infinity })
    const found = await this.#read(call).catch(async (error: unknown) => {
      if (isRefusal(error)) await chargeOnce()
      throw error
    })
    const { version } = found
    const isRepeat = version.state === 'ready' || this.#running.has(versionId)
    let isStale = isRepeat || (this.#refusals.get(versionId) ?? 0) >= MAX_ANSWERED_REFUSALS
    if (isStale) await chargeOnce()
    for (let running = this.#running.get(versionId); running; running = this.#running.get(versionId)) {
      if (running.key === key) return { ...(await running.response), replayed: true }
      await running.response.catch(() => undefined)
      isStale = true
    }
    // Removed before the response settles: a waiting call that still found it would wait for it again, without end.
    const response = this.#record(() => this.#finalize(call, isStale ? undefined : found)).finally(() =>
      this.#running.delete(versionId),
    )
    this.#running.set(versionId, { key, response })
    try {
      return await response
    } catch (error) {
      // The refusal has the more useful message, so it takes precedence over RATE_LIMITED.
      if (isRefusal(error) && this.#countRefusal(versionId) > 1) await chargeOnce().catch(() => undefined)
      throw error
    }
  }

  #countRefusal(versionId: string): number {
    const count = (this.#refusals.get(versionId) ?? 0) + 1
    this.#refusals.set(versionId, count)
    if (this.#refusals.size > MAX_REFUSED_VERSIONS) this.#refusals.delete(this.#refusals.keys().next().value!)
    return count
  }

  /** Counts a version by its outcome; a repeated request counts nothing. */
  async #record(finalize: () => Promise<[FinalizeOutcome, FinalizeResponse]>): Promise<FinalizeResponse> {
    const { telemetry } = this.parts
    const count = (outcome: string) => telemetry.metrics.counter('slipway_publishes_total', { outcome }).add()
    try {
      const [outcome, response] = await trace(telemetry, { name: 'finalize' }, finalize)
      const isLive = outcome.site.liveVersionId === outcome.version.id
      if (outcome.unchanged) count('unchanged')
      else if (!outcome.replayed) count(isLive ? 'live' : 'draft')
      return response
    } catch (error) {
      count(isRefusal(error) ? 'refused' : 'failed')
      throw error
    }
  }

  async #finalize(call: FinalizeCall, known?: UploadedVersion): Promise<[FinalizeOutcome, FinalizeResponse]> {
    const { store, quotas, publishQueue, names, addresses, blobReader, log } = this.parts
    const found = known ?? (await this.#read(call))
    const prepared = found.version.state === 'pending' ? await this.#prepare(found, call) : undefined
    const commitTo = (slug: string) =>
      quotas.write(store, { site: slug }, async (tx) =>
        this.#commit(tx, await this.#admit(tx, { ...call, slug }, found.version), call.request, prepared),
      )
    const outcome = await publishQueue.run(call.caller, 'finalize', () =>
      withCurrentName(store, call.slug, commitTo),
    )
    const { site, version } = outcome
    const isLive = site.liveVersionId === version.id
    const isFirst = isLive && !outcome.unchanged && outcome.previousVersionId === null
    this.#followUp(call.request, outcome, isFirst)
    const [response, suggestedName] = await Promise.all([
      buildFinalizeResponse({ addresses, blobs: blobReader }, site, version, outcome),
      isFirst || (isLive && site.ownerId === null)
        ? names.suggest({ slug: site.slug, title: site.title ?? version.title }).catch((error: unknown) => {
            log.warn('no name could be suggested for a site', { slug: site.slug, error })
            return undefined
          })
        : undefined,
    ])
    return [outcome, { ...response, ...(suggestedName !== undefined && { suggestedName }) }]
  }

  async #read(call: FinalizeCall): Promise<UploadedVersion> {
    // Uploads are recorded without a flush.
    const { store } = this.parts
    const { newest } = store
    // Before the version: while that is pending, no other finalize has deleted them.
    const arrivals = await newest.versions.listArrivals(call.request.versionId)
    const found = await withCurrentName(store, call.slug, (slug) => this.#admit(newest, { ...call, slug }))
    return { ...found, arrivals }
  }

  async #admit(
    queries: Queries,
    { caller, slug, request }: FinalizeCall,
    known?: Version,
  ): Promise<FinalizableVersion> {
    const now = this.parts.clock()
    const site = await requireFinalizable(queries, { caller, slug, request }, now)
    const header = known?.state === 'pending' ? await queries.versions.header(request.versionId) : undefined
    // A manifest does not change before it is finalized.
    const found =
      header?.state === 'pending' ? { ...known!, ...header } : await queries.versions.find(request.versionId)
    const version = requireVersion(found, slug)
    assertMayPublishDraft(site, version, request)
    const scope = publishScope(version.previewName)
    await assertPermitted(queries, caller, { scope, reach: 'site' }, slug)
    return { site, version }
  }

  /** UPLOADS_MISSING when some bytes are absent or differ from the manifest. */
  async #prepare(found: UploadedVersion, call: FinalizeCall): Promise<PreparedFiles> {
    const { store, blobReader } = this.parts
    const { site, version, arrivals: recorded } = found
    // Checked first: durable bytes of a version that cannot go live would wait for a sweep.
    await this.#assertBase(store.read, { site, version })
    const files = version.files
    const arrived = recorded.filter(({ fileNumber, size, hash }) => {
      const file = files[fileNumber]
      return file?.size === size && (file.hash ?? hash) === hash
    })
    const arrivals = new Map(arrived.map((row) => [row.fileNumber, row]))
    assertComplete(
      files,
      files.flatMap((file, index) => (needsUpload(file) && !arrivals.has(index) ? [index] : [])),
    )
    const whole = files.map(({ path, size, contentType, hash }, index) => {
      return { path, size, contentType, hash: arrivals.get(index)?.hash ?? hash! }
    })
    const durable = this.#makeDurable(version, arrived)
    const checked = this.#check(found, whole, { ...call, reader: blobReader.including(arrived, durable) })
    await Promise.allSettled([durable, checked])
    // Its error is the cause of others.
    await durable
    return { ...(await checked), arrived }
  }

  /** Runs beside the flush of the files. */
  async #check(
    { site, version: { files } }: FinalizableVersion,
    whole: (ManifestFile & { hash: string })[],
    { reader, caller, request: { allowSecrets = [] } }: FinalizeCall & { reader: BlobReader },
  ): Promise<Omit<PreparedFiles, 'arrived'>> {
    const { store, blocklist, contentScan, secretScan } = this.parts
    await blocklist.assertFiles(whole)
    const source = { reader, publisher: shareKey(caller) }
    await contentScan.check(whole, source)
    const { rules, warnings } = await loadRules(reader, whole)
    const coded = await findContentCodings(source, whole, {
      rules: rules?.headers ?? [],
      present: async () => (await store.read.versions.findFiles(site.liveVersionId)) ?? [],
    })
    // What the site already has was scanned, as the bytes that it serves.
    const added = coded.files.filter((file, index) => {
      const { known, isUnscanned } = files[index]!
      return !known || isUnscanned || coded.decoded.has(file)
    })
    const allowed = new Set([...site.allowedSecrets, ...allowSecrets])
    const secrets = await secretScan.check(added, { ...source, allowed })
    const document = await loadDocument(reader, whole)
    return {
      files: coded.files,
      change: {
        state: 'ready',
        rules,
        warnings: [...secrets.warnings, ...warnings, ...coded.warnings],
        preview: describeSite(whole, document?.icons),
        title: document?.title ?? null,
        contentHash: createHash('sha256').update(listContents(whole)).digest('hex'),
      },
      allowedSecrets: mayPublish(caller) ? secrets.allowed : [],
    }
  }

  /** UPLOADS_MISSING for bytes that are not there any more. */
  async #makeDurable({ id, files }: Version, arrived: readonly Arrival[]): Promise<void> {
    const { store, blobs } = this.parts
    if (arrived.length > 0) await blobs.assertSpace()
    const missing = new Set((await blobs.commit(arrived)).map(({ object }) => object))
    if (missing.size > 0) {
      await store.write('relaxed', INDEPENDENT, async (tx) => {
        const lost = await tx.versions.takeArrivals(id, [...missing])
        await tx.blobs.discard(lost.map(({ object }) => object))
      })
      assertComplete(
        files,
        arrived.filter(({ object }) => missing.has(object)).map((row) => row.fileNumber),
      )
    }
  }

  /** Idempotent until it drops a version. */
  async #commit(
    tx: WriteTransaction,
    found: FinalizableVersion,
    { live = true, ifChanged = false }: FinalizeRequest,
    prepared: PreparedFiles | undefined,
  ): Promise<FinalizeOutcome> {
    const { site, version } = found
    const { id } = version
    // A version that was live before returns by restore, not by a repeated finalize.
    if (site.liveVersionId === id || version.publishedAt !== null)
      return { site, version, previousVersionId: site.previousVersionId, replayed: true }
    const outcome = { site, version, previousVersionId: site.liveVersionId, replayed: false }
    const name = version.previewName
    if (version.state === 'ready' && (!live || name !== null)) return { ...outcome, replayed: true }
    await this.#assertBase(tx, { site, version })
    const now = this.parts.clock()
    const own = version.state === 'pending' ? prepared : undefined
    const unchanged = ifChanged ? await dropIfUnchanged(tx, found, own, now) : undefined
    if (unchanged)
      return { ...outcome, version: unchanged, previousVersionId: site.previousVersionId, unchanged: true }
    if (name !== null) {
      const { previews: max } = await this.parts.plans.limitsOfOwner(tx, site.ownerId)
      await assertPreviewLimit(tx, { slug: site.slug, name, max, now })
    }
    const replaced = name === null ? undefined : await tx.versions.findPreview(site.slug, name)
    const ready = version.state === 'pending' ? await makeReady(tx, found, prepared!) : undefined
    const countIfChanged = async () =>
      ready?.change.rules || ready?.change.files ? countRecord(tx, site, id) : 0
    const before = await countIfChanged()
    const change = { ...ready?.change, ...(name === null ? {} : renewedPreview(version, now)) }
    if (ready) outcome.version = { ...version, ...change, files: prepared!.files }
    const allowedSecrets = new Set([...site.allowedSecrets, ...(prepared?.allowedSecrets ?? [])])
    if (allowedSecrets.size > site.allowedSecrets.length)
      await tx.sites.update(site.slug, { allowedSecrets: [...allowedSecrets].slice(-MAX_ALLOWED_SECRETS) })
    if (!live || name !== null) {
      await tx.versions.update(id, change)
      if (replaced) {
        // Open pages of a preview with live reload get the next version immediately.
        const replacedId = isShown(replaced, now) && !version.liveReload ? replaced.id : null
        const replacement = { replacedId, next: outcome.version, previewName: name }
        await recordFormerFiles(tx, site, replacement, now)
        await endPreview(tx, replaced, { now, effect: 'outdated', keepsReview: isShown(replaced, now) })
      }
      await saveDraft(tx, site.slug, now)
    } else outcome.site = await activateVersion(tx, site, outcome.version, { now, change })
    const uploads = sumUploads(version.state, version.files)
    if (ready)
      await this.parts.quotas.charge(tx, site, {
        bytes: ready.newBytes - uploads + (await countIfChanged()) - before,
        sites: 0,
        versionId: id,
      })
    return outcome
  }

  async #assertBase(queries: Queries, { site, version }: FinalizableVersion): Promise<void> {
    const { baseVersionId, previewName } = version
    if (baseVersionId === null) return
    const replacedId = await findReplacedId(queries, site, previewName, this.parts.clock())
    await assertBaseIsCurrent(queries, replacedId, baseVersionId)
  }

  /** A failure is logged, and a sweep repeats the work. The first live version replaces no other one. */
  #followUp(
    { versionId }: FinalizeRequest,
    { site, version, unchanged }: FinalizeOutcome,
    isFirst: boolean,
  ): void {
    const { versions, precompressor, log } = this.parts
    const { slug } = site
    this.#refusals.delete(versionId)
    const isComplete = site.liveVersionId === versionId && !isEncodable(version, site)
    if (!unchanged && !isComplete) precompressor.enqueue(slug, versionId)
    if (isFirst) return
    const running = versions
      .prune(slug)
      .catch((error: unknown) =>
        log.warn('cleanup failed; a sweep will retry', { what: `finalize ${versionId}`, error }),
      )
      .finally(() => this.#following.delete(running))
    this.#following.add(running)
  }
}

/** Concurrent requests of a version that are equal in this share one response. */
function identify({ caller, request }: FinalizeCall): string {
  const { live = true, ifChanged = false, allowSecrets = [], claimToken } = request
  return JSON.stringify([caller.account?.id, claimToken, live, ifChanged, allowSecrets])
}

/** A failure of the service does not count against the caller. */
function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && error.status < 500
}

/** For versions of an anonymous site their id suffices. */
async function requireFinalizable(
  queries: Queries,
  { caller, slug, request: { claimToken } }: FinalizeCall,
  now: number,
): Promise<Site> {
  const site = await queries.sites.find(slug)
  if (!site) throw siteNotFound()
  if (site.ownerId !== null)
    return requireAccessTo(queries, 'publish', site, { account: requireAccount(caller), now })
  if (isRetired(site)) throw siteNotFound()
  return claimToken === undefined ? requireChangeable(site, now) : requireClaimToken(site, claimToken, now)
}

/** The address of a draft has its id: making it live takes the claim token, which `requireFinalizable` has checked. */
function assertMayPublishDraft(
  site: Site,
  { state, publishedAt }: Pick<Version, 'state' | 'publishedAt'>,
  { live = true, claimToken }: FinalizeRequest,
): void {
  const isDraft = state === 'ready' && publishedAt === null
  if (site.ownerId !== null || !isDraft || !live || claimToken !== undefined) return
  throw new ApiError(
    'INVALID_CLAIM_TOKEN',
    'Claim token required: send claimToken to make a draft of an anonymous site live',
  )
}

function assertComplete(files: readonly StoredFile[], numbers: readonly number[]): void {
  if (numbers.length === 0) return
  const missing = numbers.slice(0, 20).map((number) => files[number]!.path)
  const names = missing.slice(0, 3).map(sanitizePath).join(', ')
  const more = numbers.length > 3 ? ` and ${numbers.length - 3} more` : ''
  const have = numbers.length === 1 ? "hasn't" : "haven't"
  const sentence = `${pluralize(numbers.length, 'file')} ${have} been uploaded: ${names}${more}`
  throw new ApiError('UPLOADS_MISSING', sentence, { details: { missing, count: numbers.length } })
}

/** Returns the bytes that the holder has from now on, and the change, with a manifest that lacked declared hashes. */
async function makeReady(
  tx: WriteTransaction,
  { site, version }: FinalizableVersion,
  { files, change, arrived }: PreparedFiles,
): Promise<{ change: Partial<Version>; newBytes: number }> {
  const added = await takeUploads(tx, { site, version }, { files, arrived })
  const isDeclared =
    version.files.every(({ hash }) => hash !== undefined) && files.every(({ coded }) => coded === undefined)
  const newBytes = await countNewBytes(tx, site, added)
  return { change: isDeclared ? change : { ...change, files }, newBytes }
}

/** Returns those that the site had not referenced. They replace damaged ones: sites with these are loaded again. */
async function takeUploads(
  tx: WriteTransaction,
  { site, version }: FinalizableVersion,
  { files, arrived }: Pick<PreparedFiles, 'files' | 'arrived'>,
): Promise<StoredBlob[]> {
  const recorded = await tx.versions.takeArrivals(version.id)
  const durable = new Set(arrived.map(({ object }) => object))
  const taken = new Map(
    recorded.filter(({ object }) => durable.has(object)).map((row) => [row.fileNumber, row]),
  )
  assertComplete(
    files,
    // Uploaded again with other bytes since these were made durable, or found damaged by another process.
    arrived.flatMap(({ fileNumber }) => (taken.has(fileNumber) ? [] : [fileNumber])),
  )
  const contents = [...taken.values()]
  const { objects, replaced } = await tx.blobs.add(site.visitsKey, contents)
  await tx.blobs.discard(recorded.flatMap(({ object }) => (objects.has(object) ? [] : object)))
  if (replaced.length > 0) {
    const sites = await tx.blobs.referencingSites(replaced.slice(0, MAX_NOTIFIED), '', MAX_NOTIFIED)
    for (const slug of (await tx.sites.currentSlugs(sites)).values()) await tx.notifyChanged(slug, 'outdated')
  }
  return contents.filter(({ isReferenced }) => !isReferenced)
}

/** Invalidates caches, so that the draft's own URL works immediately. */
async function saveDraft(tx: WriteTransaction, slug: string, now: number): Promise<void> {
  await tx.sites.update(slug, { isFinalized: true, updatedAt: now })
  await tx.notifyChanged(slug, 'outdated')
}

/** Contract, "Serving" 2. The content never prevents serving the version. UNAVAILABLE when a file cannot be read. */
async function loadRules(blobs: BlobReader, files: readonly StoredFile[]): Promise<ParsedRules> {
  const warnings: PublishWarning[] = []
  const leftOut = (warning: PublishWarning): undefined => void warnings.push(warning)
  const readText = async (path: '_redirects' | '_headers'): Promise<string | undefined> => {
    const file = files.find((one) => one.path === path)
    if (!file) return undefined
    if (file.size > MAX_RULE_FILE_BYTES) return leftOut(tooLongWarning(path))
    const bytes = await blobs.bytes(file.hash!)
    if (!bytes) throw new Error(`The blob ${file.hash} is missing`)
    return decodeUtf8(bytes) ?? leftOut({ file: path, message: 'file ignored: it is not UTF-8 text' })
  }
  const redirects = await readText('_redirects')
  const headers = await readText('_headers')
  if (redirects === undefined && headers === undefined) return { rules: null, warnings }
  const parsed = await runInSlices(ruleSteps({ redirects, headers }))
  return { rules: parsed.rules, warnings: [...warnings, ...parsed.warnings] }
}

/**
 * Deletes a version that was never live if its files equal those of the live version and its metadata that of the site.
 * Returns the live version if so. A preview is compared with the version that it shows, whose time begins again.
 */
async function dropIfUnchanged(
  tx: WriteTransaction,
  { site, version }: FinalizableVersion,
  prepared: PreparedFiles | undefined,
  now: number,
): Promise<Version | undefined> {
  const current = await findCurrent(tx, site, version, now)
  // Rules are parsed from files of the version, so equal files have equal rules.
  const { contentHash } = prepared?.change ?? version
  if (contentHash === null || current?.contentHash !== contentHash) return undefined
  if (prepared && prepared.arrived.length > 0) await takeUploads(tx, { site, version }, prepared)
  await deleteVersions(tx, site.slug, { ids: [version.id], now, effect: 'outdated' })
  // The live version may also be a preview, of which the caller knows nothing.
  if (version.previewName === null) return { ...current, previewName: null, previewUntil: null }
  const { previewUntil } = renewedPreview(version, now)
  await tx.versions.update(current.id, { previewUntil })
  return { ...current, previewUntil }
}

/** The version that visitors see, if it has the metadata of this one. */
async function findCurrent(
  tx: WriteTransaction,
  site: Site,
  version: Version,
  now: number,
): Promise<Version | undefined> {
  const { previewName } = version
  if (previewName === null) {
    if (site.liveVersionId === null || changesMetadata(site, version, now)) return undefined
    return tx.versions.find(site.liveVersionId)
  }
  const header = await tx.versions.findPreview(site.slug, previewName)
  if (!header || !isShown(header, now) || header.liveReload !== version.liveReload) return undefined
  const shown = await tx.versions.find(header.id)
  return JSON.stringify(shown?.metadata) === JSON.stringify(version.metadata) ? shown : undefined
}

/** A time to live counts from the publish, so a new one always changes the expiry. */
function changesMetadata(site: Site, { metadata }: Version, now: number): boolean {
  const change = metadataChange(metadata, now)
  return (Object.keys(change) as (keyof Site)[]).some((field) => change[field] !== site[field])
}
