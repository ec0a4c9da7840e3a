import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TLSSocket } from 'node:tls'
import type { Https } from './https.ts'

/**
 * Sends a request for the service's own host to HTTPS, once it can be had there; true when it was. Who looks after the
 * machine asks by whatever name and without TLS: those requests, and `/health`, are left alone.
 */
export function toHttps(
  https: Https,
  baseUrl: string,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  const { socket, headers, url = '/' } = request
  if ((socket as TLSSocket).encrypted || !url.startsWith('/') || /^\/health($|\?)/.test(url)) return false
  const host = headers.host?.toLowerCase().replace(/\.?(:\d*)?$/, '')
  if (host !== new URL(baseUrl).hostname || !https.coversService()) return false
  response.writeHead(308, { Location: baseUrl + url, 'Content-Length': 0, 'Cache-Control': 'no-store' })
  response.end()
  return true
}
