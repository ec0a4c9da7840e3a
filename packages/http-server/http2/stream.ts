import type { MemoryReservation } from '../clients/client-memory.ts'
import type { Http1Bridge } from '../http1-bridge.ts'
import { Progress } from './progress.ts'

/** Bytes of a relayed body that may wait in the buffers of Node's parser and of the connection to it. */
const MAX_BEHIND_BYTES = 128 * 1024

const LOW_WATER_MARK_BYTES = 64 * 1024

interface StreamOptions {
  id: number
  window: number
  receiveWindow: number
  ended: boolean
  tick: number
}

/** A stream with an asynchronous response (RFC 9113, 5): its queue and its windows. */
export class Stream {
  readonly id: number
  window: number
  receiveWindow: number
  /** Whether the client has ended its side. */
  ended: boolean
  closed = false
  /** Whether a header block of its response was sent. */
  hasResponse = false
  /** Whether its response was sent although the client still sends. */
  isAnswered = false
  hasExtraWindow = false
  isQueued = false
  lastActiveTick: number
  /** Bytes received and sent while the server waits for the client. */
  readonly progress: Progress
  bridge: Http1Bridge | undefined
  /** Memory of a relayed request: its fixed cost, unconsumed bytes of its body, and unsent bytes. */
  memory: MemoryReservation | undefined
  fixedBytes = 0
  unconsumedBytes = 0
  contentLength: number | undefined
  bytesReceived = 0
  /** Consumed bytes that were not returned to the window yet. */
  bytesConsumed = 0
  /** Whether `bufferedBytes` is the rest of the body. */
  isLast = false
  bufferedBytes = 0
  #chunks: Buffer[] = []
  /** Sent bytes of the first chunk. */
  #sent = 0
  #onDrain: (() => void) | undefined
  onClose: (() => void) | undefined

  constructor({ id, window, receiveWindow, ended, tick }: StreamOptions) {
    this.id = id
    this.window = window
    this.receiveWindow = receiveWindow
    this.ended = ended
    this.lastActiveTick = tick
    this.progress = new Progress(tick)
  }

  get canQueue(): boolean {
    return this.bufferedBytes <= LOW_WATER_MARK_BYTES
  }

  /** Accounts for what the stream holds now. False when there is no memory for that. */
  account(): boolean {
    const behindBytes = Math.min(this.bytesReceived, MAX_BEHIND_BYTES)
    return (
      this.memory?.resize(this.fixedBytes + behindBytes + this.unconsumedBytes + this.bufferedBytes) ?? true
    )
  }

  queue(bytes: Buffer): void {
    this.#chunks.push(bytes)
    this.bufferedBytes += bytes.length
  }

  /** Dequeues `count` bytes into `to`. */
  read(count: number, to: Buffer, start: number): void {
    let at = start
    for (let left = count; left > 0; ) {
      const chunk = this.#chunks[0]!
      const length = Math.min(left, chunk.length - this.#sent)
      chunk.copy(to, at, this.#sent, this.#sent + length)
      at += length
      left -= length
      this.#sent += length
      if (this.#sent < chunk.length) break
      this.#chunks.shift()
      this.#sent = 0
    }
    this.bufferedBytes -= count
    if (this.memory) this.account()
    if (this.canQueue) this.#notify()
  }

  /** Calls back once, when more may be queued or the stream is closed. */
  onDrain(callback: () => void): void {
    if (this.closed || this.canQueue) callback()
    else this.#onDrain = callback
  }

  release(): void {
    this.bridge?.destroy()
    this.bridge = undefined
    this.memory?.[Symbol.dispose]()
    this.memory = undefined
  }

  close(): void {
    if (this.closed) return
    this.closed = true
    this.#chunks = []
    this.bufferedBytes = 0
    this.release()
    this.onClose?.()
    this.#notify()
  }

  #notify(): void {
    const callback = this.#onDrain
    this.#onDrain = undefined
    callback?.()
  }
}
