import { rateLimitSubnet, shortenAddress } from '../../packages/http-server/clients/client-ip.ts'
import { UNLIMITED } from '../../protocol/format.ts'
import { Component } from '../lib/component.ts'
import { ApiError } from '../lib/errors.ts'
import { memoize } from '../lib/memoize.ts'
import { HOUR_MS, SECOND_MS } from '../lib/time.ts'
import { Signer } from '../lib/tokens.ts'
import type { Parts } from '../parts.ts'
import type { Queries } from '../store/queries.ts'
import type { Account } from '../store/tables/accounts.ts'
import { counterWindow } from '../store/tables/usage.ts'
import type { Caller } from './authorization.ts'
import type { KeyCaller } from './named-keys.ts'

/** Spec 8.1. */
export interface RateLimitStatus {
  limit: number
  remaining: number
  /** Unix time in seconds. */
  reset: number
  /** At least 1. */
  secondsLeft: number
  admitted: boolean
}

/**
 * Contract, "Rate limits". Browser sessions of an account have a counter of their own, so that the dashboard and the API key
 * do not use up each other's requests. Pages of other origins have one too, so that no page keeps a visitor from signing in.
 * `message` counts messages of programs to `/mcp`, of which a client sends three before its first call, `name` checks of
 * names without an account: a page checks while its user types, `review` requests of the holders of review links.
 */
export type LimitKind = 'api' | 'sign-in' | 'report' | 'message' | 'name' | 'review'

type LimitsParts = Pick<Parts, 'store' | 'clock' | 'plans' | 'secret'> & {
  rates: { anonymous: number; session: number; signIn: number }
}

export const REPORTS_PER_HOUR = 20

export const NAME_CHECKS_PER_HOUR = 60

const REVIEW_REQUESTS_PER_HOUR = 1000

/** Messages to `/mcp` for each request of the hourly limit. */
const MESSAGES_PER_REQUEST = 20

/** For signing in, the networks of a /48 or /24 together have this many limits: an IPv6 /48 has 65,536 networks. */
const MAX_NETWORKS = 20

/** How long a read counter is cached for callers that are not charged. */
const COUNT_TTL_MS = 1000

/** A flood of their requests costs no writes. */
const MAX_EXHAUSTED_CALLERS = 100_000

/** Refused requests in an hour, after which the key of a caller is cached. */
const MAX_REFUSALS_WITH_LOOKUP = 100

/** How long a key beyond that is cached, in milliseconds. */
const KEY_TTL_MS = 1000

/** Spec 8.1: windows aligned to the hour, exact over all processes of the store. */
export class RateLimits extends Component<LimitsParts> {
  #window = 0
  /** How many requests were refused since the limit was exceeded. */
  readonly #exhausted = new Map<string, number>()
  /** Callers by the stored hash of their key. */
  readonly #flooding = new Map<string, { caller: KeyCaller; at: number }>()
  /** A request with a cached account does not extend its lifetime. */
  readonly #fromCache = new WeakSet<Account>()
  readonly #networks = new Signer(this.parts.secret, 'networks of limits')
  readonly #hash = memoize((key) => this.#networks.sign([key]), { maxEntries: 10_000, maxKeyLength: 200 })
  readonly #recentCounts = new Map<string, { count: number; at: number }>()

  /** A changed plan applies from the next request. `isPatient`: waits for the store as long as a write. */
  async charge(caller: Caller, kind: LimitKind, isPatient = false): Promise<RateLimitStatus> {
    const { key, limit, window } = this.#counter(caller, kind)
    const by = caller.ofOtherPage ? 'pages' : 'networks'
    const shared = kind === 'sign-in' ? `sign-in of ${by}:${shortenAddress(caller.address)}` : undefined
    const own = `${limit} ${key}`
    const isExhausted = [own, shared].find((one) => one !== undefined && this.#exhausted.has(one))
    if (isExhausted !== undefined) {
      const refusals = this.#exhausted.get(isExhausted)!
      this.#exhausted.set(isExhausted, refusals + 1)
      if (refusals >= MAX_REFUSALS_WITH_LOOKUP) this.#cacheKey(caller)
      return this.#toStatus(limit, limit + 1, window)
    }
    const add = (one: string) =>
      this.parts.store.execute(
        'unread',
        ({ counters }) => counters.add(this.#toStored(caller, one), window),
        isPatient,
      )
    const exhaust = (one: string) =>
      this.#exhausted.size < MAX_EXHAUSTED_CALLERS && this.#exhausted.set(one, 0)
    let count = await add(key)
    // One network counts for its neighbors within its own limit only.
    if (shared !== undefined && count <= limit && (await add(shared)) > MAX_NETWORKS * limit) {
      exhaust(shared)
      count = limit + 1
    }
    this.#remember(key, count)
    if (count > limit) exhaust(own)
    return this.#toStatus(limit, count, window)
  }

  /** Whether this process has refused a request of the caller in this hour. */
  isExhausted(caller: Caller, kind: LimitKind): boolean {
    const { key, limit } = this.#counter(caller, kind)
    return this.#exhausted.has(`${limit} ${key}`)
  }

  /** At most a second old, when the caller is far beyond its limit: its requests cost no statement. */
  findFlooding(keyHash: string): KeyCaller | undefined {
    const found = this.#flooding.get(keyHash)
    return found && this.parts.clock() - found.at < KEY_TTL_MS ? found.caller : undefined
  }

  /** Without charging, at most a second old. */
  async peek(
    caller: Caller,
    kind: LimitKind,
    queries: Queries = this.parts.store.read,
  ): Promise<RateLimitStatus> {
    const { key, limit, window } = this.#counter(caller, kind)
    const seen = this.#recentCounts.get(key)
    if (seen && this.parts.clock() - seen.at < COUNT_TTL_MS) return this.#toStatus(limit, seen.count, window)
    const count = await queries.counters.value(this.#toStored(caller, key), window)
    this.#remember(key, count)
    return this.#toStatus(limit, count, window)
  }

  /** The limit and its reset while the store has not responded. */
  withoutStore(caller: Caller, kind: LimitKind): RateLimitStatus {
    const { limit, window } = this.#counter(caller, kind)
    return this.#toStatus(limit, 0, window)
  }

  /** Hashed where it has an address: the store keeps none. */
  #toStored({ account }: Caller, key: string): string {
    return account && counterKeys(account.id).includes(key) ? key : this.#hash(key)
  }

  #cacheKey({ account, keyHash, grant }: Caller): void {
    if (!account || keyHash === undefined || !grant) return
    if (this.#fromCache.has(account) || this.findFlooding(keyHash)) return
    if (this.#flooding.size >= MAX_EXHAUSTED_CALLERS) this.#flooding.clear()
    this.#fromCache.add(account)
    this.#flooding.set(keyHash, { caller: { account, keyHash, grant }, at: this.parts.clock() })
  }

  #remember(key: string, count: number): void {
    if (this.#recentCounts.size >= MAX_EXHAUSTED_CALLERS) this.#recentCounts.clear()
    this.#recentCounts.set(key, { count, at: this.parts.clock() })
  }

  #toStatus(limit: number, count: number, window: number): RateLimitStatus {
    const end = window + HOUR_MS
    return {
      limit,
      remaining: Math.max(0, limit - count),
      reset: end / 1000,
      secondsLeft: Math.max(1, Math.ceil((end - this.parts.clock()) / 1000)),
      admitted: count <= limit,
    }
  }

  #counter(caller: Caller, kind: LimitKind): { key: string; limit: number; window: number } {
    const window = Math.floor(this.parts.clock() / HOUR_MS) * HOUR_MS
    if (window !== this.#window) {
      this.#window = window
      this.#exhausted.clear()
      this.#flooding.clear()
      this.#recentCounts.clear()
    }
    return { ...this.#budget(caller, kind), window }
  }

  #budget(caller: Caller, kind: LimitKind): { key: string; limit: number } {
    const { rates, plans } = this.parts
    if (kind === 'message') {
      const { key, limit } = this.#budget(caller, 'api')
      return { key: messageKey(key), limit: Math.min(UNLIMITED, MESSAGES_PER_REQUEST * limit) }
    }
    if ((kind === 'name' || kind === 'review') && caller.account) return this.#budget(caller, 'api')
    if (kind !== 'api') {
      const limits = {
        ...{ 'sign-in': rates.signIn, report: REPORTS_PER_HOUR, name: NAME_CHECKS_PER_HOUR },
        review: REVIEW_REQUESTS_PER_HOUR,
      }
      const limit = limits[kind]
      const origin = caller.ofOtherPage ? ` of other pages, ${caller.ofOtherPage}` : ''
      return { key: `${kind}${origin}:${rateLimitSubnet(caller.address)}`, limit }
    }
    if (caller.account && caller.signedInWith === 'dashboard')
      return { key: sessionKey(caller.account.id), limit: rates.session }
    if (caller.account)
      return { key: accountKey(caller.account.id), limit: plans.limitsOf(caller.account).requestsPerHour }
    return { key: `address:${rateLimitSubnet(caller.address)}`, limit: rates.anonymous }
  }
}

/** Within a write. RATE_LIMITED with this sentence for more than `max` in a window, until its end. */
export async function countInWindow(
  { counters }: Pick<Queries, 'counters'>,
  { counter, windowMs, max, now }: { counter: string; windowMs: number; max: number; now: number },
  sentence: string,
): Promise<void> {
  if ((await counters.add(counter, counterWindow(now, windowMs))) <= max) return
  const retryAfterSeconds = Math.ceil((windowMs - (now % windowMs)) / SECOND_MS)
  throw new ApiError('RATE_LIMITED', sentence, { retryAfterSeconds })
}

export function counterKeys(accountId: string): string[] {
  return [accountKey(accountId), messageKey(accountKey(accountId)), sessionKey(accountId)]
}

function messageKey(key: string): string {
  return `message:${key}`
}

function accountKey(accountId: string): string {
  return `account:${accountId}`
}

function sessionKey(accountId: string): string {
  return `session:${accountId}`
}
