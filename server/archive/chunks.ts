const EMPTY = Buffer.alloc(0)

/** Reads exact amounts from a sequence of chunks. */
export class Chunks {
  readonly #source: AsyncIterator<Buffer>
  #rest: Buffer = EMPTY

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  /** The next `length` bytes, or undefined when fewer are left. */
  async exactly(length: number): Promise<Buffer | undefined> {
    if (length <= this.#rest.length) return this.#take(length)
    const pieces: Buffer[] = []
    for (let missing = length; missing > 0; ) {
      const piece = await this.some(missing)
      if (!piece) return undefined
      pieces.push(piece)
      missing -= piece.length
    }
    return Buffer.concat(pieces, length)
  }

  /** The next bytes, at least one and no more than `most`, or undefined at the end. */
  async some(most: number): Promise<Buffer | undefined> {
    while (this.#rest.length === 0) {
      const { done, value } = await this.#source.next()
      if (done) return undefined
      this.#rest = value
    }
    return this.#take(Math.min(most, this.#rest.length))
  }

  /** Passes over `length` bytes; false when fewer are left. */
  async skip(length: number): Promise<boolean> {
    for (let left = length; left > 0; ) {
      const piece = await this.some(left)
      if (!piece) return false
      left -= piece.length
    }
    return true
  }

  /** Ends the source. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#source.return?.()
  }

  #take(length: number): Buffer {
    const taken = this.#rest.subarray(0, length)
    this.#rest = this.#rest.subarray(length)
    return taken
  }
}
