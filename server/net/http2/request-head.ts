import { hostName } from '../../lib/host-name.ts'
import { type HttpRequest, RELEVANT_HEADERS } from '../http-handler.ts'
import { HOST_PATTERN, splitTarget } from '../request-target.ts'
import type { HeaderFieldLike } from './hpack/static-table.ts'

/** The head of an HTTP/2 request. */
export interface RequestHead {
  method: string
  authority: string
  path: string
  /** All fields but pseudo-headers, Host and Cookie. */
  lines: HeaderFieldLike[]
  cookie: string | undefined
  /** The declared Content-Length. */
  length: number | undefined
}

type Pseudo = Partial<Record<':method' | ':scheme' | ':authority' | ':path', string>>

const PSEUDO_HEADERS: ReadonlySet<string> = new Set([':method', ':scheme', ':authority', ':path'])

/** RFC 9113, 8.2.2. */
const CONNECTION_SPECIFIC: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
])

const TOKEN = /^[!#$%&'*+.^`|~\w-]+$/

const SCHEME = /^https?$/i

/** What the HTTP/1.1 request parser accepts as a plain target and a plain host: see there. */
const PLAIN_TARGET = /^\/[\w.~!$&'()*+,;=:@/%?-]*$/
const PLAIN_HOST = /^[\w.-]+(?::\d{0,5})?$/

const RELEVANT: ReadonlySet<string> = new Set(RELEVANT_HEADERS)

/**
 * Validates the fields of a request (RFC 9113, 8.3.1). `malformed` is no valid request, `unclear` has several
 * hosts or none (contract, "Serving", 8).
 */
export function readRequestHead(fields: readonly HeaderFieldLike[]): RequestHead | 'malformed' | 'unclear' {
  const pseudo: Pseudo = {}
  const lines: HeaderFieldLike[] = []
  let host: string | undefined
  let cookie: string | undefined
  let length: number | undefined
  let isUnclear = false
  for (const found of fields) {
    const { name, value } = found
    if (!found.isWellFormed) return 'malformed'
    if (name[0] === ':') {
      if (!readPseudo(pseudo, found) || lines.length > 0 || host !== undefined || cookie !== undefined)
        return 'malformed'
    } else if (name === 'host') {
      isUnclear ||= host !== undefined
      host = value
    } else if (name === 'cookie') cookie = cookie === undefined ? value : `${cookie}; ${value}`
    else if (isConnectionSpecific(found)) return 'malformed'
    else {
      if (name === 'content-length') {
        if (length !== undefined || !/^\d{1,15}$/.test(value)) return 'malformed'
        length = Number(value)
      }
      lines.push(found)
    }
  }
  const { ':method': method, ':scheme': scheme, ':authority': authority = host, ':path': path } = pseudo
  if (method === undefined || !TOKEN.test(method)) return 'malformed'
  if (method === 'CONNECT') {
    if (scheme !== undefined || path !== undefined || !pseudo[':authority']) return 'malformed'
  } else if (!scheme || !path || !isOriginForm(method, path)) return 'malformed'
  else if (!SCHEME.test(scheme)) isUnclear = true
  // Node would convert it to upper case, which is another method (RFC 9110, 9.1).
  if (method !== method.toUpperCase()) isUnclear = true
  if (isUnclear || authority === undefined || !HOST_PATTERN.test(authority)) return 'unclear'
  if (host !== undefined && hostName(host) !== hostName(authority)) return 'unclear'
  return { method, authority, path: path ?? '', lines, cookie, length }
}

/** Whether a field describes a connection of HTTP/1.1: it makes a request malformed, and trailers too (RFC 9113, 8.2.2). */
export function isConnectionSpecific({ name, value }: HeaderFieldLike): boolean {
  return CONNECTION_SPECIFIC.has(name) || (name === 'te' && value.toLowerCase() !== 'trailers')
}

/** A GET or HEAD without ambiguity, as an `HttpRequest`. Its body must have ended. */
export function toPlainRequest({
  method,
  authority,
  path,
  lines,
  cookie,
  length,
}: RequestHead): HttpRequest | undefined {
  if (method !== 'GET' && method !== 'HEAD') return undefined
  if (length || !PLAIN_TARGET.test(path) || !PLAIN_HOST.test(authority)) return undefined
  const target = splitTarget(path)
  if (!target) return undefined
  const headers: Record<string, string> = {}
  if (cookie !== undefined) headers.cookie = cookie
  for (const { name, value } of lines) {
    if (name === 'expect') return undefined
    if (!RELEVANT.has(name)) continue
    if (headers[name] !== undefined) return undefined
    headers[name] = value
  }
  return { host: authority, target, headers, isSecure: true, isHead: method === 'HEAD' }
}

/** False for an unknown, repeated or empty pseudo-header. */
function readPseudo(pseudo: Pseudo, { name, value }: HeaderFieldLike): boolean {
  if (!PSEUDO_HEADERS.has(name) || pseudo[name as keyof Pseudo] !== undefined) return false
  pseudo[name as keyof Pseudo] = value
  return true
}

function isOriginForm(method: string, path: string): boolean {
  return path[0] === '/' || (path === '*' && method === 'OPTIONS')
}
