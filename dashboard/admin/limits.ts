import type { Exceptions } from '../../protocol/api/account.schema.ts'
import { formatCountLimit, formatLimit, UNLIMITED } from '../../protocol/format.ts'
import { BYTE_UNITS, formatQuantity, parseQuantity } from '../../protocol/quantity.ts'

export type ExceptionName = keyof Exceptions

/** The limits that accounts can have exceptions from, with their names for people. */
export const LIMIT_NAMES: Record<ExceptionName, string> = {
  requestsPerHour: 'Requests an hour',
  sites: 'Sites',
  bytes: 'Stored',
  domains: 'Domains',
  filesPerSite: 'Files of a site',
  fileBytes: 'Largest file',
  siteBytes: 'Largest site',
  previews: 'Previews of a site',
}

const SIZES: ReadonlySet<ExceptionName> = new Set(['bytes', 'fileBytes', 'siteBytes'])

/** A limit as people read it. */
export function showLimit(name: ExceptionName, value: number): string {
  return SIZES.has(name) ? formatLimit(value) : formatCountLimit(value)
}

/** A limit as it is typed: exact, and `parseLimit` reads it. */
export function writeLimit(name: ExceptionName, value: number): string {
  if (value >= UNLIMITED) return 'unlimited'
  return SIZES.has(name) ? formatQuantity(value, BYTE_UNITS) : String(value)
}

/** NaN for a text that is no limit. */
export function parseLimit(name: ExceptionName, text: string): number {
  if (text.toLowerCase() === 'unlimited') return UNLIMITED
  return parseQuantity(text, SIZES.has(name) ? BYTE_UNITS : { '': 1 })
}

/** What is wrong with a typed limit. */
export function explainLimit(name: ExceptionName): string {
  return SIZES.has(name) ? 'Type a size such as 500MB or 2GiB.' : 'Type a whole number, or unlimited.'
}
