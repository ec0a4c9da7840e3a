/** What is older than a removed record counts as invalidated. */
const MAX_RECORDS = 1000

/** The order of invalidations, for results that were read while they happened. */
export class InvalidationLog {
  #count = 0
  /** The number of the last invalidation by key, oldest first. */
  readonly #numbers = new Map<string, number>()
  #lastRemoved = 0

  get count(): number {
    return this.#count
  }

  add(key: string): void {
    this.#numbers.delete(key)
    this.#numbers.set(key, ++this.#count)
    if (this.#numbers.size <= MAX_RECORDS) return
    const [oldest, number] = this.#numbers.entries().next().value!
    this.#numbers.delete(oldest)
    this.#lastRemoved = number
  }

  /** Whether one of the keys was, or may have been, invalidated after that many invalidations. */
  hasAny(keys: readonly string[], since: number): boolean {
    return keys.some((key) => (this.#numbers.get(key) ?? this.#lastRemoved) > since)
  }
}
