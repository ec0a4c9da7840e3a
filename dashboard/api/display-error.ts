import { isSlipwayError, type SlipwayError } from '../../client/sdk/slipway-error.ts'
import { formatClock } from '../app/format-time.ts'

/** An error for display: what happened and the next step. */
export interface DisplayError {
  title: string
  hint: string
  code: SlipwayError['code'] | 'OURS'
  /** Milliseconds since 1970 from which a retry makes sense; undefined when it does immediately. */
  retryAt?: number | undefined
  /** Errors by field (VALIDATION_ERROR). */
  fields: Record<string, string>
}

const HINTS: Partial<Record<DisplayError['code'], string>> = {
  NETWORK: 'Check your connection, then try again.',
  NOT_FOUND: 'It may have been deleted in another tab.',
  UNAUTHORIZED: 'Sign in to go on.',
  UNAVAILABLE: 'Nothing is lost. Try again in a moment.',
  INSUFFICIENT_STORAGE: 'Whoever runs this service has to make room. Sites that are live stay live.',
  INTERNAL: 'Nothing is lost. Try again; if it goes on, tell whoever runs this service.',
  SITE_EXPIRED: 'Publish the folder again: it gets a new address.',
  VERSION_CONFLICT: 'Look at what is live now, then publish again.',
}

/**
 * Formats an error for display. Anything but an SDK error is a bug of this page, and is also logged to the
 * console.
 */
export function toDisplayError(error: unknown): DisplayError {
  if (!isSlipwayError(error)) {
    console.error(error)
    return { title: 'This page made a mistake.', hint: 'Reload it and try again.', code: 'OURS', fields: {} }
  }
  if (error.code === 'RATE_LIMITED') return rateLimitError(error)
  const fields = readFieldErrors(error)
  const [first] = Object.values(fields)
  return {
    title: error.code === 'NETWORK' ? 'The server does not answer.' : (first ?? sentence(error.message)),
    hint: HINTS[error.code] ?? '',
    code: error.code,
    fields,
  }
}

/** The API's message about the hourly limit; other limits have messages of their own. */
const HOURLY_LIMIT_PATTERN = /^The limit of (\d+) requests/

function rateLimitError({ message, retryAfterSeconds = 0 }: SlipwayError): DisplayError {
  const limit = HOURLY_LIMIT_PATTERN.exec(message)?.[1]
  const retryAt = Date.now() + retryAfterSeconds * 1000
  const [what = message] = message.split(';')
  return {
    title: limit === undefined ? sentence(what) : `The ${limit} requests of this hour are used.`,
    hint: `It goes on at ${formatClock(retryAt)}.${limit === undefined ? '' : ' What is live stays live.'}`,
    code: 'RATE_LIMITED',
    retryAt,
    fields: {},
  }
}

function readFieldErrors({ code, details }: SlipwayError): Record<string, string> {
  if (code !== 'VALIDATION_ERROR' || !Array.isArray(details)) return {}
  const problems = details as { field: string; message: string }[]
  return Object.fromEntries(problems.map(({ field, message }) => [field, `This ${sentence(message)}`]))
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}
