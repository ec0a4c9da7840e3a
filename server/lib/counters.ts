/**
 * Numbers of one process for operators, shown by `slipway-server nodes`. A name has an area and what is counted, in
 * lower case: `s3.put.ok`, `edge.stale`. A count only increases while the process runs.
 */
export class Counters {
  readonly #counts = new Map<string, number>()
  readonly #gauges = new Map<string, (() => number)[]>()

  add(name: string, amount = 1): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + amount)
  }

  /** Adds a value that is read when the numbers are shown. Gauges with a common name are summed. */
  addGauge(name: string, read: () => number): void {
    this.#gauges.set(name, [...(this.#gauges.get(name) ?? []), read])
  }

  /** All numbers, in the order of their names. */
  read(): Record<string, number> {
    const sum = (gauges: readonly (() => number)[]) => gauges.reduce((total, read) => total + read(), 0)
    const gauges = [...this.#gauges].map(([name, reads]) => [name, sum(reads)] as const)
    const compare = ([one]: readonly [string, number], [other]: readonly [string, number]) =>
      one < other ? -1 : 1
    return Object.fromEntries([...this.#counts, ...gauges].sort(compare))
  }
}
