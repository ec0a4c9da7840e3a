/** What happened in a run: figures, and the promises that were broken. */
export class Report {
  readonly counts = new Map<string, number>()
  readonly maxima = new Map<string, number>()
  readonly violations: string[] = []
  readonly #log: (line: string) => void
  readonly #startedAt = performance.now()

  constructor(log: (line: string) => void = () => undefined) {
    this.#log = log
  }

  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1)
  }

  max(what: string, value: number): void {
    this.maxima.set(what, Math.max(this.maxima.get(what) ?? 0, Math.round(value)))
  }

  event(what: string): void {
    const seconds = ((performance.now() - this.#startedAt) / 1000).toFixed(1)
    this.#log(`${seconds.padStart(7)} s  ${what}`)
  }

  violation(what: string): void {
    this.violations.push(what)
    this.event(`VIOLATION: ${what}`)
  }

  get lines(): string[] {
    const figures = [...this.counts, ...this.maxima].sort(([one], [other]) => one.localeCompare(other))
    return figures.map(([what, figure]) => `${String(figure).padStart(9)}  ${what}`)
  }
}
