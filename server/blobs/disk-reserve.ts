import { randomBytes } from 'node:crypto'
import { readdir, rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../../packages/files/make-folder.ts'
import { formatBytes } from '../../protocol/format.ts'
import { Component } from '../lib/component.ts'
import { ApiError } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import { shareRunning } from '../lib/share-result.ts'
import { SECOND_MS } from '../lib/time.ts'

/** Free space that publishing leaves alone: bytes, or percent of the disk. */
export type ReserveSize = { bytes: number } | { percent: number }

const MEASUREMENT_MS = 1000

/** The part of the inodes that is reserved as well. */
const MIN_FREE_INODES = 0.01

/** Without a setting: 5 percent of the disk, within these limits (docs/decisions/015-disk-reserve.md). */
const DEFAULT_PERCENT = 5
const MIN_DEFAULT_BYTES = 256 * 2 ** 20
const MAX_DEFAULT_BYTES = 2 ** 30

/** For everything but publishing: database, deletes, sign-in, certificates. `folder` must exist at the first call. */
export class DiskReserve extends Component<{ folder: string; size: ReserveSize | undefined }> {
  /** Bytes that may be written before the reserve is reached, as last measured and written since. */
  #writableBytes = 0
  #measuredAt = Number.NEGATIVE_INFINITY
  readonly #update = shareRunning(() => this.#measure())

  /**
   * Rejects with INSUFFICIENT_STORAGE unless `bytes` more can be written without touching the reserve. They count as
   * written until the free space is measured again, which happens each second, and before every refusal.
   */
  async assertSpace(bytes = 0): Promise<void> {
    if (this.#isOff()) return
    if (performance.now() - this.#measuredAt >= MEASUREMENT_MS || this.#writableBytes < bytes)
      await this.#update()
    if (this.#writableBytes < bytes) {
      const sentence =
        "The server's disk is almost full, so publishing is paused. Published sites stay online."
      throw new ApiError('INSUFFICIENT_STORAGE', sentence)
    }
    this.#writableBytes -= bytes
  }

  /** Without inodes for further files no space is free. */
  async measure(): Promise<{ totalBytes: number; freeBytes: number; reserveBytes: number }> {
    const { bavail, blocks, bsize, files, ffree } = await statfs(this.parts.folder)
    const totalBytes = blocks * bsize
    // Some file systems have no limit of inodes, and report 0 files.
    const freeBytes = files > 0 && ffree < files * MIN_FREE_INODES ? 0 : bavail * bsize
    return { totalBytes, freeBytes, reserveBytes: reserveBytes(this.parts.size, totalBytes) }
  }

  #isOff(): boolean {
    return this.parts.size !== undefined && Object.values(this.parts.size)[0] === 0
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

/** Freed for each write that finds no space; a transaction rarely needs more. */
const STEP_BYTES = 2 ** 20

/** That of a full write-ahead log of SQLite. */
const MAX_STEPS = 16

/** The ballast is this part of the reserve, at most. */
const RESERVE_PARTS = 16

const REFILL_INTERVAL_MS = 10 * SECOND_MS

interface BallastOptions {
  folder: string
  reserve: Pick<DiskReserve, 'measure'>
  log: Pick<Log, 'warn'>
}

/**
 * Files that occupy space and inodes until a write finds none: another program may use up the disk and the reserve with
 * it, and sites can be deleted then only if the database can be opened and written. Processes of one machine share them.
 */
export class Ballast extends Component<BallastOptions> implements Disposable {
  readonly #folder = join(this.parts.folder, 'ballast')
  #timer: NodeJS.Timeout | undefined

  /** Fills it in the background, now and whenever there is space again. */
  start(): this {
    void this.fill()
    this.#timer = setInterval(() => void this.fill(), REFILL_INTERVAL_MS).unref()
    return this
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }

  /** Runs `work`, and again with more space as long as it fails with an error of a full disk and there is some. */
  async retry<T>(work: () => Promise<T>, isDiskFull: (error: unknown) => boolean): Promise<T> {
    for (;;) {
      try {
        return await work()
      } catch (error) {
        if (!isDiskFull(error) || !(await this.#release())) throw error
      }
    }
  }

  /** Writes what is missing if the reserve stays free. A disk that is full is left alone. */
  async fill(): Promise<void> {
    try {
      const { freeBytes, reserveBytes } = await this.parts.reserve.measure()
      const steps = Math.min(MAX_STEPS, Math.floor(reserveBytes / RESERVE_PARTS / STEP_BYTES))
      const filled = await this.#list()
      const missing = Array.from({ length: steps }, (_, step) => `${step}`).filter(
        (one) => !filled.includes(one),
      )
      if (missing.length === 0 || freeBytes - missing.length * STEP_BYTES < reserveBytes) return
      makeFolder(this.#folder, 0o700)
      // A file system that compresses would not allocate zeros.
      for (const step of missing)
        await writeFile(join(this.#folder, step), randomBytes(STEP_BYTES), { mode: 0o600, flush: true })
    } catch {
      // The next interval tries again.
    }
  }

  async #release(): Promise<boolean> {
    const [step, ...left] = await this.#list()
    if (step === undefined) return false
    await rm(join(this.#folder, step), { force: true })
    const message = 'the disk is full: space that was kept for deletion and sign-in was released'
    this.parts.log.warn(message, { left: formatBytes(left.length * STEP_BYTES) })
    return true
  }

  #list(): Promise<string[]> {
    return readdir(this.#folder).catch(() => [])
  }
}
