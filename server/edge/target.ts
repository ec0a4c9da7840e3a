import type { IncomingMessage } from 'node:http'
import { hostName } from './host.ts'

/** What a request asks for, as it came: percent-encoded, `query` with its question mark or empty. */
export interface Target {
  path: string
  query: string
}

/**
 * The target of a request, or undefined when it is malformed or says two things about its host (contract,
 * "Serving", 8): two Host headers, or an absolute target of another host.
 */
export function readTarget(request: IncomingMessage): Target | undefined {
  const url = request.url ?? ''
  if (hosts(request.rawHeaders) > 1) return undefined
  if (url.startsWith('/')) return split(url)
  if (url === '*' && request.method === 'OPTIONS') return { path: url, query: '' }
  const [, authority, rest] = /^https?:\/\/([^/?#]*)(.*)$/i.exec(url) ?? []
  if (authority === undefined || rest === undefined) return undefined
  if (hostName(authority) !== hostName(request.headers.host ?? '')) return undefined
  // Bytes of its own: whoever keeps the path must not keep an authority of any length with it.
  const own = Buffer.from(rest, 'latin1').toString('latin1')
  return split(own.startsWith('/') ? own : `/${own}`)
}

/** A path of this same host, with its query. Whatever a browser could read as another host's becomes `/`. */
export function samePlace(next: string | null | undefined): string {
  return next && /^\/(?!\/)[!-[\]-~]*$/.test(next) ? next : '/'
}

/** A fragment never travels (RFC 9112, 3.2), so a target with one is no target. */
function split(url: string): Target | undefined {
  if (url.includes('#')) return undefined
  const at = url.indexOf('?')
  return at < 0 ? { path: url, query: '' } : { path: url.slice(0, at), query: url.slice(at) }
}

function hosts(rawHeaders: readonly string[]): number {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!
    if (name.length === 4 && name.toLowerCase() === 'host') count++
  }
  return count
}
