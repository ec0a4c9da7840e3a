import { rateLimitSubnet } from '../../packages/http-server/clients/client-ip.ts'
import type { Caller } from '../accounts/authorization.ts'
import type { BlobReader } from '../blobs/blob-reader.ts'
import { Component } from '../lib/component.ts'
import { ConcurrencyLimiter } from '../lib/concurrency-limiter.ts'
import type { Deadlines } from '../lib/deadlines.ts'
import type { Metrics } from '../lib/metrics.ts'
import { overloaded } from '../lib/semaphore.ts'

interface PublishQueueOptions {
  /** How many write at the same time; half of it for one account or address. */
  running: number
  /** Of a read of the database, and of a publish, which is refused when it would wait longer, or has waited longer. */
  timeouts: Pick<Deadlines['database'], 'acquire' | 'queue'>
  /** How long reads of the database wait for others now. */
  readWaitMs(): number
  metrics: Metrics
  /** A clock in milliseconds that is never set. */
  clock?: (() => number) | undefined
}

type Publisher = Pick<Caller, 'account' | 'address' | 'onDisconnect'>

/** Those whose files have arrived go before new ones. */
type Step = 'new' | 'finalize'

const MAX_WAITING = 1000

/** A new publish is refused while reads wait for this part of their deadline: it has several. */
const READ_WAIT_SHARE = 1 / 4

/** How much of the mean is the write that ended last. */
const MEAN_SHARE = 1 / 16

/** Runs a limited number of writes of publishes at the same time: more would wait for each other at each of their steps. */
export class PublishQueue extends Component<PublishQueueOptions> {
  readonly #limiter = new ConcurrencyLimiter({
    total: this.parts.running,
    perKey: Math.ceil(this.parts.running / 2),
  })
  readonly #clock = this.parts.clock ?? (() => performance.now())
  readonly #waiting = new Set<{ key: string; step: Step; start(): void }>()
  #meanMs = 0
  #lastChange = 0

  constructor(options: PublishQueueOptions) {
    super(options)
    options.metrics.addRead('slipway_publishes_waiting', () => this.#waiting.size)
  }

  /**
   * UNAVAILABLE when a new publish would wait too long: then it does not begin. Reads that began to wait before the publish
   * was admitted do not matter: it has waited with them.
   */
  assertRoom(caller: Publisher, sinceAdmittedMs = Number.POSITIVE_INFINITY): void {
    const { readWaitMs, timeouts } = this.parts
    const key = shareKey(caller)
    const mayRun = this.#limiter.canRun(key) || this.#mayWait(key, 'new')
    const waitedMs = Math.min(readWaitMs(), sinceAdmittedMs)
    if (!mayRun || waitedMs > READ_WAIT_SHARE * timeouts.acquire) throw this.#refuse()
  }

  /** A new publish leaves the queue when its client disconnects. */
  async run<T>(caller: Publisher, step: Step, work: () => Promise<T>): Promise<T> {
    const key = shareKey(caller)
    if (this.#limiter.canRun(key)) return this.#start(key, work)
    if (!this.#mayWait(key, step)) throw this.#refuse()
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const leave = (settle: () => void) => {
      clearTimeout(timer)
      if (this.#waiting.delete(waiting)) settle()
    }
    const start = () => leave(() => resolve(this.#start(key, work)))
    const waiting = { key, step, start }
    this.#waiting.add(waiting)
    const timer = setTimeout(() => leave(() => reject(this.#refuse())), this.parts.timeouts.queue)
    if (step === 'new') caller.onDisconnect?.(() => leave(() => reject(overloaded())))
    return promise
  }

  /** By how long the last writes took, and for how long none has ended. */
  #mayWait(key: string, step: Step): boolean {
    const { running, timeouts } = this.parts
    const before = [...this.#waiting].filter((other) => step === 'new' || other.step === step)
    // A caller has half of the places, and so can take half of the queue.
    const places = Math.max(before.length, 2 * before.filter((other) => other.key === key).length)
    // Those that are new will write again, before others that are new.
    const writes = step === 'new' ? 2 * places : places
    const waitMs = this.#clock() - this.#lastChange + (writes * this.#meanMs) / running
    return places < MAX_WAITING && waitMs <= timeouts.queue
  }

  async #start<T>(key: string, work: () => Promise<T>): Promise<T> {
    const since = this.#clock()
    this.#lastChange = since
    try {
      return await this.#limiter.run(key, work)
    } finally {
      this.#lastChange = this.#clock()
      this.#meanMs += MEAN_SHARE * (this.#lastChange - since - this.#meanMs)
      const next = [...this.#waiting].filter((other) => this.#limiter.canRun(other.key))
      const first = next.find(({ step }) => step === 'finalize') ?? next[0]
      first?.start()
    }
  }

  #refuse(): Error {
    this.parts.metrics.counter('slipway_store_pool_timeouts_total').add()
    return overloaded()
  }
}

export interface VersionSource {
  reader: BlobReader
  /** A `shareKey`. */
  publisher: string
}

/** Identifies whose share of the places of a process a publish takes. */
export function shareKey({ account, address }: Pick<Caller, 'account' | 'address'>): string {
  return account?.id ?? rateLimitSubnet(address)
}
