/** A value that parts of the page share: those who listen hear of every change. */
export class Kept<T> {
  #value: T
  readonly #listeners = new Set<() => void>()

  constructor(value: T) {
    this.#value = value
  }

  get value(): T {
    return this.#value
  }

  set value(value: T) {
    if (value === this.#value) return
    this.#value = value
    for (const listener of [...this.#listeners]) listener()
  }

  /** Answers how to stop listening. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
