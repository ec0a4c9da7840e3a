import { rateLimitSubnet } from '../../packages/http-server/clients/client-ip.ts'
import { Tally } from '../../packages/http-server/clients/tally.ts'
import type { Caller } from '../accounts/authorization.ts'
import type { BlobReader } from '../blobs/blob-reader.ts'
import { Component } from '../lib/component.ts'
import { ConcurrencyLimiter } from '../lib/concurrency-limiter.ts'
import type { Deadlines } from '../lib/deadlines.ts'
import type { Metrics } from '../lib/metrics.ts'
import { overloaded } from '../lib/semaphore.ts'
import type { Store } from '../store/store.ts'

interface PublishQueueOptions {
  /** How many write at the same time; half of it for one account or address. */
  running: number
  /** Of a read of the database, and of a publish, which is refused when it would wait longer, or has waited longer. */
  timeouts: Pick<Deadlines['database'], 'acquire' | 'queue'> & Pick<Deadlines, 'expectedUploads'>
  store: Pick<Store, 'readWaitMs' | 'onChange'>
  /** How many are received at the same time: a quarter from one address, and the last quarter for sites of accounts. */
  uploadsAtOnce: number
  metrics: Metrics
  /** A clock in milliseconds that is never set. */
  clock?: (() => number) | undefined
}

type Publisher = Pick<Caller, 'account' | 'address' | 'onDisconnect'>

/** Those whose files have arrived go before new ones. */
type Step = 'new' | 'finalize'

/** What begins, of whose files `uploads` will follow. */
interface Beginning {
  key: string
  hasAccount: boolean
  uploads: number
}

interface Waiting extends Beginning {
  until: number
  start(): void
  refuse(): void
}

interface Expected {
  key: string
  count: number
  timer: NodeJS.Timeout | undefined
}

const MAX_WAITING = 1000

/** How many files a client may send at the same time. */
const MAX_EXPECTED = 16

/** A new publish is refused while reads wait for this part of their deadline: it has several. */
const READ_WAIT_SHARE = 1 / 4

/** How much of the mean is the last interval. A longer one is an outage, after which the pace is that of before. */
const MEAN_SHARE = 1 / 16
const MAX_INTERVAL_MS = 250

/** Runs a limited number of writes of publishes at the same time: more would wait for each other at each of their steps. */
export class PublishQueue extends Component<PublishQueueOptions> {
  readonly #limiter = new ConcurrencyLimiter({
    total: this.parts.running,
    perKey: Math.ceil(this.parts.running / 2),
  })
  readonly #uploads = new ConcurrencyLimiter({
    total: this.parts.uploadsAtOnce,
    perKey: Math.ceil(this.parts.uploadsAtOnce / 4),
    reserve: Math.floor(this.parts.uploadsAtOnce / 4),
  })
  readonly #clock = this.parts.clock ?? (() => performance.now())
  readonly #waiting = { new: new Set<Waiting>(), finalize: new Set<Waiting>() }
  /** Uploads that have not arrived yet, of publishes that have begun here: by their caller, and by their site. */
  readonly #expected = new Tally()
  readonly #begun = new Map<string, Expected>()
  /** Between two writes that begin while others wait. */
  #paceMs = 0
  #lastStart = 0
  #lastChange = 0

  constructor(options: PublishQueueOptions) {
    super(options)
    options.metrics.addRead('slipway_publishes_waiting', () => this.#countWaiting())
    options.metrics.addRead('slipway_uploads_active', () => this.#uploads.active)
    options.store.onChange((names) => {
      for (const slug of names ?? this.#begun.keys()) this.uploadsArrived(slug)
    })
  }

  /**
   * UNAVAILABLE when a new publish would wait too long: then it does not begin. Reads that began to wait before the publish
   * was admitted do not matter: it has waited with them. `hasAccount` before the account is known.
   */
  assertRoom(
    caller: Publisher,
    { sinceAdmittedMs = Number.POSITIVE_INFINITY, hasAccount = caller.account !== undefined } = {},
  ): void {
    const { store, timeouts } = this.parts
    const beginning = { key: shareKey(caller), hasAccount, uploads: 1 }
    const mayRun = this.#canRun(beginning) || this.#mayWait(beginning, 'new')
    const waitedMs = Math.min(store.readWaitMs(), sinceAdmittedMs)
    if (!mayRun || waitedMs > READ_WAIT_SHARE * timeouts.acquire) throw this.#refuse()
  }

  /** A new publish, of whose files `uploads` will follow, leaves the queue when its client disconnects. */
  async run<T>(caller: Publisher, step: Step, work: () => Promise<T>, uploads = 0): Promise<T> {
    const hasAccount = caller.account !== undefined
    const beginning = { key: shareKey(caller), hasAccount, uploads: Math.min(uploads, MAX_EXPECTED) }
    const begin = () => this.#start(beginning, work)
    const canRun = this.#canRun(beginning)
    if (canRun && this.#countWaiting() === 0) return begin()
    if (!canRun && !this.#mayWait(beginning, step)) throw this.#refuse()
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const leave = (settle: () => void) => {
      clearTimeout(timer)
      if (this.#waiting[step].delete(waiting)) settle()
    }
    const { queue } = this.parts.timeouts
    const waiting = {
      ...{ ...beginning, until: this.#clock() + queue },
      start: () => leave(() => resolve(begin())),
      refuse: () => leave(() => reject(this.#refuse())),
    }
    this.#waiting[step].add(waiting)
    const timer = setTimeout(waiting.refuse, queue)
    if (step === 'new') caller.onDisconnect?.(() => leave(() => reject(overloaded())))
    if (canRun) this.#startNext()
    return promise
  }

  /** Receives an upload or an archive. Beyond `uploadsAtOnce` it is refused with UNAVAILABLE, unless `isEntitled` to the reserve. */
  async receive<T>(
    { address }: Publisher,
    work: () => Promise<T>,
    isEntitled: () => Promise<boolean> | boolean,
  ): Promise<T> {
    try {
      return await this.#uploads.run(rateLimitSubnet(address), work, isEntitled)
    } finally {
      this.#startWithRoom()
    }
  }

  /** `count` files of a site will be uploaded, soon unless its publisher is slow or sends them one by one. */
  expectUploads(caller: Publisher, slug: string, count: number): void {
    this.uploadsArrived(slug)
    const expected = { key: shareKey(caller), count: 0, timer: undefined as NodeJS.Timeout | undefined }
    this.#begun.set(slug, expected)
    this.#expect(expected, Math.min(count, MAX_EXPECTED))
    const { expectedUploads } = this.parts.timeouts
    expected.timer = setTimeout(() => this.uploadsArrived(slug), expectedUploads).unref()
  }

  /** `count` uploads of a site have arrived, or all that will. */
  uploadsArrived(slug: string, count = MAX_EXPECTED): void {
    const expected = this.#begun.get(slug)
    if (!expected) return
    this.#expect(expected, -Math.min(count, expected.count))
    if (expected.count === 0) {
      clearTimeout(expected.timer)
      this.#begun.delete(slug)
    }
    this.#startWithRoom()
  }

  #expect(expected: Expected, change: number): void {
    expected.count += change
    this.#expected.add(expected.key, change)
  }

  #canRun({ key, hasAccount, uploads }: Beginning): boolean {
    if (!this.#limiter.canRun(key)) return false
    if (uploads === 0) return true
    const { uploadsAtOnce } = this.parts
    const places = hasAccount ? uploadsAtOnce : (uploadsAtOnce * 3) / 4
    return this.#countUploads() < places && this.#expected.of(key) < uploadsAtOnce / 4
  }

  /** In progress, and expected. */
  #countUploads(): number {
    return this.#uploads.active + this.#expected.total
  }

  #countWaiting(): number {
    return this.#waiting.new.size + this.#waiting.finalize.size
  }

  /** By the pace of the last ones, and for how long none has begun or ended. */
  #mayWait({ key }: Beginning, step: Step): boolean {
    const { timeouts } = this.parts
    const before = [...this.#waiting.finalize, ...(step === 'new' ? this.#waiting.new : [])]
    // A caller has half of the places, and so can take half of the queue.
    const places = Math.max(before.length, 2 * before.filter((other) => other.key === key).length)
    if (places === 0 && this.#limiter.canRun(key)) return true
    // Those that are new will write again, before others that are new.
    const writes = step === 'new' ? 2 * places : places
    const waitMs = this.#clock() - this.#lastChange + writes * this.#paceMs
    return places < MAX_WAITING && waitMs <= timeouts.queue
  }

  async #start<T>({ key, uploads }: Beginning, work: () => Promise<T>): Promise<T> {
    const now = this.#clock()
    if (this.#countWaiting() > 0) {
      const interval = Math.min(now - this.#lastStart, MAX_INTERVAL_MS)
      this.#paceMs += this.#paceMs === 0 ? interval : MEAN_SHARE * (interval - this.#paceMs)
    }
    this.#lastStart = now
    this.#lastChange = now
    this.#expected.add(key, uploads)
    try {
      return await this.#limiter.run(key, work)
    } finally {
      this.#expected.add(key, -uploads)
      this.#lastChange = this.#clock()
      this.#refuseLast()
      this.#startNext()
    }
  }

  /** After an upload, which is no reason to look through all when none can begin. */
  #startWithRoom(): void {
    if (this.#countUploads() < this.parts.uploadsAtOnce) this.#startNext()
  }

  #startNext(): void {
    for (;;) {
      const find = (step: Step) => this.#waiting[step].values().find((waiting) => this.#canRun(waiting))
      const next = find('finalize') ?? find('new')
      if (!next) return
      next.start()
    }
  }

  /** Those that came last, when they will not begin in time: the pace has become slower since. */
  #refuseLast(): void {
    const { finalize, new: waiting } = this.#waiting
    const now = this.#clock()
    for (const last of [...waiting].reverse()) {
      const before = finalize.size + waiting.size - 1
      if (before === 0 || now + 2 * before * this.#paceMs <= last.until) return
      last.refuse()
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
