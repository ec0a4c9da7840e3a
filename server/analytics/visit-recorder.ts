import { randomBytes } from 'node:crypto'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { Component } from '../lib/component.ts'
import { Coalesced } from '../lib/share-result.ts'
import { DAY_MS, HOUR_MS, toIso } from '../lib/time.ts'
import { computeMac } from '../lib/tokens.ts'
import type { Parts } from '../parts.ts'
import { INDEPENDENT } from '../store/store.ts'
import { BUFFER_LIMITS, type SiteStats, StatsBuffer, type StatsChunk } from './stats-buffer.ts'

interface VisitRecorderParts extends Pick<Parts, 'store' | 'clock' | 'log'> {
  /** Of visitors and names written per day over all nodes, at about 80 bytes each: a flood must not fill the disk. */
  maxUnitsPerDay?: number
}

const MAX_UNITS_PER_DAY = 2_000_000

const FLUSH_INTERVAL_MS = 10_000

/** Rows of one write: a few milliseconds, so that publishing does not wait for it. */
const ROWS_PER_WRITE = 500

const FLUSH_SITE_THRESHOLD = BUFFER_LIMITS.sites / 2

/** Buffers that wait for an unreachable store, one per hour; beyond that the oldest is dropped. */
const MAX_PENDING_BUFFERS = 6

/** Time after a day for which its salt is kept: every node must have written its counts within it. */
export const SALT_GRACE_MS = HOUR_MS

const VISITOR_BYTES = 12

/**
 * Collects visits in memory and writes them every ten seconds. Writes are additive, so their order does not
 * matter. A failed write is retried with the next one; a crash loses ten seconds.
 */
export class VisitRecorder extends Component<VisitRecorderParts> implements AsyncDisposable {
  buffer = new StatsBuffer(this.parts.clock())
  readonly #timer = setInterval(() => void this.flush(), FLUSH_INTERVAL_MS).unref()
  readonly #waiting: StatsBuffer[] = []
  readonly #maxUnitsPerDay = this.parts.maxUnitsPerDay ?? MAX_UNITS_PER_DAY
  readonly #writes = new Coalesced(() => this.#write(), 0)
  #salt: { day: number; salt: string } | undefined
  /** What the current day has over all nodes, as of the last write of this one. */
  #written = { day: 0, units: 0 }

  rotateIfDue(now: number): void {
    if (!this.buffer.includes(now)) this.#rotate(now)
  }

  site(slug: string): SiteStats | undefined {
    const { sites } = this.buffer
    const before = sites.size
    const counts = this.buffer.site(slug)
    if (before < FLUSH_SITE_THRESHOLD && sites.size === FLUSH_SITE_THRESHOLD) void this.flush()
    return counts
  }

  /** Writes the counts so far. Resolves when that is done, or failed and logged; never rejects. */
  flush(): Promise<void> {
    return this.#writes.run()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    await this.flush()
  }

  #rotate(now: number): void {
    const { buffer } = this
    buffer.end()
    this.buffer = new StatsBuffer(now)
    const { dropped, droppedNames, droppedVisitors } = buffer
    if (dropped + droppedNames + droppedVisitors > 0)
      this.parts.log.warn('visit limits exceeded; counting totals only', {
        lost: dropped,
        unnamed: droppedNames,
        unmet: droppedVisitors,
      })
    if (buffer.sites.size === 0) return
    this.#waiting.push(buffer)
    if (this.#waiting.length <= MAX_PENDING_BUFFERS) return
    const oldest = this.#waiting.shift()!
    const { requests } = oldest
    oldest.drop()
    this.parts.log.error('visits lost: the store was unreachable for too long', { requests })
  }

  /** While the store is unreachable the buffer continues until the end of its hour, so that retries lose nothing. */
  async #write(): Promise<void> {
    if (this.#salt && isClosedDay(this.#salt.day, this.parts.clock())) this.#salt = undefined
    try {
      await this.#writeWaiting()
      this.#rotate(this.parts.clock())
      await this.#writeWaiting()
    } catch (error) {
      this.parts.log.warn('writing visits failed; will retry', { error })
    }
  }

  async #writeWaiting(): Promise<void> {
    for (let buffer = this.#waiting[0]; buffer !== undefined; buffer = this.#waiting[0]) {
      await this.#writeBuffer(buffer)
      if (this.#waiting[0] === buffer) this.#waiting.shift()
    }
  }

  /** Writes part by part and removes what was written, so that a failed part can be retried separately. */
  async #writeBuffer(buffer: StatsBuffer): Promise<void> {
    const { hour, day } = buffer
    const salt = await this.#getSalt(day)
    while (buffer.sites.size > 0) {
      const chunks = takeChunks(buffer)
      const [hasRoom, hasRoomForNames] = [this.#hasRoom(day), this.#hasRoom(day, 2)]
      const rows = chunks.map(({ site: { slug }, requests, bytes, visitors, names }) => {
        const hashes =
          salt === undefined || !hasRoom ? [] : visitors.map((visitor) => hashVisitor(salt, slug, visitor))
        return { slug, requests, bytes, visitors: hashes, names: hasRoomForNames ? names : [] }
      })
      const written = await this.parts.store.write('relaxed', INDEPENDENT, (tx) =>
        tx.visits.add(hour, day, rows),
      )
      for (const chunk of chunks) if (chunk.site.drop(chunk)) buffer.sites.delete(chunk.site.slug)
      this.#noticeLimit(written)
      await turnOfTheLoop()
    }
  }

  /** Names have half of it, so that a flood of them leaves visitors counted. */
  #hasRoom(day: number, share = 1): boolean {
    if (this.#written.day !== day) this.#written = { day, units: 0 }
    return this.#written.units < this.#maxUnitsPerDay / share
  }

  /** Logged by the node whose write reached the limit. */
  #noticeLimit({ added, total }: { added: number; total: number }): void {
    this.#written.units = total
    for (const [what, limit] of [
      ['names', this.#maxUnitsPerDay / 2],
      ['visitors', this.#maxUnitsPerDay],
    ] as const)
      if (total - added < limit && total >= limit)
        this.parts.log.warn(`daily limit of counted ${what} reached`, { day: toIso(this.#written.day) })
  }

  /** Shared by all nodes; undefined when the day has ended and its salt is deleted. */
  async #getSalt(day: number): Promise<string | undefined> {
    if (isClosedDay(day, this.parts.clock())) return undefined
    if (this.#salt?.day === day) return this.#salt.salt
    const fresh = randomBytes(32).toString('base64url')
    const salt =
      (await this.parts.store.read.visits.salt(day)) ??
      (await this.parts.store.write('relaxed', INDEPENDENT, (tx) => tx.visits.getOrCreateSalt(day, fresh)))
    this.#salt = { day, salt }
    return salt
  }
}

/** Whether no node can have anything left to write for that day. */
function isClosedDay(day: number, now: number): boolean {
  return now >= day + DAY_MS + SALT_GRACE_MS
}

/** The chunks of one write; a site may have more. */
function takeChunks({ sites }: StatsBuffer): StatsChunk[] {
  const chunks: StatsChunk[] = []
  let rowsLeft = ROWS_PER_WRITE
  for (const counts of sites.values()) {
    const chunk = counts.takeChunk(rowsLeft)
    chunks.push(chunk)
    rowsLeft -= 1 + chunk.visitors.length + chunk.names.length
    if (rowsLeft === 0) break
  }
  return chunks
}

/** Different for every site and day; without a salt the hash is random. */
function hashVisitor(salt: string, slug: string, visitor: string): string {
  return computeMac(salt, [slug, visitor]).toString('base64url', 0, VISITOR_BYTES)
}
