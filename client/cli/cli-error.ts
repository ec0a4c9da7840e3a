import type { SlipwayError } from '../sdk/slipway-error.ts'

/** Exit codes of every command, as in docs/command.md and the help. */
export const EXIT_CODES = {
  failed: 1,
  usage: 2,
  auth: 3,
  limit: 4,
  network: 5,
  refused: 6,
  conflict: 7,
  changesRequested: 8,
  interrupted: 130,
} as const

/** An error that the user can fix: one sentence, and the next steps. */
export class CliError extends Error {
  readonly hints: string[]
  /** `code` of the JSON form. */
  readonly code: string = 'FAILED'
  /** HTTP status, 0 without a response. */
  readonly status: number = 0
  /** `details` of the JSON form. */
  readonly details: unknown = undefined
  readonly exitCode: number = EXIT_CODES.failed

  constructor(message: string, ...hints: string[]) {
    super(message)
    this.name = 'CliError'
    this.hints = hints
  }
}

/** A usage error. */
export class UsageError extends CliError {
  override readonly code = 'USAGE'
  override readonly exitCode = EXIT_CODES.usage
}

/** The results of all checks of arguments. Throws one UsageError about all that fail, so that one correction suffices. */
export function checkAll<Checks extends readonly (() => unknown)[]>(
  ...checks: Checks
): { [At in keyof Checks]: ReturnType<Checks[At]> } {
  const errors: UsageError[] = []
  const results: unknown[] = []
  for (const check of checks) {
    try {
      results.push(check())
    } catch (error) {
      if (!(error instanceof UsageError)) throw error
      errors.push(error)
    }
  }
  if (errors.length === 1) throw errors[0]
  if (errors.length > 1) throw new UsageError('Several arguments are invalid', ...errors.flatMap(toLines))
  return results as { [At in keyof Checks]: ReturnType<Checks[At]> }
}

function toLines({ message, hints }: UsageError): string[] {
  return [message, ...hints.map((hint) => `  ${hint}`)]
}

/** An argument that names nothing that exists. */
export class UnknownNameError extends CliError {
  override readonly code = 'NOT_FOUND'
  override readonly status = 404
  override readonly exitCode = EXIT_CODES.usage
}

/** An operation that needs other credentials. */
export class AuthError extends CliError {
  override readonly code = 'UNAUTHORIZED'
  override readonly exitCode = EXIT_CODES.auth
}

/** Files or settings that cannot be published, or an answer that declines. */
export class RefusedError extends CliError {
  override readonly code = 'REFUSED'
  override readonly exitCode = EXIT_CODES.refused
}

/** The name of a new site is taken. */
export class NameTakenError extends CliError {
  override readonly code = 'NAME_TAKEN'
  override readonly status = 409
  override readonly exitCode = EXIT_CODES.refused
}

/** Another version went live since the last one that the caller saw. */
export class ConflictError extends CliError {
  override readonly code = 'VERSION_CONFLICT'
  override readonly status = 409
  override readonly exitCode = EXIT_CODES.conflict
  override readonly details: unknown

  constructor(message: string, details: unknown, hints: string[]) {
    super(message, ...hints)
    this.details = details
  }
}

/** A request without a valid response may have had its effect, and its repetition has another one. */
export class UnconfirmedError extends CliError {
  override readonly code: string
  override readonly status: number
  override readonly exitCode = EXIT_CODES.network

  constructor({ code, status, message }: SlipwayError, hint: string) {
    super(message, hint)
    this.code = code
    this.status = status
  }
}

/** A reviewer wants changes of the version that the caller waits for. */
export class ChangesRequestedError extends CliError {
  override readonly code = 'CHANGES_REQUESTED'
  override readonly exitCode = EXIT_CODES.changesRequested
  override readonly details: unknown

  constructor(message: string, review: unknown) {
    super(message)
    this.details = review
  }
}

/** Ended by Ctrl-C. */
export class InterruptedError extends CliError {
  override readonly code = 'INTERRUPTED'
  override readonly exitCode = EXIT_CODES.interrupted
}
