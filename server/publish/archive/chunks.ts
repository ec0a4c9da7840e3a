import { pipeline, type Transform } from 'node:stream'
import { GrowingBuffer } from '../../../packages/http-server/memory/growing-buffer.ts'

const EMPTY = Buffer.alloc(0)

export class ByteReader {
  readonly #source: AsyncIterator<Buffer>
  #buffered: Buffer = EMPTY

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  /** Undefined when fewer remain. */
  async readExactly(length: number): Promise<Buffer | undefined> {
    if (length <= this.#buffered.length) return this.#consume(length)
    const found = new GrowingBuffer()
    while (found.length < length) {
      const piece = await this.readSome(length - found.length)
      if (!piece) return undefined
      found.append(piece)
    }
    return found.take()
  }

  /** At least one and at most `max` bytes; undefined at the end. */
  async readSome(max: number): Promise<Buffer | undefined> {
    while (this.#buffered.length === 0) {
      const { done, value } = await this.#source.next()
      if (done) return undefined
      this.#buffered = value
    }
    return this.#consume(Math.min(max, this.#buffered.length))
  }

  /** False when fewer remain. */
  async skip(length: number): Promise<boolean> {
    for (let left = length; left > 0; ) {
      const piece = await this.readSome(left)
      if (!piece) return false
      left -= piece.length
    }
    return true
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#source.return?.()
  }

  #consume(length: number): Buffer {
    const taken = this.#buffered.subarray(0, length)
    this.#buffered = this.#buffered.subarray(length)
    return taken
  }
}

const CORRUPTION_CODES = new Set(['Z_DATA_ERROR', 'Z_BUF_ERROR', 'Z_NEED_DICT'])

/** `make` is of node:zlib; throws `damage()` for invalid data. */
export async function* decompress(
  source: AsyncIterable<Buffer>,
  make: () => Transform,
  damage: () => Error,
): AsyncGenerator<Buffer, void, undefined> {
  const engine = make()
  pipeline(source, engine, () => {})
  try {
    yield* engine
  } catch (error) {
    throw CORRUPTION_CODES.has((error as NodeJS.ErrnoException).code ?? '') ? damage() : error
  } finally {
    engine.destroy()
  }
}
