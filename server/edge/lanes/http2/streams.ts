import { CODE, type Code, FIRST_WINDOW, frameOf, MOST_WINDOW, TYPE } from './frame.ts'
import type { Outbox } from './outbox.ts'
import type { Patience } from './patience.ts'
import { Sender } from './sender.ts'
import { Stream } from './stream.ts'

/** Streams that may be open at a time; what is announced as SETTINGS_MAX_CONCURRENT_STREAMS. */
export const MOST_STREAMS = 100

/** Streams that this end has ended of which it is remembered: what the client sent before it knew is no fault. */
const MOST_ENDED = 200

/** More room for the bodies of so many streams at a time. */
const MOST_WIDENED = 4
const WIDENED = 512 * 1024

/** Looks that a client may still send after it was answered. */
const LINGER = 1

interface StreamsOptions {
  outbox: Outbox
  patience: Patience
  /** The number of the last look. */
  look: () => number
  /** Something came or went on a stream. */
  onProgress: () => void
  /** The last open stream is over. */
  onEmpty: () => void
}

/** The streams of one connection whose answers take time. What needs none is never here. */
export class Streams {
  readonly sender: Sender
  /** Bytes that the client takes on a new stream. */
  firstWindow = FIRST_WINDOW
  readonly #options: StreamsOptions
  readonly #open = new Map<number, Stream>()
  readonly #ended = new Set<number>()
  #widened = 0
  #isLeaving = false

  constructor(options: StreamsOptions) {
    this.#options = options
    this.sender = new Sender({
      outbox: options.outbox,
      onSent: (stream) => this.#finish(stream),
      onProgress: (stream, bytes) => this.moved(stream, bytes),
    })
  }

  get size(): number {
    return this.#open.size
  }

  get(id: number): Stream | undefined {
    return this.#open.get(id)
  }

  /** Whether this end has ended the stream before the client did. */
  wasEnded(id: number): boolean {
    return this.#ended.has(id)
  }

  open(id: number, ended: boolean): Stream {
    const look = this.#options.look()
    const stream = new Stream({ id, window: this.firstWindow, incoming: FIRST_WINDOW, ended, look })
    this.#open.set(id, stream)
    return stream
  }

  /** Bytes of a body came or went. */
  moved(stream: Stream, bytes: number): void {
    stream.asleep = this.#options.look()
    this.#options.patience.bytes(bytes)
    this.#options.onProgress()
  }

  /** Ends a stream by what went wrong on it. */
  reset(stream: Stream, code: Code): void {
    this.#remove(stream)
    this.refuse(stream.id, code)
    this.#tellEmpty()
  }

  /** Ends a stream by what its client did. */
  fault(stream: Stream, code: Code): void {
    this.reset(stream, code)
    this.#options.patience.reset()
  }

  /** The same for one that was not opened. */
  faultOf(id: number, code: Code): void {
    this.refuse(id, code)
    this.#options.patience.reset()
  }

  /** Says that a stream is over that is not open, or not any more. */
  refuse(id: number, code: Code): void {
    this.#ended.add(id)
    if (this.#ended.size > MOST_ENDED) this.#ended.delete(this.#ended.values().next().value!)
    this.#options.outbox.add(frameOf({ type: TYPE.reset, flags: 0, stream: id }, code))
  }

  /** The client has ended the stream. */
  drop(stream: Stream): void {
    this.#remove(stream)
    this.#tellEmpty()
  }

  /** An answer was sent by which a stream is done. */
  answered(stream: Stream): void {
    this.#finish(stream)
  }

  /** The client changes what it takes on each stream; false when that is more than there can be (RFC 9113, 6.9.2). */
  resize(window: number): boolean {
    const change = window - this.firstWindow
    this.firstWindow = window
    for (const stream of this.#open.values()) {
      stream.window += change
      if (stream.window > MOST_WINDOW) return false
    }
    for (const stream of this.#open.values()) this.sender.queue(stream)
    this.sender.pump()
    return true
  }

  /** Lets the client send more of a body than it may at first, if there is room for that. */
  widen(stream: Stream): void {
    if (this.#widened === MOST_WIDENED) return
    this.#widened++
    stream.widened = true
    this.permit(stream, WIDENED)
  }

  /** Lets the client send so many more bytes on a stream. */
  permit(stream: Stream, bytes: number): void {
    stream.incoming += bytes
    this.#options.outbox.add(frameOf({ type: TYPE.windowUpdate, flags: 0, stream: stream.id }, bytes))
  }

  /** Ends streams whose clients did not move since that look although it was their turn. */
  cutIdle(since: number): void {
    for (const stream of [...this.#open.values()]) {
      if (stream.isAnswered && stream.asleep < this.#options.look() - LINGER) this.reset(stream, CODE.none)
      else if (stream.asleep < since && this.#isClientsTurn(stream)) this.reset(stream, CODE.cancel)
    }
  }

  /** What is answered is over, although its client still sends. */
  leave(): void {
    this.#isLeaving = true
    for (const stream of [...this.#open.values()]) if (stream.isAnswered) this.reset(stream, CODE.none)
  }

  /** Lets go of everything. */
  close(): void {
    for (const stream of [...this.#open.values()]) this.#remove(stream)
  }

  /** Whether a stream waits for its client, and not for others that share the connection. */
  #isClientsTurn({ ended, incoming, queued, window }: Stream): boolean {
    return (queued > 0 && window <= 0) || (!ended && incoming > 0)
  }

  /**
   * A client that still sends has some time to read its answer, and room for nothing more; then it is told that nobody
   * reads it (RFC 9113, 8.1). Some clients lose an answer that is followed by that at once.
   */
  #finish(stream: Stream): void {
    this.#options.patience.done()
    stream.asleep = this.#options.look()
    stream.isAnswered = true
    if (stream.ended) this.drop(stream)
    else if (this.#isLeaving) this.reset(stream, CODE.none)
  }

  #remove(stream: Stream): void {
    if (!this.#open.delete(stream.id)) return
    if (stream.widened) this.#widened--
    stream.close()
  }

  #tellEmpty(): void {
    if (this.#open.size === 0) this.#options.onEmpty()
  }
}
