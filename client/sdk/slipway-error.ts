import type { FailureCode } from '../wire.ts'

/** What can go wrong before or after the server's say. */
export type ClientFailureCode =
  /** No answer: refused, cut off, timed out. */
  | 'NETWORK'
  /** An answer that no Slipway server gives: a proxy's page, a redirect, broken JSON. */
  | 'BAD_ANSWER'
  /** A file's bytes are no longer what the manifest says. */
  | 'FILE_CHANGED'

interface SlipwayErrorOptions {
  code: FailureCode | ClientFailureCode
  status?: number
  details?: unknown
  retryAfterSeconds?: number | undefined
  cause?: unknown
}

/** Every failure of the SDK. `message` is the server's own sentence where there was an answer. */
export class SlipwayError extends Error {
  /** The machine code of the contract, or one of the client's own. */
  readonly code: FailureCode | ClientFailureCode
  /** HTTP status, 0 when there was no answer. */
  readonly status: number
  /** What the server points at; its shape depends on `code`. */
  readonly details: unknown
  /** Seconds until another try makes sense, when the server said so. */
  readonly retryAfterSeconds: number | undefined

  constructor(message: string, options: SlipwayErrorOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'SlipwayError'
    this.code = options.code
    this.status = options.status ?? 0
    this.details = options.details
    this.retryAfterSeconds = options.retryAfterSeconds
  }
}

/** Whether this is a Slipway failure, with one of these codes if any are named. */
export function isSlipwayError(error: unknown, ...codes: SlipwayError['code'][]): error is SlipwayError {
  return error instanceof SlipwayError && (codes.length === 0 || codes.includes(error.code))
}
