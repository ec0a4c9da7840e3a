import type {
  AnonymousExtras,
  BundleTarget,
  CreateAnswer,
  FileEntry,
  FinalizeAnswer,
  PublishRequest,
  UpdateAnswer,
  UploadPlan,
  Viewer,
} from '../wire.ts'
import { parcels, uploadBundle } from './bundle.ts'
import { type Patience, persistently } from './retry.ts'
import type { Slipway } from './slipway.ts'
import { isSlipwayError, type SlipwayError } from './slipway-error.ts'
import { Targets } from './targets.ts'
import { type PublishFile, upload } from './upload.ts'

export interface PublishOptions extends Viewer {
  /** The complete site, unchanged files included. */
  files: PublishFile[]
  /** The site to update; without it a new one is made. */
  slug?: string | undefined
  /** In place of a key, to update an anonymous site. */
  claimToken?: string | undefined
  /** Refuse with VERSION_CONFLICT when another version is live. */
  baseVersionId?: string | undefined
  /** Go on with this version, staged before from the same files, if it is still pending. */
  pendingVersionId?: string | undefined
  /** `false` keeps the version as a draft. */
  live?: boolean | undefined
  /** Uploads at a time. */
  parallel?: number | undefined
  signal?: AbortSignal | undefined
  /** Called once the server knows the version and before the first upload: the moment to remember it. */
  onStaged?: ((staged: Staged) => void | Promise<void>) | undefined
  onProgress?: ((progress: Progress) => void) | undefined
  /** Called when a try failed and another one follows after a pause. */
  onRetry?: ((reason: SlipwayError) => void) | undefined
}

/** A version that the server is waiting for. A new anonymous site brings its claim token. */
export type Staged = (CreateAnswer | UpdateAnswer) & Partial<AnonymousExtras>

/** How much of what must be uploaded has been. */
export interface Progress {
  files: number
  filesDone: number
  bytes: number
  bytesDone: number
}

export interface Published extends FinalizeAnswer, Partial<AnonymousExtras> {
  /** Files uploaded by this call; the rest of the site was there already. */
  uploaded: number
  uploadedBytes: number
}

const PARALLEL = 16
/** How often finalize may say that files are missing. */
const ROUNDS = 3
/** What is said of a target in place of which there may be a fresh one. */
const STALE = ['UPLOAD_EXPIRED', 'INVALID_UPLOAD_TOKEN'] as const

/** Publishes a whole site: stage, upload what is missing, finalize. See `Slipway.publish`. */
export async function publish(
  client: Slipway,
  options: PublishOptions,
  patience: Patience,
): Promise<Published> {
  const stop = new AbortController()
  const abort = () => stop.abort(options.signal?.reason)
  options.signal?.throwIfAborted()
  options.signal?.addEventListener('abort', abort)
  try {
    const publication = new Publication(client.with({ signal: stop.signal }), options, patience, stop)
    return await publication.run()
  } finally {
    options.signal?.removeEventListener('abort', abort)
  }
}

class Publication {
  readonly #client: Slipway
  readonly #options: PublishOptions
  readonly #patience: Patience
  readonly #stop: AbortController
  readonly #files: Map<string, PublishFile>
  #progress: Progress = { files: 0, filesDone: 0, bytes: 0, bytesDone: 0 }

  constructor(client: Slipway, options: PublishOptions, patience: Patience, stop: AbortController) {
    this.#client = options.claimToken === undefined ? client : client.with({ key: undefined })
    this.#options = options
    this.#patience = patience
    this.#stop = stop
    this.#files = new Map(options.files.map((file) => [file.path, file]))
  }

  async run(): Promise<Published> {
    const staged = await this.#stage()
    await this.#options.onStaged?.(staged)
    this.#progress = this.#start(staged.upload)
    const { files: uploaded, bytes: uploadedBytes } = this.#progress
    const finalized = await this.#complete(staged)
    const { claimToken, claimUrl, expiresAt, anonymous, warning } = staged
    const extras = claimToken === undefined ? {} : { claimToken, claimUrl, expiresAt, anonymous, warning }
    return { ...(extras as Partial<AnonymousExtras>), ...finalized, uploaded, uploadedBytes }
  }

  async #stage(): Promise<Staged> {
    const { slug } = this.#options
    if (slug === undefined) return this.#client.create(this.#manifest())
    return (await this.#resume(slug)) ?? this.#client.update(slug, this.#manifest())
  }

  /** The version that was pending, unless the server no longer waits for it. */
  async #resume(slug: string): Promise<Staged | undefined> {
    const { pendingVersionId: versionId, claimToken } = this.#options
    if (versionId === undefined) return undefined
    try {
      return await this.#client.refresh(slug, { versionId, claimToken })
    } catch (error) {
      if (isSlipwayError(error) && [400, 404, 409, 410].includes(error.status)) return undefined
      throw error
    }
  }

  #manifest(): PublishRequest {
    const { title, description, ogImagePath, spaMode, ttlSeconds, baseVersionId, claimToken } = this.#options
    return {
      files: this.#options.files.map(entryOf),
      ...(title !== undefined && { title }),
      ...(description !== undefined && { description }),
      ...(ogImagePath !== undefined && { ogImagePath }),
      ...(spaMode !== undefined && { spaMode }),
      ...(ttlSeconds !== undefined && { ttlSeconds }),
      ...(baseVersionId !== undefined && { baseVersionId }),
      ...(claimToken !== undefined && { claimToken }),
    }
  }

  async #complete(staged: Staged): Promise<FinalizeAnswer> {
    const { slug, upload: plan } = staged
    const claimToken = staged.claimToken ?? this.#options.claimToken
    const refresh = () => this.#client.refresh(slug, { versionId: plan.versionId, claimToken })
    const targets = new Targets(plan, () => this.#persistently(refresh), this.#patience.now)
    for (let round = 1; ; round++) {
      await this.#uploadAll(targets)
      try {
        return await this.#persistently(() => this.#client.finalize(slug, this.#finalizeRequest(plan)))
      } catch (error) {
        if (round === ROUNDS || !isSlipwayError(error, 'UPLOADS_MISSING')) throw error
        await targets.renew()
        const missing = this.#bySize(targets.paths)
        const { files, filesDone, bytes, bytesDone } = this.#progress
        this.#advance(files - missing.length - filesDone, bytes - total(missing) - bytesDone)
      }
    }
  }

  #finalizeRequest({ versionId }: UploadPlan): { versionId: string; live?: boolean } {
    const { live } = this.#options
    return live === undefined ? { versionId } : { versionId, live }
  }

  /** Uploads in parallel, the largest first, small files together; the first failure stops the rest. */
  async #uploadAll(targets: Targets): Promise<void> {
    const queue = this.#parcels(targets)
    const failures: unknown[] = []
    const worker = async () => {
      for (let files = queue.pop(); files !== undefined; files = queue.pop()) {
        if (files.length > 1) await this.#uploadTogether(files, targets)
        else await this.#upload(files[0]!, targets)
      }
    }
    const lane = () =>
      worker().catch((error) => {
        failures.push(error)
        this.#stop.abort(error)
      })
    await Promise.all(Array.from({ length: this.#options.parallel ?? PARALLEL }, lane))
    if (failures.length > 0) throw failures[0]
  }

  async #upload(file: PublishFile, targets: Targets): Promise<void> {
    const put = this.#client.upload.bind(this.#client)
    const count = (bytes: number) => this.#advance(0, bytes)
    await this.#uploading(async () => {
      const target = await targets.of(file.path)
      if (!target) return count(file.size)
      try {
        await upload(file, target, put, count)
      } catch (error) {
        if (!isSlipwayError(error, ...STALE)) throw error
        const fresh = await targets.insteadOf(target)
        if (!fresh) return count(file.size)
        await upload(file, fresh, put, count)
      }
    })
    this.#advance(1, 0)
  }

  /** Each try after a failure sends fewer at once, so that a line that often breaks is got through too. */
  async #uploadTogether(files: PublishFile[], targets: Targets): Promise<void> {
    let left = files
    let most = files.length
    try {
      await this.#uploading(async () => {
        while (left.length > 0) {
          const some = left.slice(0, most)
          most = Math.ceil(some.length / 2)
          if (!(await this.#uploadBundle(some, targets))) return
          most = some.length
          left = left.slice(some.length)
        }
      })
    } catch (error) {
      // A proxy on the way may allow less in one request than the server does.
      if (!isSlipwayError(error, 'BAD_ANSWER') || error.status !== 413) throw error
    }
    for (const file of left) await this.#upload(file, targets)
  }

  /** False when there is no target for bundles any more. */
  async #uploadBundle(files: PublishFile[], targets: Targets): Promise<boolean> {
    const target = await targets.ofBundle()
    if (!target) return false
    try {
      await this.#sendBundle(files, targets, target)
    } catch (error) {
      if (!isSlipwayError(error, ...STALE)) throw error
      const fresh = await targets.insteadOfBundle(target)
      if (!fresh) return false
      await this.#sendBundle(files, targets, fresh)
    }
    return true
  }

  async #sendBundle(files: PublishFile[], targets: Targets, target: BundleTarget): Promise<void> {
    const put = this.#client.uploadBundle.bind(this.#client)
    const lacking = files.filter(({ path }) => targets.lacks(path))
    if (lacking.length > 0) await uploadBundle(lacking, target, put, (bytes) => this.#advance(0, bytes))
    this.#advance(files.length, total(files) - total(lacking))
  }

  #start(plan: UploadPlan): Progress {
    const files = this.#bySize(plan.uploads.map(({ path }) => path))
    return { files: files.length, filesDone: 0, bytes: total(files), bytesDone: 0 }
  }

  #advance(files: number, bytes: number): void {
    this.#progress.filesDone += files
    this.#progress.bytesDone += bytes
    this.#options.onProgress?.({ ...this.#progress })
  }

  #bySize(paths: string[]): PublishFile[] {
    return paths.flatMap((path) => this.#files.get(path) ?? []).sort((a, b) => a.size - b.size)
  }

  /** What goes out together, the most bytes last. */
  #parcels(targets: Targets): PublishFile[][] {
    const files = this.#bySize(targets.paths)
    const { bundleBytes } = targets
    if (bundleBytes === undefined) return files.map((file) => [file])
    return parcels(files, bundleBytes).sort((a, b) => total(a) - total(b))
  }

  /** Uploads may go on for as long as the page or program likes. */
  #uploading(work: () => Promise<void>): Promise<void> {
    return this.#persistently(work, this.#patience.tries)
  }

  #persistently<T>(work: () => Promise<T>, tries?: number): Promise<T> {
    const { onRetry } = this.#options
    return persistently(work, { patience: this.#patience, tries, signal: this.#stop.signal, onRetry })
  }
}

function total(files: readonly PublishFile[]): number {
  return files.reduce((sum, { size }) => sum + size, 0)
}

function entryOf({ path, size, contentType, hash }: PublishFile): FileEntry {
  return { path, size, contentType, ...(hash !== undefined && { hash }) }
}
