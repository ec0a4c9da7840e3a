import { hash as hashOnce } from 'node:crypto'
import { MemoryBudget, SecondChanceCache } from '../../../packages/http-server/memory/second-chance-cache.ts'
import type { S3Client } from '../../../packages/s3-client/client.ts'
import { S3Error, WrongBytesError } from '../../../packages/s3-client/errors.ts'
import { Component } from '../../lib/component.ts'
import type { Metrics } from '../../lib/metrics.ts'
import { shareRunning } from '../../lib/share-result.ts'
import type { BlobLocation, BlobState } from '../blobs.ts'
import { DamagedBlobError, type DamageReport, type HashedRange } from '../damage.ts'
import type { DiskCache } from './disk-cache.ts'
import { HASH_BYTES, PIECE_BYTES, tableBytes } from './pieces.ts'

interface VerifiedReaderOptions {
  client: S3Client
  cache: DiskCache | undefined
  metrics: Metrics
  damage: DamageReport | undefined
}

interface ReadOptions {
  continues?: boolean
  isKept?: boolean
}

/** Recent pieces and tables, so that readers of one file at different speeds share them, and recently stored content. */
const MAX_MEMORY_BYTES = 32 * 2 ** 20

/** Reads bytes by their hash: from memory, the disk cache or the bucket. None is returned that was not compared. */
export class VerifiedReader extends Component<VerifiedReaderOptions> {
  readonly #memory = new SecondChanceCache<Buffer>(new MemoryBudget(MAX_MEMORY_BYTES))
  /** By a name of the read. */
  readonly #fetchOnce = shareRunning((_name: string, range: HashedRange, continues?: boolean) =>
    this.#load(range, continues),
  )

  /**
   * The piece of content at this number; content up to PIECE_BYTES is one piece. Rejects with an S3Error when the
   * object is missing, with a DamagedBlobError when it is damaged. `continues` is whether a piece before it was read,
   * which a client has received.
   */
  async piece(location: BlobLocation, number: number, continues = false): Promise<Buffer> {
    const { object, offset, size, hash } = location
    if (size === 0) return Buffer.alloc(0)
    if (size <= PIECE_BYTES) return this.#read({ object, start: offset, length: size, hash }, {})
    const table = await this.#read(tableRange(location), { continues, isKept: true })
    return this.#read(pieceRange(location, number, table), { continues, isKept: true })
  }

  async verify(location: BlobLocation, signal?: AbortSignal): Promise<BlobState> {
    const { object, offset, size, hash } = location
    try {
      if (size > PIECE_BYTES) {
        const table = await this.#fetch(tableRange(location))
        for (let number = 0; number * PIECE_BYTES < size; number++) {
          signal?.throwIfAborted()
          await this.#fetch(pieceRange(location, number, table))
        }
      } else if (size > 0) await this.#fetch({ object, start: offset, length: size, hash })
      return 'intact'
    } catch (error) {
      if (error instanceof DamagedBlobError) return 'damaged'
      if (error instanceof S3Error && error.isMissingObject) return 'missing'
      throw error
    }
  }

  /** Keeps small content that was stored: finalize and compression read it next. */
  keep(hash: string, bytes: Buffer): void {
    const copy = Buffer.allocUnsafeSlow(bytes.length)
    bytes.copy(copy)
    this.#memory.set(hash, copy, copy.length)
  }

  /** The edge keeps small content in its own cache, so that it is kept in memory only where that is asked for. */
  async #read(range: HashedRange, { continues, isKept = false }: ReadOptions): Promise<Buffer> {
    const kept = this.#memory.get(range.hash)
    if (kept) return kept
    // A read that waits for a bucket that hangs is none for a reader that does not.
    const bytes = await this.#fetchOnce(`${range.hash} ${continues === true}`, range, continues)
    if (isKept) this.#memory.set(range.hash, bytes, bytes.length)
    return bytes
  }

  async #load(range: HashedRange, continues?: boolean): Promise<Buffer> {
    const { cache, metrics } = this.parts
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
    const bytes = await this.#fetch(range, continues).catch((error: unknown) => {
      if (error instanceof DamagedBlobError) this.parts.damage?.add(range)
      else if (error instanceof S3Error && error.isMissingObject) this.parts.damage?.addMissing(range.object)
      throw error
    })
    metrics.counter('slipway_s3_read_bytes_total').add(length)
    cache?.write(hash, bytes)
    return bytes
  }

  async #fetch({ object, start, length, hash }: HashedRange, continues = false): Promise<Buffer> {
    try {
      const { body } = await this.parts.client.send({
        kind: 'get',
        method: 'GET',
        object,
        continues,
        headers: { range: `bytes=${start}-${start + length - 1}` },
        verify: (bytes) => bytes.length === length && hashOnce('sha256', bytes) === hash,
      })
      return body
    } catch (error) {
      // The object is shorter than its content.
      const isDamaged = error instanceof WrongBytesError || (error instanceof S3Error && error.status === 416)
      throw isDamaged ? new DamagedBlobError(error) : error
    }
  }
}

function tableRange({ object, offset, size, piecesHash }: BlobLocation): HashedRange {
  if (piecesHash === null) throw new Error(`the pieces of ${object} have no hashes`)
  return { object, start: offset + size, length: tableBytes(size), hash: piecesHash }
}

function pieceRange({ object, offset, size }: BlobLocation, number: number, table: Buffer): HashedRange {
  const start = number * PIECE_BYTES
  const hash = table.toString('hex', number * HASH_BYTES, (number + 1) * HASH_BYTES)
  return { object, start: offset + start, length: Math.min(PIECE_BYTES, size - start), hash }
}
