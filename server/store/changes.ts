import type { ChangeEffect } from '../lib/loading-cache.ts'

/** The effects of changes by name; a name that is absent is withdrawn. */
export type ChangeEffects = ReadonlyMap<string, ChangeEffect>

export const NO_EFFECTS: ChangeEffects = new Map()

/** From the one that leaves most of what is cached to the one that leaves nothing. */
const EFFECTS: readonly ChangeEffect[] = ['improvable', 'outdated', 'withdrawn']

/** The names that a write, or a poll, has found changed: each with the strongest of its effects. */
export class ChangeSet {
  readonly #effects = new Map<string, ChangeEffect>()

  get size(): number {
    return this.#effects.size
  }

  get names(): string[] {
    return [...this.#effects.keys()]
  }

  get effects(): ChangeEffects {
    return this.#effects
  }

  /** An effect that is not known, of a later release, is the strongest. */
  add(name: string, effect: string = 'withdrawn'): void {
    const known = EFFECTS.find((one) => one === effect) ?? 'withdrawn'
    const before = this.#effects.get(name)
    if (before === undefined || EFFECTS.indexOf(known) > EFFECTS.indexOf(before))
      this.#effects.set(name, known)
  }
}
