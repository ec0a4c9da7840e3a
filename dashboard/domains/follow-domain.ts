import { isSlipwayError } from '../../client/sdk/slipway-error.ts'
import type { DomainRecord } from '../../client/wire.ts'
import { type Failing, failing } from '../api/failing.ts'
import { slipway } from '../api/slipway.ts'

export interface Followed {
  record(record: DomainRecord): void
  /** It is not there any more; nothing more comes. */
  gone(): void
  /** What is in the way of hearing more; undefined when nothing is. */
  trouble(failing: Failing | undefined): void
}

/** Milliseconds after which a tab that nobody looks at lets go. */
const HIDDEN = 60_000

/** Milliseconds before another try; each one that reaches the server counts as a request. */
const PAUSES = [5_000, 15_000, 60_000, 300_000]

/** A stream that lasted so long (milliseconds) has ended in order, and another one follows soon. */
const LASTED = 60_000

/** Hears of a domain as it changes while somebody looks at this tab; answers how to stop that. */
export function followDomain(domain: string, to: Followed): () => void {
  const follow = new Follow(domain, to)
  return () => follow.stop()
}

class Follow {
  readonly #domain: string
  readonly #to: Followed
  #stream: AbortController | undefined
  #later: ReturnType<typeof setTimeout> | undefined
  #hidden: ReturnType<typeof setTimeout> | undefined
  #tries = 0
  #stopped = false

  constructor(domain: string, to: Followed) {
    this.#domain = domain
    this.#to = to
    document.addEventListener('visibilitychange', this.#seen)
    this.#seen()
  }

  stop(): void {
    this.#stopped = true
    document.removeEventListener('visibilitychange', this.#seen)
    clearTimeout(this.#hidden)
    clearTimeout(this.#later)
    this.#stream?.abort()
  }

  readonly #seen = (): void => {
    clearTimeout(this.#hidden)
    if (document.visibilityState === 'visible') return void this.#begin()
    this.#hidden = setTimeout(() => {
      this.#stream?.abort()
      this.#stream = undefined
    }, HIDDEN)
  }

  #begin(): void {
    const isPlanned = this.#later !== undefined || this.#stream !== undefined
    if (this.#stopped || isPlanned || document.visibilityState !== 'visible') return
    const stream = new AbortController()
    this.#stream = stream
    void this.#listen(stream.signal).then((pause) => {
      if (stream.signal.aborted) return
      this.#stream = undefined
      if (pause === undefined) return this.stop()
      this.#later = setTimeout(() => {
        this.#later = undefined
        this.#begin()
      }, pause)
    })
  }

  /** Answers after which pause another try makes sense; undefined when none does. */
  async #listen(signal: AbortSignal): Promise<number | undefined> {
    const began = Date.now()
    try {
      for await (const record of slipway.domainEvents(this.#domain, signal)) {
        if (signal.aborted) return undefined
        this.#to.trouble(undefined)
        this.#to.record(record)
      }
      return this.#pause(began)
    } catch (error) {
      return signal.aborted ? undefined : this.#failed(error, began)
    }
  }

  #failed(error: unknown, began: number): number | undefined {
    if (isSlipwayError(error, 'NOT_FOUND')) {
      this.#to.gone()
      return undefined
    }
    const why = failing(error)
    const pause = this.#pause(began)
    if (why.code !== 'NETWORK' || this.#tries > 1) this.#to.trouble(why)
    if (why.code === 'UNAUTHORIZED' || why.code === 'OURS') return undefined
    const asked = isSlipwayError(error) ? (error.retryAfterSeconds ?? 0) * 1000 : 0
    return Math.max(pause, asked)
  }

  #pause(began: number): number {
    this.#tries = Date.now() - began >= LASTED ? 0 : this.#tries + 1
    return PAUSES[Math.min(Math.max(this.#tries - 1, 0), PAUSES.length - 1)]!
  }
}
