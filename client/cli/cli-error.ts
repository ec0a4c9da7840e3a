/** An error that the user can fix: one sentence, and the next step. */
export class CliError extends Error {
  readonly hints: string[]

  constructor(message: string, ...hints: string[]) {
    super(message)
    this.name = 'Trouble'
    this.hints = hints
  }
}

/** A usage error. */
export class UsageError extends CliError {}
