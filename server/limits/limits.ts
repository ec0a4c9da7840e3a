import { isIPv6 } from 'node:net'
import type { Caller } from '../ownership.ts'
import type { Store } from '../store/store.ts'

/** How a caller stands in the current window (spec 8.1). */
export interface Standing {
  limit: number
  remaining: number
  /** Unix time in seconds at which the window ends. */
  reset: number
  /** Seconds until then, at least 1. */
  secondsLeft: number
  /** False when this request is one too many. */
  admitted: boolean
}

/** `api` counts by account or address; `sign-in` is a counter of its own by address (contract, "Rate limits"). */
export type LimitKind = 'api' | 'sign-in'

interface LimitsOptions {
  store: Store
  clock: () => number
  /** Requests an hour. */
  rates: { anonymous: number; free: number; hobby: number; signIn: number }
}

const HOUR = 3_600_000

/** Milliseconds for which a count that was read may be told again to a caller who is not charged. */
const FRESH = 1000

/** Callers remembered as having used up their window, so that a flood of theirs costs no writes. */
const MOST_REMEMBERED = 100_000

/** Spec 8.1: windows of an hour aligned to the hour, exact over every process on the store. */
export class RateLimits {
  readonly #options: LimitsOptions
  #window = 0
  readonly #usedUp = new Set<string>()
  readonly #seen = new Map<string, { count: number; at: number }>()

  constructor(options: LimitsOptions) {
    this.#options = options
  }

  /** Charges one request, unless the window is used up. Another plan's limit counts from the next request on. */
  async charge(caller: Caller, kind: LimitKind): Promise<Standing> {
    const { key, limit, window } = this.#counter(caller, kind)
    const spent = `${limit} ${key}`
    if (this.#usedUp.has(spent)) return this.#standing(limit, limit + 1, window)
    const count = await this.#options.store.write('soft', (tx) => tx.counters.add(key, window))
    this.#remember(key, count)
    if (count > limit && this.#usedUp.size < MOST_REMEMBERED) this.#usedUp.add(spent)
    return this.#standing(limit, count, window)
  }

  /** How a caller stands, without charging: exact to a second. */
  async look(caller: Caller, kind: LimitKind): Promise<Standing> {
    const { key, limit, window } = this.#counter(caller, kind)
    const seen = this.#seen.get(key)
    if (seen && this.#options.clock() - seen.at < FRESH) return this.#standing(limit, seen.count, window)
    const count = await this.#options.store.read.counters.value(key, window)
    this.#remember(key, count)
    return this.#standing(limit, count, window)
  }

  /** What can be said while the store has not answered: the limit, and when it starts again. */
  unknown(caller: Caller, kind: LimitKind): Standing {
    const { limit, window } = this.#counter(caller, kind)
    return this.#standing(limit, 0, window)
  }

  #remember(key: string, count: number): void {
    if (this.#seen.size >= MOST_REMEMBERED) this.#seen.clear()
    this.#seen.set(key, { count, at: this.#options.clock() })
  }

  #standing(limit: number, count: number, window: number): Standing {
    const end = window + HOUR
    return {
      limit,
      remaining: Math.max(0, limit - count),
      reset: end / 1000,
      secondsLeft: Math.max(1, Math.ceil((end - this.#options.clock()) / 1000)),
      admitted: count <= limit,
    }
  }

  #counter(caller: Caller, kind: LimitKind): { key: string; limit: number; window: number } {
    const { rates, clock } = this.#options
    const window = Math.floor(clock() / HOUR) * HOUR
    if (window !== this.#window) {
      this.#window = window
      this.#usedUp.clear()
      this.#seen.clear()
    }
    if (kind === 'sign-in') return { key: `sign-in:${network(caller.address)}`, limit: rates.signIn, window }
    if (caller.account)
      return { key: callerOfAccount(caller.account.id), limit: rates[caller.account.plan], window }
    return { key: `address:${network(caller.address)}`, limit: rates.anonymous, window }
  }
}

/** Under what name an account's requests are counted. */
export function callerOfAccount(accountId: string): string {
  return `account:${accountId}`
}

/** What counts as one caller: an IPv4 address, or the /64 of an IPv6 address. */
export function network(address: string): string {
  if (!address.includes(':')) return address
  const bare = address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '').replace(/%.*$/, '')
  if (!isIPv6(bare)) return bare
  const [head = '', tail] = bare.toLowerCase().split('::')
  const start = head === '' ? [] : head.split(':')
  const end = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? [] : Array<string>(8 - start.length - end.length).fill('0')
  const groups = [...start, ...zeros, ...end].slice(0, 4)
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`
}
