import { isSlipwayError, type SlipwayError } from '../../client/sdk/slipway-error.ts'
import type { SecretFinding } from '../../protocol/api/errors.schema.ts'
import { toSentence } from '../../protocol/format.ts'
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
  /** Of SECRET_DETECTED. */
  secrets?: readonly SecretFinding[]
}

const HINTS: Partial<Record<DisplayError['code'], string>> = {
  NETWORK: 'Check your connection, then try again.',
  NOT_FOUND: 'It may have been deleted, or you may have lost access to it.',
  UNAUTHORIZED: 'Sign in to continue.',
  UNAVAILABLE: 'Nothing was lost. Try again in a moment.',
  INSUFFICIENT_STORAGE: 'Contact the administrator. Your sites stay online.',
  INTERNAL: 'Nothing was lost. Try again, or contact the administrator if it keeps happening.',
  SITE_EXPIRED: 'Publish the folder again to get a new site.',
  SECRET_DETECTED:
    'Remove the secret, then publish again. If it may be public, allow it: the site accepts it from then on.',
  VERSION_CONFLICT: 'Check the live version, then publish again.',
}

/** Errors whose hint of the server names what a person does, and no request. */
const FOR_PEOPLE =
  /^(?:QUOTA_EXCEEDED|OWNER_REQUIRED|SIGN_UP_CLOSED|(?:SITE|ACCOUNT)_SUSPENDED|BLOCKED|CONTENT_REFUSED)$/

/**
 * Formats an error for display. Anything but an SDK error is a bug of this page, and is also logged to the
 * console.
 */
export function toDisplayError(error: unknown): DisplayError {
  if (!isSlipwayError(error)) {
    console.error(error)
    return {
      title: 'Something went wrong on this page.',
      hint: 'Reload the page and try again.',
      code: 'OURS',
      fields: {},
    }
  }
  if (error.code === 'RATE_LIMITED') return rateLimitError(error)
  const fields = readFieldErrors(error)
  const [first] = Object.values(fields)
  return {
    title: error.code === 'NETWORK' ? "Can't reach the server." : (first ?? toSentence(error.message)),
    hint: HINTS[error.code] ?? (FOR_PEOPLE.test(error.code) ? (error.hint ?? '') : ''),
    code: error.code,
    fields,
    ...(error.code === 'SECRET_DETECTED' && { secrets: error.details as SecretFinding[] }),
  }
}

/**
 * The error of each field of a form, by the beginning of its name in the request (`sites` of `sites[0]`), unless one has
 * no field there: then all is shown beside them. A site that does not exist is an error of the field `site`.
 */
export function atFields<Field extends string>(
  error: DisplayError | undefined,
  fields: readonly Field[],
  site: Field,
): Partial<Record<Field, string>> | undefined {
  if (error?.code === 'NOT_FOUND')
    return { [site]: error.title.replace(/ in \w+\[\d+\]/, '') } as Partial<Record<Field, string>>
  const found = Object.entries(error?.fields ?? {}).map(([name, text]) => [/^\w*/.exec(name)![0], text])
  const areAll = found.length > 0 && found.every(([name]) => fields.includes(name as Field))
  return areAll ? (Object.fromEntries(found) as Partial<Record<Field, string>>) : undefined
}

function rateLimitError({ message, details, retryAfterSeconds = 0 }: SlipwayError): DisplayError {
  const retryAt = Date.now() + retryAfterSeconds * 1000
  const [what = message] = message.split('. ')
  const isHourlyLimit = (details as { countedBy?: unknown } | undefined)?.countedBy !== undefined
  return {
    title: toSentence(what),
    hint: `Try again at ${formatClock(retryAt)}.${isHourlyLimit ? ' Your sites stay online.' : ''}`,
    code: 'RATE_LIMITED',
    retryAt,
    fields: {},
  }
}

function readFieldErrors({ code, details }: SlipwayError): Record<string, string> {
  if (code !== 'VALIDATION_ERROR' || !Array.isArray(details)) return {}
  const problems = details as { field: string; message: string }[]
  return Object.fromEntries(problems.map(({ field, message }) => [field, `This ${toSentence(message)}`]))
}
