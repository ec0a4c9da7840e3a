import type { IncomingMessage, ServerResponse } from 'node:http'

/** What a refused client may still send before its connection ends. */
const BYTES = 4 * 2 ** 20
const MILLISECONDS = 2000

/**
 * Lets a client that is still sending read why it was refused: a connection that is closed while bytes arrive is
 * reset, and the answer lost with it. Takes in a little more than it needs, then ends the connection.
 */
export function linger(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete || request.destroyed) return
  response.once('finish', () => {
    if (request.complete) return
    let left = BYTES
    const end = () => request.socket.destroy()
    const timer = setTimeout(end, MILLISECONDS)
    request.once('close', () => clearTimeout(timer))
    request.on('data', (chunk: Buffer) => {
      left -= chunk.length
      if (left < 0) end()
    })
  })
}
