import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream'
import type { MemoryReservation } from '../../../packages/http-server/clients/client-memory.ts'
import type { BodyReader } from '../../../packages/http-server/http-handler.ts'
import { type CodedContent, createDecoder, decoderBytes } from '../../blobs/content-coding.ts'
import { overloaded } from '../../lib/semaphore.ts'

interface DecodedReaderOptions {
  coded: CodedContent
  /** Opens the published bytes; undefined when they are absent. */
  read: () => Promise<Readable | undefined>
  streamBytes: number
  onError?: ((error: unknown) => void) | undefined
}

/**
 * Decodes the published bytes of a file for a client that does not accept their coding, in order, at the pace of the
 * client. A decoder that was closed could continue only by decoding everything before again, so a slow client keeps it.
 */
export class DecodedReader implements BodyReader {
  readonly #options: DecodedReaderOptions
  readonly #memory: MemoryReservation | undefined
  #chunks: AsyncIterator<Buffer> | undefined
  #decoder: Readable | undefined
  #rest: Buffer | undefined
  #bytesLeft: number

  constructor(options: DecodedReaderOptions, memory: MemoryReservation | undefined) {
    this.#options = options
    this.#memory = memory
    this.#bytesLeft = options.coded.decodedSize
  }

  /** Opens the bytes; false when they are absent. UNAVAILABLE without memory for the decoder. */
  async begin(): Promise<boolean> {
    const { coded, read, streamBytes } = this.#options
    if (this.#memory?.resize(decoderBytes(coded) + streamBytes) === false) throw overloaded()
    const body = await read()
    if (!body) return false
    const decoder = createDecoder(coded.coding)
    pipeline(body, decoder, () => undefined)
    this.#decoder = decoder
    this.#chunks = decoder[Symbol.asyncIterator]()
    return true
  }

  next(limit: number): Buffer | undefined | Promise<Buffer> {
    if (this.#bytesLeft === 0) return undefined
    return this.#rest ? this.#take(this.#rest, limit) : this.#read(limit)
  }

  stall(): void {}

  close(): void {
    this.#decoder?.destroy()
    this.#rest = undefined
    this.#memory?.resize(0)
  }

  async #read(limit: number): Promise<Buffer> {
    try {
      const { value, done } = await this.#chunks!.next()
      if (done || value.length > this.#bytesLeft) throw new Error('the file decodes to another size')
      return this.#take(value, limit)
    } catch (error) {
      this.#options.onError?.(error)
      throw error
    }
  }

  #take(bytes: Buffer, limit: number): Buffer {
    const part = bytes.subarray(0, limit)
    this.#rest = part.length < bytes.length ? bytes.subarray(limit) : undefined
    this.#bytesLeft -= part.length
    if (this.#bytesLeft === 0) this.close()
    return part
  }
}
