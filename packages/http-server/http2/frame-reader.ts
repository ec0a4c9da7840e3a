import { isTurnOver } from '../turn-limit.ts'
import { CODE, ConnectionError, FRAME_HEADER_BYTES, type FrameHead, MAX_FRAME_BYTES, TYPE } from './frame.ts'

/** The connection preface (RFC 9113, 3.4). */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

/** Handles a complete frame: its payload is in `bytes` from `at`, until it returns. False pauses reading. */
export type FrameCallback = (head: FrameHead, bytes: Buffer, at: number) => boolean

/** A frame that arrives in one read is not copied; of a partial one, at most its own bytes are buffered. */
export class FrameReader {
  readonly #onFrame: FrameCallback
  readonly #head: FrameHead = { type: 0, flags: 0, stream: 0, length: 0 }
  #prefaceLength = 0
  #isFirst = true
  #partial = Buffer.allocUnsafeSlow(FRAME_HEADER_BYTES)
  #partialLength = 0

  constructor(onFrame: FrameCallback) {
    this.#onFrame = onFrame
  }

  get hasPreface(): boolean {
    return !this.#isFirst
  }

  /** Returns the position at which input ends, reading is paused or the turn is over. Throws a `ConnectionError`. */
  read(bytes: Buffer, start: number, end: number): number {
    let at = start
    if (this.#prefaceLength < PREFACE.length) at = this.#readPreface(bytes, at, end)
    while (at < end) {
      if (at > start && isTurnOver()) return at
      if (this.#partialLength > 0 || end - at < FRAME_HEADER_BYTES) {
        at = this.#bufferPartial(bytes, at, end)
        if (this.#partialLength < this.#partial.length) return at
        this.#partialLength = 0
        const partial = this.#partial
        this.#partial = Buffer.allocUnsafeSlow(FRAME_HEADER_BYTES)
        if (!this.#onFrame(this.#head, partial, FRAME_HEADER_BYTES)) return at
        continue
      }
      this.#readHead(bytes, at)
      const next = at + FRAME_HEADER_BYTES + this.#head.length
      if (next > end) {
        at = this.#bufferPartial(bytes, at, end)
        return at
      }
      at = next
      if (!this.#onFrame(this.#head, bytes, at - this.#head.length)) return at
    }
    return at
  }

  #readPreface(bytes: Buffer, start: number, end: number): number {
    let at = start
    while (at < end && this.#prefaceLength < PREFACE.length) {
      if (bytes[at++] !== PREFACE[this.#prefaceLength++]) {
        throw new ConnectionError(CODE.protocol, 'invalid connection preface')
      }
    }
    return at
  }

  /** Buffers the rest of a partial frame, and allocates its payload once its length is known. */
  #bufferPartial(bytes: Buffer, start: number, end: number): number {
    let at = this.#append(bytes, start, end)
    if (this.#partialLength === FRAME_HEADER_BYTES && this.#partial.length === FRAME_HEADER_BYTES) {
      this.#readHead(this.#partial, 0)
      const partial = Buffer.allocUnsafeSlow(FRAME_HEADER_BYTES + this.#head.length)
      this.#partial.copy(partial)
      this.#partial = partial
      at = this.#append(bytes, at, end)
    }
    return at
  }

  #append(bytes: Buffer, at: number, end: number): number {
    const count = Math.min(this.#partial.length - this.#partialLength, end - at)
    bytes.copy(this.#partial, this.#partialLength, at, at + count)
    this.#partialLength += count
    return at + count
  }

  #readHead(bytes: Buffer, at: number): void {
    const head = this.#head
    head.length = (bytes[at]! << 16) | (bytes[at + 1]! << 8) | bytes[at + 2]!
    head.type = bytes[at + 3]!
    head.flags = bytes[at + 4]!
    head.stream =
      ((bytes[at + 5]! & 0x7f) << 24) | (bytes[at + 6]! << 16) | (bytes[at + 7]! << 8) | bytes[at + 8]!
    if (head.length > MAX_FRAME_BYTES)
      throw new ConnectionError(CODE.frameSize, 'frame larger than SETTINGS_MAX_FRAME_SIZE')
    if (!this.#isFirst) return
    if (head.type !== TYPE.settings || (head.flags & 1) !== 0)
      throw new ConnectionError(CODE.protocol, 'the first frame is not SETTINGS')
    this.#isFirst = false
  }
}
