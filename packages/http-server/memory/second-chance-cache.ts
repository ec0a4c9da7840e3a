/** Measured, beside a value's own bytes: its key, its place in the map and the objects around it. */
const ENTRY_OVERHEAD_BYTES = 400

/** Used entries that are spared for one new value: to inspect all of them would hold the event loop. */
const MAX_SPARED_ENTRIES = 200

/** A cache entry. A caller may keep it instead of looking it up again, and must then set `used`. */
export interface CacheEntry<V> {
  /** Undefined after eviction, so that a kept entry does not hold the value. */
  value: V | undefined
  bytes: number
  used: boolean
  /** The entry that owns this one: it leaves the cache with its owner. */
  readonly owner: CacheEntry<V> | undefined
  owned: Set<unknown> | undefined
}

interface BudgetedCache {
  readonly usedBytes: number
  /** Evicts one entry, and spares at most `maxSpared` before it. Returns how many it may still have spared. */
  evict(maxSpared: number): number
}

/** A budget in bytes that several caches share; when it is used up, the largest cache evicts. */
export class MemoryBudget {
  readonly limit: number
  readonly #caches: BudgetedCache[] = []

  constructor(bytes: number) {
    this.limit = bytes
  }

  get usedBytes(): number {
    return this.#caches.reduce((sum, cache) => sum + cache.usedBytes, 0)
  }

  join(cache: BudgetedCache): void {
    this.#caches.push(cache)
  }

  makeRoom(bytes: number): void {
    let maxSpared = MAX_SPARED_ENTRIES
    while (this.usedBytes + bytes > this.limit) {
      const largest = this.#caches.reduce((most, cache) => (cache.usedBytes > most.usedBytes ? cache : most))
      maxSpared = largest.evict(maxSpared)
    }
  }
}

/** Evicts within the budget; an entry that was used since its last inspection is spared once, if few others were. */
export class SecondChanceCache<V, K = string> {
  readonly #budget: MemoryBudget
  readonly #onEvict: ((value: V) => void) | undefined
  readonly #entries = new Map<K, CacheEntry<V>>()
  /** Is always at the oldest entry. A new iterator would pass over all that were removed before it. */
  #oldest = this.#entries.entries()
  #usedBytes = 0

  constructor(budget: MemoryBudget, onEvict?: (value: V) => void) {
    this.#budget = budget
    this.#onEvict = onEvict
    budget.join(this)
  }

  get usedBytes(): number {
    return this.#usedBytes
  }

  get(key: K): V | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    entry.used = true
    return entry.value
  }

  find(key: K): CacheEntry<V> | undefined {
    return this.#entries.get(key)
  }

  /** An entry and all that it owns, owners first. */
  *withOwned(entry: CacheEntry<V>): Generator<CacheEntry<V>> {
    yield entry
    for (const key of entry.owned ?? []) yield* this.withOwned(this.#entries.get(key as K)!)
  }

  /** Does not cache a value that exceeds the budget, or that belongs to an evicted owner. */
  set(key: K, value: V, bytes: number, owner?: CacheEntry<V>): CacheEntry<V> | undefined {
    this.delete(key)
    const entry = { value, bytes: bytes + ENTRY_OVERHEAD_BYTES, used: false, owner, owned: undefined }
    if (entry.bytes > this.#budget.limit) return undefined
    this.#budget.makeRoom(entry.bytes)
    if (owner) {
      if (owner.value === undefined) return undefined
      owner.owned ??= new Set()
      owner.owned.add(key)
    }
    this.#entries.set(key, entry)
    this.#usedBytes += entry.bytes
    return entry
  }

  /** Replaces the value of an entry, which keeps its owner and what it owns. Evicts it when there is no room. */
  replace(key: K, value: V, bytes: number): void {
    const entry = this.#entries.get(key)
    const former = entry?.value
    if (entry === undefined || former === undefined) return
    const added = bytes + ENTRY_OVERHEAD_BYTES - entry.bytes
    if (entry.bytes + added > this.#budget.limit) this.delete(key)
    else this.#budget.makeRoom(added)
    if (entry.value === undefined) return
    entry.value = value
    entry.bytes += added
    this.#usedBytes += added
    this.#onEvict?.(former)
  }

  /** Deletes an entry with all that it owns. */
  delete(key: K): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    this.#usedBytes -= entry.bytes
    const { value, owner, owned } = entry
    entry.value = undefined
    owner?.owned?.delete(key)
    for (const one of owned ?? []) this.delete(one as K)
    if (value !== undefined) this.#onEvict?.(value)
  }

  evict(maxSpared: number): number {
    for (let left = maxSpared; ; left--) {
      const [key, entry] = this.#takeOldest()
      if (!entry.used || left === 0) {
        this.delete(key)
        return left
      }
      entry.used = false
      this.#entries.delete(key)
      this.#entries.set(key, entry)
    }
  }

  #takeOldest(): [K, CacheEntry<V>] {
    const next = this.#oldest.next()
    if (!next.done) return next.value
    this.#oldest = this.#entries.entries()
    return this.#oldest.next().value!
  }
}
