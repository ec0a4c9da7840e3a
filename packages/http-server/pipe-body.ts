import type { Writable } from 'node:stream'
import type { SendQueue } from './clients/send-queue.ts'
import { type BodyReader, FULL_READ_BYTES, SMALL_READ_BYTES } from './http-handler.ts'

export interface Sink {
  readonly destroyed: boolean
  /** Whether writing must wait until the client has read more. */
  readonly isFull: boolean
  write(bytes: Buffer): void
  /** Resolves when it is not full any more, or the client has disconnected. */
  drained(): Promise<void>
  /** Accounts for what was written and waits for the client. */
  account(): void
  abort(): void
}

/** A client that reads nothing for this long is slow: it gets smaller reads and no read-ahead. */
const STALL_MS = 1000

/** A client that drains within this time is fast and gets larger reads. */
const PROMPT_MS = 100

/** Always closes the reader. False after the client disconnected or the body was unreadable: it aborts the response. */
export async function pipeBody(body: BodyReader, sink: Sink): Promise<boolean> {
  try {
    return await writeChunks(body, sink)
  } catch {
    sink.abort()
    return false
  } finally {
    body.close()
  }
}

export function writableSink(writable: Writable, queue: Pick<SendQueue, 'update'> | undefined): Sink {
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
    abort: () => void writable.destroy(),
  }
}

async function writeChunks(body: BodyReader, sink: Sink): Promise<boolean> {
  for (let limit = FULL_READ_BYTES; ; ) {
    const next = body.next(limit)
    const bytes = next instanceof Promise ? await next : next
    if (sink.destroyed) return false
    if (bytes === undefined) return true
    sink.write(bytes)
    const waitedMs = sink.isFull ? await waitForSink(sink, body) : 0
    if (waitedMs < PROMPT_MS) limit = Math.min(2 * limit, FULL_READ_BYTES)
    else if (waitedMs >= STALL_MS) limit = SMALL_READ_BYTES
  }
}

/** Resolves with the time it took, in milliseconds. */
async function waitForSink(sink: Sink, body: BodyReader): Promise<number> {
  const start = performance.now()
  const stalled = setTimeout(() => body.stall(), STALL_MS)
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
