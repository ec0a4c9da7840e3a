import {
  ERROR_CODES,
  type ErrorBody,
  type ErrorCode,
  type FieldError,
} from '../../protocol/api/errors.schema.ts'
import { formatLimit } from '../../protocol/format.ts'

export type { ErrorCode as FailureCode }

interface ApiErrorOptions {
  /** Becomes `details` of the response (contract, "Everywhere"). */
  details?: unknown
  /** What the caller can do next, when it is more specific than the hint of the code. */
  hint?: string | undefined
  retryAfterSeconds?: number | undefined
  /** For UNAVAILABLE: whether the source of the data may be reachable for other requests. */
  isIsolated?: boolean
  cause?: unknown
}

/** An error that the caller may see. Anything else that is thrown is reported as INTERNAL and logged in full. */
export class ApiError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly details: unknown
  readonly hint: string
  readonly retryAfterSeconds: number | undefined
  readonly isIsolated: boolean

  constructor(code: ErrorCode, message: string, options: ApiErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'ApiError'
    this.code = code
    this.status = ERROR_CODES[code].status
    this.details = options.details
    this.hint = options.hint ?? ERROR_CODES[code].hint
    this.retryAfterSeconds = options.retryAfterSeconds
    this.isIsolated = options.isIsolated ?? false
  }
}

/** What failed first, when the end of a resource that was in use failed as well. */
export function firstError(error: unknown): unknown {
  return error instanceof SuppressedError ? firstError(error.suppressed) : error
}

export function validationError(problems: FieldError[], hint?: string): ApiError {
  const [first] = problems
  const sentence = first ? `${first.field}: ${first.message}` : 'The request is invalid'
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : ''
  return new ApiError('VALIDATION_ERROR', sentence + more, { details: problems.slice(0, 20), hint })
}

/** VALIDATION_ERROR for one field. */
export function invalidField(field: string, message: string): ApiError {
  return validationError([{ field, message }])
}

/** `what` begins the sentence, such as "The archive". */
export function tooLarge(what: string, maxBytes: number): ApiError {
  return new ApiError('PAYLOAD_TOO_LARGE', `${what} is too large. The limit is ${formatLimit(maxBytes)}.`)
}

/** NOT_FOUND for a site: the same message whether it is absent or belongs to another account (spec 2.1). */
export function siteNotFound(): ApiError {
  return new ApiError('NOT_FOUND', 'Site not found, or it belongs to another account', {
    hint: 'Check the slug and the API key. An anonymous site must be claimed first: POST /api/v1/publish/{slug}/claim with its claimToken.',
  })
}

export function databaseUnavailable(cause?: unknown): ApiError {
  return new ApiError('UNAVAILABLE', 'The database is temporarily unavailable. Try again shortly.', {
    cause,
    retryAfterSeconds: 5,
  })
}

const DISK_FULL_CODES = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])

/** The error for the caller behind an error of the operating system, or undefined when it is internal. */
export function toStorageError(error: unknown): ApiError | undefined {
  const code = (error as NodeJS.ErrnoException | undefined)?.code
  return code !== undefined && DISK_FULL_CODES.has(code) ? diskFull(error) : undefined
}

export function diskFull(cause: unknown): ApiError {
  return new ApiError('INSUFFICIENT_STORAGE', "The server's disk is full. Published sites stay online.", {
    cause,
  })
}

/** Rejects all writes after a failed flush: earlier writes may be lost. */
export function diskFailed(cause: unknown): ApiError {
  const sentence =
    'The server could not write to its disk. Publishing is stopped; published sites stay online.'
  return new ApiError('UNAVAILABLE', sentence, { cause })
}

/** Spec 2.8. `docs` is the entry of the code in the API reference at `baseUrl`. */
export function errorBody(failure: ApiError, baseUrl: string): ErrorBody {
  const { message, code, details, hint } = failure
  return {
    error: message,
    code,
    status: failure.status,
    hint,
    docs: `${baseUrl}/docs/errors#${code}`,
    ...(details === undefined ? {} : { details }),
  }
}
