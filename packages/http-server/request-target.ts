import type { IncomingMessage, ServerResponse } from 'node:http'
import { hostName } from './host-name.ts'
import type { RequestTarget } from './http-handler.ts'
import { isCovered } from './tls/covered-hosts.ts'

/** RFC 9112, 3.2: a name or an address, and a port up to 65535. */
export const HOST_PATTERN =
  /^(?:[\w.-]+|\[[\d.:a-f]+\])(?::(?:\d{0,4}|[0-5]\d{4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5]))?$/i

/** Undefined when it is malformed or its host ambiguous: two Host headers, or another host. */
export function readTarget(request: IncomingMessage): RequestTarget | undefined {
  const url = request.url ?? ''
  if (countHostHeaders(request.rawHeaders) > 1) return undefined
  if (url.startsWith('/')) return splitTarget(url)
  if (url === '*' && request.method === 'OPTIONS') return { path: url, query: '' }
  const [, authority, rest] = /^https?:\/\/([^/?#]*)(.*)/is.exec(url) ?? []
  if (authority === undefined || rest === undefined) return undefined
  if (hostName(authority) !== hostName(request.headers.host ?? '')) return undefined
  // A copy: a cached path must not hold an authority of any length in memory.
  const own = Buffer.from(rest, 'latin1').toString('latin1')
  return splitTarget(own.startsWith('/') ? own : `/${own}`)
}

/** A fragment is never sent (RFC 9112, 3.2), so a target with one is invalid. */
export function splitTarget(url: string): RequestTarget | undefined {
  if (url.includes('#')) return undefined
  const at = url.indexOf('?')
  return at < 0 ? { path: url, query: '' } : { path: url.slice(0, at), query: url.slice(at) }
}

function countHostHeaders(rawHeaders: readonly string[]): number {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!
    if (name.length === 4 && name.toLowerCase() === 'host') count++
  }
  return count
}

interface Rejection {
  status: 400 | 421 | 501 | 505
  text: string
}

/**
 * Rejects requests that Node's parser accepts although another server in front could read them differently
 * (RFC 9112, 3.2, 6.1 and 11.2); the connection closes. Returns whether the request
 * was answered.
 */
export function rejectAmbiguous(request: IncomingMessage, response: ServerResponse): boolean {
  // After an upgrade that was not accepted, Node reads nothing further from the connection.
  if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false
  const refusal = findRejection(request)
  if (!refusal) {
    toOriginForm(request)
    return false
  }
  const body = `${refusal.text}\n`
  response.writeHead(refusal.status, {
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
    Connection: 'close',
  })
  response.end(body)
  return true
}

/** What follows compares paths, of which an absolute URL is another form (RFC 9112, 3.2.2). */
function toOriginForm(request: IncomingMessage): void {
  if (request.url!.startsWith('/')) return
  const { path, query } = readTarget(request)!
  request.url = path + query
}

function findRejection(request: IncomingMessage): Rejection | undefined {
  const { httpVersion, headers } = request
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    return { status: 505, text: 'Unsupported HTTP version. Use HTTP/1.1 or HTTP/2.' }
  }
  const coding = headers['transfer-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    return { status: 501, text: 'Unsupported Transfer-Encoding. Use chunked.' }
  }
  if (coding !== undefined && httpVersion === '1.0') {
    return { status: 400, text: 'HTTP/1.0 has no Transfer-Encoding' }
  }
  if (headers.host === undefined && httpVersion === '1.1') {
    return { status: 400, text: 'Missing Host header' }
  }
  const clear = headers.host === undefined || HOST_PATTERN.test(headers.host)
  if (clear && readTarget(request)) {
    if (isCovered(request.socket, headers.host ?? '')) return undefined
    return { status: 421, text: "This connection's certificate does not cover the requested host" }
  }
  return { status: 400, text: 'The request is malformed, or names two different hosts' }
}
