import { hkdfSync } from 'node:crypto'

/** Milliseconds that one key is for. */
const PERIOD = 12 * 3_600_000

/** Keys of session tickets (RFC 5077; RFC 8446, 4.6.1), the same in every process and on every node. */
export class TicketKeys {
  readonly #secret: string
  readonly #clock: () => number
  #period = -1
  #keys: Buffer = Buffer.alloc(0)

  constructor(secret: string, clock: () => number) {
    this.#secret = secret
    this.#clock = clock
  }

  /** Counts up each time the key changes: what was made with the one before is to be made anew. */
  get period(): number {
    return Math.floor(this.#clock() / PERIOD)
  }

  /** 48 bytes, as `tls.createSecureContext` takes them. */
  get keys(): Buffer {
    if (this.#period !== this.period) {
      this.#period = this.period
      this.#keys = Buffer.from(
        hkdfSync('sha256', this.#secret, 'slipway', `session tickets ${this.#period}`, 48),
      )
    }
    return this.#keys
  }
}
