/** Sums by key, such as those of networks. A sum of 0 takes no memory. */
export class Tally {
  readonly #sums = new Map<string, number>()
  #total = 0

  get total(): number {
    return this.#total
  }

  of(key: string): number {
    return this.#sums.get(key) ?? 0
  }

  /** `amount` may be negative. */
  add(key: string, amount: number): void {
    this.#total += amount
    const sum = this.of(key) + amount
    if (sum > 0) this.#sums.set(key, sum)
    else this.#sums.delete(key)
  }

  [Symbol.iterator](): Iterator<[key: string, sum: number]> {
    return this.#sums.entries()
  }
}
