import type { Relay } from './relay.ts'

/** With so many bytes or fewer waiting to be sent, a stream takes more. */
const LOW = 64 * 1024

interface StreamOptions {
  id: number
  /** Bytes of bodies that the client takes. */
  window: number
  /** Bytes of its body that the client may send. */
  incoming: number
  /** Whether the request has come to its end. */
  ended: boolean
  /** The look at which it began; see `Session.look`. */
  look: number
}

/** A stream whose answer takes time (RFC 9113, 5): what is to be sent on it, and what may still come. */
export class Stream {
  readonly id: number
  window: number
  incoming: number
  /** Whether the client has ended it. */
  ended: boolean
  /** Whether it is over, however it ended. */
  closed = false
  /** Whether its answer was sent, although the client still sends. */
  isAnswered = false
  /** Whether more room was given to its body than each has. */
  widened = false
  /** Whether it is in the line of those that are to send something. */
  inLine = false
  /** The look since which its client did not move. */
  asleep: number
  relay: Relay | undefined
  /** Bytes of the body that were announced, and that came. */
  announced: number | undefined
  received = 0
  /** Bytes that were taken in and that the client may send again. */
  returned = 0
  /** Whether `queued` is the rest of what is to be sent. */
  isLast = false
  /** Bytes that wait. */
  queued = 0
  #chunks: Buffer[] = []
  /** How much of the first chunk was sent. */
  #sent = 0
  #onRoom: (() => void) | undefined
  /** Called once, when it is over. */
  onClose: (() => void) | undefined

  constructor({ id, window, incoming, ended, look }: StreamOptions) {
    this.id = id
    this.window = window
    this.incoming = incoming
    this.ended = ended
    this.asleep = look
  }

  /** Whether more may be queued. */
  get hasRoom(): boolean {
    return this.queued <= LOW
  }

  queue(bytes: Buffer): void {
    this.#chunks.push(bytes)
    this.queued += bytes.length
  }

  /** Takes so many bytes of those that wait and writes them there. */
  take(count: number, to: Buffer, start: number): void {
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
    this.queued -= count
    if (this.hasRoom) this.#tell()
  }

  /** Calls back once, when there is room or the stream is over. */
  onRoom(callback: () => void): void {
    if (this.closed || this.hasRoom) callback()
    else this.#onRoom = callback
  }

  close(): void {
    if (this.closed) return
    this.closed = true
    this.#chunks = []
    this.queued = 0
    this.relay?.destroy()
    this.onClose?.()
    this.#tell()
  }

  #tell(): void {
    const callback = this.#onRoom
    this.#onRoom = undefined
    callback?.()
  }
}
