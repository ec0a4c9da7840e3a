/** What was dropped cannot be read or used, in words for the person who dropped it. */
export class Unfit extends Error {
  /** What to do. */
  readonly way: string

  constructor(title: string, way: string) {
    super(title)
    this.way = way
  }
}
