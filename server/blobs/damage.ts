import { createReadStream } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { hostname } from 'node:os'
import type { Readable } from 'node:stream'
import { Component } from '../lib/component.ts'
import { ApiError } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import type { Metrics } from '../lib/metrics.ts'
import { HOUR_MS, MINUTE_MS } from '../lib/time.ts'

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

/** Objects that are logged and recorded in an hour: visits must flood neither the log nor the database. */
const MAX_REPORTED_OBJECTS = 1000

interface DamageReportOptions {
  log: Log
  metrics: Metrics
  /** Records that an object is damaged or missing, where it holds a content. */
  record?: ((object: string) => Promise<void>) | undefined
}

export class DamageReport extends Component<DamageReportOptions> {
  readonly #damaged = new Set<string>()
  readonly #missing = new Set<string>()

  constructor(options: DamageReportOptions) {
    super(options)
    // From zero: Prometheus does not see the increase of a counter that begins with 1.
    for (const found of ['read', 'sweep']) options.metrics.counter('slipway_damaged_files_total', { found })
  }

  add(range: HashedRange, error?: unknown): void {
    const { log, metrics } = this.parts
    metrics.counter('slipway_damaged_files_total', { found: 'read' }).add()
    if (!this.#isNew(range.object, this.#damaged)) return
    const cause = error === undefined ? {} : { error }
    log.error('a stored file is damaged', { node: hostname(), ...range, ...cause })
  }

  /** It is nothing to log if its content was deleted or stored again since its location was read. */
  addMissing(object: string): undefined {
    this.#isNew(object, this.#missing)
  }

  /** Records it then, and again at a read an hour later; where that fails, a minute later. */
  #isNew(object: string, reported: Set<string>): boolean {
    if (reported.size >= MAX_REPORTED_OBJECTS || reported.has(object)) return false
    reported.add(object)
    const forgetAfter = (delayMs: number) => setTimeout(() => reported.delete(object), delayMs).unref()
    Promise.resolve(this.parts.record?.(object)).then(
      () => forgetAfter(HOUR_MS),
      () => forgetAfter(MINUTE_MS),
    )
    return true
  }
}
