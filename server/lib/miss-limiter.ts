import { rateLimitSubnet } from './client-ip.ts'
import type { Counters } from './counters.ts'
import { overloaded } from './semaphore.ts'
import { SECOND_MS } from './time.ts'

/** Lookups of unknown names that the source may be asked for each second, and after a pause. */
interface Rate {
  perSecond: number
  burst: number
}

interface TokenBucket {
  tokens: number
  filledAt: number
}

interface MissLimiterOptions {
  /** A clock in milliseconds that is never set. */
  clock: () => number
  counters: Counters
  total?: Rate
  perNetwork?: Rate
}

const TOTAL: Rate = { perSecond: 100, burst: 200 }
const PER_NETWORK: Rate = { perSecond: 50, burst: 100 }

const MAX_NETWORKS = 10_000
const MAX_KNOWN_NAMES = 50_000

/**
 * Limits lookups of names that do not exist, so that a flood of them costs the source a fixed rate. Lookups in progress
 * count too, which limits their number. A lookup that finds something is not counted, and a name that existed once is
 * not limited.
 */
export class MissLimiter {
  readonly #clock: () => number
  readonly #counters: Counters
  readonly #totalRate: Rate
  readonly #networkRate: Rate
  readonly #total: TokenBucket
  /** By network, the last used one last. */
  readonly #byNetwork = new Map<string, TokenBucket>()
  readonly #known = new Set<string>()

  constructor({ clock, counters, total = TOTAL, perNetwork = PER_NETWORK }: MissLimiterOptions) {
    this.#clock = clock
    this.#counters = counters
    this.#totalRate = total
    this.#networkRate = perNetwork
    this.#total = { tokens: total.burst, filledAt: clock() }
  }

  /** These names exist, or did. */
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
    if (this.#known.has(name)) return lookup()
    const buckets = this.#take(rateLimitSubnet(address))
    const found = await lookup()
    if (isMiss(found)) return found
    for (const bucket of buckets) bucket.tokens++
    this.addKnown([name])
    return found
  }

  #take(network: string): readonly TokenBucket[] {
    const ofNetwork = this.#byNetwork.get(network) ?? {
      tokens: this.#networkRate.burst,
      filledAt: this.#clock(),
    }
    this.#byNetwork.delete(network)
    this.#byNetwork.set(network, ofNetwork)
    if (this.#byNetwork.size > MAX_NETWORKS) this.#byNetwork.delete(this.#byNetwork.keys().next().value!)
    this.#fill(ofNetwork, this.#networkRate)
    this.#fill(this.#total, this.#totalRate)
    if (ofNetwork.tokens < 1 || this.#total.tokens < 1) {
      this.#counters.add('edge.lookups.refused')
      throw overloaded()
    }
    const buckets = [ofNetwork, this.#total]
    for (const bucket of buckets) bucket.tokens--
    return buckets
  }

  #fill(bucket: TokenBucket, { perSecond, burst }: Rate): void {
    const now = this.#clock()
    // A test may set its clock back.
    const added = (perSecond * Math.max(0, now - bucket.filledAt)) / SECOND_MS
    bucket.tokens = Math.min(burst, bucket.tokens + added)
    bucket.filledAt = now
  }
}
