import { shown } from '../file.ts'
import { PASSWORD_COOKIE } from '../password.ts'

/** What a line below a path says. */
export type HeaderLine = { set: [name: string, value: string] } | { remove: string }

/** RFC 9110, 5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

/** They belong to the connection, to the bytes or to what the service says about them. */
const OWN = new Set(
  `connection keep-alive te trailer transfer-encoding upgrade http2-settings host
  content-length content-encoding content-range accept-ranges date etag last-modified location`.split(/\s+/),
)

const OPENS_SITES = new RegExp(`^[\\s=]*${PASSWORD_COOKIE}\\s*(=|$)`, 'i')

/** One line of `_headers` below a path, or a sentence that says what is wrong. */
export function readHeaderLine(text: string): HeaderLine | string {
  const [, removed] = /^!\s+(\S.*)$/.exec(text) ?? []
  if (removed !== undefined) return problemOfName(removed) ?? { remove: removed.toLowerCase() }
  const at = text.indexOf(':')
  if (at < 0)
    return `'${shown(text)}' is neither a path, which begins with '/', nor 'Name: value' nor '! Name'`
  const name = text.slice(0, at).trim()
  const value = text
    .slice(at + 1)
    .trim()
    .replaceAll('\t', ' ')
  const problem = problemOfName(name) ?? problemOfValue(value) ?? problemOfCookie(name, value)
  return problem ?? { set: [name, value] }
}

/** Whether every value of the name has a line of its own (RFC 6265, 3). */
export function isSetCookie(name: string): boolean {
  return name.toLowerCase() === 'set-cookie'
}

function problemOfName(name: string): string | undefined {
  if (name === '') return 'The header has no name'
  if (!TOKEN.test(name)) return `'${shown(name)}' is no name of a header`
  const lower = name.toLowerCase()
  if (lower === 'basic-auth') return 'Basic-Auth is not supported: set a password on the site instead'
  const own = OWN.has(lower) || lower.startsWith('proxy-')
  return own ? `${name} is for the service itself to say` : undefined
}

function problemOfValue(value: string): string | undefined {
  if (value === '') return 'The header has no value'
  const visible = /^[ -~\u00a0-\u00ff]*$/.test(value)
  return visible ? undefined : 'The value has characters that cannot stand in a header'
}

function problemOfCookie(name: string, value: string): string | undefined {
  if (!isSetCookie(name)) return undefined
  const [pair = '', ...attributes] = value.split(';')
  if (OPENS_SITES.test(pair)) return `The cookie '${PASSWORD_COOKIE}' is the service's own`
  const domain = attributes.some((attribute) => attribute.split('=')[0]!.trim().toLowerCase() === 'domain')
  return domain ? 'A cookie cannot have a Domain: other sites would get it too' : undefined
}
