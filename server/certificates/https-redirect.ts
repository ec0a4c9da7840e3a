import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TLSSocket } from 'node:tls'
import type { Https } from './https.ts'

/** Returns whether it did. Other hosts, `/health` and `/ready` are left alone: monitoring uses any name and no TLS. */
export function redirectToHttps(
  https: Https,
  baseUrl: string,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  const { socket, headers, url = '/' } = request
  if ((socket as TLSSocket).encrypted || !url.startsWith('/') || /^\/(health|ready)($|\?)/.test(url))
    return false
  const host = headers.host?.toLowerCase().replace(/\.?(:\d*)?$/, '')
  if (host !== new URL(baseUrl).hostname || !https.coversService()) return false
  response.writeHead(308, { Location: baseUrl + url, 'Content-Length': 0, 'Cache-Control': 'no-store' })
  response.end()
  return true
}
