import { formatAlternatives } from '../../../protocol/format.ts'
import { sanitizePath } from '../../../protocol/manifest/paths.ts'
import { CONTENT_CODINGS, type ContentCoding } from '../../blobs/content-coding.ts'
import { PASSWORD_COOKIE } from '../../sites/password.ts'

/** Null removes the content coding. */
type HeaderLine =
  | { set: [name: string, value: string] }
  | { remove: string }
  | { coding: ContentCoding | null }

const CODING_NAME = 'content-encoding'

/** RFC 9110, 5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

/** Of visitors of an anonymous site who have continued from the page before it. */
export const NOTICE_COOKIE = 'slipway-notice'

/** Over HTTPS no script of a sibling site can set it (draft-ietf-httpbis-rfc6265bis, `__Host-`). */
export const SECURE_NOTICE_COOKIE = `__Host-${NOTICE_COOKIE}`

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

/** Headers of the connection, the body or the service. */
const OWN = new Set(
  `connection keep-alive te trailer transfer-encoding upgrade http2-settings host
  content-length content-encoding content-range accept-ranges date etag last-modified location`.split(/\s+/),
)

/** Parts of names, between hyphens, that proxies, caches and CDNs give to the instructions they take from responses. */
const PROXY_PARTS = new Set(
  `accel sendfile sendfile2 reproxy lighttpd litespeed varnish envoy surrogate cdn edge akamai fastly`.split(
    ' ',
  ),
)

const PROXY_PREFIXES =
  `cf- arr- netlify- x-nf- vercel- x-vercel- fly- x-amz- x-azure- x-appengine- x-goog- x-bunny-`.split(' ')

const PROXY_NAMES = new Set(
  `x-send-file cache-tag cache-tags x-cache-tag x-cache-tags xkey pagespeed x-page-speed`.split(' '),
)

/** What a site may make browsers forget. Cookies of a host are those of other sites too: they may share a domain. */
const CLEARABLE = new Set(['"cache"', '"storage"', '"executionContexts"', '"clientHints"'])

/** `name` is a token; undefined when a site can set or remove the header. */
function findNameProblem(name: string): string | undefined {
  const lower = name.toLowerCase()
  if (lower === 'basic-auth') return 'Basic-Auth is not supported. Set a password for the site instead.'
  if (lower === 'alt-svc') return 'Alt-Svc is not allowed: it would send browsers to other servers'
  if (OWN.has(lower) || lower.startsWith('proxy-')) return `${name} is not allowed: the server sets it`
  if (!instructsProxies(lower)) return undefined
  return `${name} is not allowed: it controls proxies and CDNs in front of the server`
}

/** Undefined when a site can set the header to this value. */
export function findHeaderProblem(name: string, value: string): string | undefined {
  return (
    findNameProblem(name) ?? (name.toLowerCase() === 'clear-site-data' ? clearingProblem(value) : undefined)
  )
}

function instructsProxies(name: string): boolean {
  return (
    PROXY_NAMES.has(name) ||
    PROXY_PREFIXES.some((prefix) => name.startsWith(prefix)) ||
    name.split('-').some((part) => PROXY_PARTS.has(part))
  )
}

function clearingProblem(value: string): string | undefined {
  if (value.split(',').every((type) => CLEARABLE.has(type.trim()))) return undefined
  return `invalid Clear-Site-Data. Use ${formatAlternatives([...CLEARABLE])}: cookies can belong to other sites.`
}
