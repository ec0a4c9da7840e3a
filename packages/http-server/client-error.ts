import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { LingeringConnections } from './lingering.ts'
import { http } from './node-http.ts'

export interface LastExchange {
  request: IncomingMessage
  response: ServerResponse
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
  error: NodeJS.ErrnoException,
  socket: Duplex,
  { last, lingering }: ClientErrorOptions,
): void {
  const end = () => lingering.close(socket)
  const refuse = () => {
    // A response with `Connection: close` has ended the connection: no second one may follow it.
    if (socket.writable) socket.write(formatRefusal(STATUSES[error.code ?? ''] ?? 400))
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
