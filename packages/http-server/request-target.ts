import type { IncomingMessage } from 'node:http'
import { hostName } from './host-name.ts'
import type { RequestTarget } from './http-handler.ts'

/** RFC 9112, 3.2: a name or an address, and a port. */
export const HOST_PATTERN = /^(?:[\w.-]+|\[[\d.:a-f]+\])(?::\d{0,5})?$/i

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
