import { createHmac, randomBytes } from 'node:crypto'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import type { Log } from '../log.ts'
import type { Store } from '../store/store.ts'
import { iso } from '../time.ts'
import { Batch, DAY, HOUR, MOST, type Part, type SiteCounts } from './batch.ts'

interface BookkeepingOptions {
  store: Store
  /** Milliseconds since 1970. */
  clock: () => number
  log: Log
  /** Visitors that this process writes down a day, at some 80 bytes each: a flood must not fill a disk. */
  mostVisitors?: number
}

const MOST_VISITORS_A_DAY = 2_000_000

/** Milliseconds between two writes. */
const EVERY = 10_000

/** Rows of one write: some milliseconds, so that whoever publishes does not wait for it. */
const ROWS_AT_ONCE = 500

/** A batch with so many sites is written at once, before there is no room in it. */
const MANY_SITES = MOST.sites / 2

/** Batches that wait for a store that is away, each of an hour; one more, and the oldest is lost. */
const MOST_WAITING = 6

/** How long after a day its salt may still be wanted: by then each node has written what it counted. */
export const SALT_LATE = HOUR

/** Bytes of the hash that a visitor is told from others by. */
const VISITOR_BYTES = 12

/**
 * Gathers visits in memory and writes them down every ten seconds, in an order of no importance: what is counted is added to
 * what is there. A write that fails is tried again with the next one; a process that is killed loses ten seconds.
 */
export class Bookkeeping implements AsyncDisposable {
  /** Where visits are counted now. */
  batch: Batch
  readonly #store: Store
  readonly #clock: () => number
  readonly #log: Log
  readonly #timer: NodeJS.Timeout
  readonly #waiting: Batch[] = []
  readonly #mostVisitors: number
  #writing: Promise<void> = Promise.resolve()
  /** A write that has not begun. */
  #next: Promise<void> | undefined
  #salt: { day: number; salt: string } | undefined
  /** Visitors that were new when they were written down, and the day on which. */
  #written = { day: 0, visitors: 0 }

  constructor({ store, clock, log, mostVisitors = MOST_VISITORS_A_DAY }: BookkeepingOptions) {
    this.#store = store
    this.#clock = clock
    this.#log = log
    this.#mostVisitors = mostVisitors
    this.batch = new Batch(clock())
    this.#timer = setInterval(() => void this.flush(), EVERY).unref()
  }

  /** Counts what comes at `now` in its own hour. */
  turn(now: number): void {
    if (!this.batch.includes(now)) this.#lay(now)
  }

  /** Where the visits of a site are counted now; undefined, and said to be lost, when more sites come than can be written down. */
  site(slug: string): SiteCounts | undefined {
    const { sites } = this.batch
    const before = sites.size
    const counts = this.batch.site(slug)
    if (before < MANY_SITES && sites.size === MANY_SITES) void this.flush()
    return counts
  }

  /** Writes down what was counted so far. Resolves when it is, or when that failed and was logged; never rejects. */
  flush(): Promise<void> {
    this.#next ??= this.#writing.then(() => {
      this.#next = undefined
      return this.#write()
    })
    this.#writing = this.#next
    return this.#writing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    await this.flush()
  }

  /** Lays the batch aside and begins another one. */
  #lay(now: number): void {
    const { batch } = this
    batch.end()
    this.batch = new Batch(now)
    const { lost, unnamed, unmet } = batch
    if (lost + unnamed + unmet > 0)
      this.#log.warn('more visits came than are told apart', { lost, unnamed, unmet })
    if (batch.sites.size === 0) return
    this.#waiting.push(batch)
    if (this.#waiting.length <= MOST_WAITING) return
    const oldest = this.#waiting.shift()!
    const { requests } = oldest
    oldest.drop()
    this.#log.error('visits are lost because the store was away for too long', { requests })
  }

  /** While the store is away the batch goes on until its hour is over: however often this is tried, nothing is lost. */
  async #write(): Promise<void> {
    if (this.#salt && isOver(this.#salt.day, this.#clock())) this.#salt = undefined
    try {
      await this.#writeWaiting()
      this.#lay(this.#clock())
      await this.#writeWaiting()
    } catch (error) {
      this.#log.warn('visits could not be written down; they are tried again', { error })
    }
  }

  async #writeWaiting(): Promise<void> {
    for (let batch = this.#waiting[0]; batch !== undefined; batch = this.#waiting[0]) {
      await this.#writeBatch(batch)
      if (this.#waiting[0] === batch) this.#waiting.shift()
    }
  }

  /** Piece by piece; what was written is taken out, so that what failed can be tried again by itself. */
  async #writeBatch(batch: Batch): Promise<void> {
    const { hour, day } = batch
    const salt = await this.#saltOf(day)
    while (batch.sites.size > 0) {
      const piece = pieceOf(batch)
      const told = this.#tellsApart(day) ? salt : undefined
      const rows = piece.map(({ counts: { slug }, requests, bytes, visitors, names }) => {
        const hashes = told === undefined ? [] : visitors.map((visitor) => hashed(told, slug, visitor))
        return { slug, requests, bytes, visitors: hashes, names }
      })
      const news = await this.#store.write('soft', (tx) => tx.visits.add(hour, day, rows))
      for (const part of piece) if (part.counts.drop(part)) batch.sites.delete(part.counts.slug)
      this.#met(news)
      await turnOfTheLoop()
    }
  }

  /** Whether there is still room for visitors on that day. */
  #tellsApart(day: number): boolean {
    if (this.#written.day !== day) this.#written = { day, visitors: 0 }
    return this.#written.visitors < this.#mostVisitors
  }

  #met(news: number): void {
    const { day, visitors } = this.#written
    this.#written.visitors += news
    if (visitors < this.#mostVisitors && visitors + news >= this.#mostVisitors)
      this.#log.warn('no more visitors are counted on this day', { day: iso(day), visitors: visitors + news })
  }

  /** The salt that all nodes share on a day; undefined when the day is over for good. */
  async #saltOf(day: number): Promise<string | undefined> {
    if (isOver(day, this.#clock())) return undefined
    if (this.#salt?.day === day) return this.#salt.salt
    const fresh = randomBytes(32).toString('base64url')
    const salt =
      (await this.#store.read.visits.salt(day)) ??
      (await this.#store.write('soft', (tx) => tx.visits.agreeOnSalt(day, fresh)))
    this.#salt = { day, salt }
    return salt
  }
}

/** Whether nobody has anything to write down for that day any more. */
function isOver(day: number, now: number): boolean {
  return now >= day + DAY + SALT_LATE
}

/** What is written at once; a site may have more than that. */
function pieceOf({ sites }: Batch): Part[] {
  const piece: Part[] = []
  let room = ROWS_AT_ONCE
  for (const counts of sites.values()) {
    const part = counts.part(room)
    piece.push(part)
    room -= 1 + part.visitors.length + part.names.length
    if (room === 0) break
  }
  return piece
}

/** Another one at every site and on every day, and for whoever has no salt, nobody's. */
function hashed(salt: string, slug: string, visitor: string): string {
  const digest = createHmac('sha256', salt).update(`${slug}\n${visitor}`).digest()
  return digest.toString('base64url', 0, VISITOR_BYTES)
}
