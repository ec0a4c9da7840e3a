import { formatAlternatives } from '../../../protocol/format.ts'
import { sanitizePath } from '../../../protocol/manifest/paths.ts'
import { CONTENT_CODINGS, type ContentCoding } from '../../blobs/content-coding.ts'
import { NOTICE_COOKIE } from '../../sites/notice-cookie.ts'
import { PASSWORD_COOKIE } from '../../sites/password.ts'
import { findHeaderProblem, findNameProblem } from './header-policy.ts'

/** Null removes the content coding. */
export type HeaderLine =
  | { set: [name: string, value: string] }
  | { remove: string }
  | { coding: ContentCoding | null }

const CODING_NAME = 'content-encoding'

/** RFC 9110, 5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

const RESERVED_NAMES = [PASSWORD_COOKIE, NOTICE_COOKIE].join('|')
const RESERVED_COOKIE = new RegExp(`^[\\s=]*(?:__Host-)?(${RESERVED_NAMES})\\s*(?:=|$)`, 'i')

/** Parses a line below a path, or returns a description of the error. */
export function readHeaderLine(text: string): HeaderLine | string {
  const [, removed] = /^!\s+(\S.*)$/.exec(text) ?? []
  if (removed?.toLowerCase() === CODING_NAME) return { coding: null }
  if (removed !== undefined) return validateName(removed) ?? { remove: removed.toLowerCase() }
  const at = text.indexOf(':')
  if (at < 0)
    return `invalid line '${sanitizePath(text)}'. Use a path that starts with '/', 'Name: value' or '! Name'.`
  const name = text.slice(0, at).trim()
  const value = text
    .slice(at + 1)
    .trim()
    .replaceAll('\t', ' ')
  if (name.toLowerCase() === CODING_NAME) return readCoding(value)
  const problem =
    validateName(name) ??
    validateValue(value) ??
    findHeaderProblem(name, value) ??
    validateCookie(name, value)
  return problem ?? { set: [name, value] }
}

function readCoding(value: string): HeaderLine | string {
  const coding = CONTENT_CODINGS.find((one) => one === value.toLowerCase())
  return coding === undefined
    ? `Content-Encoding must be ${formatAlternatives(CONTENT_CODINGS)}, for files whose bytes are that`
    : { coding }
}

/** Whether every value of the name needs a line of its own (RFC 6265, 3). */
export function isSetCookie(name: string): boolean {
  return name.toLowerCase() === 'set-cookie'
}

function validateName(name: string): string | undefined {
  if (name === '') return 'the header has no name'
  if (!TOKEN.test(name)) return `invalid header name '${sanitizePath(name)}'`
  return findNameProblem(name)
}

function validateValue(value: string): string | undefined {
  if (value === '') return 'the header has no value'
  const visible = /^[ -~\u00a0-\u00ff]*$/.test(value)
  return visible ? undefined : 'the value has characters that are not allowed in a header'
}

function validateCookie(name: string, value: string): string | undefined {
  if (!isSetCookie(name)) return undefined
  const [pair = '', ...attributes] = value.split(';')
  const [, reserved] = RESERVED_COOKIE.exec(pair) ?? []
  if (reserved) return `the cookie name '${reserved.toLowerCase()}' is reserved`
  const domain = attributes.some((attribute) => attribute.split('=')[0]!.trim().toLowerCase() === 'domain')
  return domain
    ? 'cookies with a Domain attribute are not allowed: other sites would receive them'
    : undefined
}
