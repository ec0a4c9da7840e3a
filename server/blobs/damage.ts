import { createReadStream } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { hostname } from 'node:os'
import type { Readable } from 'node:stream'
import { ApiError } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import type { Metrics } from '../lib/metrics.ts'

/** Bytes of an object, and the SHA-256 that they had when they were stored. */
export interface HashedRange {
  object: string
  start: number
  length: number
  hash: string
}

/** What the storage returned is not what was stored. No caller receives these bytes. */
export class DamagedBlobError extends ApiError {
  constructor(cause?: unknown) {
    super('UNAVAILABLE', 'File storage is temporarily unavailable', { isIsolated: true, cause })
  }
}

/** The bytes of one file cannot be read, because of a bad sector or its permissions. Others of its storage may be. */
export class UnreadableFileError extends ApiError {
  constructor(message: string, cause?: unknown) {
    super('UNAVAILABLE', message, { isIsolated: true, cause })
  }
}

/** Codes of a process or a machine that cannot open any file now. */
const BUSY_CODES = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN'])

/** Whether an error of the operating system is of the file that was opened or read, and not of the process. */
export function isUnreadable(error: unknown): boolean {
  const { code = '', syscall } = error as NodeJS.ErrnoException
  return (syscall === 'open' || syscall === 'read') && !BUSY_CODES.has(code)
}

/** A stream of the bytes of a file, which it closes; `translate` gets the errors of reading. */
export function streamFile(
  handle: FileHandle,
  options: { highWaterMark: number; start?: number; end?: number },
  translate: (error: Error) => Error,
): Readable {
  const stream = createReadStream('', { fd: handle, ...options })
  const destroy = stream.destroy.bind(stream)
  stream.destroy = (error) => destroy(error && translate(error))
  return stream
}

/** Whether an error of a copied blob means that its source has other bytes, or cannot read them. */
export function isDamage(error: unknown): boolean {
  const { code } = error as Partial<ApiError>
  return (
    error instanceof DamagedBlobError ||
    error instanceof UnreadableFileError ||
    (error instanceof ApiError && (code === 'HASH_MISMATCH' || code === 'SIZE_MISMATCH'))
  )
}

/** Objects whose damage was logged: visits must not flood the log. */
const MAX_LOGGED_OBJECTS = 1000

export class DamageReport {
  readonly #log: Log
  readonly #metrics: Metrics
  readonly #logged = new Set<string>()

  constructor({ log, metrics }: { log: Log; metrics: Metrics }) {
    this.#log = log
    this.#metrics = metrics
    // From zero: Prometheus does not see the increase of a counter that begins with 1.
    for (const found of ['read', 'sweep']) metrics.counter('slipway_damaged_files_total', { found })
  }

  add(range: HashedRange, error?: unknown): void {
    this.#metrics.counter('slipway_damaged_files_total', { found: 'read' }).add()
    if (this.#logged.size >= MAX_LOGGED_OBJECTS || this.#logged.has(range.object)) return
    this.#logged.add(range.object)
    this.#log.error('a stored file is damaged', {
      node: hostname(),
      ...range,
      ...(error !== undefined && { error }),
    })
  }
}
