import type { HttpResponse } from './http-handler.ts'
import { type CacheEntry, type MemoryBudget, SecondChanceCache } from './memory/second-chance-cache.ts'

/** A response in the format of a protocol: its head and, when short, its body. */
export interface Serialized {
  bytes: Buffer
  readonly dateOffset: number
  readonly headLength: number
  readonly isComplete: boolean
  /** The second since 1970 of its `Date`. */
  second: number
}

/** Memory of an entry beside its bytes and that of the cache: measured. */
const ENTRY_BYTES = 300

/** A response is cached when it is sent for the second time; then only its date is updated. */
export class SerializedCache<S extends Serialized> {
  readonly #clock: () => number
  /** By the serialized form itself: a strong key would keep the response, and with it the files of a deleted site. */
  readonly #cache: SecondChanceCache<S, S>
  readonly #sentOnce = new WeakSet<HttpResponse>()
  /** A weak key lookup takes a fraction of a Map lookup by content, and does not keep the response. */
  readonly #entries = new WeakMap<HttpResponse, CacheEntry<S>>()
  #second = 0
  #date = ''

  constructor({ clock, budget }: { clock: () => number; budget: MemoryBudget }) {
    this.#clock = clock
    this.#cache = new SecondChanceCache(budget)
  }

  get(response: HttpResponse): S | undefined {
    const entry = this.#entries.get(response)
    if (entry?.value === undefined) return undefined
    entry.used = true
    return entry.value
  }

  add(response: HttpResponse, serialized: S): void {
    if (!this.#sentOnce.has(response)) return void this.#sentOnce.add(response)
    const replaced = this.#entries.get(response)?.value
    if (replaced) this.#cache.delete(replaced)
    const entry = this.#cache.set(serialized, serialized, serialized.bytes.length + ENTRY_BYTES)
    if (entry) this.#entries.set(response, entry)
  }

  isOutdated({ second }: Serialized): boolean {
    return second !== this.second
  }

  updateDate(serialized: Serialized): void {
    serialized.bytes.write(this.date, serialized.dateOffset, 'latin1')
    serialized.second = this.#second
  }

  get second(): number {
    const second = Math.floor(this.#clock() / 1000)
    if (second !== this.#second) {
      this.#second = second
      this.#date = new Date(second * 1000).toUTCString()
    }
    return second
  }

  get date(): string {
    void this.second
    return this.#date
  }
}
