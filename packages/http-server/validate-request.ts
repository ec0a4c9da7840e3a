import type { IncomingMessage, ServerResponse } from 'node:http'
import { HOST_PATTERN, readTarget } from './request-target.ts'
import { isCovered } from './tls/covered-hosts.ts'

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
  if (!refusal) return false
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
