import { CODE, ConnectionFault } from './frame.ts'

/** Frames without use that a client may send at once, and how many more each second. */
const FRAMES = 1000
const FRAMES_A_SECOND = 50

/** For so many bytes of a body in either direction a frame about it is fair, and so many for a stream that is done. */
const BYTES_A_FRAME = 1024
const FRAMES_A_STREAM = 8

/** Streams that may come to nothing within some milliseconds, beyond those that were done. */
const RESETS = 100
const RESET_TIME = 10_000

/**
 * How much a client may keep busy without asking for anything (RFC 9113, 10.5): frames about the connection, and requests that
 * are taken back as soon as they are made. One that goes too far loses its connection.
 */
export class Patience {
  readonly #clock: () => number
  #frames = FRAMES
  #bytes = 0
  #since: number
  #resets = 0
  #resetsSince: number

  constructor(clock: () => number) {
    this.#clock = clock
    this.#since = clock()
    this.#resetsSince = this.#since
  }

  /** A frame came that is about the connection or about nothing. */
  frame(): void {
    if (--this.#frames >= 0) return
    const now = this.#clock()
    const seconds = Math.floor((now - this.#since) / 1000)
    if (seconds <= 0) throw new ConnectionFault(CODE.calm, 'too many frames come that ask for nothing')
    this.#since = now
    this.#frames = Math.min(FRAMES, seconds * FRAMES_A_SECOND)
  }

  /** Bytes of a body were sent or received. */
  bytes(count: number): void {
    this.#bytes += count
    if (this.#bytes < BYTES_A_FRAME) return
    this.#earn(Math.floor(this.#bytes / BYTES_A_FRAME))
    this.#bytes %= BYTES_A_FRAME
  }

  /** A stream got its answer. */
  done(): void {
    this.#earn(FRAMES_A_STREAM)
    if (this.#resets > 0) this.#resets--
  }

  /** A stream came to nothing, by what the client did. */
  reset(): void {
    const now = this.#clock()
    if (Math.abs(now - this.#resetsSince) >= RESET_TIME) {
      this.#resetsSince = now
      this.#resets = 0
    }
    if (++this.#resets > RESETS) throw new ConnectionFault(CODE.calm, 'too many requests are taken back')
  }

  #earn(frames: number): void {
    this.#frames = Math.min(FRAMES, this.#frames + frames)
  }
}
