/** Something that the person at the keyboard can do something about: one sentence, and what to do next. */
export class Trouble extends Error {
  readonly hint: string | undefined

  constructor(message: string, hint?: string) {
    super(message)
    this.name = 'Trouble'
    this.hint = hint
  }
}

/** A command line that cannot be understood. */
export class UsageTrouble extends Trouble {}
