import type { HttpResponse } from './transport.ts'

const MAX_NONCES = 20

/** Unused nonces of the CA (RFC 8555, 6.5): each is used once, the newest first. */
export class NoncePool {
  readonly #nonces: string[] = []

  /** Stores the nonce of a response. */
  add({ headers }: HttpResponse): void {
    const nonce = headers['replay-nonce']
    if (typeof nonce !== 'string' || !/^[\w-]{1,500}$/.test(nonce)) return
    this.#nonces.push(nonce)
    if (this.#nonces.length > MAX_NONCES) this.#nonces.shift()
  }

  /** Drops all nonces: when the CA rejects one, the others may be invalid too. */
  clear(): void {
    this.#nonces.length = 0
  }

  /** Removes and returns the newest nonce. */
  take(): string | undefined {
    return this.#nonces.pop()
  }
}
