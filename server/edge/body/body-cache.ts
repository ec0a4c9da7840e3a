import { Readable } from 'node:stream'
import type { MemoryReservation } from '../../../packages/http-server/clients/client-memory.ts'
import { type BodyReader, FULL_READ_BYTES } from '../../../packages/http-server/http-handler.ts'
import { SecondChanceCache } from '../../../packages/http-server/memory/second-chance-cache.ts'
import { EMPTY_HASH } from '../../../protocol/manifest/empty-files.ts'
import type { Blobs, ByteRange } from '../../blobs/blobs.ts'
import type { CodedContent } from '../../blobs/content-coding.ts'
import { Component } from '../../lib/component.ts'
import { readInjected } from '../../sites/page-metadata/injected-document.ts'
import type { EdgeOptions } from '../edge-options.ts'
import type { BlobSlice } from '../response.ts'
import { ChunkReader } from './chunk-reader.ts'
import { DecodedReader } from './decoded-reader.ts'

/** Files up to this many bytes are cached as a whole; larger ones in chunks, when these are requested again. */
export const MAX_BUFFERED_FILE_BYTES = 256 * 1024

/** Measured: what a buffer takes in memory beside its bytes. */
const BUFFER_BYTES = 400

/** Concurrent reads of small files; further ones are streamed like large files. */
const MAX_CONCURRENT_READS = 256

/** Number of recently requested chunks of large files. */
const MAX_REMEMBERED_REQUESTS = 10_000

type OnError = ((error: unknown) => void) | undefined

const NO_BYTES = Buffer.alloc(0)

/** File contents: from the cache, otherwise from the blobs. An empty file has none. */
export class BodyCache extends Component<Pick<EdgeOptions, 'blobs' | 'budget'>> {
  readonly #cache = new SecondChanceCache<Buffer>(this.parts.budget)
  readonly #reads = new Map<string, Promise<Buffer | undefined>>()
  /**
   * Offsets from which recent requests read each chunk. Only a repeated request caches a chunk, so a single download,
   * whole or in ranges, does not evict frequent files.
   */
  readonly #requestedFrom = new Map<string, number>()

  /** The requested bytes, when they are cached as a whole. */
  peek(content: BlobSlice): Buffer | undefined {
    if (content.size > MAX_BUFFERED_FILE_BYTES) return undefined
    if (content.size === 0) return NO_BYTES
    if (content.decoded) return undefined
    const bytes = this.#cache.get(cacheKey(content))
    return bytes && sliceRange(bytes, content)
  }

  /** Whether the bytes are cached as a whole. It does not count as a use of them. */
  has(content: BlobSlice): boolean {
    return this.#cache.find(cacheKey(content)) !== undefined
  }

  /**
   * The requested bytes, or a reader of them, which the caller has to close; undefined when they are missing. What
   * a reader reads ahead is accounted in `memory`, and its errors go to `onError` as well.
   */
  async open(
    content: BlobSlice,
    memory?: MemoryReservation,
    onError?: OnError,
  ): Promise<Buffer | BodyReader | undefined> {
    const { decoded } = content
    if (decoded) return this.#openDecoded(content, { coded: decoded, memory, onError })
    const reading = this.#reads.get(cacheKey(content))
    if (content.size > MAX_BUFFERED_FILE_BYTES || (!reading && this.#reads.size >= MAX_CONCURRENT_READS))
      return this.#openChunks(content, memory, onError)
    const bytes = this.peek(content)
    if (bytes) return bytes
    const cached = await (reading ?? this.#read(content))
    return cached && sliceRange(cached, content)
  }

  async #openChunks(
    content: BlobSlice,
    memory: MemoryReservation | undefined,
    onError: OnError,
  ): Promise<ChunkReader | undefined> {
    // A chunk may not have been compared with a hash: of an object that is damaged, or was replaced, none is served.
    const { object, isDamaged } = content.location ?? {}
    const name = `${cacheKey(content)} ${object} ${isDamaged}`
    const isCacheable = content.size <= this.parts.budget.limit / 4
    const start = content.range?.start ?? 0
    const source = {
      peek: (number: number) => this.#cache.get(`${name}:${number}`),
      onRead: (number: number, bytes: Buffer) => {
        const key = `${name}:${number}`
        if (isCacheable && this.#isRequestedAgain(key, Math.max(0, start - number * FULL_READ_BYTES)))
          this.#cache.set(key, toOwnBuffer(bytes), bytes.length + BUFFER_BYTES)
      },
      streamBytes: this.parts.blobs.streamBytes,
      read: (start: number, end: number) => streamContent(this.parts.blobs, content, { start, end }),
      onError,
    }
    return begin(new ChunkReader(content, source, memory))
  }

  #openDecoded(
    content: BlobSlice,
    { memory, ...options }: { coded: CodedContent; memory: MemoryReservation | undefined; onError: OnError },
  ): Promise<DecodedReader | undefined> {
    const read = async () => content.location && this.parts.blobs.read(content.location)
    return begin(new DecodedReader({ ...options, read, streamBytes: this.parts.blobs.streamBytes }, memory))
  }

  #isRequestedAgain(key: string, offset: number): boolean {
    const before = this.#requestedFrom.get(key)
    if (before !== undefined && offset <= before) return true
    this.#requestedFrom.set(key, offset)
    if (this.#requestedFrom.size > MAX_REMEMBERED_REQUESTS)
      this.#requestedFrom.delete(this.#requestedFrom.keys().next().value!)
    return false
  }

  #read(content: BlobSlice): Promise<Buffer | undefined> {
    const name = cacheKey(content)
    const reading = this.#load(content).finally(() => this.#reads.delete(name))
    this.#reads.set(name, reading)
    return reading
  }

  /** Content of another length is treated as absent: it is not what was published. */
  async #load(content: BlobSlice): Promise<Buffer | undefined> {
    const bytes = await readContent(this.parts.blobs, content)
    if (bytes?.length !== content.size) return undefined
    this.#cache.set(cacheKey(content), bytes, content.size + BUFFER_BYTES)
    return bytes
  }
}

/** For a body that is not sent. */
export async function discard(opening: ReturnType<BodyCache['open']>): Promise<void> {
  const body = await opening.catch(() => undefined)
  if (body && !Buffer.isBuffer(body)) body.close()
}

async function begin<R extends ChunkReader | DecodedReader>(reader: R): Promise<R | undefined> {
  let isThere = false
  try {
    isThere = await reader.begin()
  } finally {
    if (!isThere) reader.close()
  }
  return isThere ? reader : undefined
}

/** Encodings of a file that are made again may have other bytes, in another object. */
function cacheKey({ hash, encoding, location }: BlobSlice): string {
  return encoding === undefined || !location ? hash : `${location.object}+${location.offset}`
}

/** The bytes in memory of their own: a part of a larger buffer would keep all of it. */
function toOwnBuffer(bytes: Buffer): Buffer {
  return bytes.buffer.byteLength > bytes.length ? Buffer.from(new Uint8Array(bytes).buffer) : bytes
}

/** A small part is copied, so that a slow reader does not retain the whole buffer. */
export function sliceRange(bytes: Buffer, { range }: BlobSlice): Buffer {
  if (!range) return bytes
  const part = bytes.subarray(range.start, range.end + 1)
  return 2 * part.length < bytes.length ? Buffer.from(part) : part
}

/** All bytes of the blob, its encoding or the injected document; as below, undefined when they are absent. */
async function readContent(blobs: Blobs, { location, injected }: BlobSlice): Promise<Buffer | undefined> {
  const bytes = isEmptyDocument(injected) ? NO_BYTES : location && (await blobs.bytes(location))
  return injected ? readInjected(bytes, injected) : bytes
}

/** A stream of the bytes from `start` to `end`, inclusive; undefined when they are absent. */
async function streamContent(
  blobs: Blobs,
  { location, injected }: BlobSlice,
  { start, end }: ByteRange,
): Promise<Readable | undefined> {
  if (!location && !isEmptyDocument(injected)) return undefined
  if (!injected) return blobs.read(location!, { start, end })
  const { head, tailStart, tail, size } = injected
  const tailOffset = size - (tail?.length ?? 0)
  // Copies: cached chunks must not retain the whole head.
  const ofHead = Buffer.from(head.subarray(start, end + 1))
  const ofTail =
    tail && end >= tailOffset
      ? tail.subarray(Math.max(0, start - tailOffset), end + 1 - tailOffset)
      : undefined
  if (end < head.length) return Readable.from([ofHead])
  if (start >= tailOffset) return Readable.from([ofTail!])
  const shift = tailStart - head.length
  const range = { start: Math.max(start, head.length) + shift, end: Math.min(end, tailOffset - 1) + shift }
  // The published document is empty, or the head contains all of it.
  if (range.start > range.end) return Readable.from([ofHead, ofTail!])
  const body = location && (await blobs.read(location, range))
  if (ofHead.length > 0) body?.unshift(ofHead)
  if (!body || !ofTail) return body
  // A generator that has not started does not end what it reads.
  return Readable.from(concatenate(body, ofTail)).once('close', () => body.destroy())
}

async function* concatenate(body: Readable, tail: Buffer): AsyncGenerator<Buffer> {
  yield* body
  yield tail
}

/** Whether a document is injected into an empty one, of which no object exists. */
function isEmptyDocument(injected: BlobSlice['injected']): boolean {
  return injected?.publishedHash === EMPTY_HASH
}
