import type { FailureCode } from '../client/wire.ts'

export type { FailureCode }

/** One thing that is wrong with a request: which field, and the rule it breaks. */
export interface Problem {
  field: string
  message: string
}

interface FailureOptions {
  /** What to point at; becomes `details` of the answer (contract, "Everywhere"). */
  details?: unknown
  /** For RATE_LIMITED and UNAVAILABLE: seconds until another try makes sense. */
  retryAfterSeconds?: number
  cause?: unknown
}

/**
 * A failure that the caller may know about: a code of the closed list in the contract and one sentence
 * for a person. Whatever else is thrown is INTERNAL outside and whole in the log.
 */
export class Failure extends Error {
  readonly code: FailureCode
  readonly details: unknown
  readonly retryAfterSeconds: number | undefined

  constructor(code: FailureCode, message: string, options: FailureOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'Failure'
    this.code = code
    this.details = options.details
    this.retryAfterSeconds = options.retryAfterSeconds
  }
}

/** A VALIDATION_ERROR that lists every problem, the first 20 in `details` and the first in the sentence. */
export function invalid(problems: Problem[]): Failure {
  const [first] = problems
  const sentence = first ? `${first.field}: ${first.message}` : 'The request is not valid'
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : ''
  return new Failure('VALIDATION_ERROR', sentence + more, { details: problems.slice(0, 20) })
}

/** NOT_FOUND for a site: the same words whether it is missing or somebody else's (spec 2.1). */
export function noSuchSite(): Failure {
  return new Failure('NOT_FOUND', 'There is no such site, or it belongs to somebody else')
}

const NO_SPACE = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])

/** The failure behind an error of the operating system, or undefined when it is none of the caller's business. */
export function storageFailure(error: unknown): Failure | undefined {
  const code = (error as NodeJS.ErrnoException | undefined)?.code
  return code !== undefined && NO_SPACE.has(code) ? diskFull(error) : undefined
}

export function diskFull(cause: unknown): Failure {
  return new Failure('INSUFFICIENT_STORAGE', 'The disk of the service is full; sites are still served', {
    cause,
  })
}

/** For everything that is to be kept after a flush that failed: what was written before it may be lost. */
export function diskFailed(cause: unknown): Failure {
  const sentence = 'The disk of the service failed to keep data; publishing is stopped'
  return new Failure('UNAVAILABLE', sentence, { cause })
}
