import { Failure } from '../failure.ts'
import { type Budget, type Held, Kept } from './kept.ts'

interface Options<V> {
  /** Looks a key up. Rejects with UNAVAILABLE when there is nobody to ask. */
  ask: (key: string) => Promise<V>
  /** About how much memory a value takes. */
  bytes: (value: V) => number
  /** Whether a value says that there is nothing: kept for a second and in a room of its own. */
  nothing: (value: V) => boolean
  /** Hears of each value that is remembered no longer; who got it may still use it in the same turn of the event loop. */
  dropped?: (value: V) => void
  budget: Budget
  clock: () => number
}

/** A value, and when it was heard. */
interface Remark<V> {
  value: V
  hearing: number
}

/** Where a key's value is kept, for who asks for it often. */
export interface Whereabouts {
  held?: Held<unknown>
}

/** How long nothing is believed: others may make something of it without telling us. */
const NOTHING_MILLISECONDS = 1000
const MOST_NOTHINGS = 10_000

/** Questions at once; one more is turned away. */
const MOST_QUESTIONS = 1000

/** After a question that nobody could answer, how long what is in doubt is believed without asking again. */
const PAUSE_MILLISECONDS = 1000

/**
 * Answers to questions, remembered until somebody says that they changed.
 *
 * - Those who ask the same while a question is under way share it. What was forgotten meanwhile is answered to
 *   those who had asked before, but not remembered, and who asks afterwards starts a new question.
 * - After `doubt` everything is asked again; what nobody can be asked about is still believed.
 */
export class Remembered<V extends object> {
  readonly #options: Options<V>
  readonly #kept: Kept<Remark<V>>
  readonly #nothings = new Map<string, { value: V; until: number }>()
  readonly #questions = new Map<string, Promise<V>>()
  #underWay = 0
  #hearing = 0
  #pausedUntil = 0

  constructor(options: Options<V>) {
    this.#options = options
    const { budget, dropped } = options
    this.#kept = new Kept(budget, dropped && (({ value }) => dropped(value)))
  }

  /** The value when nobody has to be asked. `at` remembers where it is kept; it must always come with the same key. */
  warm(key: string, at?: Whereabouts): V | undefined {
    const held = at?.held as Held<Remark<V>> | undefined
    const kept = held?.value ? held : this.#kept.find(key)
    if (kept?.value) {
      kept.used = true
      if (at) at.held = kept
      const { value, hearing } = kept.value
      return hearing === this.#hearing || this.#options.clock() < this.#pausedUntil ? value : undefined
    }
    const nothing = this.#nothings.get(key)
    return nothing && this.#options.clock() < nothing.until ? nothing.value : undefined
  }

  /** The value. UNAVAILABLE when it is not remembered and nobody can be asked. */
  async get(key: string): Promise<V> {
    return this.warm(key) ?? this.#questions.get(key) ?? this.#question(key)
  }

  forget(key: string): void {
    this.#kept.delete(key)
    this.#nothings.delete(key)
    this.#questions.delete(key)
  }

  /** Answers to questions under way are not to be remembered. */
  interrupt(): void {
    this.#questions.clear()
  }

  /** Anything may have changed. */
  doubt(): void {
    this.#hearing++
    this.#pausedUntil = 0
    this.#nothings.clear()
    this.#questions.clear()
  }

  #question(key: string): Promise<V> {
    if (this.#underWay >= MOST_QUESTIONS) {
      throw new Failure('UNAVAILABLE', 'The service is busy; try again shortly', { retryAfterSeconds: 1 })
    }
    const question = this.#ask(key, () => this.#questions.get(key) === question)
    this.#questions.set(key, question)
    return question
  }

  async #ask(key: string, current: () => boolean): Promise<V> {
    this.#underWay++
    try {
      const value = await this.#options.ask(key)
      if (current()) this.#remember(key, value)
      return value
    } catch (error) {
      const kept = this.#kept.get(key)
      if (!kept || !(error instanceof Failure) || error.code !== 'UNAVAILABLE') throw error
      this.#pausedUntil = this.#options.clock() + PAUSE_MILLISECONDS
      return kept.value
    } finally {
      this.#underWay--
      if (current()) this.#questions.delete(key)
    }
  }

  #remember(key: string, value: V): void {
    const { nothing, bytes, clock } = this.#options
    this.#nothings.delete(key)
    this.#kept.delete(key)
    if (!nothing(value)) {
      this.#kept.set(key, { value, hearing: this.#hearing }, bytes(value))
      return
    }
    this.#nothings.set(key, { value, until: clock() + NOTHING_MILLISECONDS })
    if (this.#nothings.size > MOST_NOTHINGS) this.#nothings.delete(this.#nothings.keys().next().value!)
  }
}
