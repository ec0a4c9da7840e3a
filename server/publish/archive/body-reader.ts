import type { Readable } from 'node:stream'
import { tooLarge } from '../../lib/errors.ts'

const EVENTS = ['readable', 'end', 'close'] as const

/** Unlike a stream's iterator it can be stopped during a wait, and leaves the body open: a request can be answered. */
export class BodyReader {
  readonly #body: Readable
  readonly #limit: number
  #stopped: { reason: unknown } | undefined
  #attached = false
  #wake = () => {}
  readonly #onEvent = () => this.#wake()

  constructor(body: Readable, { wireBytes }: { wireBytes: number }) {
    this.#body = body
    this.#limit = wireBytes
    // The listener stays: a client that disconnects after its archive was rejected must not end the process.
    body.on('error', this.#onEvent)
  }

  /** Ends `chunks` with `reason`, even while it waits. */
  stop(reason: unknown): void {
    this.#stopped ??= { reason }
    this.#detach()
    this.#wake()
  }

  /** Reads the body once. Rejects when it fails, is cut off, or exceeds its limit. */
  async *chunks(): AsyncGenerator<Buffer, void, undefined> {
    for (const event of EVENTS) this.#body.on(event, this.#onEvent)
    this.#attached = true
    try {
      let bytes = 0
      for (let chunk = await this.#next(); chunk; chunk = await this.#next()) {
        bytes += chunk.length
        if (bytes > this.#limit) throw tooLarge('The archive', this.#limit)
        yield chunk
      }
    } finally {
      this.#detach()
    }
  }

  /** Only once: removing a 'readable' listener, even an absent one, stops a body that has been resumed. */
  #detach(): void {
    if (!this.#attached) return
    this.#attached = false
    for (const event of EVENTS) this.#body.off(event, this.#onEvent)
  }

  async #next(): Promise<Buffer | undefined> {
    for (;;) {
      if (this.#stopped) throw this.#stopped.reason
      const chunk: Buffer | null = this.#body.read()
      if (chunk) return chunk
      if (this.#body.errored) throw this.#body.errored
      if (this.#body.readableEnded) return undefined
      if (this.#body.destroyed)
        throw new Error('The request body is incomplete: the connection closed before all bytes arrived')
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }
}
