import { isSlipwayError, type SlipwayError } from '../../client/sdk/slipway-error.ts'
import { clockTime } from '../app/time-words.ts'

/** What went wrong, for a person: what it is, and the way on. */
export interface Failing {
  title: string
  way: string
  code: SlipwayError['code'] | 'OURS'
  /** Milliseconds since 1970 from which another try makes sense; undefined when one may at once. */
  from?: number | undefined
  /** What is wrong with which field (VALIDATION_ERROR). */
  fields: Record<string, string>
}

const WAYS: Partial<Record<Failing['code'], string>> = {
  NETWORK: 'Check your connection, then try again.',
  NOT_FOUND: 'It may have been deleted in another tab.',
  UNAUTHORIZED: 'Sign in to go on.',
  UNAVAILABLE: 'Nothing is lost. Try again in a moment.',
  INSUFFICIENT_STORAGE: 'Whoever runs this service has to make room. Sites that are live stay live.',
  INTERNAL: 'Nothing is lost. Try again; if it goes on, tell whoever runs this service.',
  SITE_EXPIRED: 'Publish the folder again: it gets a new address.',
  VERSION_CONFLICT: 'Look at what is live now, then publish again.',
}

/** What was thrown, in words. What is no failure of the SDK is a fault of this page, and goes to the console as well. */
export function failing(error: unknown): Failing {
  if (!isSlipwayError(error)) {
    console.error(error)
    return { title: 'This page made a mistake.', way: 'Reload it and try again.', code: 'OURS', fields: {} }
  }
  if (error.code === 'RATE_LIMITED') return limited(error)
  const fields = fieldsOf(error)
  const [first] = Object.values(fields)
  return {
    title: error.code === 'NETWORK' ? 'The server does not answer.' : (first ?? sentence(error.message)),
    way: WAYS[error.code] ?? '',
    code: error.code,
    fields,
  }
}

/** What the API says of the requests of an hour; other limits have sentences of their own. */
const HOURLY = /^The limit of (\d+) requests/

function limited({ message, retryAfterSeconds = 0 }: SlipwayError): Failing {
  const limit = HOURLY.exec(message)?.[1]
  const from = Date.now() + retryAfterSeconds * 1000
  const [what = message] = message.split(';')
  return {
    title: limit === undefined ? sentence(what) : `The ${limit} requests of this hour are used.`,
    way: `It goes on at ${clockTime(from)}.${limit === undefined ? '' : ' What is live stays live.'}`,
    code: 'RATE_LIMITED',
    from,
    fields: {},
  }
}

function fieldsOf({ code, details }: SlipwayError): Record<string, string> {
  if (code !== 'VALIDATION_ERROR' || !Array.isArray(details)) return {}
  const problems = details as { field: string; message: string }[]
  return Object.fromEntries(problems.map(({ field, message }) => [field, `This ${sentence(message)}`]))
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}
