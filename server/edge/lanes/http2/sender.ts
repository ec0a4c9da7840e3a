import { FIRST_WINDOW, FLAG, HEADER, MOST_PAYLOAD, TYPE, writeFrameHead } from './frame.ts'
import type { Outbox } from './outbox.ts'
import type { Stream } from './stream.ts'

/** Bytes of bodies that may wait for a client to read them. */
const AHEAD = 256 * 1024

interface SenderOptions {
  outbox: Outbox
  /** A stream has sent the last that it had. */
  onSent: (stream: Stream) => void
  /** A stream has sent something. */
  onProgress: (stream: Stream, bytes: number) => void
}

/**
 * Sends the bodies of a connection under its flow control and that of each stream (RFC 9113, 5.2): streams take turns, a
 * frame each.
 */
export class Sender {
  readonly #outbox: Outbox
  readonly #onSent: SenderOptions['onSent']
  readonly #onProgress: SenderOptions['onProgress']
  /** Bytes that the client takes over all streams. */
  window = FIRST_WINDOW
  /** Those that have bytes to send and were not found without a window. */
  readonly #line: Stream[] = []

  constructor({ outbox, onSent, onProgress }: SenderOptions) {
    this.#outbox = outbox
    this.#onSent = onSent
    this.#onProgress = onProgress
  }

  push(stream: Stream, bytes: Buffer): void {
    if (stream.closed || bytes.length === 0) return
    stream.queue(bytes)
    this.wake(stream)
  }

  /** What was pushed is all. */
  end(stream: Stream): void {
    if (stream.closed) return
    stream.isLast = true
    if (stream.queued > 0) return
    this.#outbox.begin()
    this.#send(stream, 0)
    this.#outbox.end()
  }

  /** A stream may have something to send, or leave to. */
  wake(stream: Stream): void {
    this.queue(stream)
    this.pump()
  }

  /** The same for one of several that are to begin together. */
  queue(stream: Stream): void {
    if (stream.inLine || stream.queued === 0 || stream.window <= 0) return
    stream.inLine = true
    this.#line.push(stream)
  }

  /** Sends as much as may be sent now. */
  pump(): void {
    if (this.#line.length === 0) return
    this.#outbox.begin()
    while (this.#line.length > 0 && this.window > 0 && this.#outbox.waiting < AHEAD) {
      const stream = this.#line.shift()!
      const count = Math.min(MOST_PAYLOAD, stream.queued, stream.window, this.window)
      stream.inLine = count > 0 && stream.queued > count && stream.window > count
      if (stream.inLine) this.#line.push(stream)
      if (count > 0) this.#send(stream, count)
    }
    this.#outbox.end()
  }

  #send(stream: Stream, count: number): void {
    const isLast = stream.isLast && count === stream.queued
    const at = this.#outbox.reserve(HEADER + count)
    const flags = isLast ? FLAG.endStream : 0
    const { buffer } = this.#outbox
    writeFrameHead(buffer, at, { type: TYPE.data, flags, stream: stream.id, length: count })
    stream.window -= count
    this.window -= count
    stream.take(count, buffer, at + HEADER)
    this.#onProgress(stream, count)
    if (isLast) this.#onSent(stream)
  }
}
