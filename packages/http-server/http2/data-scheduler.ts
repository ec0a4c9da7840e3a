import {
  FLAG,
  FRAME_HEADER_BYTES,
  INITIAL_WINDOW_BYTES,
  MAX_FRAME_BYTES,
  TYPE,
  writeFrameHead,
} from './frame.ts'
import type { Stream } from './stream.ts'
import type { WriteBuffer } from './write-buffer.ts'

const HIGH_WATER_MARK_BYTES = 256 * 1024

/**
 * With less left of the window of the connection, what a stream has to send is not cut to fit: a client that
 * acknowledges each frame would get ever smaller ones (the silly window syndrome of RFC 9293, 3.8.6.2).
 */
const MIN_CUT_BYTES = 4096

/** Milliseconds that the window may stay as small before it is used up nevertheless. */
const MAX_HOLD_MS = 50

interface DataSchedulerOptions {
  writeBuffer: WriteBuffer
  onSent: (stream: Stream) => void
  onProgress: (stream: Stream, bytes: number) => void
}

/** Streams take turns by DATA frames, under the flow control of the connection and their own (RFC 9113, 5.2). */
export class DataScheduler {
  readonly #writeBuffer: WriteBuffer
  readonly #onSent: DataSchedulerOptions['onSent']
  readonly #onProgress: DataSchedulerOptions['onProgress']
  window = INITIAL_WINDOW_BYTES
  /** Bytes of DATA frames that the windows allowed. */
  sentBytes = 0
  /** Streams that have bytes to send and a window. */
  readonly #queue: Stream[] = []
  /** Runs while bytes are held back because the window is small. */
  #hold: NodeJS.Timeout | undefined

  constructor({ writeBuffer, onSent, onProgress }: DataSchedulerOptions) {
    this.#writeBuffer = writeBuffer
    this.#onSent = onSent
    this.#onProgress = onProgress
  }

  push(stream: Stream, bytes: Buffer): void {
    if (stream.closed || bytes.length === 0) return
    stream.queue(bytes)
    this.wake(stream)
  }

  end(stream: Stream): void {
    if (stream.closed) return
    stream.isLast = true
    if (stream.bufferedBytes > 0) return
    this.#writeBuffer.begin()
    this.#send(stream, 0)
    this.#writeBuffer.end()
  }

  /** Whether bytes wait for the window of the connection. */
  get isBlocked(): boolean {
    return this.window < MIN_CUT_BYTES && this.#queue.some(({ bufferedBytes: queued }) => queued > 0)
  }

  close(): void {
    clearTimeout(this.#hold)
    this.#queue.length = 0
  }

  /** A stream may have bytes to send, or a window. */
  wake(stream: Stream): void {
    this.enqueue(stream)
    this.pump()
  }

  /** The same for one of several streams that start together. */
  enqueue(stream: Stream): void {
    if (stream.isQueued || stream.bufferedBytes === 0 || stream.window <= 0) return
    stream.isQueued = true
    this.#queue.push(stream)
  }

  /** Sends as much as may be sent now; with `minCut` 0 also what uses up a small window. */
  pump(minCut = MIN_CUT_BYTES): void {
    if (this.#queue.length === 0) return
    let held = 0
    this.#writeBuffer.begin()
    while (
      this.#queue.length > held &&
      this.window > 0 &&
      this.#writeBuffer.canBuffer(HIGH_WATER_MARK_BYTES)
    ) {
      const stream = this.#queue.shift()!
      const wanted = Math.min(MAX_FRAME_BYTES, stream.bufferedBytes, stream.window)
      if (wanted > this.window && this.window < minCut) {
        this.#queue.push(stream)
        held++
        continue
      }
      const count = Math.min(wanted, this.window)
      stream.isQueued = count > 0 && stream.bufferedBytes > count && stream.window > count
      if (stream.isQueued) this.#queue.push(stream)
      if (count > 0) this.#send(stream, count)
    }
    this.#writeBuffer.end()
    if (held > 0) this.#hold ??= setTimeout(() => this.#endHold(), MAX_HOLD_MS).unref()
  }

  #endHold(): void {
    this.#hold = undefined
    this.pump(0)
  }

  #send(stream: Stream, count: number): void {
    const isLast = stream.isLast && count === stream.bufferedBytes
    const at = this.#writeBuffer.reserve(FRAME_HEADER_BYTES + count)
    const flags = isLast ? FLAG.endStream : 0
    const { target } = this.#writeBuffer
    writeFrameHead(target, at, { type: TYPE.data, flags, stream: stream.id, length: count })
    stream.window -= count
    this.window -= count
    this.sentBytes += count
    stream.read(count, target, at + FRAME_HEADER_BYTES)
    this.#onProgress(stream, count)
    if (isLast) this.#onSent(stream)
  }
}
