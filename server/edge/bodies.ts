import type { ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { finished } from 'node:stream'
import type { Blobs } from '../blobs/blobs.ts'
import { Failure } from '../failure.ts'
import type { Content } from './answer.ts'
import { type Budget, Kept } from './kept.ts'

/** Files up to this many bytes are kept in memory; larger ones are streamed. */
const SMALL = 256 * 1024

/** Small files that are read at once, each into memory; further ones are streamed as if they were large. */
const MOST_READS = 256

/** Streams at once: each holds a file open and some 512 KiB. One more is turned away. */
const MOST_STREAMS = 2000

/** The bytes of files: from memory, else from the blobs. */
export class Bodies {
  readonly #blobs: Blobs
  readonly #kept: Kept<Buffer>
  readonly #reads = new Map<string, Promise<Buffer | undefined>>()
  #streams = 0

  constructor({ blobs, budget }: { blobs: Blobs; budget: Budget }) {
    this.#blobs = blobs
    this.#kept = new Kept(budget)
  }

  /** The bytes that are wanted, when they are in memory. */
  warm(content: Content): Buffer | undefined {
    const bytes = this.#kept.get(nameOf(content))
    return bytes && cut(bytes, content)
  }

  /**
   * The bytes that are wanted or a stream of them, which the caller has to destroy; undefined when they are not
   * there. UNAVAILABLE when too many streams are open.
   */
  async open(content: Content): Promise<Buffer | Readable | undefined> {
    const reading = this.#reads.get(nameOf(content))
    if (content.size > SMALL || (!reading && this.#reads.size >= MOST_READS)) return this.#stream(content)
    const bytes = this.warm(content)
    if (bytes) return bytes
    const whole = await (reading ?? this.#read(content))
    return whole && cut(whole, content)
  }

  async #stream({ hash, range, encoding }: Content): Promise<Readable | undefined> {
    if (this.#streams >= MOST_STREAMS) {
      throw new Failure('UNAVAILABLE', 'The service is busy; try again shortly', { retryAfterSeconds: 5 })
    }
    this.#streams++
    const stream = await this.#blobs.read(hash, { range, encoding }).catch((error: unknown) => {
      this.#streams--
      throw error
    })
    if (stream) stream.once('close', () => this.#streams--)
    else this.#streams--
    return stream
  }

  #read(content: Content): Promise<Buffer | undefined> {
    const name = nameOf(content)
    const reading = this.#load(content).finally(() => this.#reads.delete(name))
    this.#reads.set(name, reading)
    return reading
  }

  /** Bytes of another length are as good as missing: they would not be what was published. */
  async #load(content: Content): Promise<Buffer | undefined> {
    const bytes = await this.#blobs.bytes(content.hash, content.encoding)
    if (bytes?.length !== content.size) return undefined
    this.#kept.set(nameOf(content), bytes, content.size)
    return bytes
  }
}

/** Bytes of a body. */
export function lengthOf({ size, range }: Content): number {
  return range ? range.end - range.start + 1 : size
}

/**
 * Sends a stream as the body of a response whose head is written, as fast as the client takes it; one that takes
 * nothing is for the listener to cut off. However it ends, the stream is released; when fewer or more bytes came than
 * were announced, the connection is closed, so that nobody takes the body for whole. Calls `failed` when that was the
 * stream's fault.
 */
export function streamBody(
  source: Readable,
  response: ServerResponse,
  { size, failed }: { size: number; failed: (error: unknown) => void },
): void {
  if (response.destroyed) return void source.destroy()
  let sent = 0
  source.on('data', (chunk: Buffer) => {
    sent += chunk.length
    if (sent <= size && !response.write(chunk)) source.pause()
  })
  response.on('drain', () => source.resume())
  response.on('close', () => source.destroy())
  finished(source, (error) => {
    if (response.destroyed) return
    if (!error && sent === size) return void response.end()
    failed(error ?? new Error(`${sent} bytes came of ${size}`))
    response.destroy()
  })
}

function nameOf({ hash, encoding }: Content): string {
  return encoding === undefined ? hash : `${hash}.${encoding}`
}

function cut(bytes: Buffer, { range }: Content): Buffer {
  return range ? bytes.subarray(range.start, range.end + 1) : bytes
}
