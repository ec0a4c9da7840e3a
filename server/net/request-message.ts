import { IncomingMessage, type Server } from 'node:http'
import type { Socket } from 'node:net'
import { GrowingBuffer } from '../lib/growing-buffer.ts'
import type { Transfer } from '../lib/transfer-rates.ts'

/** Chunks of at least this size are passed on without a copy. */
const LARGE_CHUNK_BYTES = 4096

/**
 * Chunks of a body that may be smaller than `MIN_CHUNK_BYTES` on average: each costs the time of a hundred bytes, and no client
 * that means well sends more of them.
 */
const MAX_TINY_CHUNKS = 16_384
const MIN_CHUNK_BYTES = 16

/** Small chunks that are taken from a connection before others have their turn; a read of the socket may bring 11,000. */
const MAX_MERGED_CHUNKS = 256

/** Heap that a request and its response take, and each header line beside its text: measured. */
const REQUEST_BYTES = 3 * 1024
const HEADER_LINE_BYTES = 128

/** About what a request takes in memory until it has its response, without its body. */
export function headBytes({ rawHeaders, url = '' }: IncomingMessage): number {
  const text = rawHeaders.reduce((sum, part) => sum + part.length, url.length)
  return REQUEST_BYTES + (HEADER_LINE_BYTES * rawHeaders.length) / 2 + text
}

/**
 * A request whose body takes memory by its bytes, whatever the size of its chunks. Node keeps a Buffer of its own for each
 * chunk, which takes 300 to 500 bytes for a chunk of one byte, and counts only the byte. This class merges small chunks: all
 * that one read of the socket brings, and all that arrives while earlier bytes have not been read.
 */
export class RequestMessage extends IncomingMessage implements Transfer {
  readonly #pending = new GrowingBuffer()
  #mergedChunks = 0
  #isFlushScheduled = false
  #receivedBytes = 0
  #receivedChunks = 0

  /** Bytes of the body that have arrived. */
  get receivedBytes(): number {
    return this.#receivedBytes
  }

  /** Bytes of the body that have arrived and were not read yet. */
  get unreadBytes(): number {
    return this.readableLength + this.#pending.length
  }

  get isFinished(): boolean {
    return this.complete || this.destroyed
  }

  /** Called by Node's parser for each chunk; false pauses the socket until the body is read. */
  override push(chunk: Buffer | null): boolean {
    if (chunk === null) {
      this.#flush()
      return super.push(null)
    }
    this.#receivedBytes += chunk.length
    this.#receivedChunks++
    if (this.#receivedChunks - this.#receivedBytes / MIN_CHUNK_BYTES > MAX_TINY_CHUNKS) return this.#refuse()
    if (chunk.length >= LARGE_CHUNK_BYTES) {
      this.#flush()
      return super.push(chunk)
    }
    this.#merge(chunk)
    return this.#mergedChunks < MAX_MERGED_CHUNKS && this.unreadBytes < this.readableHighWaterMark
  }

  override read(size?: number): Buffer | null {
    // 0 asks for more of the source and takes nothing.
    if (size !== 0) this.#flush()
    return super.read(size)
  }

  /** Has the connection ended as after a syntax error, with 400 where the request has no response yet. */
  #refuse(): false {
    const error = Object.assign(new Error('The chunks of the body are too small'), { code: 'TINY_CHUNKS' })
    const { server } = this.socket as Socket & { server?: Server }
    server?.emit('clientError', error, this.socket)
    return false
  }

  #merge(chunk: Buffer): void {
    this.#mergedChunks++
    this.#pending.append(chunk)
    if (this.#isFlushScheduled) return
    this.#isFlushScheduled = true
    setImmediate(() => this.#flushWhenRead())
  }

  /** Runs after the read of the socket. While earlier bytes are unread, `read` takes the pending ones with them. */
  #flushWhenRead(): void {
    this.#isFlushScheduled = false
    this.#mergedChunks = 0
    if (this.readableLength === 0) this.#flush()
  }

  #flush(): void {
    if (this.#pending.length > 0) super.push(this.#pending.take())
  }
}
