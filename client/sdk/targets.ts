import type { UpdateAnswer, UploadPlan, UploadTarget } from '../wire.ts'

/** A target this close to its end is renewed first, in milliseconds. */
const MARGIN_MS = 30_000

/** The upload targets of one pending version, renewed all at once when they run out. */
export class Targets {
  #targets = new Map<string, UploadTarget>()
  #validUntil = 0
  #renewal: Promise<void> | undefined
  readonly #refresh: () => Promise<UpdateAnswer>
  readonly #now: () => number

  constructor(plan: UploadPlan, refresh: () => Promise<UpdateAnswer>, now: () => number) {
    this.#refresh = refresh
    this.#now = now
    this.#take(plan)
  }

  /** The paths that the server still lacks, as far as it has said. */
  get paths(): string[] {
    return [...this.#targets.keys()]
  }

  /** A target that is still good, or undefined when the file has arrived meanwhile. */
  async of(path: string): Promise<UploadTarget | undefined> {
    if (this.#now() > this.#validUntil) await this.renew()
    return this.#targets.get(path)
  }

  /** A target in place of one that the server calls expired, or undefined when the file has arrived meanwhile. */
  async insteadOf(stale: UploadTarget): Promise<UploadTarget | undefined> {
    if (this.#targets.get(stale.path) === stale) await this.renew()
    return this.#targets.get(stale.path)
  }

  /** Asks what is missing now. Uploads that run out together share one request. */
  renew(): Promise<void> {
    this.#renewal ??= this.#refresh()
      .then(({ upload }) => this.#take(upload))
      .finally(() => {
        this.#renewal = undefined
      })
    return this.#renewal
  }

  #take(plan: UploadPlan): void {
    this.#targets = new Map(plan.uploads.map((target) => [target.path, target]))
    this.#validUntil = this.#now() + plan.expiresInSeconds * 1000 - MARGIN_MS
  }
}
