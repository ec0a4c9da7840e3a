import { randomBytes } from 'node:crypto'
import { open, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { formatBytes } from '../../protocol/format.ts'
import type { Log } from '../lib/log.ts'
import { SECOND_MS } from '../lib/time.ts'
import type { DiskReserve } from './disk-reserve.ts'

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
 * A file that occupies space until a write finds none: another program may use up the disk and the reserve with it, and
 * sites can be deleted then only if the database can be written. Processes of one machine share it.
 */
export class Ballast implements Disposable {
  readonly #options: BallastOptions
  readonly #file: string
  #timer: NodeJS.Timeout | undefined

  constructor(options: BallastOptions) {
    this.#options = options
    this.#file = join(options.folder, 'ballast')
  }

  /** Fills it in the background, now and whenever there is space again. */
  start(): this {
    void this.fill()
    this.#timer = setInterval(() => void this.fill(), REFILL_INTERVAL_MS)
    this.#timer.unref()
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
      const { freeBytes, reserveBytes } = await this.#options.reserve.measure()
      const steps = Math.min(MAX_STEPS, Math.floor(reserveBytes / RESERVE_PARTS / STEP_BYTES))
      const missing = steps * STEP_BYTES - (await this.#size())
      if (missing <= 0 || freeBytes - missing < reserveBytes) return
      await using file = await open(this.#file, 'a', 0o600)
      // A file system that compresses would not allocate zeros.
      const bytes = randomBytes(STEP_BYTES)
      while ((await file.stat()).size < steps * STEP_BYTES) await file.write(bytes)
      await file.sync()
    } catch {
      // The next interval tries again.
    }
  }

  async #release(): Promise<boolean> {
    const size = await this.#size()
    if (size === 0) return false
    const leftBytes = Math.max(0, size - STEP_BYTES)
    await truncate(this.#file, leftBytes)
    const message = 'the disk is full: space that was kept for deletion and sign-in was released'
    this.#options.log.warn(message, { left: formatBytes(leftBytes) })
    return true
  }

  async #size(): Promise<number> {
    return stat(this.#file).then(
      ({ size }) => size,
      () => 0,
    )
  }
}
