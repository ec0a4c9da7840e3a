export interface Reload<V> {
  key: string
  former: V | undefined
  /** Number of reloads since it was last used, with this one. */
  idleReloads: number
}

interface ReloadQueueOptions<V> {
  /** Never rejects. */
  reload: (reload: Reload<V>) => Promise<void>
  onCount: (change: 1 | -1) => void
}

const MAX_CONCURRENT_RELOADS = 4

/** Keys that wait for a reload; further ones are loaded when they are requested. */
const MAX_WAITING_RELOADS = 10_000

/** Loads changed entries of a cache again in the background, each key once, with what it owned. */
export class ReloadQueue<V> {
  readonly #options: ReloadQueueOptions<V>
  readonly #waiting = new Map<string, readonly Reload<V>[]>()
  #running = 0

  constructor(options: ReloadQueueOptions<V>) {
    this.#options = options
  }

  /** Loads after the current turn, so that the caller of the change does not wait. */
  add(key: string, reloads: readonly Reload<V>[]): void {
    const known = this.#waiting.get(key)
    // Of two changes in a turn the second one finds less: what the first one has deleted.
    if (known && known.length > reloads.length) return
    if (!known && this.#waiting.size >= MAX_WAITING_RELOADS) return
    if (!known) this.#options.onCount(1)
    this.#waiting.set(key, reloads)
    if (this.#running < MAX_CONCURRENT_RELOADS) {
      this.#running++
      setImmediate(() => void this.#run())
    }
  }

  async #run(): Promise<void> {
    for (const [key, reloads] of this.#waiting) {
      this.#waiting.delete(key)
      for (const reload of reloads) await this.#options.reload(reload)
      this.#options.onCount(-1)
    }
    this.#running--
  }
}
