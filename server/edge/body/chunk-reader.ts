import type { Readable } from 'node:stream'
import type { MemoryReservation } from '../../../packages/http-server/clients/client-memory.ts'
import {
  type BodyReader,
  FULL_READ_BYTES,
  SMALL_READ_BYTES,
} from '../../../packages/http-server/http-handler.ts'
import type { BlobSlice } from '../response.ts'

export interface ChunkSource {
  peek(number: number): Buffer | undefined
  onRead(number: number, bytes: Buffer): void
  streamBytes: number
  /** `end` is inclusive; undefined when the bytes are absent. */
  read(start: number, end: number): Promise<Readable | undefined>
  /** Receives the failure of bytes that follow the first ones. */
  onError?: ((error: unknown) => void) | undefined
}

interface FetchedRange {
  start: number
  bytes: Buffer
}

/**
 * Reads a large file, or a range of it, in order: cached chunks from memory, adjacent other ones from one stream.
 * Without memory for a stream, or for a client that reads slowly, only the requested bytes are read.
 */
export class ChunkReader implements BodyReader {
  readonly #source: ChunkSource
  readonly #content: BlobSlice
  readonly #memory: MemoryReservation | undefined
  #at: number
  readonly #end: number
  #stream: { body: Readable; chunks: AsyncIterator<Buffer>; at: number; rest: Buffer | undefined } | undefined
  #rest: FetchedRange | undefined

  /** The stream is accounted in `memory`. */
  constructor(content: BlobSlice, source: ChunkSource, memory: MemoryReservation | undefined) {
    this.#content = content
    this.#source = source
    this.#memory = memory
    this.#at = content.range?.start ?? 0
    this.#end = (content.range?.end ?? content.size - 1) + 1
  }

  /** Makes the first bytes available; false when they are absent. */
  async begin(): Promise<boolean> {
    const number = Math.floor(this.#at / FULL_READ_BYTES)
    if (this.#source.peek(number) !== undefined) return true
    if (this.#reserve()) return this.#open(number * FULL_READ_BYTES)
    this.#rest = await this.#readPart(SMALL_READ_BYTES)
    return this.#rest !== undefined
  }

  next(limit = FULL_READ_BYTES): Buffer | undefined | Promise<Buffer> {
    if (this.#at >= this.#end) return undefined
    if (this.#rest) return this.#slice(this.#rest, limit)
    const number = Math.floor(this.#at / FULL_READ_BYTES)
    const piece = this.#source.peek(number)
    if (piece) return this.#slice({ start: number * FULL_READ_BYTES, bytes: piece }, limit)
    return this.#read(number, limit).then(
      (part) => {
        this.#rest = part
        return this.#slice(part, limit)
      },
      (error: unknown) => {
        this.#source.onError?.(error)
        throw error
      },
    )
  }

  stall(): void {
    this.close()
  }

  close(): void {
    this.#stream?.body.destroy()
    this.#stream = undefined
    this.#rest = undefined
    this.#memory?.resize(0)
  }

  /**
   * A small part is copied, so that a slow reader does not retain the whole buffer. The part up to the end of a chunk
   * is not: a whole chunk follows it, which fills the reader's queue.
   */
  #slice({ start, bytes }: FetchedRange, limit: number): Buffer {
    const from = this.#at - start
    const part = bytes.subarray(from, Math.min(from + limit, this.#end - start))
    this.#at += part.length
    const isChunkDone = this.#at >= start + bytes.length
    if (this.#at >= this.#end) this.close()
    else if (isChunkDone) this.#rest = undefined
    const isFollowedByChunk = isChunkDone && this.#end - this.#at >= FULL_READ_BYTES
    return 2 * part.length < bytes.length && !isFollowedByChunk ? Buffer.from(part) : part
  }

  async #read(number: number, limit: number): Promise<FetchedRange> {
    const start = number * FULL_READ_BYTES
    if (this.#stream?.at !== start && (limit < FULL_READ_BYTES || !this.#reserve())) {
      const part = await this.#readPart(limit)
      if (!part) throw missing()
      return part
    }
    if (this.#stream?.at !== start && !(await this.#open(start))) throw missing()
    const bytes = await this.#readBytes(Math.min(FULL_READ_BYTES, this.#content.size - start))
    this.#source.onRead(number, bytes)
    return { start, bytes }
  }

  #reserve(): boolean {
    return this.#memory?.resize(this.#source.streamBytes) ?? true
  }

  /** Reads to the end of the last requested chunk, so that all chunks are complete. */
  async #open(start: number): Promise<boolean> {
    this.#stream?.body.destroy()
    this.#stream = undefined
    const last = Math.min(this.#content.size, Math.ceil(this.#end / FULL_READ_BYTES) * FULL_READ_BYTES) - 1
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

  async #readPart(limit: number): Promise<FetchedRange | undefined> {
    const start = this.#at
    const end = Math.min(start + limit, this.#end)
    const body = await this.#source.read(start, end - 1)
    if (!body) return undefined
    const bytes = Buffer.concat(await body.toArray())
    if (bytes.length !== end - start) throw this.#tooShort(start + bytes.length)
    return { start, bytes }
  }

  #tooShort(came: number): Error {
    return new Error(`${came} of ${this.#content.size} bytes received`)
  }
}

function missing(): Error {
  return new Error('the blob is missing')
}
