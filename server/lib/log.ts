/** From most to least verbose. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const

export type LogLevel = (typeof LOG_LEVELS)[number]

/** Fields of a log entry; never secrets: no keys, tokens, codes, cookies or query strings. */
export type LogFields = Record<string, unknown>

/**
 * The service's log: one JSON object per line with `time`, `level`, `message` and the fields, or text on a
 * terminal. Errors in `error` are written in full, with stack and cause.
 */
export interface Log {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
}

/** A log that writes entries of at least `level` to `write`, as text when `text` is set. */
export function makeLog(options: { level: LogLevel; text: boolean; write: (line: string) => void }): Log {
  const minLevel = LOG_LEVELS.indexOf(options.level)
  const at = (level: LogLevel) => {
    if (LOG_LEVELS.indexOf(level) < minLevel) return () => undefined
    return (message: string, fields: LogFields = {}) => {
      options.write(options.text ? textLine(level, message, fields) : jsonLine(level, message, fields))
    }
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
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

/** An email address with the first character of its user only: "o…@example.org". */
export function maskEmail(email: string): string {
  return `${email.slice(0, 1)}…${email.slice(email.lastIndexOf('@'))}`
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
  const cause = error.cause instanceof Error ? `\ncaused by ${errorText(error.cause)}` : ''
  return `${error.stack ?? error.message}${cause}`
}
