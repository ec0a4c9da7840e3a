import type { IncomingMessage, ServerResponse } from 'node:http'

/** Bytes that a rejected client may still send, and for how long, before its connection is closed. */
const MAX_DRAINED_BYTES = 4 * 2 ** 20
const MAX_DRAIN_MS = 2000

/**
 * Lets a client that is still sending read why it was rejected: a connection that is closed while bytes arrive is
 * reset, and the response is lost. Drains a bounded number of bytes, then closes the connection. The response
 * announces that for a body that may be larger, so that the client does not reuse the connection.
 */
export function linger(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete || request.destroyed) return
  const declaredBytes = Number(request.headers['content-length'])
  if (!(declaredBytes <= MAX_DRAINED_BYTES)) response.setHeader('Connection', 'close')
  response.once('finish', () => {
    if (request.complete) return
    let remainingBytes = MAX_DRAINED_BYTES
    const end = () => request.socket.destroy()
    const timer = setTimeout(end, MAX_DRAIN_MS)
    request.once('close', () => clearTimeout(timer))
    request.on('data', (chunk: Buffer) => {
      remainingBytes -= chunk.length
      if (remainingBytes < 0) end()
    })
  })
}
