import { statfs } from 'node:fs/promises'
import { ApiError } from '../lib/errors.ts'

/** Free space that publishing leaves alone: bytes, or percent of the disk. */
export type ReserveSize = { bytes: number } | { percent: number }

export interface DiskSpace {
  totalBytes: number
  freeBytes: number
  reserveBytes: number
}

const MEASUREMENT_MS = 1000

/** Without a setting: 5 percent of the disk, within these limits (docs/decisions/015-disk-reserve.md). */
const DEFAULT_PERCENT = 5
const MIN_DEFAULT_BYTES = 256 * 2 ** 20
const MAX_DEFAULT_BYTES = 2 ** 30

/** Keeps a part of the disk free for everything but publishing: the database, deletes, sign-in, certificates. */
export class DiskReserve {
  readonly #folder: string
  readonly #size: ReserveSize | undefined
  /** Bytes that may be written before the reserve is reached, as last measured and written since. */
  #writableBytes = 0
  #measuredAt = Number.NEGATIVE_INFINITY
  #measuring: Promise<void> | undefined

  /** `folder` must exist once a method is called. */
  constructor({ folder, size }: { folder: string; size: ReserveSize | undefined }) {
    this.#folder = folder
    this.#size = size
  }

  /**
   * Rejects with INSUFFICIENT_STORAGE unless `bytes` more can be written without touching the reserve. They count as
   * written until the free space is measured again, which happens each second, and before every refusal.
   */
  async assertSpace(bytes = 0): Promise<void> {
    if (this.#isOff()) return
    if (performance.now() - this.#measuredAt >= MEASUREMENT_MS || this.#writableBytes < bytes) {
      this.#measuring ??= this.#measure().finally(() => {
        this.#measuring = undefined
      })
      await this.#measuring
    }
    if (this.#writableBytes < bytes) {
      const sentence =
        "The server's disk is almost full, so publishing is paused. Published sites stay online."
      throw new ApiError('INSUFFICIENT_STORAGE', sentence)
    }
    this.#writableBytes -= bytes
  }

  async measure(): Promise<DiskSpace> {
    const { bavail, blocks, bsize } = await statfs(this.#folder)
    const totalBytes = blocks * bsize
    return { totalBytes, freeBytes: bavail * bsize, reserveBytes: reserveBytes(this.#size, totalBytes) }
  }

  #isOff(): boolean {
    return this.#size !== undefined && Object.values(this.#size)[0] === 0
  }

  async #measure(): Promise<void> {
    const { freeBytes, reserveBytes } = await this.measure()
    this.#writableBytes = freeBytes - reserveBytes
    this.#measuredAt = performance.now()
  }
}

export function reserveBytes(size: ReserveSize | undefined, diskBytes: number): number {
  if (size === undefined) {
    const share = (diskBytes * DEFAULT_PERCENT) / 100
    return Math.min(Math.max(share, MIN_DEFAULT_BYTES), MAX_DEFAULT_BYTES)
  }
  return 'bytes' in size ? size.bytes : (diskBytes * size.percent) / 100
}
