import type { Readable } from 'node:stream'
import type { Content } from '../answer.ts'

/** Bytes of a piece. A slow client holds a few of them; see `pour`. */
export const PIECE = 128 * 1024

/** Where the pieces of a file come from, by their number. */
export interface PieceSource {
  /** A piece that is in memory. */
  warm(number: number): Buffer | undefined
  /** A piece was read: it may be kept for others. */
  keep(number: number, bytes: Buffer): void
  /** The bytes from `start` to `end`, both included; undefined when they are not there. */
  read(start: number, end: number): Promise<Readable | undefined>
}

/**
 * The bytes of a large file, or a part of it, one piece after the other: from memory as far as they are there, the others
 * in one stream for as many as follow each other.
 */
export class Pieces {
  readonly #source: PieceSource
  readonly #content: Content
  #at: number
  readonly #end: number
  #stream: { body: Readable; chunks: AsyncIterator<Buffer>; at: number; rest: Buffer | undefined } | undefined

  constructor(content: Content, source: PieceSource) {
    this.#content = content
    this.#source = source
    this.#at = content.range?.start ?? 0
    this.#end = (content.range?.end ?? content.size - 1) + 1
  }

  /** Makes sure that the first bytes can be had; false when they are not there. */
  async begin(): Promise<boolean> {
    const number = Math.floor(this.#at / PIECE)
    return this.#source.warm(number) !== undefined || this.#open(number * PIECE)
  }

  /** The next bytes, undefined after the last. A promise only when they have to be read; it rejects when they are not there. */
  next(): Buffer | undefined | Promise<Buffer> {
    if (this.#at >= this.#end) return undefined
    const number = Math.floor(this.#at / PIECE)
    const piece = this.#source.warm(number)
    return piece ? this.#cut(piece, number) : this.#read(number).then((read) => this.#cut(read, number))
  }

  /** Lets go of what is open. */
  close(): void {
    this.#stream?.body.destroy()
    this.#stream = undefined
  }

  #cut(piece: Buffer, number: number): Buffer {
    const start = number * PIECE
    const bytes = piece.subarray(this.#at - start, this.#end - start)
    this.#at += bytes.length
    if (this.#at >= this.#end) this.close()
    return bytes
  }

  async #read(number: number): Promise<Buffer> {
    const start = number * PIECE
    const length = Math.min(PIECE, this.#content.size - start)
    if (this.#stream?.at !== start && !(await this.#open(start))) throw new Error('the blob is missing')
    const bytes = await this.#take(length)
    this.#source.keep(number, bytes)
    return bytes
  }

  /** Reads to the end of the last piece that is wanted, so that all of them are whole. */
  async #open(start: number): Promise<boolean> {
    this.close()
    const last = Math.min(this.#content.size, Math.ceil(this.#end / PIECE) * PIECE) - 1
    const body = await this.#source.read(start, last)
    if (!body) return false
    this.#stream = { body, chunks: body[Symbol.asyncIterator](), at: start, rest: undefined }
    return true
  }

  async #take(length: number): Promise<Buffer> {
    const stream = this.#stream!
    const chunks: Buffer[] = stream.rest ? [stream.rest] : []
    let size = stream.rest?.length ?? 0
    while (size < length) {
      const { value, done } = await stream.chunks.next()
      if (done) throw new Error(`${stream.at + size} bytes came of ${this.#content.size}`)
      chunks.push(value)
      size += value.length
    }
    const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
    stream.at += length
    stream.rest = size > length ? bytes.subarray(length) : undefined
    return bytes.subarray(0, length)
  }
}
