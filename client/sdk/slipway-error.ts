import type { ErrorCode } from '../../protocol/api/errors.schema.ts'

/** Failures before or after the server's response. */
export type ClientErrorCode =
  /** No response: refused, cut off, timed out. */
  | 'NETWORK'
  /** A response that no Slipway server sends: a proxy's page, a redirect, invalid JSON. */
  | 'BAD_ANSWER'
  /** A file no longer matches the manifest. */
  | 'FILE_CHANGED'
  /** Errors of OAuth (RFC 6749, RFC 8628), in upper case. */
  | 'AUTHORIZATION_PENDING'
  | 'SLOW_DOWN'
  | 'ACCESS_DENIED'
  | 'EXPIRED_TOKEN'

/** Errors of a file that has changed since it was read. */
export const FILE_CHANGED_CODES = ['FILE_CHANGED', 'SIZE_MISMATCH', 'HASH_MISMATCH'] as const

interface SlipwayErrorOptions {
  code: ErrorCode | ClientErrorCode
  status?: number
  details?: unknown
  hint?: string | undefined
  retryAfterSeconds?: number | undefined
  cause?: unknown
}

/** Every failure of the SDK. `message` is the server's own sentence if there was a response. */
export class SlipwayError extends Error {
  /** The code of the contract, or one of the client's own. */
  readonly code: ErrorCode | ClientErrorCode
  /** HTTP status, 0 without a response. */
  readonly status: number
  /** Details of the server; their shape depends on `code`. */
  readonly details: unknown
  /** The server's sentence about what to do next, if it sent one. */
  readonly hint: string | undefined
  /** Seconds until a retry makes sense, if the server sent them. */
  readonly retryAfterSeconds: number | undefined

  constructor(message: string, options: SlipwayErrorOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'SlipwayError'
    this.code = options.code
    this.status = options.status ?? 0
    this.details = options.details
    this.hint = options.hint
    this.retryAfterSeconds = options.retryAfterSeconds
  }
}

/** Whether this is a Slipway failure, with one of these codes if any are given. */
export function isSlipwayError(error: unknown, ...codes: SlipwayError['code'][]): error is SlipwayError {
  return error instanceof SlipwayError && (codes.length === 0 || codes.includes(error.code))
}
