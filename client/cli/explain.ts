import { isSlipwayError, type SlipwayError } from '../sdk/slipway-error.ts'
import type { Workplace } from './command.ts'
import { harmless, moment, span } from './terminal/words.ts'
import { Trouble } from './trouble.ts'

type Setting = Pick<Workplace, 'terminal' | 'settings' | 'patience' | 'signal'>

/** What to say about a failure: what happened, in the server's words where they are its own, and what to do next. */
export function explain(error: unknown, setting: Setting): string[] {
  const { terminal } = setting
  const [sentence, ...rest] = sentences(error, setting)
  return [`${terminal.red('Error:')} ${sentence}`, ...rest.map((line) => `  ${line}`)]
}

function sentences(error: unknown, setting: Setting): string[] {
  if (error instanceof Trouble)
    return error.hint === undefined ? [error.message] : [error.message, error.hint]
  if (setting.signal.aborted) return ['Stopped']
  if (isSlipwayError(error)) return [harmless(error.message), ...points(error), ...hints(error, setting)]
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

function hints(error: SlipwayError, { settings, patience }: Setting): string[] {
  switch (error.code) {
    case 'NETWORK':
      return [
        'Is the server running, and is this its address? Another one: --server URL',
        'If the line was cut, run the same command again: it goes on where it was',
      ]
    case 'BAD_ANSWER':
      return ['Is this the address of a Slipway server? Another one: --server URL']
    case 'UNAUTHORIZED':
      return settings.key
        ? ['The key is the one in SLIPWAY_KEY; a later sign-in ends it. A new one: slipway login']
        : ['Sign in: slipway login']
    case 'INVALID_CODE':
      return ['A code lasts 10 minutes and works once; a new one ends the one before: slipway login']
    case 'RATE_LIMITED':
      return rateLimit(error, patience.now())
    case 'UPLOADS_MISSING':
    case 'UNAVAILABLE':
    case 'INTERNAL':
    case 'INSUFFICIENT_STORAGE':
      return ['Run the same command again later: it goes on where it was']
    case 'VERSION_CONFLICT':
      return ['Somebody published meanwhile. See: slipway versions']
    case 'INVALID_CLAIM_TOKEN':
      return ['If it was claimed meanwhile, sign in as its owner: slipway login']
    case 'ALREADY_CLAIMED':
      return ['The site has an owner; sign in as that account: slipway login']
    default:
      return []
  }
}

function rateLimit({ retryAfterSeconds }: SlipwayError, now: number): string[] {
  const account = 'An account can do more: slipway login'
  if (retryAfterSeconds === undefined) return [account]
  const reset = moment(new Date(now + retryAfterSeconds * 1000).toISOString())
  return [`The count starts again in ${span(retryAfterSeconds)}, at ${reset}`, account]
}
