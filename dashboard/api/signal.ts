/** An observable value shared by parts of the page. */
export class Signal<T> {
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

  /** Returns a function that unsubscribes. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
