import { formatDuration, formatUtc, stripControlChars } from '../../protocol/format.ts'
import { isSlipwayError, type SlipwayError } from '../sdk/slipway-error.ts'
import { CliError } from './cli-error.ts'
import type { CommandContext } from './command.ts'

/** The last request of the program. */
export interface LastRequest {
  hasKey: boolean
  /** The command that signs in there. */
  login: string
}

/** Formats an error: what happened, in the server's words where possible, and the next step. */
export function formatError(error: unknown, work: CommandContext, caller?: LastRequest): string[] {
  const [sentence, ...rest] = sentences(error, work, caller)
  return [`${work.terminal.red('Error:')} ${sentence}`, ...rest.map((line) => `  ${line}`)]
}

function sentences(error: unknown, work: CommandContext, caller: LastRequest | undefined): string[] {
  if (error instanceof CliError) return [error.message, ...error.hints]
  if (work.signal.aborted) return ['Stopped']
  if (isSlipwayError(error))
    return [
      stripControlChars(error.message),
      ...formatDetails(error),
      ...suggestNextSteps(error, work, caller),
    ]
  return [stripControlChars(systemErrorMessage(error))]
}

/** Turns the system's "EACCES: permission denied, open 'x'" into "x: permission denied". */
function systemErrorMessage(error: unknown): string {
  const { message = String(error), code, path } = error as NodeJS.ErrnoException
  const reason = /^E[A-Z]+: ([^,]+),/.exec(message)?.[1]
  return code !== undefined && path !== undefined && reason ? `${path}: ${reason}` : message
}

/** Lists all details of an error whose message names only the first. */
function formatDetails({ code, details }: SlipwayError): string[] {
  if (code === 'VALIDATION_ERROR' && Array.isArray(details) && details.length > 1) {
    return details.map(({ field, message }) => stripControlChars(`${field}: ${message}`))
  }
  const { missing } = (details ?? {}) as { missing?: unknown }
  if (code === 'UPLOADS_MISSING' && Array.isArray(missing)) return [stripControlChars(missing.join(', '))]
  return []
}

function suggestNextSteps(
  error: SlipwayError,
  work: CommandContext,
  caller: LastRequest | undefined,
): string[] {
  const { program } = work.settings
  const login = caller?.login ?? `${program} login`
  switch (error.code) {
    case 'NETWORK':
      return [
        'Is the server running, and is this its address? Another one: --server URL',
        'If the line was cut, run the same command again: it goes on where it was',
      ]
    case 'BAD_ANSWER':
      return ['Is this the address of a Slipway server? Another one: --server URL']
    case 'UNAUTHORIZED':
      return work.settings.key
        ? [`The key is the one in SLIPWAY_KEY; a later sign-in ends it. A new one: ${login}`]
        : [`Sign in: ${login}`]
    case 'INVALID_CODE':
      return [`A code lasts 10 minutes and works once; a new one ends the one before: ${login}`]
    case 'RATE_LIMITED':
      return rateLimit(error, work.retryPolicy.now(), caller?.hasKey === true ? undefined : login)
    case 'NOT_FOUND':
      return [`What there is: ${program} sites, ${program} versions, ${program} domains`]
    case 'SITE_EXPIRED':
      return [`A new one from the same folder: ${program} publish`]
    case 'UPLOADS_MISSING':
    case 'REQUEST_TIMEOUT':
    case 'UNAVAILABLE':
    case 'INTERNAL':
    case 'INSUFFICIENT_STORAGE':
      return ['Run the same command again later: it goes on where it was']
    case 'VERSION_CONFLICT':
      return [`Somebody published meanwhile. See: ${program} versions`]
    case 'INVALID_CLAIM_TOKEN':
      return [`If it was claimed meanwhile, sign in as its owner: ${login}`]
    case 'DOMAIN_LIMIT_REACHED':
      return [`See them: ${program} domains. To make room: ${program} domains remove DOMAIN`]
    case 'ALREADY_CLAIMED':
      return [`The site has an owner; sign in as that account: ${login}`]
    default:
      return []
  }
}

function rateLimit({ retryAfterSeconds }: SlipwayError, now: number, login: string | undefined): string[] {
  const account = login === undefined ? [] : [`An account can do more: ${login}`]
  if (retryAfterSeconds === undefined) return account
  const reset = formatUtc(new Date(now + retryAfterSeconds * 1000).toISOString())
  return [`Try again in ${formatDuration(retryAfterSeconds)}, at ${reset}`, ...account]
}
