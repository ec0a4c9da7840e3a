import { type Asked, VISIT_HEADERS } from '../../asked.ts'
import { hostName } from '../../host.ts'
import type { Field } from './hpack/static-table.ts'

/** The head of a request of HTTP/2. */
export interface RequestHead {
  method: string
  authority: string
  path: string
  /** All but pseudo-headers, Host and Cookie. */
  lines: Field[]
  cookie: string | undefined
  /** Bytes of the body, when they are said. */
  length: number | undefined
}

/** A GET or HEAD that leaves no doubt. */
export interface Visit {
  asked: Asked
  head: boolean
}

type Pseudo = Partial<Record<':method' | ':scheme' | ':authority' | ':path', string>>

const PSEUDO: ReadonlySet<string> = new Set([':method', ':scheme', ':authority', ':path'])

/** RFC 9113, 8.2.2. */
const OF_HTTP_1: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
])

const TOKEN = /^[!#$%&'*+.^`|~\w-]+$/

/** RFC 9112, 3.2: a name or an address, and a port. */
const HOST = /^(?:[\w.-]+|\[[\d.:a-f]+\])(?::\d{0,5})?$/i

/** What the recogniser of HTTP/1.1 takes for a plain target and a plain host: see there. */
const PLAIN_TARGET = /^\/[\w.~!$&'()*+,;=:@/%?-]*$/
const PLAIN_HOST = /^[\w.-]+(?::\d{0,5})?$/

const VISIT: ReadonlySet<string> = new Set(VISIT_HEADERS)

/**
 * Reads the fields of a request (RFC 9113, 8.3.1). `malformed` is what is no request at all, `unclear` what says two
 * things about its host, or nothing (contract, "Serving", 8).
 */
export function readRequestHead(fields: readonly Field[]): RequestHead | 'malformed' | 'unclear' {
  const pseudo: Pseudo = {}
  const lines: Field[] = []
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
    else if (OF_HTTP_1.has(name) || (name === 'te' && value.toLowerCase() !== 'trailers')) return 'malformed'
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
  } else if (scheme === undefined || !path || !isOrigin(method, path)) return 'malformed'
  // Node would make capitals of it, and another request (RFC 9110, 9.1).
  if (method !== method.toUpperCase()) isUnclear = true
  if (isUnclear || authority === undefined || !HOST.test(authority)) return 'unclear'
  if (host !== undefined && hostName(host) !== hostName(authority)) return 'unclear'
  return { method, authority, path: path ?? '', lines, cookie, length }
}

/** The request as one that can be answered from tables, if it is. Its body has to have ended. */
export function plainVisit({
  method,
  authority,
  path,
  lines,
  cookie,
  length,
}: RequestHead): Visit | undefined {
  if (method !== 'GET' && method !== 'HEAD') return undefined
  if (length || !PLAIN_TARGET.test(path) || !PLAIN_HOST.test(authority)) return undefined
  const headers: Record<string, string> = {}
  if (cookie !== undefined) headers.cookie = cookie
  for (const { name, value } of lines) {
    if (name === 'expect') return undefined
    if (!VISIT.has(name)) continue
    if (headers[name] !== undefined) return undefined
    headers[name] = value
  }
  const at = path.indexOf('?')
  const target = at < 0 ? { path, query: '' } : { path: path.slice(0, at), query: path.slice(at) }
  const head = method === 'HEAD'
  return { asked: { host: authority, target, headers, secure: true, head, site: undefined }, head }
}

/** False for one that there is not, that came already, or that says nothing. */
function readPseudo(pseudo: Pseudo, { name, value }: Field): boolean {
  if (!PSEUDO.has(name) || pseudo[name as keyof Pseudo] !== undefined) return false
  pseudo[name as keyof Pseudo] = value
  return true
}

function isOrigin(method: string, path: string): boolean {
  return path[0] === '/' || (path === '*' && method === 'OPTIONS')
}
