import { setMaxListeners } from 'node:events'
import { S3HangError } from './errors.ts'

interface HangWatchOptions {
  /** The time without a byte of the bucket for any of the open requests after which it hangs. */
  hangMs: number
  /** Sends a small request over a connection of its own. */
  probe(): Promise<unknown>
}

const PROBE_INTERVAL_MS = 1000

/**
 * Whether the bucket sends nothing to any request. After half of the time it gets a probe, because the open requests may
 * wait for something else, such as a slow upload. While it hangs it gets a probe each second; its first byte ends that.
 */
export class HangWatch {
  readonly #options: HangWatchOptions
  #waiting = 0
  /** The last byte, or the begin of the first open request. */
  #quietSince = 0
  #timer: NodeJS.Timeout | undefined
  #isProbed = false
  #answering = createController()

  constructor(options: HangWatchOptions) {
    this.#options = options
  }

  /** Aborted while the bucket hangs; afterwards there is another one. */
  get signal(): AbortSignal {
    return this.#answering.signal
  }

  get isHanging(): boolean {
    return this.signal.aborted
  }

  async during<T>(waiting: Promise<T>): Promise<T> {
    if (this.#waiting++ === 0) {
      this.#quietSince = performance.now()
      this.#isProbed = false
    }
    this.#timer ??= this.#schedule(this.#options.hangMs / 2)
    try {
      return await waiting
    } finally {
      this.#waiting--
    }
  }

  hear(): void {
    this.#quietSince = performance.now()
    this.#isProbed = false
    if (this.isHanging) this.#answering = createController()
  }

  /** What has arrived while the process was busy is read before the check. */
  #schedule(delayMs: number): NodeJS.Timeout {
    return setTimeout(() => setImmediate(() => this.#check()), Math.max(1, delayMs)).unref()
  }

  #check(): void {
    this.#timer = undefined
    const { hangMs, probe } = this.#options
    const leftMs = this.#quietSince + hangMs / 2 - performance.now()
    if (!this.isHanging && this.#waiting === 0) this.#isProbed = false
    else if (!this.isHanging && leftMs > 0) this.#timer = this.#schedule(leftMs)
    else {
      if (this.#isProbed && !this.isHanging)
        this.#answering.abort(new S3HangError('the bucket does not answer'))
      this.#isProbed = true
      this.#timer = this.#schedule(this.isHanging ? PROBE_INTERVAL_MS : hangMs / 2)
      void probe().catch(() => undefined)
    }
  }
}

/** Any number of requests may wait. */
function createController(): AbortController {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  return controller
}
