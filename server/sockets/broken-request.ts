import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'

/** What came last on a connection, and its answer. */
export interface Exchange {
  request: IncomingMessage
  response: ServerResponse
}

const STATUSES: Record<string, number> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  HPE_HEADER_OVERFLOW: 431,
}

/**
 * Ends a connection whose bytes cannot be parsed any further: what was asked before is answered to its end, and what is
 * broken is refused, unless it is the rest of a request that has its answer already. So no request gets two answers.
 */
export function endBroken(error: NodeJS.ErrnoException, socket: Duplex, last: Exchange | undefined): void {
  const refuse = () => {
    socket.end(refusal(STATUSES[error.code ?? ''] ?? 400), () => socket.destroy())
  }
  const end = () => socket.destroy()
  if (!socket.writable) return void end()
  if (!last) return void refuse()
  const { request, response } = last
  const isAnswered = response.writableFinished || response.destroyed
  if (!request.complete) {
    if (!response.headersSent) refuse()
    else if (isAnswered) end()
    else response.once('close', end)
    return
  }
  // After `Connection: close` nobody waits for an answer to what follows.
  const next = error.code === 'HPE_CLOSED_CONNECTION' ? end : refuse
  if (isAnswered) next()
  else response.once('close', next)
}

function refusal(status: number): string {
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`
}
