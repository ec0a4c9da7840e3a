import type { Writable } from 'node:stream'
import type { Pieces } from '../memory/pieces.ts'

/** Bytes that may wait for a client to read them. */
const AHEAD = 256 * 1024

/**
 * Sends pieces as fast as the client takes them; one that takes nothing is for others to cut off. Resolves with true
 * once all were handed over, with false when the client went away; rejects when a piece cannot be had. However it ends,
 * the pieces are closed.
 */
export async function pour(pieces: Pieces, sink: Writable): Promise<boolean> {
  try {
    for (;;) {
      const next = pieces.next()
      const bytes = next instanceof Promise ? await next : next
      if (sink.destroyed) return false
      if (bytes === undefined) return true
      sink.write(bytes)
      if (sink.writableLength > AHEAD) await drained(sink)
    }
  } finally {
    pieces.close()
  }
}

function drained(sink: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      sink.off('drain', done)
      sink.off('close', done)
      resolve()
    }
    sink.on('drain', done)
    sink.on('close', done)
  })
}
