const MAX_RESULTS = 10_000

/** Negative results by their keys, and by the keys that own them. The oldest ones give way to further ones. */
export class NegativeResults<R extends { owners: readonly string[] }> {
  readonly #results = new Map<string, R>()
  readonly #owned = new Map<string, Set<string>>()

  get(key: string): R | undefined {
    return this.#results.get(key)
  }

  has(key: string): boolean {
    return this.#results.has(key)
  }

  ownedBy(owner: string): Iterable<string> {
    return this.#owned.get(owner) ?? []
  }

  set(key: string, result: R): void {
    this.delete(key)
    this.#results.set(key, result)
    for (const owner of result.owners) {
      const keys = this.#owned.get(owner) ?? new Set()
      this.#owned.set(owner, keys.add(key))
    }
    if (this.#results.size > MAX_RESULTS) this.delete(this.#results.keys().next().value!)
  }

  delete(key: string): void {
    const result = this.#results.get(key)
    if (!result) return
    this.#results.delete(key)
    for (const owner of result.owners) {
      const keys = this.#owned.get(owner)
      keys?.delete(key)
      if (keys?.size === 0) this.#owned.delete(owner)
    }
  }
}
