/** Beside a value's own bytes: its key, its place in the map and the object around it. */
const OVERHEAD = 200

/** A value as it is kept. Who keeps this at hand need not look for it again, and has to say when it was used. */
export interface Held<V> {
  /** Undefined once it is kept no longer: then nobody holds it on, whoever has this at hand. */
  value: V | undefined
  readonly bytes: number
  used: boolean
}

/** What takes part in a budget. */
interface Cache {
  readonly held: number
  evict(): void
}

/** Bytes that several caches share; when they are used up, the cache that holds most gives way. */
export class Budget {
  readonly limit: number
  readonly #caches: Cache[] = []

  constructor(bytes: number) {
    this.limit = bytes
  }

  get held(): number {
    return this.#caches.reduce((sum, cache) => sum + cache.held, 0)
  }

  join(cache: Cache): void {
    this.#caches.push(cache)
  }

  makeRoom(bytes: number): void {
    while (this.held + bytes > this.limit) {
      this.#caches.reduce((most, cache) => (cache.held > most.held ? cache : most)).evict()
    }
  }
}

/**
 * Values by key, within a budget of bytes. What was not used lately goes first: an entry that was used since it
 * last came up gets a second round. So using one costs a look and a mark, nothing more.
 */
export class Kept<V, K = string> {
  readonly #budget: Budget
  readonly #dropped: ((value: V) => void) | undefined
  readonly #entries = new Map<K, Held<V>>()
  #held = 0

  /** `dropped` hears of each value that is kept no longer. */
  constructor(budget: Budget, dropped?: (value: V) => void) {
    this.#budget = budget
    this.#dropped = dropped
    budget.join(this)
  }

  /** Bytes. */
  get held(): number {
    return this.#held
  }

  get(key: K): V | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    entry.used = true
    return entry.value
  }

  find(key: K): Held<V> | undefined {
    return this.#entries.get(key)
  }

  /** Something larger than the whole budget is not kept at all. */
  set(key: K, value: V, bytes: number): Held<V> | undefined {
    this.delete(key)
    const entry: Held<V> = { value, bytes: bytes + OVERHEAD, used: false }
    if (entry.bytes > this.#budget.limit) return undefined
    this.#budget.makeRoom(entry.bytes)
    this.#entries.set(key, entry)
    this.#held += entry.bytes
    return entry
  }

  delete(key: K): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    this.#held -= entry.bytes
    const { value } = entry
    entry.value = undefined
    if (value !== undefined) this.#dropped?.(value)
  }

  /** Lets go of one entry. */
  evict(): void {
    for (const [key, entry] of this.#entries) {
      if (!entry.used) return void this.delete(key)
      entry.used = false
      this.#entries.delete(key)
      this.#entries.set(key, entry)
    }
  }
}
