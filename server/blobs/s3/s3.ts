import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { defaultProvider } from '@aws-sdk/credential-provider-node'
import type { Bucket } from '../../../packages/s3-client/bucket-url.ts'
import { S3Client, type S3ClientOptions } from '../../../packages/s3-client/client.ts'
import { BodyError, S3Error } from '../../../packages/s3-client/errors.ts'
import { listObjects, removeObjects } from '../../../packages/s3-client/listing.ts'
import { COPYING_BLOBS } from '../../lib/deadlines.ts'
import { ApiError } from '../../lib/errors.ts'
import type { Incidents } from '../../lib/incidents.ts'
import type { Metrics } from '../../lib/metrics.ts'
import { shareResult } from '../../lib/share-result.ts'
import { collectYoung } from '../../lib/trim-heap.ts'
import { type BlobLocation, type Blobs, type ByteRange, createObjectName, objectCreatedAt } from '../blobs.ts'
import type { DamageReport } from '../damage.ts'
import type { DiskReserve } from '../disk-reserve.ts'
import { BucketState } from './bucket-state.ts'
import { DiskCache } from './disk-cache.ts'
import { buildTable, hashTable, PIECE_BYTES } from './pieces.ts'
import { Uploads } from './uploads.ts'
import { VerifiedReader } from './verified-reader.ts'

interface S3Options {
  bucket: Bucket
  /** Milliseconds since 1970; names of objects contain it. */
  clock: () => number
  metrics: Metrics
  incidents?: Incidents
  damage?: DamageReport | undefined
  /** A cache on the local disk, and one in memory of small content that was stored: both may outlive the object. */
  cache?: { folder: string; limit: number; processes: number }
  /** Free space of the local disk that neither the cache nor publishing uses. */
  reserve?: Pick<DiskReserve, 'assertSpace'>
  /** Whether the database is on the local disk, so that each publish needs space there. */
  hasLocalDatabase?: boolean
  /** Those of the environment, a file or the role of the machine by default. */
  credentials?: S3ClientOptions['credentials']
  timeouts?: S3ClientOptions['timeouts']
  maxPutBytes?: number
}

/** Bytes of the parts of a stream; the edge caches chunks of the same size. */
const CHUNK_BYTES = 128 * 1024

/** Bytes of a piece that are not sent when the next one is fetched. */
const READ_AHEAD_BYTES = PIECE_BYTES / 2

const EMPTY = Buffer.alloc(0)

const CHECK_INTERVAL_MS = 3000

/** Blobs in a bucket of S3. An object is one content or several, each followed by the table of its pieces. */
export function s3Blobs(options: S3Options): Blobs {
  const { bucket, clock, metrics, incidents, reserve, timeouts = COPYING_BLOBS, maxPutBytes } = options
  const { hasLocalDatabase = true, credentials = defaultProvider(), damage } = options
  const observer = new BucketState({ metrics })
  const client = new S3Client({ bucket, clock, credentials, timeouts, observer, collectYoung })
  if (incidents) observer.watch(incidents, client)
  const cache = options.cache && new DiskCache({ ...options.cache, metrics, reserve })
  const reader = new VerifiedReader({ client, cache, metrics, damage })
  const onStored = (hash: string, bytes: Buffer) => cache && reader.keep(hash, bytes)
  const createName = (hash?: string) => createObjectName(clock(), hash === undefined ? {} : { hash })
  const uploads = new Uploads({ client, createName, onStored, maxPutBytes })
  const assertLocalSpace = async (bytes?: number) => (cache ?? reserve)?.assertSpace(bytes)
  const check = shareResult(() => listObjects(client, { limit: 1 }), { lifetimeMs: CHECK_INTERVAL_MS })

  return {
    put: (body, expected) => withS3Errors(() => uploads.put(body, expected)),

    putTogether: (contents) =>
      withS3Errors(async () => {
        const object = createName()
        const { parts, locations } = layOut(object, contents)
        await uploads.putBytes(object, parts)
        return locations
      }),

    // A request that was answered has stored its object.
    commit: async () => [],

    bytes: (location) => ignoreMissing(() => readWhole(reader, location)),

    // The current piece, beside a chunk and the one that is read ahead.
    streamBytes: PIECE_BYTES + 2 * CHUNK_BYTES,

    read: (location, range = { start: 0, end: location.size - 1 }) =>
      ignoreMissing(async () => {
        const first = await reader.piece(location, Math.floor(range.start / PIECE_BYTES))
        return Readable.from(readPieces(reader, location, range, first), {
          objectMode: false,
          highWaterMark: CHUNK_BYTES,
        })
      }),

    verify: (...given) => withS3Errors(() => reader.verify(...given)),

    remove: (objects) => withS3Errors(() => removeObjects(client, objects)),

    list: (after) => withS3Errors(() => listObjects(client, after === undefined ? {} : { after })),

    createdAt: objectCreatedAt,

    check: () => withS3Errors(async () => void (await check())),

    assertSpace: async (bytes) => (hasLocalDatabase ? assertLocalSpace(bytes) : undefined),

    assertLocalSpace,
  }
}

/** Contents one after another, each followed by its table. */
function layOut(object: string, contents: readonly Buffer[]): { parts: Buffer[]; locations: BlobLocation[] } {
  const parts: Buffer[] = []
  let offset = 0
  const locations = contents.map((content) => {
    const table = buildTable(content)
    const hash = createHash('sha256').update(content).digest('hex')
    const location = { object, offset, hash, size: content.length, piecesHash: hashTable(table) }
    offset += content.length + table.length
    parts.push(content, table)
    return location
  })
  return { parts, locations }
}

async function readWhole(reader: VerifiedReader, location: BlobLocation): Promise<Buffer> {
  if (location.size <= PIECE_BYTES) return reader.piece(location, 0)
  const whole = Buffer.allocUnsafeSlow(location.size)
  for (let at = 0; at < location.size; at += PIECE_BYTES)
    (await reader.piece(location, at / PIECE_BYTES)).copy(whole, at)
  return whole
}

/**
 * The bytes of a range. The next piece is fetched while the end of one is sent, so that no fetch waits for a slow client;
 * it is in the memory that all readers share until it is needed, so that a slow client retains one piece at most.
 */
async function* readPieces(
  reader: VerifiedReader,
  location: BlobLocation,
  { start, end }: ByteRange,
  piece: Buffer,
): AsyncGenerator<Buffer> {
  const last = Math.floor(end / PIECE_BYTES)
  for (let number = Math.floor(start / PIECE_BYTES); number <= last; number++) {
    let next: Promise<void> | undefined
    const pieceStart = number * PIECE_BYTES
    const pieceEnd = Math.min(piece.length, end + 1 - pieceStart)
    for (let at = Math.max(0, start - pieceStart); at < pieceEnd; ) {
      if (number < last && pieceEnd - at <= READ_AHEAD_BYTES) {
        next ??= reader.piece(location, number + 1, true).then(() => undefined)
        next.catch(() => undefined)
      }
      // Chunks end where those of the edge do. A copy: a slow client must not retain the piece.
      const chunkEnd = Math.min(pieceEnd, (Math.floor(at / CHUNK_BYTES) + 1) * CHUNK_BYTES)
      const chunk = Buffer.from(piece.subarray(at, chunkEnd))
      at = chunkEnd
      if (at === pieceEnd) piece = EMPTY
      yield chunk
    }
    if (number === last) return
    piece = await withS3Errors(async () => {
      await next
      return reader.piece(location, number + 1, true)
    })
  }
}

async function ignoreMissing<T>(work: () => Promise<T>): Promise<T | undefined> {
  return withS3Errors(() =>
    work().catch((error: unknown) => {
      if (error instanceof S3Error && error.isMissingObject) return undefined
      throw error
    }),
  )
}

function withS3Errors<T>(work: () => Promise<T>): Promise<T> {
  return work().catch(translateError)
}

function translateError(error: unknown): never {
  if (error instanceof ApiError) throw error
  if (error instanceof BodyError) throw error.cause
  if (error instanceof S3Error && error.isFull) {
    const sentence = 'The storage of the server is full. Published sites stay online.'
    throw new ApiError('INSUFFICIENT_STORAGE', sentence, { cause: error })
  }
  throw new ApiError('UNAVAILABLE', 'File storage is temporarily unavailable', {
    cause: error,
    isIsolated: true,
  })
}
