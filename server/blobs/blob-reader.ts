import { Readable } from 'node:stream'
import { EMPTY_HASH } from '../../protocol/manifest/empty-files.ts'
import { sumSizes } from '../../protocol/manifest/manifest.ts'
import { ApiError } from '../lib/errors.ts'
import { shareSuccess } from '../lib/share-result.ts'
import type { BlobLocation, Blobs, ByteRange, StoredBlob } from './blobs.ts'
import { isDamage } from './damage.ts'

export interface BlobIndex {
  find(hash: string): Promise<BlobLocation | undefined>
}

type ReadableBlobs = Pick<Blobs, 'bytes' | 'read' | 'localPath' | 'takeUnread'>

/** Of all blobs that a reader keeps. */
const MAX_KEPT_BYTES = 16 * 1024

/** Reads blobs by their hash. The empty content needs no blob. */
export class BlobReader {
  readonly #blobs: ReadableBlobs
  readonly #index: BlobIndex
  readonly durable: Promise<unknown> | undefined

  constructor(blobs: ReadableBlobs, index: BlobIndex, durable?: Promise<unknown>) {
    this.durable = durable
    this.#blobs = blobs
    this.#index = index
  }

  /**
   * A reader that also finds these blobs, which the index does not have yet; when they are small, it reads each once.
   * It knows their places immediately, and reads once they are durable: before, other bytes are no damage to report.
   */
  including(blobs: readonly StoredBlob[], durable: Promise<unknown>): BlobReader {
    const byHash = new Map(blobs.map((blob) => [blob.hash, { ...blob, offset: 0 }]))
    const isSmall = sumSizes(blobs) <= MAX_KEPT_BYTES
    const readOnce = shareSuccess(
      async (location: BlobLocation) =>
        this.#blobs.takeUnread?.(location.object) ?? this.#blobs.bytes(location),
    )
    const bytes: Blobs['bytes'] = async (location) => {
      await durable
      const isKept = isSmall && byHash.get(location.hash) === location
      return isKept ? readOnce(location) : this.#blobs.bytes(location)
    }
    const read: Blobs['read'] = async (location, range) => {
      await durable
      return this.#blobs.read(location, range)
    }
    const find: BlobIndex['find'] = async (hash) => byHash.get(hash) ?? this.#index.find(hash)
    return new BlobReader({ ...this.#blobs, bytes, read }, { find }, durable)
  }

  /** All bytes of a blob, or of a known location of it; undefined when absent. UNAVAILABLE when it cannot be read. */
  async bytes(blob: string | BlobLocation): Promise<Buffer | undefined> {
    if (blob === EMPTY_HASH) return Buffer.alloc(0)
    return this.#read(blob, (location) => this.#blobs.bytes(location))
  }

  /** A stream of a blob's bytes, or of a range of them; undefined when absent. UNAVAILABLE when it cannot be read. */
  async read(hash: string, range?: ByteRange): Promise<Readable | undefined> {
    if (hash === EMPTY_HASH) return Readable.from([])
    return this.#read(hash, (location) => this.#blobs.read(location, range))
  }

  /** Where a blob is in a file of this machine; undefined when it is elsewhere. */
  async localPlace(hash: string): Promise<{ path: string; offset: number; size: number } | undefined> {
    const location = this.#blobs.localPath && (await this.#index.find(hash))
    if (!location) return undefined
    return { path: this.#blobs.localPath!(location.object), offset: location.offset, size: location.size }
  }

  async #read<T>(
    blob: string | BlobLocation,
    read: (location: BlobLocation) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const location = typeof blob === 'string' ? await this.#index.find(blob) : blob
    if (!location) return undefined
    const readAt = (place: BlobLocation) =>
      read(place).catch((cause: unknown) => {
        if (isDamage(cause)) throw cause
        const message = 'File storage is temporarily unavailable'
        throw new ApiError('UNAVAILABLE', message, { isIsolated: true, cause })
      })
    const found = await readAt(location)
    if (found !== undefined) return found
    // The object may have been deleted since the location was read, and the content stored again.
    const current = await this.#index.find(location.hash)
    return current && current.object !== location.object ? readAt(current) : undefined
  }
}
