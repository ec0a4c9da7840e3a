import { hash as hashOnce } from 'node:crypto'
import { hostname } from 'node:os'
import type { Log } from '../../lib/log.ts'
import type { Metrics } from '../../lib/metrics.ts'
import { MemoryBudget, SecondChanceCache } from '../../lib/second-chance-cache.ts'
import type { BlobLocation } from '../blobs.ts'
import type { DiskCache } from './disk-cache.ts'
import { HASH_BYTES, PIECE_BYTES, tableBytes } from './pieces.ts'
import type { S3Client } from './s3-client.ts'
import { S3Error, WrongBytesError } from './s3-error.ts'

interface VerifiedReaderOptions {
  client: S3Client
  cache: DiskCache | undefined
  metrics: Metrics
  log: Log
}

/** Bytes of an object, and their SHA-256. */
interface HashedRange {
  object: string
  start: number
  length: number
  hash: string
}

/** Recent pieces and tables, so that readers of one file at different speeds share them, and recently stored content. */
const MAX_MEMORY_BYTES = 32 * 2 ** 20

/** Reads bytes by their hash: from memory, the disk cache or the bucket. None is returned that was not compared. */
export class VerifiedReader {
  readonly #options: VerifiedReaderOptions
  readonly #memory = new SecondChanceCache<Buffer>(new MemoryBudget(MAX_MEMORY_BYTES))
  /** Concurrent readers of the same bytes share a fetch. */
  readonly #fetches = new Map<string, Promise<Buffer>>()

  constructor(options: VerifiedReaderOptions) {
    this.#options = options
  }

  /**
   * The piece of content at this number; content up to PIECE_BYTES is one piece. Rejects with an S3Error when the
   * object is missing, with a WrongBytesError when it is damaged.
   */
  async piece(location: BlobLocation, number: number): Promise<Buffer> {
    const { object, offset, size, hash } = location
    if (size === 0) return Buffer.alloc(0)
    if (size <= PIECE_BYTES) return this.#read({ object, start: offset, length: size, hash }, false)
    const table = await this.#table(location)
    const start = number * PIECE_BYTES
    const pieceHash = table.toString('hex', number * HASH_BYTES, (number + 1) * HASH_BYTES)
    const length = Math.min(PIECE_BYTES, size - start)
    return this.#read({ object, start: offset + start, length, hash: pieceHash }, true)
  }

  /** Keeps small content that was stored: finalize and compression read it next. */
  keep(hash: string, bytes: Buffer): void {
    const copy = Buffer.allocUnsafeSlow(bytes.length)
    bytes.copy(copy)
    this.#memory.set(hash, copy, copy.length)
  }

  #table({ object, offset, size, piecesHash }: BlobLocation): Promise<Buffer> {
    if (piecesHash === null) throw new Error(`the pieces of ${object} have no hashes`)
    return this.#read({ object, start: offset + size, length: tableBytes(size), hash: piecesHash }, true)
  }

  /** The edge keeps small content in its own cache, so that it is kept in memory only where that is asked for. */
  #read(range: HashedRange, isKeptInMemory: boolean): Promise<Buffer> {
    const kept = this.#memory.get(range.hash)
    if (kept) return Promise.resolve(kept)
    const fetching = this.#fetches.get(range.hash)
    if (fetching) return fetching
    const fetched = this.#load(range)
      .then((bytes) => {
        if (isKeptInMemory) this.#memory.set(range.hash, bytes, bytes.length)
        return bytes
      })
      .finally(() => this.#fetches.delete(range.hash))
    this.#fetches.set(range.hash, fetched)
    return fetched
  }

  async #load(range: HashedRange): Promise<Buffer> {
    const { cache, metrics } = this.#options
    const { hash, length } = range
    const cached = await cache?.read(hash, length)
    if (cached && hashOnce('sha256', cached) === hash) {
      metrics.counter('slipway_disk_cache_reads_total', { result: 'hit' }).add()
      metrics.counter('slipway_disk_cache_hit_bytes_total').add(length)
      return cached
    }
    if (cached) {
      metrics.counter('slipway_disk_cache_reads_total', { result: 'damaged' }).add()
      await cache!.delete(hash, length)
    }
    metrics.counter('slipway_disk_cache_reads_total', { result: 'miss' }).add()
    const bytes = await this.#fetch(range)
    metrics.counter('slipway_s3_read_bytes_total').add(length)
    cache?.write(hash, bytes)
    return bytes
  }

  async #fetch({ object, start, length, hash }: HashedRange): Promise<Buffer> {
    try {
      const { body } = await this.#options.client.send({
        kind: 'get',
        method: 'GET',
        object,
        headers: { range: `bytes=${start}-${start + length - 1}` },
        verify: (bytes) => bytes.length === length && hashOnce('sha256', bytes) === hash,
      })
      return body
    } catch (error) {
      // The object is shorter than its content.
      const isDamaged = error instanceof WrongBytesError || (error instanceof S3Error && error.status === 416)
      if (isDamaged)
        this.#options.log.error('an object has wrong bytes', {
          node: hostname(),
          object,
          start,
          length,
          hash,
        })
      throw error
    }
  }
}
