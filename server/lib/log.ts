import { ApiError, firstError } from './errors.ts'
import { toPlainLine } from './plain-line.ts'
import { MINUTE_MS, SECOND_MS } from './time.ts'

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const

export type LogLevel = (typeof LOG_LEVELS)[number]

/** Fields of a log entry; never secrets: no keys, tokens, codes, cookies or query strings. */
export type LogFields = Record<string, unknown>

type Write = (message: string, fields?: LogFields) => void

/**
 * The service's log: one JSON object per line with `time`, `level`, `message` and the fields, or text on a
 * terminal. Errors in `error` are written in full, with stack and cause. Those with the code UNAVAILABLE, which an outage
 * causes many of, are written without a stack and summarized.
 */
export interface Log {
  debug: Write
  info: Write
  warn: Write
  error: Write
  /** Writes the first entry of a message and `about`; once a minute, how many followed and the last one's time and fields. */
  summarize(level: 'warn' | 'error', message: string, fields?: LogFields, about?: string): void
}

export function makeLog(options: { level: LogLevel; text: boolean; write: (line: string) => void }): Log {
  const minLevel = LOG_LEVELS.indexOf(options.level)
  const summaries = new Summaries()
  const writer = (level: LogLevel): Write => {
    if (LOG_LEVELS.indexOf(level) < minLevel) return () => undefined
    return (message, fields = {}) =>
      options.write(options.text ? textLine(level, message, fields) : jsonLine(level, message, fields))
  }
  const at = (level: LogLevel): Write => {
    const write = writer(level)
    return (message, given) => {
      const fields = given && 'error' in given ? { ...given, error: firstError(given.error) } : given
      if (isUnavailable(fields?.error)) summaries.add(write, message, fields, fields.error.message)
      else write(message, fields)
    }
  }
  const summarized = { warn: writer('warn'), error: writer('error') }
  return {
    ...{ debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') },
    summarize: (level, message, fields, about) => summaries.add(summarized[level], message, fields, about),
  }
}

const MAX_CAUSE_CHARACTERS = 300

/** Different entries that are counted at the same time; with more, those of one message count together. */
const MAX_SUMMARIES = 1000

interface Summary {
  repeated: number
  last: LogFields
}

class Summaries {
  readonly #summaries = new Map<string, Summary>()

  add(write: Write, message: string, fields: LogFields = {}, about = ''): void {
    const key = this.#summaries.size < MAX_SUMMARIES ? `${message}\n${about}` : message
    const summary = this.#summaries.get(key)
    if (!summary) {
      write(message, fields)
      this.#begin(key, write, message)
    } else {
      summary.repeated++
      summary.last = { lastAt: new Date().toISOString(), ...fields }
    }
  }

  #begin(key: string, write: Write, message: string): void {
    const summary: Summary = { repeated: 0, last: {} }
    this.#summaries.set(key, summary)
    setTimeout(() => {
      this.#summaries.delete(key)
      if (summary.repeated === 0) return
      write(message, { repeated: summary.repeated, seconds: MINUTE_MS / SECOND_MS, ...summary.last })
      this.#begin(key, write, message)
    }, MINUTE_MS).unref()
  }
}

function isUnavailable(error: unknown): error is ApiError {
  return error instanceof ApiError && error.code === 'UNAVAILABLE'
}

function jsonLine(level: LogLevel, message: string, fields: LogFields): string {
  return `${JSON.stringify({ time: new Date().toISOString(), level, message, ...withErrorText(fields) })}\n`
}

function textLine(level: LogLevel, message: string, fields: LogFields): string {
  const rest = Object.entries(withErrorText(fields))
    .filter(([, value]) => value !== undefined)
    .map(
      ([name, value]) =>
        `${name}=${name === 'error' && typeof value === 'string' ? value : escapeForLog(value)}`,
    )
  const time = new Date().toTimeString().slice(0, 8)
  return `${time} ${level.padEnd(5)} ${message}${rest.length > 0 ? `  ${rest.join(' ')}` : ''}\n`
}

/** An email address with the first character of its user only: "o...@example.org". */
export function maskEmail(email: string): string {
  return `${email.slice(0, 1)}...${email.slice(email.lastIndexOf('@'))}`
}

/** Characters of a path; a request head of 16 KiB could fill a disk sooner. */
export const MAX_LOGGED_PATH_LENGTH = 2048

/** The path of a request to the service without its query, which may have credentials, and without email addresses. */
export function maskPath(url: string): string {
  const [path] = url.split('?', 1)
  return path!.replace(/(^|\/)([^/])[^/]*(?:@|%40)/g, '$1$2...@').slice(0, MAX_LOGGED_PATH_LENGTH)
}

/** Escapes control characters, so that external text can neither start a line nor control a terminal. */
function escapeForLog(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value))
  return text.replace(/\p{C}/gu, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`)
}

function withErrorText(fields: LogFields): LogFields {
  if (!(fields.error instanceof Error)) return fields
  return { ...fields, error: errorText(fields.error) }
}

function errorText(error: Error): string {
  if (isUnavailable(error)) {
    const { cause } = error
    return cause instanceof Error
      ? `${error.message} (${toPlainLine(cause.message, MAX_CAUSE_CHARACTERS)})`
      : error.message
  }
  const cause = error.cause instanceof Error ? `\ncaused by ${errorText(error.cause)}` : ''
  return `${error.stack ?? error.message}${cause}`
}
