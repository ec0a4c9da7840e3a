import {
  type CacheEntry,
  type MemoryBudget,
  SecondChanceCache,
} from '../../packages/http-server/memory/second-chance-cache.ts'
import { type CircuitBreaker, MAX_SILENCE_MS, MAX_STALE_WAIT_MS } from './circuit-breaker.ts'
import { Component } from './component.ts'
import { ApiError } from './errors.ts'
import { overloaded } from './semaphore.ts'
import { isWithin, SECOND_MS } from './time.ts'

export type GetOwner<V> = (key: string, make?: () => Promise<V>) => Promise<V>

interface LoadingCacheOptions<V> {
  /**
   * Loads a key. Rejects with UNAVAILABLE when the source is unreachable; that error is isolated when other keys
   * can be loaded. `getOwner` returns the value of another key, which owns the result: it leaves the cache as soon
   * as the owner does. A second owner replaces the first, and must be owned by it. `make` makes the owner of what this
   * load has read, when it is not cached.
   */
  load: (key: string, getOwner: GetOwner<V>) => Promise<V>
  bytes: (value: V) => number
  /** Whether a value is a negative result: cached for a second, in a cache of its own. */
  isNegative: (value: V) => boolean
  /** Milliseconds after which a use loads a value again in the background; undefined when it lacks nothing. */
  improveAfterMs?: (value: V) => number | undefined
  /** A caller may still use the value in the same turn of the event loop. */
  onEvict?: (value: V) => void
  /** Receives a value that has changed, and the one that was loaded in its place in the background. */
  onReplace?: (before: V, after: V) => void
  budget: MemoryBudget
  breaker: CircuitBreaker
}

/** Whether a changed value may never be used, only while the source is unreachable, or until a better one is loaded. */
export type ChangeEffect = 'withdrawn' | 'outdated' | 'improvable'

/** A value, and since when changes must be known for it to be current. */
interface Kept<V> {
  value: V
  /** `OUTDATED` once it is known to have changed. */
  epoch: number
  outdatedAt: number | undefined
}

interface LoadedEntry<V> extends Kept<V> {
  key: string
  loadedAt: number
  /** When a use of it loads it again in the background, because a better value was not loaded. */
  improveAt: number | undefined
  idleReloads: number
}

const OUTDATED = -1

interface Origin {
  /** Number of invalidations before the load. */
  since: number
  loadedAt: number
  /** Keys of the owners, of their owners and so on. */
  owners: string[]
}

interface NegativeResult<V> extends Kept<V>, Origin {
  outdatedAt: undefined
  idleReloads: number
}

interface Load<V> extends Origin {
  /** Whether `getOwner` of another load started it. */
  isNested: boolean
  epoch: number
  idleReloads: number
  /** Whether its result was cached: nothing changed during the load. */
  isStored: boolean
  result: Promise<V> | undefined
  timeout: Promise<typeof TIMED_OUT> | undefined
  /** Null when it is not in the cache. */
  owner: CacheEntry<LoadedEntry<V>> | null | undefined
  /** Whether an owner was neither cached nor a cached negative result, so that its own owners are unknown. */
  hasUnknownOwner: boolean
}

/** A key with its entry, for a caller that reads it often. */
export interface CacheSlot {
  readonly key: string
  entry: CacheEntry<unknown> | undefined
}

/** Time to live of negative results: other processes may create the key without a notification. */
const NEGATIVE_TTL_MS = 1000

/** Maximum number of concurrent loads, without those of owners; more are rejected. */
export const MAX_CONCURRENT_LOADS = 1000

/** An entry that was not used during as many reloads is reloaded in batches, unless it is withdrawn itself. */
const MAX_IDLE_RELOADS = 10

const MAX_RELOAD_ATTEMPTS = 3

const MAX_OWNED_RELOADS = 100

const TIMED_OUT = Symbol('timed out')

/**
 * A loading cache with entries that are valid until they are invalidated.
 *
 * - Concurrent requests for a key share one load. When the key or an owner of it is invalidated during a load,
 *   callers that were waiting receive its result but it is not cached, and later callers receive that of a new load.
 * - An invalidated entry that is in use is loaded again immediately, with what it owns, so that the source may be
 *   unreachable by the next request; after ten changes without a use, at most once in five seconds. Absence is
 *   remembered as well. Where that fails, each use of an improvable entry tries it again, at most once a second, as for
 *   an improvable value.
 * - An entry is stale after `markStale`, when it is outdated, and while the source does not notify of changes. Requests
 *   then wait for a load, and receive the old value when it fails, for as long as the breaker allows since the last
 *   notification and since the entry became stale. While the source does not notify of changes they wait for
 *   `MAX_STALE_WAIT_MS` at most, unless the entry is outdated, or not at all when the breaker admits no further load. A
 *   withdrawn entry is never used.
 */
export class LoadingCache<V extends object> {
  readonly #options: LoadingCacheOptions<V>
  readonly #cache: SecondChanceCache<LoadedEntry<V>>
  readonly #negatives = new NegativeResults<NegativeResult<V>>()
  readonly #loads = new Map<string, Load<V>>()
  readonly #invalidations = new InvalidationLog()
  #inFlight = 0
  readonly #reloads: ReloadQueue<V>
  /** When each epoch before the current one ended, in milliseconds. Each call of `markStale` ends one. */
  readonly #epochEnds: number[] = []

  constructor(options: LoadingCacheOptions<V>) {
    this.#options = options
    const { budget, onEvict } = options
    this.#cache = new SecondChanceCache(budget, onEvict && (({ value }) => onEvict(value)))
    const onCount = (change: number) => {
      options.breaker.reloads += change
    }
    this.#reloads = new ReloadQueue({ reload: (reload) => this.#reload(reload), onCount })
  }

  peek(key: string): V | undefined {
    return this.peekSlot({ key, entry: undefined })
  }

  peekSlot(slot: CacheSlot): V | undefined {
    const held = slot.entry as CacheEntry<LoadedEntry<V>> | undefined
    const kept = held?.value ? held : this.#cache.find(slot.key)
    if (kept?.value) {
      kept.used = true
      for (let { owner } = kept; owner; owner = owner.owner) owner.used = true
      slot.entry = kept
      if (this.#isFresh(kept.value)) {
        if (kept.value.improveAt !== undefined) this.#improve(kept)
        return kept.value.value
      }
    } else {
      const negative = this.#findNegative(slot.key)
      if (!negative) return undefined
      const isCurrent = negative.epoch === this.#epochEnds.length
      if (isCurrent && isWithin(NEGATIVE_TTL_MS, negative.loadedAt, this.#options.breaker.now()))
        return negative.value
    }
    const { breaker } = this.#options
    const stale = breaker.isBlocking() ? this.#findStale(slot.key) : undefined
    return stale && breaker.useStale(stale.value)
  }

  /** `peek` by a load, which is no use of the entry unless a request waits for it. */
  peekUnused(key: string): V | undefined {
    const kept = this.#cache.find(key)?.value
    if (!kept) return this.peek(key)
    return this.#isFresh(kept) ? kept.value : undefined
  }

  /** The value, loaded if necessary. UNAVAILABLE when it is not cached and the source is unreachable. */
  get(key: string): Promise<V> {
    return this.#get(key, false)
  }

  isLoading(key: string): boolean {
    return this.#loads.has(key)
  }

  invalidate(key: string, effect: ChangeEffect = 'withdrawn'): void {
    const reloads: Reload<V>[] = []
    let idle = 0
    const entry = this.#cache.find(key)
    for (const { value, used } of entry ? this.#cache.withOwned(entry) : []) {
      if (!value) continue
      const idleReloads = used ? 1 : value.idleReloads + 1
      const isNow = idleReloads <= MAX_IDLE_RELOADS || (effect === 'withdrawn' && value.key === key)
      if (!isNow && idle++ < MAX_OWNED_RELOADS) this.#reloads.addIdle(value.key)
      if (isNow && reloads.length < MAX_OWNED_RELOADS)
        reloads.push({ key: value.key, former: value.value, idleReloads })
      if (effect === 'outdated') {
        value.epoch = OUTDATED
        value.outdatedAt ??= this.#options.breaker.now()
      }
      if (effect === 'improvable') value.improveAt = this.#options.breaker.now() + SECOND_MS
    }
    for (const owned of this.#negatives.ownedBy(key)) {
      const idleReloads = (this.#findNegative(owned)?.idleReloads ?? MAX_IDLE_RELOADS) + 1
      if (idleReloads <= MAX_IDLE_RELOADS && reloads.length < MAX_OWNED_RELOADS)
        reloads.push({ key: owned, former: undefined, idleReloads })
    }
    const isRequested = this.#negatives.has(key) || this.#loads.has(key)
    if (!entry && isRequested) reloads.unshift({ key, former: undefined, idleReloads: 1 })
    if (effect === 'withdrawn') this.#cache.delete(key)
    this.#loads.delete(key)
    this.#negatives.delete(key)
    this.#invalidations.add(key)
    if (reloads.length > 0) this.#reloads.add(key, reloads)
  }

  loadSoon(key: string): void {
    if (this.peek(key) === undefined) this.#reloads.add(key, [{ key, former: undefined, idleReloads: 1 }])
  }

  #improve(entry: CacheEntry<LoadedEntry<V>>): void {
    const now = this.#options.breaker.now()
    if (entry.value!.improveAt! > now) return
    const reloads: Reload<V>[] = []
    for (let at: typeof entry | undefined = entry; at?.value?.improveAt !== undefined; at = at.owner) {
      const { key, value } = at.value
      at.value.improveAt = now + SECOND_MS
      reloads.unshift({ key, former: value, idleReloads: 1 })
    }
    this.#reloads.add(entry.value!.key, reloads)
  }

  markStale(): void {
    this.#epochEnds.push(this.#options.breaker.now())
    this.#loads.clear()
  }

  /** Again when the key or an owner changes during the load. What cannot be loaded now is loaded when it is requested. */
  async #reload(reload: Reload<V>): Promise<void> {
    const { key, former = this.#cache.find(key)?.value?.value, idleReloads } = reload
    try {
      for (let attempt = 1; attempt <= MAX_RELOAD_ATTEMPTS; attempt++) {
        const load = this.#loads.get(key) ?? this.#startLoad(key, false, { idleReloads })
        const value = await load.result
        // The source failed.
        if (value === former) return
        if (!load.isStored) continue
        if (former && value) this.#options.onReplace?.(former, value)
        return
      }
    } catch {}
  }

  #isFresh({ epoch, loadedAt }: LoadedEntry<V>): boolean {
    const { breaker } = this.#options
    return (
      epoch === this.#epochEnds.length &&
      (breaker.isCurrent() || isWithin(MAX_SILENCE_MS, loadedAt, breaker.now()))
    )
  }

  #findStale(key: string): Kept<V> | undefined {
    const kept = this.#cache.find(key)?.value ?? this.#findNegative(key)
    const since = kept && (kept.outdatedAt ?? this.#epochEnds[kept.epoch])
    return kept && this.#options.breaker.allowsStale(since) ? kept : undefined
  }

  #findNegative(key: string): NegativeResult<V> | undefined {
    const negative = this.#negatives.get(key)
    return negative && !this.#invalidations.hasAny(negative.owners, negative.since) ? negative : undefined
  }

  async #get(key: string, isNested: boolean): Promise<V> {
    const cached = this.peek(key)
    if (cached) return cached
    const { breaker } = this.#options
    const stale = this.#findStale(key)
    if (!stale) return this.#getLoaded(key, isNested)
    let load = this.#loads.get(key)
    const waits = breaker.isCurrent() || stale.epoch === OUTDATED
    if (waits && !breaker.isBlocking() && (load || this.#inFlight < MAX_CONCURRENT_LOADS))
      return this.#getLoaded(key, isNested)
    if (!load && !isNested && !breaker.canRevalidate()) return breaker.useStale(stale.value)
    load ??= this.#startLoad(key, isNested)
    load.timeout ??= startTimeout(MAX_STALE_WAIT_MS)
    const value = await Promise.race([this.#join(key, load), load.timeout])
    if (value !== TIMED_OUT) return value
    // Invalidated during the wait, it is known to be outdated.
    const kept = this.#findStale(key)
    return kept && kept.epoch !== OUTDATED ? breaker.useStale(kept.value) : this.#getLoaded(key, isNested)
  }

  #getLoaded(key: string, isNested: boolean): Promise<V> {
    const load = this.#loads.get(key)
    return load ? this.#join(key, load) : this.#startLoad(key, isNested).result!
  }

  /** The result of a load, or of a later one when an owner changed before the caller came. */
  async #join(key: string, load: Load<V>): Promise<V> {
    const joinedAt = this.#invalidations.count
    const value = await load.result!
    // The owners are known only now: what was read before this request may be older than its owner.
    return joinedAt > load.since && isOutdated(load, this.#invalidations)
      ? this.#get(key, load.isNested)
      : value
  }

  #startLoad(
    key: string,
    isNested: boolean,
    {
      make,
      readBy,
      idleReloads = 0,
    }: { make?: () => Promise<V>; readBy?: Load<V>; idleReloads?: number } = {},
  ): Load<V> {
    if (!isNested && this.#inFlight >= MAX_CONCURRENT_LOADS) throw overloaded()
    const load: Load<V> = {
      isNested,
      epoch: this.#epochEnds.length,
      since: readBy?.since ?? this.#invalidations.count,
      loadedAt: readBy?.loadedAt ?? this.#options.breaker.now(),
      idleReloads,
      isStored: false,
      owners: [],
      owner: undefined,
      hasUnknownOwner: false,
      result: undefined,
      timeout: undefined,
    }
    this.#loads.set(key, load)
    this.#reloads.deleteIdle(key)
    load.result = this.#load(key, load, make)
    return load
  }

  async #load(key: string, load: Load<V>, make?: () => Promise<V>): Promise<V> {
    if (load.isNested) return this.#loadNow(key, load, make)
    this.#inFlight++
    try {
      const isRevalidation = this.#cache.find(key) !== undefined
      return await this.#options.breaker.run(isRevalidation, () => this.#loadNow(key, load))
    } finally {
      this.#inFlight--
      if (this.#loads.get(key) === load) this.#loads.delete(key)
    }
  }

  async #loadNow(key: string, load: Load<V>, make?: () => Promise<V>): Promise<V> {
    const { breaker } = this.#options
    try {
      const getOwner: GetOwner<V> = (ownerKey, makeOwner) => this.#getOwner(ownerKey, load, makeOwner)
      const value = await (make ?? this.#options.load)(key, getOwner)
      breaker.succeed()
      if (this.#loads.get(key) === load && !isOutdated(load, this.#invalidations))
        this.#store(key, value, load)
      return value
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'UNAVAILABLE') throw error
      if (!error.isIsolated) breaker.fail()
      const kept = this.#findStale(key)
      // The source was reached and may have returned a change that was missed.
      if (!kept || (error.isIsolated && ('owners' in kept || kept.epoch !== this.#epochEnds.length)))
        throw error
      return breaker.useStale(kept.value)
    } finally {
      if (this.#loads.get(key) === load) this.#loads.delete(key)
    }
  }

  async #getOwner(key: string, load: Load<V>, make: (() => Promise<V>) | undefined): Promise<V> {
    const cached = load.idleReloads > 0 ? this.peekUnused(key) : this.peek(key)
    const isNeeded = !this.#loads.has(key) && cached === undefined
    // What `load` has read is as new as what a load of the owner would read.
    const isNew = load.epoch === this.#epochEnds.length && !this.#invalidations.hasAny([key], load.since)
    if (make && isNeeded && isNew) this.#startLoad(key, true, { make, readBy: load })
    const found = cached ?? (await this.#get(key, true))
    const entry = this.#cache.find(key)
    const negative = this.#findNegative(key)
    load.owner = null
    if (entry?.value?.value === found) {
      load.owner = entry
      let owner: CacheEntry<LoadedEntry<V>> | undefined = entry
      for (; owner?.value; owner = owner.owner) load.owners.push(owner.value.key)
    } else if (negative?.value === found) load.owners.push(key, ...negative.owners)
    else load.hasUnknownOwner = true
    return found
  }

  #store(key: string, value: V, load: Load<V>): void {
    const { isNegative, improveAfterMs, bytes, breaker } = this.#options
    const { owner, owners, since, idleReloads } = load
    load.isStored = true
    this.#negatives.delete(key)
    if (isNegative(value)) {
      this.#cache.delete(key)
      this.#negatives.set(key, {
        ...{ value, owners, since, idleReloads },
        epoch: load.epoch,
        outdatedAt: undefined,
        loadedAt: breaker.now(),
      })
      return
    }
    // An entry is stale or improvable when its owner is.
    const { epoch = this.#epochEnds.length, outdatedAt } = owner?.value ?? {}
    const waitMs = improveAfterMs?.(value)
    const improveAt = waitMs === undefined ? owner?.value?.improveAt : breaker.now() + waitMs
    const loadedAt = Math.min(load.loadedAt, owner?.value?.loadedAt ?? load.loadedAt)
    const entry = { key, value, epoch, outdatedAt, improveAt, loadedAt, idleReloads }
    const kept = this.#cache.find(key)
    // What it owns is as stale as it was, and can be used while the source is unreachable.
    if (owner === null) this.#cache.delete(key)
    else if (kept && kept.owner === owner) {
      if (idleReloads > 0) kept.used = false
      this.#cache.replace(key, entry, bytes(value))
    } else this.#cache.set(key, entry, bytes(value), owner)
  }
}

function isOutdated({ hasUnknownOwner, owners, since }: Load<unknown>, log: InvalidationLog): boolean {
  return hasUnknownOwner || log.hasAny(owners, since)
}

function startTimeout(ms: number): Promise<typeof TIMED_OUT> {
  return new Promise((resolve) => setTimeout(resolve, ms, TIMED_OUT).unref())
}

/** What is older than a removed record counts as invalidated. */
const MAX_RECORDS = 1000

/** The order of invalidations, for results that were read while they happened. */
class InvalidationLog {
  #count = 0
  /** The number of the last invalidation by key, oldest first. */
  readonly #numbers = new Map<string, number>()
  #lastRemoved = 0

  get count(): number {
    return this.#count
  }

  add(key: string): void {
    this.#numbers.delete(key)
    this.#numbers.set(key, ++this.#count)
    if (this.#numbers.size <= MAX_RECORDS) return
    const [oldest, number] = this.#numbers.entries().next().value!
    this.#numbers.delete(oldest)
    this.#lastRemoved = number
  }

  /** Whether one of the keys was, or may have been, invalidated after that many invalidations. */
  hasAny(keys: readonly string[], since: number): boolean {
    return keys.some((key) => (this.#numbers.get(key) ?? this.#lastRemoved) > since)
  }
}

const MAX_RESULTS = 10_000

/** Negative results by their keys, and by the keys that own them. The oldest ones give way to further ones. */
class NegativeResults<R extends { owners: readonly string[] }> {
  readonly #results = new Map<string, R>()
  readonly #owned = new Map<string, Set<string>>()

  get(key: string): R | undefined {
    return this.#results.get(key)
  }

  has(key: string): boolean {
    return this.#results.has(key)
  }

  ownedBy(owner: string): Iterable<string> {
    return this.#owned.get(owner) ?? []
  }

  set(key: string, result: R): void {
    this.delete(key)
    this.#results.set(key, result)
    for (const owner of result.owners) {
      const keys = this.#owned.get(owner) ?? new Set()
      this.#owned.set(owner, keys.add(key))
    }
    if (this.#results.size > MAX_RESULTS) this.delete(this.#results.keys().next().value!)
  }

  delete(key: string): void {
    const result = this.#results.get(key)
    if (!result) return
    this.#results.delete(key)
    for (const owner of result.owners) {
      const keys = this.#owned.get(owner)
      keys?.delete(key)
      if (keys?.size === 0) this.#owned.delete(owner)
    }
  }
}

interface Reload<V> {
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

/** Time between two batches of idle entries, and so between two such loads of one of them. */
const IDLE_BATCH_MS = 5 * SECOND_MS

/** Idle entries cost 20 loads a second, however often and however many of them change. */
const IDLE_BATCH_SIZE = 100

/** Stands for a batch in the queue; no entry has this key. */
const BATCH = ''

/** Loads changed entries of a cache again in the background, each key once, with what it owned. */
class ReloadQueue<V> extends Component<ReloadQueueOptions<V>> {
  readonly #waiting = new Map<string, readonly Reload<V>[]>()
  /** Keys of the next batches, in the order of their first change. */
  readonly #idle = new Set<string>()
  #nextBatch: NodeJS.Timeout | undefined
  #running = 0

  /** Loads after the current turn, so that the caller of the change does not wait. */
  add(key: string, reloads: readonly Reload<V>[]): void {
    const known = this.#waiting.get(key)
    // Of two changes in a turn the second one finds less: what the first one has deleted.
    if (known && known.length > reloads.length) return
    if (!known && this.#waiting.size >= MAX_WAITING_RELOADS) return
    if (!known) this.parts.onCount(1)
    this.#waiting.set(key, reloads)
    if (this.#running < MAX_CONCURRENT_RELOADS) {
      this.#running++
      setImmediate(() => void this.#run())
    }
  }

  /** Loads the entry with one of the next batches, as it is then. */
  addIdle(key: string): void {
    if (this.#idle.size < MAX_WAITING_RELOADS) this.#idle.add(key)
    this.#nextBatch ??= setTimeout(() => this.#addBatch(), IDLE_BATCH_MS).unref()
  }

  /** The entry is loaded for another reason. */
  deleteIdle(key: string): void {
    this.#idle.delete(key)
  }

  #addBatch(): void {
    this.#nextBatch = undefined
    const count = this.#waiting.has(BATCH) ? 0 : IDLE_BATCH_SIZE
    const keys = this.#idle.values().take(count).toArray()
    for (const key of keys) this.#idle.delete(key)
    this.add(
      BATCH,
      keys.map((key) => ({ key, former: undefined, idleReloads: MAX_IDLE_RELOADS })),
    )
    for (const key of this.#idle.values().take(1)) this.addIdle(key)
  }

  async #run(): Promise<void> {
    for (const [key, reloads] of this.#waiting) {
      this.#waiting.delete(key)
      for (const reload of reloads) await this.parts.reload(reload)
      this.parts.onCount(-1)
    }
    this.#running--
  }
}
