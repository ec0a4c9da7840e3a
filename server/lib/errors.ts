import type { ErrorBody, ErrorCode, FieldError } from '../../protocol/api/errors.ts'
import { ERROR_CODES } from './error-codes.ts'

export type { ErrorCode as FailureCode }

interface ApiErrorOptions {
  /** Becomes `details` of the response (contract, "Everywhere"). */
  details?: unknown
  /** What the caller can do next, when it is more specific than the hint of the code. */
  hint?: string | undefined
  /** For RATE_LIMITED and UNAVAILABLE: seconds until a retry makes sense. */
  retryAfterSeconds?: number | undefined
  /** For UNAVAILABLE: whether the source of the data may be reachable for other requests. */
  isIsolated?: boolean
  cause?: unknown
}

/**
 * An error that the caller may see: a code of the closed list in the contract and one sentence. Anything else
 * that is thrown is reported as INTERNAL and logged in full.
 */
export class ApiError extends Error {
  readonly code: ErrorCode
  readonly details: unknown
  readonly hint: string
  readonly retryAfterSeconds: number | undefined
  readonly isIsolated: boolean

  constructor(code: ErrorCode, message: string, options: ApiErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'ApiError'
    this.code = code
    this.details = options.details
    this.hint = options.hint ?? ERROR_CODES[code].hint
    this.retryAfterSeconds = options.retryAfterSeconds
    this.isIsolated = options.isIsolated ?? false
  }
}

/** A VALIDATION_ERROR with the first 20 problems in `details` and the first one in the message. */
export function validationError(problems: FieldError[], hint?: string): ApiError {
  const [first] = problems
  const sentence = first ? `${first.field}: ${first.message}` : 'The request is invalid'
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : ''
  return new ApiError('VALIDATION_ERROR', sentence + more, { details: problems.slice(0, 20), hint })
}

/** NOT_FOUND for a site: the same message whether it is absent or belongs to another account (spec 2.1). */
export function siteNotFound(): ApiError {
  return new ApiError('NOT_FOUND', 'Site not found, or it belongs to another account', {
    hint: 'Check the slug and the API key. An anonymous site must be claimed first: POST /api/v1/publish/{slug}/claim with its claimToken.',
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

/** The status of every code (contract). */
export const STATUS: Record<ErrorCode, number> = {
  VALIDATION_ERROR: 400,
  INVALID_JSON: 400,
  INVALID_CODE: 400,
  SIZE_MISMATCH: 400,
  HASH_MISMATCH: 400,
  CONTENT_TYPE_MISMATCH: 400,
  UNAUTHORIZED: 401,
  INVALID_ID_TOKEN: 401,
  NOT_TRUSTED: 403,
  INVALID_CLAIM_TOKEN: 403,
  INVALID_UPLOAD_TOKEN: 403,
  DOMAIN_LIMIT_REACHED: 403,
  KEY_LIMIT_REACHED: 403,
  TRUST_LIMIT_REACHED: 403,
  COLLABORATOR_LIMIT_REACHED: 403,
  PREVIEW_LIMIT_REACHED: 403,
  OWNER_REQUIRED: 403,
  SIGN_UP_CLOSED: 403,
  INSUFFICIENT_SCOPE: 403,
  SIGN_IN_AGAIN: 403,
  SITE_SUSPENDED: 403,
  ACCOUNT_SUSPENDED: 403,
  BLOCKED: 403,
  CONTENT_REFUSED: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  REQUEST_TIMEOUT: 408,
  UPLOADS_MISSING: 409,
  VERSION_CONFLICT: 409,
  ALREADY_CLAIMED: 409,
  ALREADY_DECIDED: 409,
  SITE_PENDING: 409,
  DOMAIN_TAKEN: 409,
  DOMAINS_UNAVAILABLE: 409,
  VERSION_LIVE: 409,
  NAME_TAKEN: 409,
  LAST_ADMINISTRATOR: 409,
  SITE_EXPIRED: 410,
  UPLOAD_EXPIRED: 410,
  PAYLOAD_TOO_LARGE: 413,
  QUOTA_EXCEEDED: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  RATE_LIMITED: 429,
  INTERNAL: 500,
  UNAVAILABLE: 503,
  SCAN_UNAVAILABLE: 503,
  INSUFFICIENT_STORAGE: 507,
}

/** Spec 2.8. `docs` is the entry of the code in the API reference at `baseUrl`. */
export function errorBody(failure: ApiError, baseUrl: string): ErrorBody {
  const { message, code, details, hint } = failure
  return {
    error: message,
    code,
    status: STATUS[code],
    hint,
    docs: `${baseUrl}/docs/errors#${code}`,
    ...(details === undefined ? {} : { details }),
  }
}
