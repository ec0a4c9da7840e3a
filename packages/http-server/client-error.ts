import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { LingeringConnections } from './lingering.ts'
import { http } from './node-http.ts'

export interface LastExchange {
  request: IncomingMessage
  response: ServerResponse
}

interface ParserError extends NodeJS.ErrnoException {
  /** What was being read, and where the error is. */
  rawPacket?: Buffer
  bytesParsed?: number
}

interface ClientErrorOptions {
  last: LastExchange | undefined
  lingering: LingeringConnections
}

const STATUSES: Record<string, number> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  HPE_HEADER_OVERFLOW: 431,
}

/** Answers earlier requests to their end, then rejects the malformed one unless it is the rest of an answered one. */
export function onClientError(
  error: ParserError,
  socket: Duplex,
  { last, lingering }: ClientErrorOptions,
): void {
  const end = () => lingering.close(socket)
  const refuse = () => {
    // A response with `Connection: close` has ended the connection: no second one may follow it.
    if (socket.writable) socket.write(formatErrorResponse(error))
    end()
  }
  if (!socket.writable) return void (lingering.isClosing(socket) || socket.destroy())
  const after = (response: ServerResponse, next: () => void) =>
    isAnswered(response) ? next() : response.once('close', next)
  if (!last) return void refuse()
  const { request, response } = last
  // After `Connection: close` the client expects no further response.
  if (request.complete) return void after(response, error.code === 'HPE_CLOSED_CONNECTION' ? end : refuse)
  const refuseOrEnd = () => (response.headersSent ? after(response, end) : refuse())
  // Until its turn, responses to earlier requests are sent.
  if (response.socket || isAnswered(response)) refuseOrEnd()
  else response.once('socket', refuseOrEnd)
}

export function isAnswered({ writableFinished, destroyed }: ServerResponse): boolean {
  return writableFinished || destroyed
}

/** The last response of a connection, beside a handler. */
export function formatRefusal(status: number, fields: readonly string[] = [], body = ''): string {
  return [
    `HTTP/1.1 ${status} ${http.STATUS_CODES[status]}`,
    `Date: ${new Date().toUTCString()}`,
    ...fields,
    `Content-Length: ${body.length}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}

function formatErrorResponse(error: ParserError): string {
  if (!hasUnknownMethod(error)) return formatRefusal(STATUSES[error.code ?? ''] ?? 400)
  const headers = ['Content-Type: text/plain; charset=utf-8', 'Cache-Control: no-store']
  return formatRefusal(501, headers, 'Unsupported method\n')
}

/** A well-formed request line (RFC 9112, 3) whose method Node's parser does not know (RFC 9110, 9.1). */
function hasUnknownMethod({ code, rawPacket, bytesParsed = 0 }: ParserError): boolean {
  if (code !== 'HPE_INVALID_METHOD' || !rawPacket) return false
  const start = rawPacket.subarray(0, bytesParsed).lastIndexOf('\n') + 1
  return REQUEST_LINE.test(rawPacket.toString('latin1', start, start + MAX_LINE_BYTES))
}

const MAX_LINE_BYTES = 8192
const REQUEST_LINE = /^[\w!#$%&'*+.^`|~-]+ [!-~]+ HTTP\/1\.[01]\r?\n/
