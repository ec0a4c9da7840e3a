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
    if (socket.writable) socket.write(formatError(STATUSES[error.code ?? ''] ?? 400))
    end()
  }
  if (!socket.writable) return void (lingering.isClosing(socket) || socket.destroy())
  if (!last) return void refuse()
  const { request, response } = last
  const isAnswered = response.writableFinished || response.destroyed
  if (!request.complete) {
    if (!response.headersSent) refuse()
    else if (isAnswered) end()
    else response.once('close', end)
    return
  }
  // After `Connection: close` the client expects no further response.
  const next = error.code === 'HPE_CLOSED_CONNECTION' ? end : refuse
  if (isAnswered) next()
  else response.once('close', next)
}

function formatError(status: number): string {
  return `HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`
}
