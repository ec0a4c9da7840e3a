import type { Reply } from './transport.ts'

const MOST_KEPT = 20

/** Nonces that the CA gave out (RFC 8555, 6.5): each is used once, the newest first. */
export class Nonces {
  readonly #kept: string[] = []

  /** Keeps the one that stands on an answer. */
  keep({ headers }: Reply): void {
    const nonce = headers['replay-nonce']
    if (typeof nonce !== 'string' || !/^[\w-]{1,500}$/.test(nonce)) return
    this.#kept.push(nonce)
    if (this.#kept.length > MOST_KEPT) this.#kept.shift()
  }

  /** Drops all: when the CA refuses one, it may have forgotten the others too. */
  drop(): void {
    this.#kept.length = 0
  }

  /** One of those that are kept, the newest. */
  take(): string | undefined {
    return this.#kept.pop()
  }
}
