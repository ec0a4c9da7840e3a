import { databaseUnavailable } from './errors.ts'
import type { Metrics } from './metrics.ts'
import { isWithin, SECOND_MS } from './time.ts'

interface CircuitBreakerOptions {
  /** For how many milliseconds changes may have been missed; 0 when none was. */
  silenceMs: () => number
  /** How long cached values are used while changes may be missed. */
  maxStaleMs: number
  /** A clock in milliseconds that is never set. */
  clock: () => number
  /** Called when a lookup succeeds again before changes are notified again. */
  onReachable?: () => void
  metrics: Metrics
}

/** A change is visible within a second: a value that was current this long ago needs no lookup. */
export const MAX_SILENCE_MS = 900

export const MAX_STALE_WAIT_MS = 100

const MAX_REVALIDATIONS = 32

/** Consecutive failures that open the breaker while changes are notified. */
const MAX_FAILURES = 3

const PROBE_INTERVAL_MS = SECOND_MS

/**
 * Circuit breaker of a source that notifies of changes, shared by all caches of a process. A failed lookup opens it
 * when changes are not notified either; consecutive failures open it in any case. While open it admits one lookup a
 * second. A successful lookup or a notification closes it.
 */
export class CircuitBreaker {
  staleHits = 0
  /** Number of changed keys that are loaded again, or wait for it. */
  reloads = 0
  #openings = 0
  readonly #options: CircuitBreakerOptions
  #failures = 0
  #failedAt = 0
  #isOpen = false
  #isProbing = false
  #revalidations = 0

  constructor(options: CircuitBreakerOptions) {
    this.#options = options
    const { metrics } = options
    metrics.addRead('slipway_stale_lookups_total', () => this.staleHits)
    metrics.addRead('slipway_reloads_waiting', () => this.reloads)
    metrics.addRead('slipway_breaker_open', () => Number(this.#checkOpen()))
    metrics.addRead('slipway_breaker_openings_total', () => this.#openings)
  }

  isCurrent(): boolean {
    return this.#options.silenceMs() < MAX_SILENCE_MS
  }

  /** Whether values that may be outdated, these ones since `since`, are used when no lookup succeeds in time. */
  allowsStale(since = this.now()): boolean {
    const { silenceMs, maxStaleMs } = this.#options
    return Math.max(silenceMs(), this.now() - since) < maxStaleMs
  }

  isBlocking(): boolean {
    if (!this.#checkOpen()) return false
    return this.#isProbing || isWithin(PROBE_INTERVAL_MS, this.#failedAt, this.#options.clock())
  }

  canRevalidate(): boolean {
    return this.#revalidations < MAX_REVALIDATIONS && !this.isBlocking()
  }

  now(): number {
    return this.#options.clock()
  }

  /** Runs a lookup, which reports its outcome by `succeed` or `fail`. UNAVAILABLE immediately while the breaker is open. */
  async run<T>(isRevalidation: boolean, lookup: () => Promise<T>): Promise<T> {
    if (this.isBlocking()) throw databaseUnavailable()
    const isProbe = this.#isOpen
    if (isProbe) this.#isProbing = true
    if (isRevalidation) this.#revalidations++
    try {
      return await lookup()
    } finally {
      if (isProbe) this.#isProbing = false
      if (isRevalidation) this.#revalidations--
    }
  }

  useStale<V>(value: V): V {
    this.staleHits++
    return value
  }

  succeed(): void {
    this.#failures = 0
    if (!this.#isOpen) return
    this.#isOpen = false
    if (!this.isCurrent()) this.#options.onReachable?.()
  }

  fail(): void {
    this.#failures++
    this.#failedAt = this.#options.clock()
    if (this.#isOpen || (this.#failures < MAX_FAILURES && this.isCurrent())) return
    this.#isOpen = true
    this.#openings++
  }

  #checkOpen(): boolean {
    const { silenceMs, clock } = this.#options
    // The source has notified of changes after the failure.
    if (this.#isOpen && silenceMs() < clock() - this.#failedAt) {
      this.#isOpen = false
      this.#failures = 0
    }
    return this.#isOpen
  }
}
