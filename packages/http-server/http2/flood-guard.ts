import { CODE, ConnectionError } from './frame.ts'

/** Frames without use that a client may send in a burst, and how many more per second. */
const MAX_FRAMES = 1000
const FRAMES_PER_SECOND = 50

/** Maximum budget with earned frames: enough for the acknowledgments of one burst of responses. */
const MAX_EARNED_FRAMES = 20_000

/** Frames that a client may still send after the flood budget was used up, so that responses in progress can finish. */
const MAX_FINAL_FRAMES = 500

/** Bytes of a body in either direction that earn one frame, and frames that a response earns. */
const BYTES_PER_FRAME = 1024
const FRAMES_PER_RESPONSE = 8

/** Earned by a sent DATA frame: the client acknowledges it on its stream, on the connection, and may send another. */
const FRAMES_PER_DATA = 3

/** A DATA frame with fewer bytes is charged, in either direction. */
const MIN_DATA_BYTES = 64

/** Requests that may be cancelled before their response: the burst and the rate per second, as in nghttp2. */
const MAX_RESETS = 1000
const RESETS_PER_SECOND = 33

/** Earned frames that make up for one cancelled request. */
const FRAMES_PER_RESET = 16

/** Once the budget of cancelled requests is used up, requests are refused until it is this large: for three seconds. */
const MIN_RESETS = 100

interface FloodGuardOptions {
  clock: () => number
  /** Called when the flood budget is first exhausted: the connection must accept no further requests. */
  onExhausted: () => void
}

/** The flood budget of a connection (RFC 9113, 10.5; docs/decisions/007-http2.md). Useful traffic earns it back. */
export class FloodGuard {
  readonly #options: FloodGuardOptions
  #frames = MAX_FRAMES
  /** Bytes of bodies, and bytes that small DATA frames lack, that do not make up a frame yet. */
  #bytes = 0
  #missingBytes = 0
  #since: number
  #isExhausted = false
  #resets = MAX_RESETS
  #resetsSince: number
  #refusesRequests = false

  constructor(options: FloodGuardOptions) {
    this.#options = options
    this.#since = options.clock()
    this.#resetsSince = this.#since
  }

  get refusesRequests(): boolean {
    if (this.#refusesRequests) this.#refillResets()
    return this.#refusesRequests
  }

  /** Throws a `ConnectionError` when the client continues after it exhausted the budget. */
  charge(frames: number): void {
    this.#frames -= frames
    if (this.#frames >= 0) return
    this.#refill()
    if (this.#frames >= 0) return
    if (this.#isExhausted) throw new ConnectionError(CODE.enhanceYourCalm, 'too many frames without requests')
    this.#isExhausted = true
    this.#frames = MAX_FINAL_FRAMES
    this.#options.onExhausted()
  }

  /** A DATA frame that ends its stream is never charged. */
  dataReceived(bytes: number, isLast: boolean): void {
    if (bytes >= MIN_DATA_BYTES || isLast) return
    this.#missingBytes += MIN_DATA_BYTES - bytes
    if (this.#missingBytes < MIN_DATA_BYTES) return
    this.#missingBytes -= MIN_DATA_BYTES
    this.charge(1)
  }

  dataSent(bytes: number): void {
    if (bytes >= MIN_DATA_BYTES) this.#credit(FRAMES_PER_DATA)
  }

  onBytes(count: number): void {
    this.#bytes += count
    if (this.#bytes < BYTES_PER_FRAME) return
    this.#credit(Math.floor(this.#bytes / BYTES_PER_FRAME))
    this.#bytes %= BYTES_PER_FRAME
  }

  onStreamDone(): void {
    this.#credit(FRAMES_PER_RESPONSE)
    if (this.#resets < MAX_RESETS) this.#resets++
  }

  /** A header block was read that is too long to be a request. Its response earns nothing. */
  oversized(bytes: number): void {
    this.charge(FRAMES_PER_RESPONSE + Math.ceil(bytes / BYTES_PER_FRAME))
  }

  /** The client ended a stream before its response began. */
  onReset(): void {
    this.#refillResets()
    if (this.#resets >= 1) return void this.#resets--
    if (this.#refusesRequests) this.charge(1)
    this.#refusesRequests = true
  }

  #credit(frames: number): void {
    this.#frames = Math.min(MAX_EARNED_FRAMES, this.#frames + frames)
    this.#resets = Math.min(MAX_RESETS, this.#resets + frames / FRAMES_PER_RESET)
  }

  #refill(): void {
    const now = this.#options.clock()
    const seconds = Math.floor((now - this.#since) / 1000)
    if (seconds === 0) return
    this.#since = now
    this.#frames = Math.min(MAX_FRAMES, this.#frames + Math.max(0, seconds) * FRAMES_PER_SECOND)
  }

  #refillResets(): void {
    const now = this.#options.clock()
    const seconds = Math.max(0, (now - this.#resetsSince) / 1000)
    this.#resetsSince = now
    this.#resets = Math.min(MAX_RESETS, this.#resets + seconds * RESETS_PER_SECOND)
    if (this.#resets >= MIN_RESETS) this.#refusesRequests = false
  }
}
