import { HOUR_MS } from '../../server/lib/time.ts'

/** The limits that a large public CA publishes. */
const LIMITS = {
  order: { count: 300, window: 3 * HOUR_MS },
  duplicate: { count: 5, window: 7 * 24 * HOUR_MS },
  failure: { count: 5, window: HOUR_MS },
} as const

export type LimitName = keyof typeof LIMITS

export interface LimitPassed {
  limit: LimitName
  /** When the CA accepts orders again, in milliseconds since 1970. */
  notBefore: number
}

/**
 * Enforces the limits of an account: 300 orders in 3 hours, 5 certificates for the same names in 7 days, 5 failed
 * validations of a name in an hour. Renewals (RFC 9773, 5) do not count.
 */
export class PublishedLimits {
  /** Every request beyond a limit. */
  readonly passed: (LimitPassed & { names: readonly string[]; at: number })[] = []
  readonly #clock: () => number
  readonly #times = new Map<string, number[]>()

  constructor(clock: () => number) {
    this.#clock = clock
  }

  /** Counts an order, or returns the limit that it exceeds. */
  order(names: readonly string[], renewal: boolean): LimitPassed | undefined {
    if (renewal) return undefined
    const passed =
      this.#full('order', '') ??
      this.#full('duplicate', setOf(names)) ??
      names.map((name) => this.#full('failure', name)).find((found) => found !== undefined)
    if (passed) this.passed.push({ ...passed, names, at: this.#clock() })
    else this.#recent('order', '').push(this.#clock())
    return passed
  }

  issued(names: readonly string[], renewal: boolean): void {
    if (!renewal) this.#recent('duplicate', setOf(names)).push(this.#clock())
  }

  failed(name: string): void {
    this.#recent('failure', name).push(this.#clock())
  }

  #full(limit: LimitName, about: string): LimitPassed | undefined {
    const { count, window } = LIMITS[limit]
    const times = this.#recent(limit, about)
    return times.length < count ? undefined : { limit, notBefore: times[times.length - count]! + window }
  }

  #recent(limit: LimitName, about: string): number[] {
    const key = `${limit} ${about}`
    const since = this.#clock() - LIMITS[limit].window
    const times = this.#times.get(key)?.filter((time) => time > since) ?? []
    this.#times.set(key, times)
    return times
  }
}

function setOf(names: readonly string[]): string {
  return names.toSorted().join()
}
