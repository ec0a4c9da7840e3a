import type { BatchTarget, UpdateResponse, UploadPlan, UploadTarget } from '../../protocol/api/publish.ts'

/** A target this close to its expiry is renewed first, in milliseconds. */
const REFRESH_MARGIN_MS = 30_000

/** The upload targets of one pending version, renewed together when they expire. */
export class UploadTargets {
  #targets = new Map<string, UploadTarget>()
  #batch: BatchTarget | undefined
  #validUntil = 0
  #renewal: Promise<void> | undefined
  readonly #refresh: () => Promise<UpdateResponse>
  readonly #now: () => number

  constructor(plan: UploadPlan, refresh: () => Promise<UpdateResponse>, now: () => number) {
    this.#refresh = refresh
    this.#now = now
    this.#store(plan)
  }

  /** The missing paths, as last reported by the server. */
  get paths(): string[] {
    return [...this.#targets.keys()]
  }

  /** Maximum bytes of a batch; undefined when the server accepts none. */
  get maxBatchBytes(): number | undefined {
    return this.#batch?.maxBytes
  }

  /** Whether that file is missing, as last reported by the server. */
  isMissing(path: string): boolean {
    return this.#targets.has(path)
  }

  /** A valid target, or undefined when the file has been received. */
  async get(path: string): Promise<UploadTarget | undefined> {
    if (this.#now() > this.#validUntil) await this.refresh()
    return this.#targets.get(path)
  }

  /** A replacement for an expired target, or undefined when the file has been received. */
  async replaceStale(stale: UploadTarget): Promise<UploadTarget | undefined> {
    if (this.#targets.get(stale.path) === stale) await this.refresh()
    return this.#targets.get(stale.path)
  }

  /** The batch target; undefined when nothing is missing or the server accepts none. */
  async getBatch(): Promise<BatchTarget | undefined> {
    if (this.#now() > this.#validUntil) await this.refresh()
    return this.#batch
  }

  /** A replacement for an expired batch target. */
  async replaceStaleBatch(stale: BatchTarget): Promise<BatchTarget | undefined> {
    if (this.#batch === stale) await this.refresh()
    return this.#batch
  }

  /** Requests the missing files. Concurrent renewals share one request. */
  refresh(): Promise<void> {
    this.#renewal ??= this.#refresh()
      .then(({ upload }) => this.#store(upload))
      .finally(() => {
        this.#renewal = undefined
      })
    return this.#renewal
  }

  #store(plan: UploadPlan): void {
    this.#targets = new Map(plan.uploads.map((target) => [target.path, target]))
    this.#batch = plan.bundle
    this.#validUntil = this.#now() + plan.expiresInSeconds * 1000 - REFRESH_MARGIN_MS
  }
}
