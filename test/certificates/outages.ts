import type { Random } from '../faults/random.ts'

const HOUR_MS = 3_600_000

/** Stretches of an hour to four days, a tenth of the time together, in which a CA is away; in milliseconds. */
export class Outages {
  readonly #stretches: { start: number; end: number }[] = []

  constructor(random: Random, start: number, end: number) {
    for (let at = start; at < end; ) {
      const length = HOUR_MS * 2 ** (random.below(6600) / 1000)
      const up = length * 9 * (0.5 + random.below(1000) / 1000)
      this.#stretches.push({ start: at + up, end: at + up + length })
      at += up + length
    }
  }

  /** Whether the CA is away at some time from `start` to `end`. */
  within(start: number, end: number): boolean {
    const first = this.#stretches[this.#firstEndingAfter(start)]
    return first !== undefined && first.start <= end
  }

  share(start: number, end: number): number {
    const away = this.#stretches.reduce(
      (sum, one) => sum + Math.max(0, Math.min(one.end, end) - Math.max(one.start, start)),
      0,
    )
    return away / (end - start)
  }

  #firstEndingAfter(time: number): number {
    let [low, high] = [0, this.#stretches.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#stretches[middle]!.end > time) high = middle
      else low = middle + 1
    }
    return low
  }
}
