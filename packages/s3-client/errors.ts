import { childText } from './xml.ts'

/** Codes of a bucket or an account that holds no more bytes; `XMinioStorageFull` is that of MinIO. */
const FULL_CODES = new Set(['QuotaExceeded', 'InsufficientStorage', 'XMinioStorageFull'])

/** Codes of requests that may succeed when they are sent again; the last two say that other bytes arrived. */
const RETRYABLE_CODES = new Set([
  'RequestTimeout',
  'RequestTimeTooSkewed',
  'ExpiredToken',
  'XAmzContentSHA256Mismatch',
  'BadDigest',
])

export class S3Error extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, body: Buffer) {
    const text = body.toString('utf8', 0, 4096)
    const code = childText(text, 'Code') ?? `status ${status}`
    super(`S3 responded ${status} ${code}: ${childText(text, 'Message') ?? 'no message'}`)
    this.status = status
    this.code = code
  }

  get isFull(): boolean {
    return this.status === 507 || FULL_CODES.has(this.code)
  }

  /** The bucket exists, the object does not. */
  get isMissingObject(): boolean {
    return this.status === 404 && this.code !== 'NoSuchBucket'
  }

  get isThrottled(): boolean {
    return this.status === 429 || this.status === 503
  }
}

/** No byte was exchanged for the whole time-out. */
export class S3TimeoutError extends Error {}

/** The request was not sent, or has ended, because the bucket has answered none for a while. */
export class S3HangError extends Error {}

export class S3QueueFullError extends Error {}

export class WrongBytesError extends Error {}

/** An error of a body that is stored: the caller receives its cause, unlike errors of S3. */
export class BodyError extends Error {
  constructor(cause: unknown) {
    super('the body is not what was expected', { cause })
  }
}

/** Whether another try makes sense, for an error before the request was consumed. */
export function isRetryable(error: unknown): boolean {
  if (error instanceof S3Error) {
    const isServerError = error.status >= 500 && error.status !== 501 && error.status !== 507
    return isServerError || error.isThrottled || RETRYABLE_CODES.has(error.code)
  }
  return error instanceof S3TimeoutError || error instanceof WrongBytesError || isNetworkError(error)
}

export type RequestOutcome =
  | 'ok'
  | 'timeout'
  | 'queue_full'
  | 'hanging'
  | 'wrong_bytes'
  | 'stopped'
  | 'connection_lost'
  | 'not_found'
  | 'throttled'
  | 'server_error'
  | 'refused'

export function outcomeOf(error: unknown): RequestOutcome {
  if (error instanceof S3TimeoutError) return 'timeout'
  if (error instanceof S3QueueFullError) return 'queue_full'
  if (error instanceof S3HangError) return 'hanging'
  if (error instanceof WrongBytesError) return 'wrong_bytes'
  if (error instanceof BodyError) return 'stopped'
  if (!(error instanceof S3Error)) return 'connection_lost'
  if (error.isMissingObject) return 'not_found'
  // Of this object, which is shorter than what was stored, or archived.
  if (error.status === 416 || error.code === 'InvalidObjectState') return 'wrong_bytes'
  // A client has paused in the middle of its upload.
  if (error.code === 'RequestTimeout') return 'stopped'
  if (error.isThrottled) return 'throttled'
  return error.status >= 500 ? 'server_error' : 'refused'
}

function isNetworkError(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return typeof code === 'string' && /^(E[A-Z]{3,}|HPE_)/.test(code)
}
