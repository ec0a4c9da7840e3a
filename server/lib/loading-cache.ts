import { ApiError } from './errors.ts'
import { type CacheEntry, type MemoryBudget, SecondChanceCache } from './lru-cache.ts'

interface LoadingCacheOptions<V> {
  /**
   * Loads a key. Rejects with UNAVAILABLE when the source is unreachable. `getOwner` returns the value of
   * another key, which owns the result: it leaves the cache as soon as the owner does.
   */
  load: (key: string, getOwner: (key: string) => Promise<V>) => Promise<V>
  /** Whether loads of this key may call `getOwner`: every invalidation cancels them. */
  hasOwner?: (key: string) => boolean
  /** Estimated memory of a value in bytes. */
  bytes: (value: V) => number
  /** Whether a value is a negative result: cached for a second, in a cache of its own. */
  isNegative: (value: V) => boolean
  /**
   * Receives each value that leaves the cache; a caller may still use it in the same turn of the event loop.
   */
  onEvict?: (value: V) => void
  budget: MemoryBudget
  clock: () => number
}

/** A value and the time it was loaded. */
interface LoadedEntry<V> {
  value: V
  epoch: number
}

/** A key with its entry, for a caller that reads it often. */
export interface CacheSlot {
  readonly key: string
  entry: CacheEntry<unknown> | undefined
}

/** Time to live of negative results: other processes may create the key without a notification. */
const NEGATIVE_TTL_MS = 1000
const MAX_NEGATIVE_ENTRIES = 10_000

/** Maximum number of concurrent loads; more are rejected. */
const MAX_CONCURRENT_LOADS = 1000

/** How long stale values are used after a failed load before the next one. */
const UNAVAILABLE_BACKOFF_MS = 1000

/**
 * A loading cache with entries that are valid until they are invalidated.
 *
 * - Concurrent requests for a key share one load. When the key or an owner of it is invalidated during a load,
 *   waiting callers receive its result but it is not cached, and later callers start a new load.
 * - After `markStale` every entry is loaded again; while the source is unreachable, the old values are used.
 */
export class LoadingCache<V extends object> {
  readonly #options: LoadingCacheOptions<V>
  readonly #cache: SecondChanceCache<LoadedEntry<V>>
  readonly #negatives = new Map<string, { value: V; until: number }>()
  /** Loads with results that will be cached. */
  readonly #loads = new Map<string, Promise<V>>()
  #inFlight = 0
  #epoch = 0
  #pausedUntil = 0

  constructor(options: LoadingCacheOptions<V>) {
    this.#options = options
    const { budget, onEvict } = options
    this.#cache = new SecondChanceCache(budget, onEvict && (({ value }) => onEvict(value)))
  }

  peek(key: string): V | undefined {
    return this.peekSlot({ key, entry: undefined })
  }

  /** The cached value of the slot's key. */
  peekSlot(slot: CacheSlot): V | undefined {
    const held = slot.entry as CacheEntry<LoadedEntry<V>> | undefined
    const kept = held?.value ? held : this.#cache.find(slot.key)
    if (kept?.value) {
      kept.used = true
      for (let { owner } = kept; owner; owner = owner.owner) owner.used = true
      slot.entry = kept
      const { value, epoch } = kept.value
      return epoch === this.#epoch || this.#options.clock() < this.#pausedUntil ? value : undefined
    }
    const negative = this.#negatives.get(slot.key)
    return negative && this.#options.clock() < negative.until ? negative.value : undefined
  }

  /** The value, loaded if necessary. UNAVAILABLE when it is not cached and the source is unreachable. */
  async get(key: string): Promise<V> {
    return this.peek(key) ?? this.#loads.get(key) ?? this.#loadOnce(key)
  }

  /** Invalidates a key with all that it owns. */
  invalidate(key: string): void {
    this.#cache.delete(key)
    this.#loads.delete(key)
    // The owner of a load in progress is not known yet, nor the dependencies of a negative result.
    this.#negatives.clear()
    const { hasOwner } = this.#options
    if (hasOwner) for (const one of this.#loads.keys()) if (hasOwner(one)) this.#loads.delete(one)
  }

  /** Marks all entries stale. */
  markStale(): void {
    this.#epoch++
    this.#pausedUntil = 0
    this.#negatives.clear()
    this.#loads.clear()
  }

  #loadOnce(key: string): Promise<V> {
    if (this.#inFlight >= MAX_CONCURRENT_LOADS) {
      throw new ApiError('UNAVAILABLE', 'The service is busy; try again shortly', { retryAfterSeconds: 1 })
    }
    const load = this.#load(key, () => this.#loads.get(key) === load)
    this.#loads.set(key, load)
    return load
  }

  async #load(key: string, isCurrent: () => boolean): Promise<V> {
    this.#inFlight++
    /** Null when it has left the cache already. */
    let owner: CacheEntry<LoadedEntry<V>> | null | undefined
    try {
      const value = await this.#options.load(key, async (ownerKey) => {
        const found = await this.get(ownerKey)
        const entry = this.#cache.find(ownerKey)
        owner = entry?.value?.value === found ? entry : null
        return found
      })
      if (isCurrent()) this.#store(key, value, owner)
      return value
    } catch (error) {
      const kept = this.#cache.get(key)
      if (!kept || !(error instanceof ApiError) || error.code !== 'UNAVAILABLE') throw error
      this.#pausedUntil = this.#options.clock() + UNAVAILABLE_BACKOFF_MS
      return kept.value
    } finally {
      this.#inFlight--
      if (isCurrent()) this.#loads.delete(key)
    }
  }

  #store(key: string, value: V, owner: CacheEntry<LoadedEntry<V>> | null | undefined): void {
    const { isNegative, bytes, clock } = this.#options
    this.#negatives.delete(key)
    this.#cache.delete(key)
    if (!isNegative(value)) {
      // An entry is stale when its owner is.
      const epoch = owner?.value?.epoch ?? this.#epoch
      if (owner !== null) this.#cache.set(key, { value, epoch }, bytes(value), owner)
      return
    }
    this.#negatives.set(key, { value, until: clock() + NEGATIVE_TTL_MS })
    if (this.#negatives.size > MAX_NEGATIVE_ENTRIES)
      this.#negatives.delete(this.#negatives.keys().next().value!)
  }
}
