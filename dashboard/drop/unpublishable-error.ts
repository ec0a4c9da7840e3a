/** A drop that cannot be read or used, with a message for the user. */
export class UnpublishableError extends Error {
  /** The next step. */
  readonly hint: string

  constructor(title: string, way: string) {
    super(title)
    this.hint = way
  }
}
