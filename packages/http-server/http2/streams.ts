import { DataScheduler } from './data-scheduler.ts'
import type { FloodGuard } from './flood-guard.ts'
import { buildFrame, CODE, type Code, INITIAL_WINDOW_BYTES, MAX_WINDOW_BYTES, TYPE } from './frame.ts'
import { Stream } from './stream.ts'
import type { WriteBuffer } from './write-buffer.ts'

/** Maximum number of open streams, announced as SETTINGS_MAX_CONCURRENT_STREAMS. */
export const MAX_CONCURRENT_STREAMS = 100

/** Recently reset streams: late frames for them are not errors. */
const MAX_REMEMBERED_STREAMS = 200

/** Maximum number of streams with an extended receive window. */
const MAX_GROWN_STREAMS = 4
const GROWN_WINDOW_BYTES = 512 * 1024

const MIN_UPDATE_BYTES = 16 * 1024

/** Idle checks that a client may still send after its response. */
const LINGER_TICKS = 1

interface StreamsOptions {
  writeBuffer: WriteBuffer
  floodGuard: FloodGuard
  tick: () => number
  onProgress: () => void
  onEmpty: () => void
}

/** The open streams of one connection, without those that got their response synchronously. */
export class Streams {
  readonly sender: DataScheduler
  initialWindow = INITIAL_WINDOW_BYTES
  readonly #options: StreamsOptions
  readonly #open = new Map<number, Stream>()
  readonly #ended = new Set<number>()
  #grownStreams = 0
  #isGoingAway = false

  constructor(options: StreamsOptions) {
    this.#options = options
    this.sender = new DataScheduler({
      writeBuffer: options.writeBuffer,
      onSent: (stream) => this.#finish(stream),
      onProgress: (stream, bytes) => {
        options.floodGuard.dataSent(bytes)
        this.onProgress(stream, bytes)
      },
    })
  }

  get size(): number {
    return this.#open.size
  }

  /** Whether a client waits for the begin of a response: a handler has deadlines of its own. */
  get isServersTurn(): boolean {
    return this.#open.values().some(({ ended, hasResponse }) => ended && !hasResponse)
  }

  get(id: number): Stream | undefined {
    return this.#open.get(id)
  }

  /** Whether this end reset the stream. */
  wasEnded(id: number): boolean {
    return this.#ended.has(id)
  }

  open(id: number, ended: boolean): Stream {
    const tick = this.#options.tick()
    const stream = new Stream({
      id,
      window: this.initialWindow,
      receiveWindow: INITIAL_WINDOW_BYTES,
      ended,
      tick,
    })
    this.#open.set(id, stream)
    return stream
  }

  onProgress(stream: Stream, bytes: number): void {
    stream.lastActiveTick = this.#options.tick()
    stream.progress.add(bytes)
    this.#options.floodGuard.onBytes(bytes)
    this.#options.onProgress()
  }

  /** Resets a stream after an internal error. */
  reset(stream: Stream, code: Code): void {
    this.#remove(stream)
    this.sendReset(stream.id, code)
    this.#notifyIfEmpty()
  }

  /** Resets a stream after a client error. */
  streamError(stream: Stream, code: Code): void {
    this.reset(stream, code)
    this.#options.floodGuard.onReset()
  }

  streamErrorById(id: number, code: Code): void {
    this.sendReset(id, code)
    this.#options.floodGuard.onReset()
  }

  /** Sends RST_STREAM for a stream that is not open. */
  sendReset(id: number, code: Code): void {
    this.#ended.add(id)
    if (this.#ended.size > MAX_REMEMBERED_STREAMS) this.#ended.delete(this.#ended.values().next().value!)
    this.#options.writeBuffer.add(buildFrame({ type: TYPE.reset, flags: 0, stream: id }, code))
  }

  /** The client has reset the stream. */
  onReset(stream: Stream): void {
    this.#remove(stream)
    this.#notifyIfEmpty()
  }

  onAnswered(stream: Stream): void {
    this.#finish(stream)
  }

  /** Applies a new initial window size; false on overflow (RFC 9113, 6.9.2). */
  resize(window: number): boolean {
    const change = window - this.initialWindow
    this.initialWindow = window
    for (const stream of this.#open.values()) {
      stream.window += change
      if (stream.window > MAX_WINDOW_BYTES) return false
    }
    for (const stream of this.#open.values()) this.sender.enqueue(stream)
    return true
  }

  growWindow(stream: Stream): void {
    if (this.#grownStreams === MAX_GROWN_STREAMS) return
    this.#grownStreams++
    stream.hasExtraWindow = true
    this.sendWindowUpdate(stream, GROWN_WINDOW_BYTES)
  }

  sendWindowUpdate(stream: Stream, bytes: number): void {
    stream.receiveWindow += bytes
    this.#options.writeBuffer.add(buildFrame({ type: TYPE.windowUpdate, flags: 0, stream: stream.id }, bytes))
  }

  consume(stream: Stream, bytes: number): void {
    stream.bytesConsumed += bytes
    if (stream.bytesConsumed < MIN_UPDATE_BYTES || stream.ended || stream.isAnswered || stream.closed) return
    this.sendWindowUpdate(stream, stream.bytesConsumed)
    stream.bytesConsumed = 0
  }

  /** Resets streams with clients below the minimum rate for `period` idle checks while the server waited for them. */
  resetIdle(period: number): void {
    const tick = this.#options.tick()
    for (const stream of [...this.#open.values()]) {
      const isWaiting = this.#isClientsTurn(stream)
      if (stream.isAnswered && stream.lastActiveTick < tick - LINGER_TICKS) this.reset(stream, CODE.noError)
      else if (stream.progress.isTooSlow({ tick, period, isWaiting })) this.reset(stream, CODE.cancel)
    }
  }

  /** Closes streams that were answered although their clients still send. */
  goAway(): void {
    this.#isGoingAway = true
    for (const stream of [...this.#open.values()]) if (stream.isAnswered) this.reset(stream, CODE.noError)
  }

  close(): void {
    this.sender.close()
    for (const stream of [...this.#open.values()]) this.#remove(stream)
  }

  /** Whether a stream waits for its client, and not for others on the connection. */
  #isClientsTurn({ ended, receiveWindow, bufferedBytes: queued, window }: Stream): boolean {
    return (queued > 0 && window <= 0) || (!ended && receiveWindow > 0)
  }

  /**
   * A client that still sends has some time to read its response, without a larger window; then the stream is
   * reset with NO_ERROR (RFC 9113, 8.1). Some clients discard a response that is immediately followed by a reset.
   */
  #finish(stream: Stream): void {
    this.#options.floodGuard.onStreamDone()
    stream.lastActiveTick = this.#options.tick()
    stream.isAnswered = true
    if (stream.ended) this.onReset(stream)
    else if (this.#isGoingAway) this.reset(stream, CODE.noError)
  }

  #remove(stream: Stream): void {
    if (!this.#open.delete(stream.id)) return
    if (stream.hasExtraWindow) this.#grownStreams--
    stream.close()
  }

  #notifyIfEmpty(): void {
    if (this.#open.size === 0) this.#options.onEmpty()
  }
}
