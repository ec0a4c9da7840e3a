import { isSlipwayError, type SlipwayError } from '../sdk/slipway-error.ts'
import { harmless, moment, span } from '../words.ts'
import type { Workplace } from './command.ts'
import { Trouble } from './trouble.ts'

/** How the program spoke to a server last. */
export interface Caller {
  hasKey: boolean
  /** What to type to sign in there. */
  login: string
}

/** What to say about a failure: what happened, in the server's words where they are its own, and what to do next. */
export function explain(error: unknown, work: Workplace, caller?: Caller): string[] {
  const [sentence, ...rest] = sentences(error, work, caller)
  return [`${work.terminal.red('Error:')} ${sentence}`, ...rest.map((line) => `  ${line}`)]
}

function sentences(error: unknown, work: Workplace, caller: Caller | undefined): string[] {
  if (error instanceof Trouble) return [error.message, ...error.hints]
  if (work.signal.aborted) return ['Stopped']
  if (isSlipwayError(error)) return [harmless(error.message), ...points(error), ...hints(error, work, caller)]
  return [harmless(ownWords(error))]
}

/** The system says "EACCES: permission denied, open 'x'"; a person is served better by "x: permission denied". */
function ownWords(error: unknown): string {
  const { message = String(error), code, path } = error as NodeJS.ErrnoException
  const reason = /^E[A-Z]+: ([^,]+),/.exec(message)?.[1]
  return code !== undefined && path !== undefined && reason ? `${path}: ${reason}` : message
}

/** Each of the things that the server points at, where the sentence names only the first. */
function points({ code, details }: SlipwayError): string[] {
  if (code === 'VALIDATION_ERROR' && Array.isArray(details) && details.length > 1) {
    return details.map(({ field, message }) => harmless(`${field}: ${message}`))
  }
  const { missing } = (details ?? {}) as { missing?: unknown }
  if (code === 'UPLOADS_MISSING' && Array.isArray(missing)) return [harmless(missing.join(', '))]
  return []
}

function hints(error: SlipwayError, work: Workplace, caller: Caller | undefined): string[] {
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
      return rateLimit(error, work.patience.now(), caller?.hasKey === true ? undefined : login)
    case 'NOT_FOUND':
      return [`What there is: ${program} sites, ${program} versions, ${program} domains`]
    case 'SITE_EXPIRED':
      return [`A new one from the same folder: ${program} publish`]
    case 'UPLOADS_MISSING':
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
  const reset = moment(new Date(now + retryAfterSeconds * 1000).toISOString())
  return [`Try again in ${span(retryAfterSeconds)}, at ${reset}`, ...account]
}
