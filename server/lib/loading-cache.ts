import { ApiError } from './errors.ts'
import { type CacheEntry, type MemoryBudget, SecondChanceCache } from './lru-cache.ts'

interface LoadingCacheOptions<V> {
  /** Loads a key. Rejects with UNAVAILABLE when the source is unreachable. */
  load: (key: string) => Promise<V>
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

/** The slot of a key for a caller that reads it often. */
export interface CacheSlot {
  entry?: CacheEntry<unknown>
}

/** Time to live of negative results: other processes may create the key without a notification. */
const NEGATIVE_TTL_MS = 1000
const MAX_NEGATIVE_ENTRIES = 10_000

/** Maximum number of concurrent loads; more are rejected. */
const MAX_CONCURRENT_LOADS = 1000

/** How long stale values are used after a failed load before the next one. */
const UNAVAILABLE_BACKOFF_MS = 1000

/**
 * A loading cache whose entries are valid until they are invalidated.
 *
 * - Concurrent requests for a key share one load. When the key is invalidated during a load, waiting callers
 *   receive its result but it is not cached, and later callers start a new load.
 * - After `markStale` every entry is loaded again; while the source is unreachable, the old values are used.
 */
export class LoadingCache<V extends object> {
  readonly #options: LoadingCacheOptions<V>
  readonly #cache: SecondChanceCache<LoadedEntry<V>>
  readonly #negatives = new Map<string, { value: V; until: number }>()
  readonly #loads = new Map<string, Promise<V>>()
  #inFlight = 0
  #epoch = 0
  #pausedUntil = 0

  constructor(options: LoadingCacheOptions<V>) {
    this.#options = options
    const { budget, onEvict } = options
    this.#cache = new SecondChanceCache(budget, onEvict && (({ value }) => onEvict(value)))
  }

  /** The cached value. `slot` stores its slot and must always be used with the same key. */
  peek(key: string, slot?: CacheSlot): V | undefined {
    const held = slot?.entry as CacheEntry<LoadedEntry<V>> | undefined
    const kept = held?.value ? held : this.#cache.find(key)
    if (kept?.value) {
      kept.used = true
      if (slot) slot.entry = kept
      const { value, epoch } = kept.value
      return epoch === this.#epoch || this.#options.clock() < this.#pausedUntil ? value : undefined
    }
    const nothing = this.#negatives.get(key)
    return nothing && this.#options.clock() < nothing.until ? nothing.value : undefined
  }

  /** The value, loaded if necessary. UNAVAILABLE when it is not cached and the source is unreachable. */
  async get(key: string): Promise<V> {
    return this.peek(key) ?? this.#loads.get(key) ?? this.#loadOnce(key)
  }

  invalidate(key: string): void {
    this.#cache.delete(key)
    this.#negatives.delete(key)
    this.#loads.delete(key)
  }

  /** Results of loads in progress must not be cached. */
  cancelInFlight(): void {
    this.#loads.clear()
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
    const question = this.#load(key, () => this.#loads.get(key) === question)
    this.#loads.set(key, question)
    return question
  }

  async #load(key: string, current: () => boolean): Promise<V> {
    this.#inFlight++
    try {
      const value = await this.#options.load(key)
      if (current()) this.#store(key, value)
      return value
    } catch (error) {
      const kept = this.#cache.get(key)
      if (!kept || !(error instanceof ApiError) || error.code !== 'UNAVAILABLE') throw error
      this.#pausedUntil = this.#options.clock() + UNAVAILABLE_BACKOFF_MS
      return kept.value
    } finally {
      this.#inFlight--
      if (current()) this.#loads.delete(key)
    }
  }

  #store(key: string, value: V): void {
    const { isNegative, bytes, clock } = this.#options
    this.#negatives.delete(key)
    this.#cache.delete(key)
    if (!isNegative(value)) {
      this.#cache.set(key, { value, epoch: this.#epoch }, bytes(value))
      return
    }
    this.#negatives.set(key, { value, until: clock() + NEGATIVE_TTL_MS })
    if (this.#negatives.size > MAX_NEGATIVE_ENTRIES)
      this.#negatives.delete(this.#negatives.keys().next().value!)
  }
}
