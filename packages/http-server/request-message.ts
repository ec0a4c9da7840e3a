import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Transfer } from './clients/transfer-rates.ts'
import { GrowingBuffer } from './memory/growing-buffer.ts'
import { http } from './node-http.ts'

const LARGE_CHUNK_BYTES = 4096

/**
 * Maximum number of chunks of a body that are smaller than `MIN_CHUNK_BYTES` on average: each costs as much time as a
 * hundred bytes, and only attackers send more of them.
 */
const MAX_TINY_CHUNKS = 16_384
const MIN_CHUNK_BYTES = 16

/** Maximum number of small chunks processed before other connections run; one read of a socket may contain 11,000. */
const MAX_MERGED_CHUNKS = 256

/** Heap that a request and its response take, and each header line beside its text: measured. */
const REQUEST_BYTES = 3 * 1024
const HEADER_LINE_BYTES = 128

/** Called for a body that nothing reads any more. */
interface DiscardedBody {
  onBytes(): void
  onEnd(): void
}

/** Estimated memory of a request without its body, until its response is sent. */
export function headBytes({ rawHeaders, url = '' }: IncomingMessage): number {
  const text = rawHeaders.reduce((sum, part) => sum + part.length, url.length)
  return REQUEST_BYTES + (HEADER_LINE_BYTES * rawHeaders.length) / 2 + text
}

/**
 * A request whose body takes memory in proportion to its bytes, not its chunks. Node allocates a Buffer for each
 * chunk, 300 to 500 bytes for a chunk of one byte, and counts only that byte. This class merges small chunks: those
 * of one read of the socket, and those that arrive while earlier bytes are unread.
 */
export class RequestMessage extends http.IncomingMessage implements Transfer {
  readonly #pending = new GrowingBuffer()
  #mergedChunks = 0
  #isFlushScheduled = false
  #receivedBytes = 0
  #receivedChunks = 0
  #discarded: DiscardedBody | undefined
  #continues: ServerResponse | undefined

  get receivedBytes(): number {
    return this.#receivedBytes
  }

  get unreadBytes(): number {
    return this.readableLength + this.#pending.length
  }

  get isFinished(): boolean {
    return this.complete || this.destroyed
  }

  /** Whether the client sends the body only after 100 Continue, which was not sent. */
  get awaitsContinue(): boolean {
    return this.#continues !== undefined
  }

  /** Sends 100 Continue at the first read (RFC 9110, 10.1.1): a request that is refused before has no body to drop. */
  continueWhenRead(response: ServerResponse): void {
    this.#continues = response
  }

  /** Ends the body for its readers, and drops what still arrives; the connection stays open. */
  abandon(discarded: DiscardedBody = { onBytes() {}, onEnd() {} }): void {
    this.#discarded = discarded
    this.#pending.take()
    this.destroy()
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (!this.#discarded) super._destroy(error, callback)
    else {
      this.emit('aborted')
      callback(error)
    }
  }

  override _read(size: number): void {
    const response = this.#continues
    this.#continues = undefined
    if (response && !response.headersSent) response.writeContinue()
    super._read(size)
  }

  /** Called by Node's parser for each chunk; false pauses the socket until the body is read. */
  override push(chunk: Buffer | null): boolean {
    if (this.#discarded) {
      if (chunk === null) this.#discarded.onEnd()
      else this.#discarded.onBytes()
      return true
    }
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
    // read(0) triggers a read of the source and consumes nothing.
    if (size !== 0) this.#flush()
    return super.read(size)
  }

  /** Ends the connection like a syntax error: with 400 if the request has no response yet. */
  #refuse(): false {
    const error = Object.assign(new Error('The chunks of the request body are too small'), {
      code: 'TINY_CHUNKS',
    })
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

  /** Runs after the read of the socket. While earlier bytes are unread, the next `read` returns pending ones too. */
  #flushWhenRead(): void {
    this.#isFlushScheduled = false
    this.#mergedChunks = 0
    if (this.readableLength === 0) this.#flush()
  }

  #flush(): void {
    if (this.#pending.length > 0) super.push(this.#pending.take())
  }
}
