import { rateLimitSubnet } from '../../packages/http-server/clients/client-ip.ts'
import { Component } from './component.ts'
import type { Metrics } from './metrics.ts'
import { overloaded, Semaphore } from './semaphore.ts'
import { SECOND_MS } from './time.ts'

interface Rate {
  perSecond: number
  burst: number
}

interface TokenBucket {
  tokens: number
  filledAt: number
}

interface Network {
  all: TokenBucket
  /** Lookups while other networks use up the total. */
  reserved: TokenBucket
}

interface MissLimiterOptions {
  /** A clock in milliseconds that is never set. */
  clock: () => number
  metrics: Metrics
  /** A name that is no longer found is limited like others. */
  forgets?: boolean
}

const TOTAL: Rate = { perSecond: 100, burst: 200 }
const PER_NETWORK: Rate = { perSecond: 50, burst: 100 }
const RESERVED: Rate = { perSecond: 1, burst: 10 }

/** Lookups beyond the total: how many run at the same time, and how many wait. */
const MAX_RESERVED = { running: 8, waiting: 1000 }

const MAX_NETWORKS = 10_000
const MAX_KNOWN_NAMES = 50_000

/**
 * Limits lookups of names that do not exist, so that a flood of them costs the source a fixed rate. Lookups in progress
 * count too, which limits their number. A lookup that finds something is not counted, and a name that existed once is
 * not limited. While the total is used up, a network that has looked up few unknown names is still admitted, so that
 * others cannot keep its visitors from sites that this process has not loaded yet; the number of these lookups that run
 * at the same time is limited instead.
 */
export class MissLimiter extends Component<MissLimiterOptions> {
  readonly #total: TokenBucket = { tokens: TOTAL.burst, filledAt: this.parts.clock() }
  /** By network, the last used one last. */
  readonly #byNetwork = new Map<string, Network>()
  readonly #reserve = new Semaphore(MAX_RESERVED)
  readonly #known = new Set<string>()

  addKnown(names: readonly string[]): void {
    for (const name of names) {
      this.#known.delete(name)
      this.#known.add(name)
    }
    for (const oldest of this.#known) {
      if (this.#known.size <= MAX_KNOWN_NAMES) break
      this.#known.delete(oldest)
    }
  }

  /** Looks up a name for a client. UNAVAILABLE, without a lookup, when that would exceed a limit. */
  async run<T>(
    name: string,
    address: string,
    lookup: () => Promise<T>,
    isMiss: (found: T) => boolean,
  ): Promise<T> {
    if (this.#known.has(name)) {
      const found = await lookup()
      if (this.parts.forgets && isMiss(found)) this.#known.delete(name)
      return found
    }
    const { buckets, isReserved } = this.#take(rateLimitSubnet(address))
    const found = await (isReserved ? this.#reserve.run(lookup) : lookup())
    if (isMiss(found)) return found
    for (const bucket of buckets) bucket.tokens++
    this.addKnown([name])
    return found
  }

  /** Counts a request like a lookup that found nothing. UNAVAILABLE when that would exceed a limit. */
  count(address: string): void {
    this.#take(rateLimitSubnet(address))
  }

  #take(network: string): { buckets: readonly TokenBucket[]; isReserved: boolean } {
    const { all, reserved } = this.#find(network)
    const isReserved = this.#total.tokens < 1
    if (all.tokens < 1 || (isReserved && reserved.tokens < 1)) {
      this.parts.metrics.counter('slipway_lookups_refused_total').add()
      throw overloaded()
    }
    const buckets = [all, isReserved ? undefined : this.#total, reserved.tokens < 1 ? undefined : reserved]
    const taken = buckets.filter((bucket) => bucket !== undefined)
    for (const bucket of taken) bucket.tokens--
    return { buckets: taken, isReserved }
  }

  #find(network: string): Network {
    const filledAt = this.parts.clock()
    const found = this.#byNetwork.get(network) ?? {
      all: { tokens: PER_NETWORK.burst, filledAt },
      reserved: { tokens: RESERVED.burst, filledAt },
    }
    this.#byNetwork.delete(network)
    this.#byNetwork.set(network, found)
    if (this.#byNetwork.size > MAX_NETWORKS) this.#byNetwork.delete(this.#byNetwork.keys().next().value!)
    this.#fill(found.all, PER_NETWORK)
    this.#fill(found.reserved, RESERVED)
    this.#fill(this.#total, TOTAL)
    return found
  }

  #fill(bucket: TokenBucket, { perSecond, burst }: Rate): void {
    const now = this.parts.clock()
    // A test may set its clock back.
    const added = (perSecond * Math.max(0, now - bucket.filledAt)) / SECOND_MS
    bucket.tokens = Math.min(burst, bucket.tokens + added)
    bucket.filledAt = now
  }
}
