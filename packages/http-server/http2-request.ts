import type { Duplex } from 'node:stream'
import type { RequestLike } from './clients/client-ip.ts'
import { hostName } from './host-name.ts'
import { type HttpHandler, type HttpRequest, type HttpResponse, RELEVANT_HEADERS } from './http-handler.ts'
import { HOST_PATTERN, splitTarget } from './request-target.ts'
import { isCovered } from './tls/covered-hosts.ts'

export interface RequestField {
  readonly name: string
  readonly value: string
  /** Whether it is valid in a message. */
  readonly isWellFormed: boolean
}

export interface RequestHead {
  method: string
  authority: string
  path: string
  /** All fields but pseudo-headers, Host and Cookie. */
  lines: RequestField[]
  cookie: string | undefined
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

export const HTTP1_ONLY_HEADERS: ReadonlySet<string> = new Set([
  ...CONNECTION_SPECIFIC,
  'http2-settings',
  'te',
  'trailer',
])

const TOKEN = /^[!#$%&'*+.^`|~\w-]+$/

const SCHEME = /^https?$/i

/** The plain targets and hosts that `http1/request-parser.ts` accepts. */
const PLAIN_TARGET = /^\/[\w.~!$&'()*+,;=:@/%?-]*$/
const PLAIN_HOST = /^[\w.-]+(?::\d{0,5})?$/

const RELEVANT: ReadonlySet<string> = new Set(RELEVANT_HEADERS)

type Interpretation =
  | { kind: 'malformed' }
  | { kind: 'rejected'; response: HttpResponse; isHead: boolean }
  /** `plain` is the same request, when the handler may have its response. */
  | { kind: 'accepted'; head: RequestHead; plain: HttpRequest | undefined }

interface ReceivedRequest {
  fields: readonly RequestField[]
  /** Whether it has no body. */
  ended: boolean
  socket: Duplex & RequestLike['socket']
  handler: HttpHandler
}

/** CONNECT is not supported (RFC 9110, 9.3.6). */
const NO_TUNNEL: HttpResponse = {
  status: 405,
  headers: ['Allow', 'GET, HEAD, OPTIONS', 'Content-Length', '0'],
}

/** Concurrent open bodies of one connection; each takes some hundred KiB. */
export const OPEN_BODIES = { running: 32, waiting: 100 }

export function interpretRequest({ fields, ended, socket, handler }: ReceivedRequest): Interpretation {
  const head = readRequestHead(fields)
  if (head === 'malformed') return { kind: 'malformed' }
  const isHead = fields.some(({ name, value }) => name === ':method' && value === 'HEAD')
  if (head === 'unclear') return { kind: 'rejected', response: handler.errorResponse(400), isHead }
  if (!isCovered(socket, head.authority))
    return { kind: 'rejected', response: handler.errorResponse(421), isHead }
  if (ended && head.length) return { kind: 'malformed' }
  if (head.method === 'CONNECT') return { kind: 'rejected', response: NO_TUNNEL, isHead: false }
  const plain = ended && handler.servesHost(head.authority) ? toPlainRequest(head, socket) : undefined
  return { kind: 'accepted', head, plain }
}

export function forwardedFor({ lines }: RequestHead): string {
  const found = lines.filter(({ name }) => name === 'x-forwarded-for')
  return found.map(({ value }) => value).join(',')
}

/** RFC 9113, 8.3.1. `malformed` is no valid request, `unclear` has several hosts or none. */
function readRequestHead(fields: readonly RequestField[]): RequestHead | 'malformed' | 'unclear' {
  const pseudo: Pseudo = {}
  const lines: RequestField[] = []
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

/** Whether a field is about a connection of HTTP/1.1, which makes requests and trailers malformed (RFC 9113, 8.2.2). */
export function isConnectionSpecific({ name, value }: RequestField): boolean {
  return CONNECTION_SPECIFIC.has(name) || (name === 'te' && value.toLowerCase() !== 'trailers')
}

/** A GET or HEAD without ambiguity, as an `HttpRequest`. Its body must have ended. */
function toPlainRequest(
  { method, authority, path, lines, cookie, length }: RequestHead,
  socket: RequestLike['socket'],
): HttpRequest | undefined {
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
  return { host: authority, target, headers, socket, isSecure: true, isHead: method === 'HEAD' }
}

/** False for an unknown, repeated or empty pseudo-header. */
function readPseudo(pseudo: Pseudo, { name, value }: RequestField): boolean {
  if (!PSEUDO_HEADERS.has(name) || pseudo[name as keyof Pseudo] !== undefined) return false
  pseudo[name as keyof Pseudo] = value
  return true
}

function isOriginForm(method: string, path: string): boolean {
  return path[0] === '/' || (path === '*' && method === 'OPTIONS')
}
