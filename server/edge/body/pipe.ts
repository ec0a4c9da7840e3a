import type { Writable } from 'node:stream'
import type { SendQueue } from '../../lib/send-queue.ts'
import { CHUNK_BYTES, type ChunkReader, SMALL_READ } from './chunk-reader.ts'

/** Where pieces go to. */
export interface Sink {
  /** Whether the client is gone. */
  readonly destroyed: boolean
  /** Whether the client has to take some of what was written before more is. */
  readonly isFull: boolean
  write(bytes: Buffer): void
  /** Resolves when it is not full any more, or the client is gone. */
  drained(): Promise<void>
  /** Accounts for what was written and waits for the client. */
  account(): void
}

/** A client that takes nothing for this long reads slowly: nothing is read ahead for it, and little at a time. */
const STALL_MS = 1000

/** A wait this short allows for more at a time. */
const PROMPT_MS = 100

/**
 * Sends pieces as fast as the client takes them; one that takes too little is for others to cut off. Resolves with true once all were handed over, with false when the client went away; rejects when a piece
 * cannot be had. However it ends, the pieces are closed.
 */
export async function pipeChunks(pieces: ChunkReader, sink: Sink): Promise<boolean> {
  let limit = SMALL_READ
  try {
    for (;;) {
      const next = pieces.next(limit)
      const bytes = next instanceof Promise ? await next : next
      if (sink.destroyed) return false
      if (bytes === undefined) return true
      sink.write(bytes)
      const waitedMs = sink.isFull ? await waitFor(sink, pieces) : 0
      if (waitedMs < PROMPT_MS) limit = Math.min(2 * limit, CHUNK_BYTES)
      else if (waitedMs >= STALL_MS) limit = SMALL_READ
    }
  } finally {
    pieces.close()
  }
}

/** A socket or a response as a sink, and the queue of its connection. */
export function writableSink(writable: Writable, queue: SendQueue | undefined): Sink {
  return {
    get destroyed() {
      return writable.destroyed
    },
    get isFull() {
      return writable.writableNeedDrain
    },
    write: (bytes) => void writable.write(bytes),
    drained: () => waitForDrain(writable),
    account: () => queue?.update(),
  }
}

/** Resolves with how long it took, in milliseconds. */
async function waitFor(sink: Sink, pieces: ChunkReader): Promise<number> {
  const start = performance.now()
  const stalled = setTimeout(() => pieces.close(), STALL_MS)
  sink.account()
  await sink.drained()
  sink.account()
  clearTimeout(stalled)
  return performance.now() - start
}

function waitForDrain(writable: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      writable.off('drain', done)
      writable.off('close', done)
      resolve()
    }
    writable.on('drain', done)
    writable.on('close', done)
  })
}
