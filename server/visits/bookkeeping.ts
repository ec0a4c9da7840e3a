import { createHmac, randomBytes } from 'node:crypto'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import type { Log } from '../log.ts'
import type { SiteVisits } from '../store/queries/visits.ts'
import type { Store } from '../store/store.ts'
import { Batch, DAY, HOUR, type SiteCounts } from './batch.ts'

interface BookkeepingOptions {
  store: Store
  /** Milliseconds since 1970. */
  clock: () => number
  log: Log
}

/** Milliseconds between two writes. */
const EVERY = 10_000

/** Rows of one write: some milliseconds, so that whoever publishes does not wait for it. */
const ROWS_AT_ONCE = 500

/** Batches that wait for a store that is away; one more, and the oldest is lost. */
const MOST_WAITING = 6

/** Visitors that this process writes down a day, at some 80 bytes each. */
const MOST_VISITORS_A_DAY = 2_000_000

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
  #writing: Promise<void> = Promise.resolve()
  #salt: { day: number; salt: string } | undefined
  /** Visitors that were written down, and the day on which. */
  #written = { day: 0, visitors: 0 }

  constructor({ store, clock, log }: BookkeepingOptions) {
    this.#store = store
    this.#clock = clock
    this.#log = log
    this.batch = new Batch(clock())
    this.#timer = setInterval(() => void this.flush(), EVERY).unref()
  }

  /** Counts what comes at `now` in its own hour. */
  turn(now: number): void {
    if (!this.batch.includes(now)) this.#lay(now)
  }

  /** Writes down what was counted so far. Resolves when it is, or when that failed and was logged; never rejects. */
  flush(): Promise<void> {
    const now = this.#clock()
    this.#lay(now)
    if (this.#salt && isOver(this.#salt.day, now)) this.#salt = undefined
    this.#writing = this.#writing.then(() => this.#write())
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
    const { requests } = this.#waiting.shift()!
    this.#log.error('visits are lost because the store was away for too long', { requests })
  }

  async #write(): Promise<void> {
    try {
      for (let batch = this.#waiting[0]; batch !== undefined; batch = this.#waiting[0]) {
        await this.#writeBatch(batch)
        if (this.#waiting[0] === batch) this.#waiting.shift()
      }
    } catch (error) {
      this.#log.warn('visits could not be written down; they are tried again', { error })
    }
  }

  /** Piece by piece; what was written is taken out, so that what failed can be tried again by itself. */
  async #writeBatch(batch: Batch): Promise<void> {
    const salt = await this.#saltOf(batch.day)
    while (batch.sites.size > 0) {
      const piece = pieceOf(batch)
      const rows = piece.map((counts) => this.#rowOf(counts, salt))
      await this.#store.write('soft', (tx) => tx.visits.add(batch.hour, batch.day, rows))
      for (const counts of piece) {
        batch.sites.delete(counts.slug)
        counts.clear()
      }
      await turnOfTheLoop()
    }
  }

  #rowOf(counts: SiteCounts, salt: string | undefined): SiteVisits {
    const { slug, requests, bytes, visitors } = counts
    const told = salt === undefined ? [] : [...visitors].map((visitor) => hashed(salt, slug, visitor))
    return {
      slug,
      requests,
      bytes,
      visitors: this.#admit(told, counts.batch.day),
      names: [...counts.names()],
    }
  }

  /** Hashes are rows that a flood of made-up visitors could fill a disk with. */
  #admit(visitors: string[], day: number): string[] {
    if (this.#written.day !== day) this.#written = { day, visitors: 0 }
    const left = Math.max(0, MOST_VISITORS_A_DAY - this.#written.visitors)
    const admitted = visitors.length > left ? visitors.slice(0, left) : visitors
    this.#written.visitors += admitted.length
    return admitted
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

function pieceOf({ sites }: Batch): SiteCounts[] {
  const piece: SiteCounts[] = []
  let rows = 0
  for (const counts of sites.values()) {
    piece.push(counts)
    rows += 1 + counts.visitors.size + counts.nameCount
    if (rows >= ROWS_AT_ONCE) break
  }
  return piece
}

/** Another one at every site and on every day, and for whoever has no salt, nobody's. */
function hashed(salt: string, slug: string, visitor: string): string {
  const digest = createHmac('sha256', salt).update(`${slug}\n${visitor}`).digest()
  return digest.toString('base64url', 0, VISITOR_BYTES)
}
