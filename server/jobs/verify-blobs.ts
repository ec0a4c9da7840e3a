import { hostname } from 'node:os'
import type { BlobLocation, BlobState, Blobs } from '../blobs/blobs.ts'
import type { ReserveSize } from '../blobs/disk-reserve.ts'
import { ENCODINGS } from '../blobs/encoding.ts'
import type { LogFields } from '../lib/log.ts'
import { DAY_MS } from '../lib/time.ts'
import type { Parts } from '../parts.ts'
import { INDEPENDENT, type Store } from '../store/store.ts'
import type { BlobRecord } from '../store/tables/blobs.ts'

/** What is read each day: bytes, or percent of all blobs. */
export type DailyShare = ReserveSize

export const VERIFY_INTERVAL_SECONDS = 600

interface VerifyOptions extends Pick<Parts, 'store' | 'clock' | 'log' | 'telemetry'> {
  blobs: Pick<Blobs, 'verify'>
  config: { verifyDaily: DailyShare }
}

/** The time until which the share is used, the hash of the last blob that was read, and those that could not be read. */
const CURSOR = 'verified blobs'

const RECORDS_PER_PAGE = 100

const MAX_LOGGED_SITES = 5

/** Then the storage fails, and not some files. */
const MAX_FAILURES_IN_ROW = 10

/** How far the share can be used ahead, by large files. Beyond it, the clock was set. */
const MAX_AHEAD_MS = 7 * DAY_MS

/**
 * Compares blobs and encodings with their hashes, in order, from where an earlier run ended: the part of the daily
 * share that is due, or everything when it runs by hand. Logs damaged and missing ones, and returns their number. Rejects
 * when some could not be read; the next run begins with them, and counts one that cannot be read again, such as one that
 * the bucket refuses, as damaged.
 */
export async function verifyBlobs(
  options: VerifyOptions,
  { since, signal }: { since: number; signal?: AbortSignal },
): Promise<number> {
  const { store, clock, config } = options
  const now = clock()
  const isByHand = since === 0
  let { usedUntil, after, unread } = isByHand ? BEGINNING : await readCursor(store, now)
  let found = 0
  let failure: unknown
  let failuresInRow = 0
  while (usedUntil < now) {
    const start = { usedUntil, after, unread: [] as string[] }
    let isRepeated = true
    const page = await store.read.blobs.list(after, RECORDS_PER_PAGE)
    for (const record of page) {
      if (usedUntil >= now) break
      signal?.throwIfAborted()
      const { damaged, error } = await readRecord(options, record)
      failuresInRow = error === undefined ? 0 : failuresInRow + 1
      if (failuresInRow === MAX_FAILURES_IN_ROW) throw error
      if (error !== undefined) {
        const { hash } = record
        start.unread.push(hash)
        if (unread.includes(hash)) report(options, 'a stored file cannot be read', { hash, error })
        else {
          isRepeated = false
          failure ??= error
        }
      }
      found += await recordDamage(options, record, damaged)
      if (!isByHand) usedUntil += DAY_MS * shareOf(record, after, config.verifyDaily)
      after = record.hash
    }
    const isEnd = page.length < RECORDS_PER_PAGE && after === (page.at(-1)?.hash ?? after)
    if (isEnd) after = ''
    unread = []
    if (!isByHand) await saveCursor(store, isRepeated ? { usedUntil, after, unread } : start)
    if (isEnd || (!isByHand && !isRepeated)) break
  }
  if (failure !== undefined) throw failure
  return found
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
function shareOf(record: BlobRecord, after: string, daily: DailyShare): number {
  if ('percent' in daily) return ((toFraction(record.hash) - toFraction(after)) * 100) / daily.percent
  return listLocations(record).reduce((sum, { size }) => sum + size, 0) / daily.bytes
}

function toFraction(hash: string): number {
  return Number.parseInt(hash.slice(0, 12) || '0', 16) / 16 ** 12
}

interface Damaged {
  location: BlobLocation
  state: BlobState
}

async function readRecord(
  { blobs }: VerifyOptions,
  record: BlobRecord,
): Promise<{ damaged: Damaged[]; error?: unknown }> {
  const damaged: Damaged[] = []
  try {
    for (const location of listLocations(record)) {
      const state = await blobs.verify(location)
      if (state !== 'intact') damaged.push({ location, state })
    }
  } catch (error) {
    return { damaged, error }
  }
  return { damaged }
}

async function recordDamage(
  options: VerifyOptions,
  record: BlobRecord,
  damaged: readonly Damaged[],
): Promise<number> {
  if (damaged.length === 0) return 0
  const { store } = options
  // The blob may have been deleted since the page was read, or stored again.
  const [current] = await store.read.blobs.list(record.hash.slice(0, -1), 1)
  const objects = current?.hash === record.hash ? listLocations(current).map(({ object }) => object) : []
  const lost = damaged.filter(({ location }) => objects.includes(location.object))
  if (lost.length === 0) return 0
  const sites = await store.read.blobs.referencingSites([record.hash], '', MAX_LOGGED_SITES)
  for (const { location, state } of lost) {
    const { object, offset: start, size: length, hash } = location
    report(options, `a stored file is ${state}`, { object, start, length, hash, sites })
    await store.write('relaxed', INDEPENDENT, (tx) => tx.blobs.markDamaged(object))
  }
  return lost.length
}

function report({ log, telemetry }: VerifyOptions, message: string, fields: LogFields): void {
  log.error(message, { node: hostname(), ...fields })
  telemetry.metrics.counter('slipway_damaged_files_total', { found: 'sweep' }).add()
}

function listLocations({ location, encodings }: BlobRecord): BlobLocation[] {
  return [location, ...ENCODINGS.map((encoding) => encodings?.[encoding])].filter((one) => one != null)
}
