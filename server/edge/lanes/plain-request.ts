import type { IncomingMessage, ServerResponse } from 'node:http'
import { readTarget } from '../target.ts'

/** Why a request is not answered: what it says can be read in two ways, or is of a protocol that is not spoken here. */
interface Refusal {
  status: 400 | 501 | 505
  text: string
}

/** RFC 9112, 3.2: a name or an address, and a port. */
const HOST = /^(?:[\w.-]+|\[[\d.:a-f]+\])(?::\d{0,5})?$/i

/**
 * Refuses what Node's parser lets pass although this server and another one in front of it, or behind a careless
 * client, could read it differently (RFC 9112, 3.2, 6.1 and 11.2; contract, "Serving", 8): then the connection ends too.
 * True when the request was answered.
 */
export function refuseUnclear(request: IncomingMessage, response: ServerResponse): boolean {
  // After an upgrade that was not taken, Node reads nothing further from the connection.
  if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false
  const refusal = refusalOf(request)
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

function refusalOf(request: IncomingMessage): Refusal | undefined {
  const { httpVersion, headers } = request
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    return { status: 505, text: 'HTTP/1.1 is spoken here' }
  }
  const coding = headers['transfer-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    return { status: 501, text: 'The one transfer coding that is understood here is chunked' }
  }
  const clear = headers.host === undefined || HOST.test(headers.host)
  if (clear && readTarget(request)) return undefined
  return { status: 400, text: 'The request is malformed, or says two different things about its host' }
}
