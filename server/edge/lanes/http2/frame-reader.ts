import { CODE, ConnectionFault, type FrameHead, HEADER, MOST_PAYLOAD, TYPE } from './frame.ts'

/** What a client sends first (RFC 9113, 3.4). */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

/** Takes a whole frame: its payload is in `bytes` from `at` on, until it returns. False when no more is wanted now. */
export type TakeFrame = (head: FrameHead, bytes: Buffer, at: number) => boolean

/**
 * Parts what a connection brings into frames. A frame that comes in one read is not copied; of one that does not, at
 * most its own bytes are kept.
 */
export class FrameReader {
  readonly #take: TakeFrame
  readonly #head: FrameHead = { type: 0, flags: 0, stream: 0, length: 0 }
  /** How much of the preface was seen. */
  #greeted = 0
  #isFirst = true
  /** The beginning of a frame, and how much of it is there. */
  #partial = Buffer.allocUnsafeSlow(HEADER)
  #held = 0

  constructor(take: TakeFrame) {
    this.#take = take
  }

  /** Whether the client has sent what it has to send first. */
  get isOpen(): boolean {
    return !this.#isFirst
  }

  /** Reads until nothing is left or no more is wanted, and answers how far it came. Throws a `ConnectionFault`. */
  read(bytes: Buffer, start: number, end: number): number {
    let at = start
    if (this.#greeted < PREFACE.length) at = this.#greet(bytes, at, end)
    while (at < end) {
      if (this.#held > 0 || end - at < HEADER) {
        at = this.#gather(bytes, at, end)
        if (this.#held < this.#partial.length) return at
        this.#held = 0
        const whole = this.#partial
        this.#partial = Buffer.allocUnsafeSlow(HEADER)
        if (!this.#take(this.#head, whole, HEADER)) return at
        continue
      }
      this.#readHead(bytes, at)
      const next = at + HEADER + this.#head.length
      if (next > end) {
        at = this.#gather(bytes, at, end)
        return at
      }
      at = next
      if (!this.#take(this.#head, bytes, at - this.#head.length)) return at
    }
    return at
  }

  #greet(bytes: Buffer, start: number, end: number): number {
    let at = start
    while (at < end && this.#greeted < PREFACE.length) {
      if (bytes[at++] !== PREFACE[this.#greeted++]) {
        throw new ConnectionFault(CODE.protocol, 'the connection does not begin as one of HTTP/2 does')
      }
    }
    return at
  }

  /** Takes in what belongs to the frame that began, and makes room for its payload once its length is known. */
  #gather(bytes: Buffer, start: number, end: number): number {
    let at = this.#fill(bytes, start, end)
    if (this.#held === HEADER && this.#partial.length === HEADER) {
      this.#readHead(this.#partial, 0)
      const whole = Buffer.allocUnsafeSlow(HEADER + this.#head.length)
      this.#partial.copy(whole)
      this.#partial = whole
      at = this.#fill(bytes, at, end)
    }
    return at
  }

  #fill(bytes: Buffer, at: number, end: number): number {
    const count = Math.min(this.#partial.length - this.#held, end - at)
    bytes.copy(this.#partial, this.#held, at, at + count)
    this.#held += count
    return at + count
  }

  #readHead(bytes: Buffer, at: number): void {
    const head = this.#head
    head.length = (bytes[at]! << 16) | (bytes[at + 1]! << 8) | bytes[at + 2]!
    head.type = bytes[at + 3]!
    head.flags = bytes[at + 4]!
    head.stream =
      ((bytes[at + 5]! & 0x7f) << 24) | (bytes[at + 6]! << 16) | (bytes[at + 7]! << 8) | bytes[at + 8]!
    if (head.length > MOST_PAYLOAD) throw new ConnectionFault(CODE.frameSize, 'a frame is too large')
    if (!this.#isFirst) return
    if (head.type !== TYPE.settings || (head.flags & 1) !== 0)
      throw new ConnectionFault(CODE.protocol, 'the first frame does not say the settings')
    this.#isFirst = false
  }
}
