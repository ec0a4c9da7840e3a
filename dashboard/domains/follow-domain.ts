import { mayPass } from '../../client/sdk/retry.ts'
import { isSlipwayError } from '../../client/sdk/slipway-error.ts'
import type { DomainRecord } from '../../protocol/api/domains.schema.ts'
import { type DisplayError, toDisplayError } from '../api/display-error.ts'
import { slipway } from '../api/slipway.ts'

export interface DomainListener {
  record(record: DomainRecord): void
  /** The domain was removed; no more events. */
  removed(): void
  /** The current error; undefined when there is none. */
  error(problem: DisplayError | undefined): void
}

/** Milliseconds after which a hidden tab stops watching. */
const HIDDEN_TIMEOUT_MS = 60_000

/** Delays of retries in milliseconds; each one that reaches the server is a charged request. */
const RETRY_DELAYS_MS = [5_000, 15_000, 60_000, 300_000]

/** A stream that lasted this long (milliseconds) ended regularly and is reopened soon. */
const MIN_STABLE_MS = 60_000

/** Watches a domain while this tab is visible; returns a function that stops it. */
export function watchDomain(domain: string, listener: DomainListener): () => void {
  const follow = new DomainStream(domain, listener)
  return () => follow.stop()
}

class DomainStream {
  readonly #domain: string
  readonly #listener: DomainListener
  #stream: AbortController | undefined
  #retryTimer: ReturnType<typeof setTimeout> | undefined
  #hidden: ReturnType<typeof setTimeout> | undefined
  #attempts = 0
  #stopped = false

  constructor(domain: string, listener: DomainListener) {
    this.#domain = domain
    this.#listener = listener
    document.addEventListener('visibilitychange', this.#onVisibilityChange)
    this.#onVisibilityChange()
  }

  stop(): void {
    this.#stopped = true
    document.removeEventListener('visibilitychange', this.#onVisibilityChange)
    clearTimeout(this.#hidden)
    clearTimeout(this.#retryTimer)
    this.#stream?.abort()
  }

  readonly #onVisibilityChange = (): void => {
    clearTimeout(this.#hidden)
    if (document.visibilityState === 'visible') return void this.#begin()
    this.#hidden = setTimeout(() => {
      this.#stream?.abort()
      this.#stream = undefined
    }, HIDDEN_TIMEOUT_MS)
  }

  #begin(): void {
    const isPlanned = this.#retryTimer !== undefined || this.#stream !== undefined
    if (this.#stopped || isPlanned || document.visibilityState !== 'visible') return
    const stream = new AbortController()
    this.#stream = stream
    void this.#listen(stream.signal).then((pause) => {
      if (stream.signal.aborted) return
      this.#stream = undefined
      if (pause === undefined) return this.stop()
      this.#retryTimer = setTimeout(() => {
        this.#retryTimer = undefined
        this.#begin()
      }, pause)
    })
  }

  /** Returns the delay of the next attempt; undefined when none makes sense. */
  async #listen(signal: AbortSignal): Promise<number | undefined> {
    const began = Date.now()
    try {
      for await (const record of slipway.domainEvents(this.#domain, signal)) {
        if (signal.aborted) return undefined
        this.#listener.error(undefined)
        this.#listener.record(record)
      }
      return this.#pause(began)
    } catch (error) {
      return signal.aborted ? undefined : this.#failed(error, began)
    }
  }

  #failed(error: unknown, began: number): number | undefined {
    if (isSlipwayError(error, 'NOT_FOUND')) {
      this.#listener.removed()
      return undefined
    }
    const why = toDisplayError(error)
    const pause = this.#pause(began)
    if (why.code !== 'NETWORK' || this.#attempts > 1) this.#listener.error(why)
    return mayPass(error) ? Math.max(pause, (error.retryAfterSeconds ?? 0) * 1000) : undefined
  }

  #pause(began: number): number {
    this.#attempts = Date.now() - began >= MIN_STABLE_MS ? 0 : this.#attempts + 1
    return RETRY_DELAYS_MS[Math.min(Math.max(this.#attempts - 1, 0), RETRY_DELAYS_MS.length - 1)]!
  }
}
