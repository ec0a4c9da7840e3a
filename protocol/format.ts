/** "1,204" */
export function formatNumber(number: number): string {
  return writeNumber(number, 0)
}

/** "1 file", "1,204 files". */
export function pluralize(number: number, noun: string): string {
  return `${formatNumber(number)} ${noun}${number === 1 ? '' : 's'}`
}

/** The value of a limit that the operator removed: an integer that no count or size reaches. */
export const UNLIMITED = Number.MAX_SAFE_INTEGER

/** A limit on a number: "1,000", "unlimited"; of things with `noun`: "1 site", "unlimited sites". */
export function formatCountLimit(limit: number, noun?: string): string {
  const count = limit >= UNLIMITED ? 'unlimited' : formatNumber(limit)
  return noun === undefined ? count : `${count} ${noun}${limit === 1 ? '' : 's'}`
}

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB']

/** A size in decimal SI units, with two significant digits below ten: "940 bytes", "3.9 kB", "12 MB". */
export function formatBytes(bytes: number): string {
  let unit = 0
  let value = bytes
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000
    unit++
  }
  if (unit === 0) return pluralize(bytes, 'byte')
  return `${writeNumber(value, value < 9.95 ? 1 : 0)} ${UNITS[unit]}`
}

/** A size limit in decimal SI units, rounded down, so that the text never promises more: "262 MB", "1 GB", "5.3 GB", "unlimited". */
export function formatLimit(bytes: number): string {
  if (bytes >= UNLIMITED) return 'unlimited'
  if (bytes < 1000) return pluralize(bytes, 'byte')
  const exponent = Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3))
  const value = bytes / 1000 ** exponent
  const rounded = value < 10 ? Math.floor(value * 10) / 10 : Math.floor(value)
  return `${writeNumber(rounded, Number.isInteger(rounded) ? 0 : 1)} ${UNITS[exponent]}`
}

/** A size and the limit that it exceeds, in bytes where they would read the same: "263 MB" and "262 MB". */
export function formatExcess(bytes: number, limit: number): { found: string; limit: string } {
  const found = formatBytes(bytes)
  return found === formatLimit(limit) || found === formatBytes(limit)
    ? { found: pluralize(bytes, 'byte'), limit: pluralize(limit, 'byte') }
    : { found, limit: formatLimit(limit) }
}

/** "12 files (340 kB)" */
export function formatFileCount(files: readonly { size: number }[]): string {
  const bytes = files.reduce((sum, { size }) => sum + size, 0)
  return `${pluralize(files.length, 'file')} (${formatBytes(bytes)})`
}

/** "a", "a or b", "a, b or c". */
export function formatAlternatives(words: readonly string[]): string {
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}

/** With a full stop, unless it has one. */
export function toSentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}

/** A duration: "3 s", "2 min", "5 hours", "3 days". */
export function formatDuration(seconds: number): string {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`
  if (seconds < 48 * 3600) return pluralize(Math.round(seconds / 3600), 'hour')
  return pluralize(Math.round(seconds / 86400), 'day')
}

/** A time in UTC: "2025-11-21 09:30 UTC". */
export function formatUtc(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`
}

/**
 * External text with each control character, of C0 and C1 and those that change the direction of text, replaced by
 * U+FFFD.
 */
export function stripControlChars(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}]/gu, '\uFFFD')
}

/** The first UTF-16 units of a text that is longer, without half of a surrogate pair, which JSON parsers refuse, and `end`. */
export function truncate(text: string, maxLength: number, end = ''): string {
  if (text.length <= maxLength) return text
  return text.slice(0, maxLength).replace(/[\ud800-\udbff]$/, '') + end
}

/** The same characters, except line feeds and tabs, escaped as in JSON. */
export function escapeControlChars(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]|\p{Bidi_Control}/gu, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

/**
 * A number with 0 or 1 digits after the decimal separator: "1,204", "3.9". In English as all words around it; without
 * `Intl`, which takes longer to load than some publishes.
 */
function writeNumber(number: number, fractionDigits: 0 | 1): string {
  const [whole = '', ...fraction] = number.toFixed(fractionDigits).split('.')
  return [whole.replace(/\B(?=(\d{3})+$)/g, ','), ...fraction].join('.')
}

/** Characters of a short id: ids begin with the millisecond in which the version was created. */
export const SHORT_ID_LENGTH = 10

/** The beginning of a version's id, which commands accept in place of the whole. */
export function shortId(versionId: string): string {
  return versionId.slice(0, SHORT_ID_LENGTH)
}
