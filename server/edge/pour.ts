import type { Socket } from 'node:net'
import { finished, type Readable } from 'node:stream'

/**
 * Sends a stream over a socket as fast as the client takes it. Resolves with true once `size` bytes were handed over;
 * with false when the socket closed first. Rejects when the stream fails, or has fewer or more bytes. However it ends,
 * the stream is released.
 */
export function pour(source: Readable, socket: Socket, size: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    let sent = 0
    const resume = () => source.resume()
    const close = () => source.destroy()
    source.on('data', (chunk: Buffer) => {
      sent += chunk.length
      if (sent <= size && !socket.write(chunk)) source.pause()
    })
    socket.on('drain', resume)
    socket.on('close', close)
    finished(source, (error) => {
      socket.off('drain', resume)
      socket.off('close', close)
      source.destroy()
      if (socket.destroyed) resolve(false)
      else if (!error && sent === size) resolve(true)
      else reject(error ?? new Error(`${sent} bytes came of ${size}`))
    })
    if (socket.destroyed) source.destroy()
  })
}
