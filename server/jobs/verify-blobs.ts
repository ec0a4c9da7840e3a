import { hostname } from 'node:os'
import type { BlobLocation, BlobState, Blobs } from '../blobs/blobs.ts'
import type { ReserveSize } from '../blobs/disk-reserve.ts'
import { ENCODINGS } from '../blobs/encoding.ts'
import { Component } from '../lib/component.ts'
import { DAY_MS } from '../lib/time.ts'
import { invalidateSitesWith } from '../operations/moderation/blocks.ts'
import type { Parts } from '../parts.ts'
import { INDEPENDENT, type Store } from '../store/store.ts'
import type { BlobRecord } from '../store/tables/blobs.ts'

export const VERIFY_INTERVAL_SECONDS = 600

interface VerifyOptions extends Pick<Parts, 'store' | 'clock' | 'log' | 'telemetry'> {
  blobs: Pick<Blobs, 'verify'>
  /** What is read each day: bytes, or percent of all blobs. */
  config: { verifyDaily: ReserveSize }
}

/** The time until which the share is used, the hash of the last blob that was read, and those that could not be read. */
const CURSOR = 'verified blobs'

const RECORDS_PER_PAGE = 100

const MAX_LOGGED_SITES = 5

/** Then the storage fails, and not some files. */
const MAX_FAILURES_IN_ROW = 10

/** That are logged, and that the next run reads again. */
const MAX_UNREAD = 100

/** How far the share can be used ahead, by large files. Further ahead, the clock was set. */
const MAX_AHEAD_MS = 7 * DAY_MS

/**
 * Compares blobs and encodings with their hashes, in order, from where an earlier run ended: the part of the daily
 * share that is due, or everything when it runs by hand. Logs damaged and missing ones, and returns their number. Rejects
 * when some could not be read, once it has read the others; the next run reads them again, and this one when it runs by
 * hand, and counts what still cannot be read, such as what the bucket refuses.
 */
export async function verifyBlobs(
  options: VerifyOptions,
  { since, signal }: { since: number; signal?: AbortSignal },
): Promise<number> {
  const { store, clock, config } = options
  const now = clock()
  const isByHand = since === 0
  const cursor = isByHand ? BEGINNING : await readCursor(store, now)
  let { usedUntil, after } = cursor
  if (usedUntil >= now) return 0
  const verification = new Verification({ ...options, signal })
  while (usedUntil < now) {
    const page = await store.read.blobs.list(after, RECORDS_PER_PAGE)
    for (const record of page) {
      if (usedUntil >= now) break
      if (!cursor.unread.includes(record.hash)) await verification.read(record, { isAgain: false })
      const used = isByHand ? 0 : DAY_MS * shareOf(record, after, config.verifyDaily)
      usedUntil = Math.min(usedUntil + used, now + MAX_AHEAD_MS)
      after = record.hash
    }
    const isEnd = page.length < RECORDS_PER_PAGE && after === (page.at(-1)?.hash ?? after)
    if (isEnd) after = ''
    const unread = [...verification.unread, ...cursor.unread]
    if (!isByHand) await saveCursor(store, { usedUntil, after, unread })
    if (isEnd) break
  }
  // Not before the others, which show whether the storage works.
  for (const hash of isByHand ? [...verification.unread] : cursor.unread) {
    const record = await findRecord(store, hash)
    if (record) await verification.read(record, { isAgain: true })
  }
  if (cursor.unread.length > 0) await saveCursor(store, { usedUntil, after, unread: verification.unread })
  if (verification.failure !== undefined) throw verification.failure
  return verification.found
}

interface Cursor {
  usedUntil: number
  after: string
  unread: string[]
}

const BEGINNING: Cursor = { usedUntil: Number.NEGATIVE_INFINITY, after: '', unread: [] }

/** The share of the time in which no process ran is not used. */
async function readCursor(store: Store, now: number): Promise<Cursor> {
  const [until = '', after = '', ...unread] = (await store.read.jobCursors.find(CURSOR))?.split(' ') ?? []
  const usedUntil = Number(until) > now + MAX_AHEAD_MS ? 0 : Number(until)
  return { usedUntil: Math.max(usedUntil, now - VERIFY_INTERVAL_SECONDS * 1000), after, unread }
}

async function saveCursor(store: Store, { usedUntil, after, unread }: Cursor): Promise<void> {
  const position = [Math.round(usedUntil), after, ...unread].join(' ')
  await store.write('relaxed', INDEPENDENT, ({ jobCursors }) => jobCursors.set(CURSOR, position))
}

/** The part of the daily share that a blob uses: hashes are distributed evenly, so their range is a percentage. */
function shareOf(record: BlobRecord, after: string, daily: ReserveSize): number {
  if ('percent' in daily) return ((toFraction(record.hash) - toFraction(after)) * 100) / daily.percent
  return listLocations(record).reduce((sum, { size }) => sum + size, 0) / daily.bytes
}

function toFraction(hash: string): number {
  return Number.parseInt(hash.slice(0, 12) || '0', 16) / 16 ** 12
}

interface Damaged {
  location: BlobLocation
  state: BlobState | 'unreadable'
}

class Verification extends Component<VerifyOptions & { signal: AbortSignal | undefined }> {
  found = 0
  failure: unknown
  /** Hashes, at most `MAX_UNREAD`. */
  readonly unread: string[] = []
  #failuresInRow = 0

  async read(record: BlobRecord, { isAgain }: { isAgain: boolean }): Promise<void> {
    this.parts.signal?.throwIfAborted()
    const damaged: Damaged[] = []
    for (const location of listLocations(record)) {
      try {
        const state = await this.parts.blobs.verify(location, this.parts.signal)
        if (state !== 'intact') damaged.push({ location, state })
        this.#failuresInRow = 0
      } catch (error) {
        this.parts.signal?.throwIfAborted()
        if (!isAgain && ++this.#failuresInRow === MAX_FAILURES_IN_ROW) throw error
        if (isAgain) await this.#report('a stored file cannot be read', { record, location, error })
        else this.#remember(record, error)
        break
      }
    }
    if (damaged.length > 0) await this.#recordDamage(record, damaged)
  }

  #remember({ hash }: BlobRecord, error: unknown): void {
    this.failure ??= error
    if (this.unread.length === MAX_UNREAD) return
    this.parts.log.warn('a stored file could not be verified', { hash, error })
    this.unread.push(hash)
  }

  async #recordDamage(record: BlobRecord, damaged: readonly Damaged[]): Promise<void> {
    const { store } = this.parts
    // The blob may have been deleted since the page was read, or stored again.
    const current = await findRecord(store, record.hash)
    const objects = current ? listLocations(current).map(({ object }) => object) : []
    const found = damaged.filter(({ location }) => objects.includes(location.object))
    for (const { location, state } of found) {
      const { object } = location
      await this.#report(`a stored file is ${state === 'unreadable' ? 'damaged' : state}`, {
        record,
        location,
      })
      await store.write('relaxed', INDEPENDENT, async ({ blobs }) => {
        await blobs.markDamaged(object)
        if (object !== record.location?.object && state !== 'unreadable')
          await blobs.removeEncodings(record.hash, object)
      })
    }
    if (found.length > 0) await invalidateSitesWith(store, record.hash)
  }

  async #report(
    message: string,
    { record, location, ...cause }: { record: BlobRecord; location: BlobLocation; error?: unknown },
  ): Promise<void> {
    const { store, log, telemetry } = this.parts
    const { object, offset: start, size: length, hash } = location
    const keys = await store.read.blobs.referencingSites([record.hash], '', MAX_LOGGED_SITES)
    const sites = [...(await store.read.sites.currentSlugs(keys)).values()].sort()
    log.error(message, { node: hostname(), object, start, length, hash, sites, ...cause })
    telemetry.metrics.counter('slipway_damaged_files_total', { found: 'sweep' }).add()
    this.found++
  }
}

async function findRecord(store: Store, hash: string): Promise<BlobRecord | undefined> {
  const [record] = await store.read.blobs.list(hash.slice(0, -1), 1)
  return record?.hash === hash ? record : undefined
}

function listLocations({ location, encodings }: BlobRecord): BlobLocation[] {
  return [location, ...ENCODINGS.map((encoding) => encodings?.[encoding])].filter((one) => one != null)
}
