import type { FileChanges, FileEntry } from '../../protocol/api/fields.schema.ts'
import type {
  AnonymousExtras,
  BundleTarget,
  CreateResponse,
  FinalizeRequest,
  FinalizeResponse,
  PublishRequest,
  SiteMetadata,
  UpdateResponse,
  UploadPlan,
} from '../../protocol/api/publish.schema.ts'
import { separateEmpty } from '../../protocol/manifest/empty-files.ts'
import { sumSizes } from '../../protocol/manifest/manifest.ts'
import { groupIntoBundles, type PutBundle, uploadBundle } from './bundle.ts'
import { type RetryOptions, type RetryPolicy, withRetry } from './retry.ts'
import { isSlipwayError, type SlipwayError } from './slipway-error.ts'
import { type PublishFile, type PutFile, upload } from './upload.ts'
import { UploadTargets } from './upload-targets.ts'

export interface PublishOptions extends SiteMetadata {
  /** The complete site, unchanged files included; with `merge` only what it adds and replaces. */
  files: PublishFile[]
  /** The site to update; otherwise a new one is created. */
  slug?: string | undefined
  /**
   * Of an update: lays the files over those of the live version. Merges again when another version goes live before
   * this one, unless `baseVersionId` is set.
   */
  merge?: boolean | undefined
  /** With `merge`: paths of the live version that the new one does not have. */
  delete?: string[] | undefined
  /** In place of a key, to update an anonymous site. */
  claimToken?: string | undefined
  /** Of a new site with an owner: its slug, in place of a generated one. */
  name?: string | undefined
  /** With `name`: updates the site of this name when it exists. */
  update?: boolean | undefined
  /** A note about the version, at most 200 characters. */
  message?: string | undefined
  /** The name of a preview, which shows this version; the site stays as it is. `ttlSeconds` is then its lifetime. */
  preview?: string | undefined
  /** With `preview`: open pages of the preview reload after each update. */
  liveReload?: boolean | undefined
  /** Fail with VERSION_CONFLICT when another version is live. */
  baseVersionId?: string | undefined
  /** Continue this version, staged before from the same files, if it is still pending. */
  pendingVersionId?: string | undefined
  /** `false` keeps the version as a draft. */
  live?: boolean | undefined
  /** Drops the version if its files, rules and settings equal those of the live version: `unchanged` in the result. */
  ifChanged?: boolean | undefined
  /** Concurrent uploads. */
  concurrency?: number | undefined
  /** Fingerprints from SECRET_DETECTED of secrets that may be public. */
  allowSecrets?: string[] | undefined
  /** In place of the client's. */
  signal?: AbortSignal | undefined
  /** Called once the version is staged and before the first upload: the time to store its id. */
  onStaged?: ((staged: StagedVersion) => void | Promise<void>) | undefined
  onProgress?: ((progress: UploadProgress) => void) | undefined
  /** Called when an attempt failed and will be repeated. */
  onRetry?: ((reason: SlipwayError) => void) | undefined
}

/** A pending version. A new anonymous site includes its claim token. */
export type StagedVersion = (CreateResponse | UpdateResponse) & Partial<AnonymousExtras>

/** Progress of the required uploads. */
export interface UploadProgress {
  files: number
  filesDone: number
  bytes: number
  bytesDone: number
}

export interface PublishResult extends FinalizeResponse, Partial<AnonymousExtras> {
  /** Files uploaded by this call; the rest of the site was there already. */
  uploaded: number
  uploadedBytes: number
  /** Of an update: its differences from the version that was live. */
  changes?: FileChanges
}

const DEFAULT_CONCURRENCY = 16
/** How often finalize may report missing files. */
const MAX_FINALIZE_ATTEMPTS = 3
/** How many versions one publish may stage. */
const MAX_STAGED_VERSIONS = 3
/** Errors of an upload target that can be replaced by a new one. */
const STALE_TARGET_CODES = ['UPLOAD_EXPIRED', 'INVALID_UPLOAD_TOKEN'] as const

/** The calls of a client that a publish makes. */
interface PublishClient {
  with(change: { key?: undefined; signal?: AbortSignal }): PublishClient
  create(request: PublishRequest): Promise<CreateResponse>
  update(slug: string, request: PublishRequest): Promise<UpdateResponse>
  refresh(
    slug: string,
    request: { versionId: string; claimToken?: string | undefined },
  ): Promise<UpdateResponse>
  upload: PutFile
  uploadBundle: PutBundle
  finalize(slug: string, request: FinalizeRequest): Promise<FinalizeResponse>
  deleteVersion(slug: string, versionId: string): Promise<unknown>
}

/** Publishes a whole site: stage, upload what is missing, finalize. See `Slipway.publish`. */
export async function publish(
  client: PublishClient,
  options: PublishOptions,
  retryPolicy: RetryPolicy,
): Promise<PublishResult> {
  const { signal, slug, update } = options
  for (let round = 1; ; round++) {
    signal?.throwIfAborted()
    const stop = new AbortController()
    const abort = () => stop.abort(signal?.reason)
    signal?.addEventListener('abort', abort)
    try {
      const run = new PublishRun(client.with({ signal: stop.signal }), options, retryPolicy, stop)
      const staged = await run.stage(round === 1)
      try {
        return await run.publish(staged)
      } catch (error) {
        const isUpdate = slug !== undefined || update === true
        if (!isUpdate || round === MAX_STAGED_VERSIONS || !isOutdated(options, error)) throw error
      }
    } finally {
      signal?.removeEventListener('abort', abort)
    }
  }
}

/**
 * Whether another version can succeed: this one was merged with a version that is not live any more, or dropped by a
 * finalize whose response was lost.
 */
function isOutdated({ merge, baseVersionId, ifChanged }: PublishOptions, error: unknown): boolean {
  if (merge && baseVersionId === undefined && isSlipwayError(error, 'VERSION_CONFLICT')) return true
  return ifChanged === true && isSlipwayError(error, 'NOT_FOUND')
}

/** A declined removal would count against the quota for a day. A version that is resumed has received files. */
async function deleteDeclined(
  client: PublishClient,
  { claimToken, pendingVersionId }: PublishOptions,
  { slug, removal, upload: { versionId } }: StagedVersion,
): Promise<void> {
  if (!removal || claimToken !== undefined || versionId === pendingVersionId) return
  await client.deleteVersion(slug, versionId).catch(() => undefined)
}

/** One version. */
class PublishRun {
  readonly #client: PublishClient
  readonly #options: PublishOptions
  readonly #retryPolicy: RetryPolicy
  readonly #stop: AbortController
  readonly #files: Map<string, PublishFile>
  #progress: UploadProgress = { files: 0, filesDone: 0, bytes: 0, bytesDone: 0 }

  constructor(
    client: PublishClient,
    options: PublishOptions,
    retryPolicy: RetryPolicy,
    stop: AbortController,
  ) {
    this.#client = options.claimToken === undefined ? client : client.with({ key: undefined })
    this.#options = options
    this.#retryPolicy = retryPolicy
    this.#stop = stop
    this.#files = new Map(options.files.map((file) => [file.path, file]))
  }

  /** Uploads what a version lacks, and finalizes it. */
  async publish(staged: StagedVersion): Promise<PublishResult> {
    try {
      await this.#options.onStaged?.(staged)
    } catch (error) {
      await deleteDeclined(this.#client, this.#options, staged)
      throw error
    }
    this.#progress = this.#initialProgress(staged.upload)
    const { files: uploaded, bytes: uploadedBytes } = this.#progress
    const finalized = await this.#complete(staged)
    const { claimToken, claimUrl, expiresAt, anonymous, warning, changes } = staged
    const extras = claimToken === undefined ? {} : { claimToken, claimUrl, expiresAt, anonymous, warning }
    const summary = { uploaded, uploadedBytes, ...(changes && { changes }) }
    return { ...(extras as Partial<AnonymousExtras>), ...finalized, ...summary }
  }

  /** A new version, or with `resumes` the pending one if the server still has it. */
  async stage(resumes: boolean): Promise<StagedVersion> {
    const { slug, name, update } = this.#options
    const known = slug ?? (update ? name : undefined)
    const resumed = resumes && known !== undefined ? await this.#resume(known) : undefined
    if (resumed) return resumed
    if (slug !== undefined) return this.#withRetry(() => this.#client.update(slug, this.#manifest()))
    const create = () => this.#client.create(this.#manifest())
    // Repeated without a name, it would make two sites of one whose response was lost.
    return update ? this.#withRetry(create) : create()
  }

  /** The pending version, if the server still has it. */
  async #resume(slug: string): Promise<StagedVersion | undefined> {
    const { pendingVersionId: versionId, claimToken } = this.#options
    if (versionId === undefined) return undefined
    try {
      return await this.#withRetry(() => this.#client.refresh(slug, { versionId, claimToken }))
    } catch (error) {
      if (isSlipwayError(error) && [400, 404, 409, 410].includes(error.status)) return undefined
      throw error
    }
  }

  #manifest(): PublishRequest {
    const { slug, files: all, name, ...others } = this.#options
    const { pendingVersionId, live, ifChanged, concurrency, signal, ...more } = others
    const { onStaged, onProgress, onRetry, allowSecrets, ...fields } = more
    const { files, emptyFiles } = separateEmpty(all)
    return {
      ...(fields as Omit<PublishRequest, 'files'>),
      files: files.map(toFileEntry),
      ...(emptyFiles.length > 0 && { emptyFiles }),
      ...(name !== undefined && slug === undefined && { name }),
    }
  }

  async #complete(staged: StagedVersion): Promise<FinalizeResponse> {
    const { slug, upload: plan } = staged
    const claimToken = staged.claimToken ?? this.#options.claimToken
    const refresh = () => this.#client.refresh(slug, { versionId: plan.versionId, claimToken })
    const targets = new UploadTargets(plan, () => this.#withRetry(refresh), this.#retryPolicy.now)
    const { ifChanged, live, allowSecrets } = this.#options
    const request: FinalizeRequest = {
      versionId: plan.versionId,
      ...(live !== undefined && { live }),
      ...(ifChanged !== undefined && { ifChanged }),
      ...(allowSecrets !== undefined && { allowSecrets }),
      ...(claimToken !== undefined && { claimToken }),
    }
    for (let round = 1; ; round++) {
      await this.#uploadAll(targets)
      try {
        return await this.#withRetry(() => this.#client.finalize(slug, request))
      } catch (error) {
        if (round === MAX_FINALIZE_ATTEMPTS || !isSlipwayError(error, 'UPLOADS_MISSING')) throw error
        await targets.refresh()
        const missing = this.#bySize(targets.paths)
        const { files, filesDone, bytes, bytesDone } = this.#progress
        this.#advance(files - missing.length - filesDone, bytes - sumSizes(missing) - bytesDone)
      }
    }
  }

  /** Uploads concurrently, the largest first, small files in bundles; the first error stops the rest. */
  async #uploadAll(targets: UploadTargets): Promise<void> {
    const queue = this.#bundles(targets)
    const failures: unknown[] = []
    const uploadQueue = async () => {
      for (let files = queue.pop(); files !== undefined; files = queue.pop()) {
        if (files.length > 1) await this.#uploadBundleWithRetry(files, targets)
        else await this.#upload(files[0]!, targets)
      }
    }
    const worker = () =>
      uploadQueue().catch((error) => {
        failures.push(error)
        this.#stop.abort(error)
      })
    await Promise.all(Array.from({ length: this.#options.concurrency ?? DEFAULT_CONCURRENCY }, worker))
    if (failures.length > 0) throw failures[0]
  }

  async #upload(file: PublishFile, targets: UploadTargets): Promise<void> {
    const put = this.#client.upload.bind(this.#client)
    const count = (bytes: number) => this.#advance(0, bytes)
    await this.#uploading(targets, async () => {
      const target = await targets.get(file.path)
      if (!target) return count(file.size)
      try {
        await upload(file, target, put, count)
      } catch (error) {
        if (!isSlipwayError(error, ...STALE_TARGET_CODES)) throw error
        const fresh = await targets.replaceStale(target)
        if (!fresh) return count(file.size)
        await upload(file, fresh, put, count)
      }
    })
    this.#advance(1, 0)
  }

  /** Each attempt after a failure sends a smaller bundle, so that an unreliable connection makes progress. */
  async #uploadBundleWithRetry(files: PublishFile[], targets: UploadTargets): Promise<void> {
    let left = files
    let bundleSize = files.length
    try {
      await this.#uploading(targets, async () => {
        while (left.length > 0) {
          const some = left.slice(0, bundleSize)
          bundleSize = Math.ceil(some.length / 2)
          if (!(await this.#tryUploadBundle(some, targets))) return
          bundleSize = some.length
          left = left.slice(some.length)
        }
      })
    } catch (error) {
      // A proxy may allow smaller requests than the server.
      if (!isSlipwayError(error, 'BAD_ANSWER') || error.status !== 413) throw error
    }
    for (const file of left) await this.#upload(file, targets)
  }

  /** False when bundles are not possible any more. */
  async #tryUploadBundle(files: PublishFile[], targets: UploadTargets): Promise<boolean> {
    const target = await targets.getBundle()
    if (!target) return false
    try {
      await this.#sendBundle(files, targets, target)
    } catch (error) {
      if (!isSlipwayError(error, ...STALE_TARGET_CODES)) throw error
      const fresh = await targets.replaceStaleBundle(target)
      if (!fresh) return false
      await this.#sendBundle(files, targets, fresh)
    }
    return true
  }

  async #sendBundle(files: PublishFile[], targets: UploadTargets, target: BundleTarget): Promise<void> {
    const put = this.#client.uploadBundle.bind(this.#client)
    const lacking = files.filter(({ path }) => targets.isMissing(path))
    if (lacking.length > 0) await uploadBundle(lacking, target, put, (bytes) => this.#advance(0, bytes))
    this.#advance(files.length, sumSizes(files) - sumSizes(lacking))
  }

  #initialProgress(plan: UploadPlan): UploadProgress {
    const files = this.#bySize(plan.uploads.map(({ path }) => path))
    return { files: files.length, filesDone: 0, bytes: sumSizes(files), bytesDone: 0 }
  }

  #advance(files: number, bytes: number): void {
    this.#progress.filesDone += files
    this.#progress.bytesDone += bytes
    this.#options.onProgress?.({ ...this.#progress })
  }

  #bySize(paths: string[]): PublishFile[] {
    return paths.flatMap((path) => this.#files.get(path) ?? []).sort((a, b) => a.size - b.size)
  }

  /** Requests, the largest last. */
  #bundles(targets: UploadTargets): PublishFile[][] {
    const files = this.#bySize(targets.paths)
    const { maxBundleBytes } = targets
    if (maxBundleBytes === undefined) return files.map((file) => [file])
    return groupIntoBundles(files, maxBundleBytes).sort((a, b) => sumSizes(a) - sumSizes(b))
  }

  /**
   * Wraps uploads for a page or program that wants to keep them running. Another program that resumes the same version
   * ends them with UPLOAD_EXPIRED. After a pause, the files that it has sent are no longer missing.
   */
  #uploading(targets: UploadTargets, work: () => Promise<void>): Promise<void> {
    // Of several uploads that end so, one renews the targets of all.
    let replacedAt: number | undefined
    const attempt = async () => {
      if (replacedAt === targets.renewals) await targets.refresh()
      await work().catch((error) => {
        replacedAt = isSlipwayError(error, 'UPLOAD_EXPIRED') ? targets.renewals : undefined
        throw error
      })
    }
    const { maxAttempts } = this.#retryPolicy
    return this.#withRetry(attempt, { maxAttempts, repeated: ['UPLOAD_EXPIRED'] })
  }

  #withRetry<T>(
    work: () => Promise<T>,
    limits: Pick<RetryOptions, 'maxAttempts' | 'repeated'> = {},
  ): Promise<T> {
    const { onRetry } = this.#options
    return withRetry(work, { ...limits, policy: this.#retryPolicy, signal: this.#stop.signal, onRetry })
  }
}

function toFileEntry({ path, size, contentType, hash }: PublishFile): FileEntry {
  return { path, size, contentType, ...(hash !== undefined && { hash }) }
}
