const MAX_TOKENS = 200

/**
 * Bounds retries during an outage: each takes a token, each success returns one. While half of all requests fail, every
 * request can be tried three times; when all fail, soon none is sent twice.
 */
export class RetryBudget {
  #tokens = MAX_TOKENS

  take(): boolean {
    if (this.#tokens < 1) return false
    this.#tokens--
    return true
  }

  refund(): void {
    this.#tokens = Math.min(MAX_TOKENS, this.#tokens + 1)
  }
}
