import type { BundleTarget, UpdateAnswer, UploadPlan, UploadTarget } from '../wire.ts'

/** A target this close to its end is renewed first, in milliseconds. */
const MARGIN_MS = 30_000

/** The upload targets of one pending version, renewed all at once when they run out. */
export class Targets {
  #targets = new Map<string, UploadTarget>()
  #bundle: BundleTarget | undefined
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

  /** Most bytes of a bundle; undefined when the server takes none. */
  get bundleBytes(): number | undefined {
    return this.#bundle?.maxBytes
  }

  /** Whether the server still lacks that file, as far as it has said. */
  lacks(path: string): boolean {
    return this.#targets.has(path)
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

  /** Where bundles go now; undefined when nothing is missing any more or the server takes none. */
  async ofBundle(): Promise<BundleTarget | undefined> {
    if (this.#now() > this.#validUntil) await this.renew()
    return this.#bundle
  }

  /** Where bundles go in place of a target that the server calls expired. */
  async insteadOfBundle(stale: BundleTarget): Promise<BundleTarget | undefined> {
    if (this.#bundle === stale) await this.renew()
    return this.#bundle
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
    this.#bundle = plan.bundle
    this.#validUntil = this.#now() + plan.expiresInSeconds * 1000 - MARGIN_MS
  }
}
