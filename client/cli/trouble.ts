/** Something that the person at the keyboard can do something about: one sentence, and what to do next. */
export class Trouble extends Error {
  readonly hints: string[]

  constructor(message: string, ...hints: string[]) {
    super(message)
    this.name = 'Trouble'
    this.hints = hints
  }
}

/** A command line that cannot be understood. */
export class UsageTrouble extends Trouble {}
