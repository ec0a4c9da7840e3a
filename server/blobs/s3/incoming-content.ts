import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { BodyError } from '../../../packages/s3-client/errors.ts'
import type { PutConstraints, StoredBlob } from '../blobs.ts'
import { assertExpected, assertLength } from '../constraints.ts'
import { hashTable, PieceHasher } from './pieces.ts'

/** A body that is hashed and compared with its constraints while it is read. */
export class IncomingContent {
  readonly #chunks: AsyncIterator<Buffer>
  readonly #expected: PutConstraints
  readonly #hash = createHash('sha256')
  readonly #pieces = new PieceHasher()
  #size = 0
  #isEnded = false

  constructor(body: Readable, expected: PutConstraints) {
    // The body is not destroyed on an early exit, so that the client can still receive the error.
    this.#chunks = body.iterator({ destroyOnReturn: false })
    this.#expected = expected
  }

  get size(): number {
    return this.#size
  }

  /** The next bytes; undefined at the end, once they are those that were expected. */
  async next(): Promise<Buffer | undefined> {
    if (this.#isEnded) return undefined
    try {
      const { value: chunk, done } = await this.#chunks.next()
      if (done) {
        this.#isEnded = true
        return undefined
      }
      this.#size += chunk.length
      assertLength(this.#size, this.#expected)
      this.#hash.update(chunk)
      this.#pieces.update(chunk)
      return chunk
    } catch (cause) {
      throw new BodyError(cause)
    }
  }

  async close(): Promise<void> {
    await this.#chunks.return?.()
  }

  /** After the end: the table of its pieces, and what was received. Throws when it is not what was expected. */
  finish(): { table: Buffer; received: Omit<StoredBlob, 'object'> } {
    const table = this.#pieces.table()
    const received = { hash: this.#hash.digest('hex'), size: this.#size, piecesHash: hashTable(table) }
    try {
      assertExpected(received, this.#expected)
    } catch (cause) {
      throw new BodyError(cause)
    }
    return { table, received }
  }
}
