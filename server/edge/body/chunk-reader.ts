import type { Readable } from 'node:stream'
import type { MemoryReservation } from '../../lib/client-memory.ts'
import type { BlobSlice } from '../response.ts'

/** Bytes of a piece: what the cache keeps, and what is sent at once to a client that reads fast; see `pour`. */
export const CHUNK_BYTES = 128 * 1024

/** What is read at once for a client that reads slowly. */
export const SMALL_READ = 32 * 1024

/** What an open stream takes: the piece that is being used, and the one that is read ahead. */
const STREAM_BYTES = 2 * CHUNK_BYTES

/** The source of a file's chunks, by number. */
export interface ChunkSource {
  /** A cached chunk. */
  peek(number: number): Buffer | undefined
  /** Offers a chunk that was read to the cache. */
  onRead(number: number, bytes: Buffer): void
  /** The bytes from `start` to `end`, inclusive; undefined when they are absent. */
  read(start: number, end: number): Promise<Readable | undefined>
}

/** Bytes of the file that were read, from `start` on. */
interface Part {
  start: number
  bytes: Buffer
}

/**
 * The bytes of a large file, or a part of it, one after the other: from memory as far as they are there, the others
 * in one stream for as many as follow each other. Without memory for a stream, or for a client that does not want a whole
 * piece at once, just what is wanted is read.
 */
export class ChunkReader {
  readonly #source: ChunkSource
  readonly #content: BlobSlice
  readonly #memory: MemoryReservation | undefined
  #at: number
  readonly #end: number
  #stream: { body: Readable; chunks: AsyncIterator<Buffer>; at: number; rest: Buffer | undefined } | undefined
  /** What was read and not handed out yet. */
  #rest: Part | undefined

  /** `memory` is what the stream counts against. */
  constructor(content: BlobSlice, source: ChunkSource, memory: MemoryReservation | undefined) {
    this.#content = content
    this.#source = source
    this.#memory = memory
    this.#at = content.range?.start ?? 0
    this.#end = (content.range?.end ?? content.size - 1) + 1
  }

  /** Ensures that the first bytes are available; false when they are absent. */
  async begin(): Promise<boolean> {
    const number = Math.floor(this.#at / CHUNK_BYTES)
    if (this.#source.peek(number) !== undefined) return true
    if (this.#reserve()) return this.#open(number * CHUNK_BYTES)
    this.#rest = await this.#readPart(SMALL_READ)
    return this.#rest !== undefined
  }

  /**
   * The next bytes, at most `limit`; undefined after the last. A promise only when they have to be read; it rejects when they
   * are not there.
   */
  next(limit = CHUNK_BYTES): Buffer | undefined | Promise<Buffer> {
    if (this.#at >= this.#end) return undefined
    if (this.#rest) return this.#slice(this.#rest, limit)
    const number = Math.floor(this.#at / CHUNK_BYTES)
    const piece = this.#source.peek(number)
    if (piece) return this.#slice({ start: number * CHUNK_BYTES, bytes: piece }, limit)
    return this.#read(number, limit).then((part) => {
      this.#rest = part
      return this.#slice(part, limit)
    })
  }

  /** Lets go of what is open and of what was read ahead. `next` may still be called, and reads again from where it was. */
  close(): void {
    this.#stream?.body.destroy()
    this.#stream = undefined
    this.#rest = undefined
    this.#memory?.resize(0)
  }

  /** A small part is copied, so that a client that does not read it holds on to no more. */
  #slice({ start, bytes }: Part, limit: number): Buffer {
    const from = this.#at - start
    const part = bytes.subarray(from, Math.min(from + limit, this.#end - start))
    this.#at += part.length
    if (this.#at >= this.#end) this.close()
    else if (this.#at >= start + bytes.length) this.#rest = undefined
    return 2 * part.length < bytes.length ? Buffer.from(part) : part
  }

  async #read(number: number, limit: number): Promise<Part> {
    const start = number * CHUNK_BYTES
    if (this.#stream?.at !== start && (limit < CHUNK_BYTES || !this.#reserve())) {
      const part = await this.#readPart(limit)
      if (!part) throw missing()
      return part
    }
    if (this.#stream?.at !== start && !(await this.#open(start))) throw missing()
    const bytes = await this.#readBytes(Math.min(CHUNK_BYTES, this.#content.size - start))
    this.#source.onRead(number, bytes)
    return { start, bytes }
  }

  #reserve(): boolean {
    return this.#memory?.resize(STREAM_BYTES) ?? true
  }

  /** Reads to the end of the last requested chunk, so that all chunks are complete. */
  async #open(start: number): Promise<boolean> {
    this.#stream?.body.destroy()
    this.#stream = undefined
    const last = Math.min(this.#content.size, Math.ceil(this.#end / CHUNK_BYTES) * CHUNK_BYTES) - 1
    const body = await this.#source.read(start, last)
    if (!body) return false
    this.#stream = { body, chunks: body[Symbol.asyncIterator](), at: start, rest: undefined }
    return true
  }

  async #readBytes(length: number): Promise<Buffer> {
    const stream = this.#stream!
    const chunks: Buffer[] = stream.rest ? [stream.rest] : []
    let size = stream.rest?.length ?? 0
    while (size < length) {
      const { value, done } = await stream.chunks.next()
      if (done) throw this.#tooShort(stream.at + size)
      chunks.push(value)
      size += value.length
    }
    const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
    stream.at += length
    stream.rest = size > length ? bytes.subarray(length) : undefined
    return bytes.subarray(0, length)
  }

  /** Undefined when they are not there. */
  async #readPart(limit: number): Promise<Part | undefined> {
    const start = this.#at
    const end = Math.min(start + limit, this.#end)
    const body = await this.#source.read(start, end - 1)
    if (!body) return undefined
    const bytes = Buffer.concat(await body.toArray())
    if (bytes.length !== end - start) throw this.#tooShort(start + bytes.length)
    return { start, bytes }
  }

  #tooShort(came: number): Error {
    return new Error(`${came} bytes came of ${this.#content.size}`)
  }
}

function missing(): Error {
  return new Error('the blob is missing')
}
