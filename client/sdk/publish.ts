import type {
  AnonymousExtras,
  CreateAnswer,
  FileEntry,
  FinalizeAnswer,
  PublishRequest,
  UpdateAnswer,
  UploadPlan,
  Viewer,
} from '../wire.ts'
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
        this.#progress.filesDone = this.#progress.files - targets.paths.length
      }
    }
  }

  #finalizeRequest({ versionId }: UploadPlan): { versionId: string; live?: boolean } {
    const { live } = this.#options
    return live === undefined ? { versionId } : { versionId, live }
  }

  /** Uploads in parallel, the largest first; the first failure stops the rest. */
  async #uploadAll(targets: Targets): Promise<void> {
    const queue = this.#bySize(targets.paths)
    const failures: unknown[] = []
    const worker = async () => {
      for (let file = queue.pop(); file !== undefined; file = queue.pop()) await this.#upload(file, targets)
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
    await this.#persistently(async () => {
      const target = await targets.of(file.path)
      if (!target) return count(file.size)
      try {
        await upload(file, target, put, count)
      } catch (error) {
        if (!isSlipwayError(error, 'UPLOAD_EXPIRED', 'INVALID_UPLOAD_TOKEN')) throw error
        const fresh = await targets.insteadOf(target)
        if (fresh) await upload(file, fresh, put, count)
      }
    })
    this.#advance(1, 0)
  }

  #start(plan: UploadPlan): Progress {
    const files = this.#bySize(plan.uploads.map(({ path }) => path))
    const bytes = files.reduce((sum, { size }) => sum + size, 0)
    return { files: files.length, filesDone: 0, bytes, bytesDone: 0 }
  }

  #advance(files: number, bytes: number): void {
    this.#progress.filesDone += files
    this.#progress.bytesDone += bytes
    this.#options.onProgress?.({ ...this.#progress })
  }

  #bySize(paths: string[]): PublishFile[] {
    return paths.flatMap((path) => this.#files.get(path) ?? []).sort((a, b) => a.size - b.size)
  }

  #persistently<T>(work: () => Promise<T>): Promise<T> {
    const { onRetry } = this.#options
    return persistently(work, { patience: this.#patience, signal: this.#stop.signal, onRetry })
  }
}

function entryOf({ path, size, contentType, hash }: PublishFile): FileEntry {
  return { path, size, contentType, ...(hash !== undefined && { hash }) }
}
