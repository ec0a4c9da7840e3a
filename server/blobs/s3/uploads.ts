import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { GrowingBuffer } from '../../../packages/http-server/memory/growing-buffer.ts'
import type { S3Client } from '../../../packages/s3-client/client.ts'
import { BodyError } from '../../../packages/s3-client/errors.ts'
import { MAX_PARTS, MultipartUpload } from '../../../packages/s3-client/multipart.ts'
import { Component } from '../../lib/component.ts'
import { ByteSemaphore } from '../../lib/semaphore.ts'
import { assertExpected, assertLength, type PutConstraints, type StoredBlob } from '../blobs.ts'
import { hashTable, PIECE_BYTES, PieceHasher, tableBytes } from './pieces.ts'

/** The largest object that one request can create; AWS allows 5 GiB. */
const MAX_PUT_BYTES = 5 * 10 ** 9

/** Bytes of a part but the last, which S3 allows to be smaller. */
const MIN_PART_BYTES = 8 * 2 ** 20

/** Memory for parts of all uploads of this process. */
const MAX_BUFFERED_PART_BYTES = 128 * 2 ** 20

interface UploadsOptions {
  client: S3Client
  /** The name of a new object, with the hash of its content where that is known before the first byte is sent. */
  createName(hash?: string): string
  /** Receives content of up to one piece that was stored, valid until it returns. */
  onStored(hash: string, bytes: Buffer): void
  maxPutBytes?: number | undefined
}

type Received = Omit<StoredBlob, 'object'>

export class Uploads extends Component<UploadsOptions> {
  readonly #partMemory = new ByteSemaphore(MAX_BUFFERED_PART_BYTES)

  /** Errors of the body are BodyErrors. */
  async put(body: Readable, expected: PutConstraints): Promise<StoredBlob> {
    const content = new IncomingContent({ body, expected })
    const { size, hash } = expected
    try {
      if (size === undefined || size <= PIECE_BYTES) return await this.#gather(content, hash)
      const object = this.parts.createName(hash)
      const isOneRequest = size + tableBytes(size) <= (this.parts.maxPutBytes ?? MAX_PUT_BYTES)
      const received = isOneRequest
        ? this.#stream(object, content, size)
        : this.#putParts(object, content, [], size)
      return { object, ...(await received) }
    } finally {
      await content.close()
    }
  }

  async putBytes(object: string, parts: readonly Buffer[], hash?: string): Promise<void> {
    const known = hash === undefined ? {} : { bodyHash: hash }
    await this.parts.client.send({ kind: 'put', method: 'PUT', object, body: parts, ...known })
  }

  async #gather(content: IncomingContent, expectedHash?: string): Promise<StoredBlob> {
    const gathered = new GrowingBuffer()
    for (let chunk = await content.next(); chunk; chunk = await content.next()) {
      if (content.size > PIECE_BYTES) {
        const object = this.parts.createName(expectedHash)
        return { object, ...(await this.#putParts(object, content, [gathered.take(), chunk])) }
      }
      gathered.append(chunk)
    }
    const { received } = content.finish()
    const object = this.parts.createName(received.hash)
    const bytes = gathered.take()
    await this.putBytes(object, [bytes], received.hash)
    this.parts.onStored(received.hash, bytes)
    return { object, ...received }
  }

  /** One request. Its last bytes are the table, which exists only once the content is what was expected. */
  async #stream(object: string, content: IncomingContent, size: number): Promise<Received> {
    let received: Received | undefined
    async function* bytes(): AsyncGenerator<Buffer> {
      for (let chunk = await content.next(); chunk; chunk = await content.next()) yield chunk
      const finished = content.finish()
      yield finished.table
      received = finished.received
    }
    const request = { kind: 'put', method: 'PUT', object } as const
    await this.parts.client.upload(request, size + tableBytes(size), bytes())
    return received!
  }

  /** Content of unknown length, or too large for one request; `size` is its length, when it is known. */
  async #putParts(object: string, content: IncomingContent, first: Buffer[], size = 0): Promise<Received> {
    const partBytes = Math.max(MIN_PART_BYTES, Math.ceil((size + tableBytes(size)) / MAX_PARTS))
    const upload = await MultipartUpload.begin(this.parts.client, object)
    try {
      const parts = new Parts({ content, rest: first })
      while (!parts.isEnded) {
        using _memory = await this.#partMemory.acquire(partBytes)
        await upload.put(await parts.next(partBytes))
      }
      await upload.complete()
      return parts.received!
    } catch (error) {
      await upload.abort()
      throw error
    }
  }
}

/** Of `content`, and before it `rest`: bytes that were read from it. */
class Parts extends Component<{ content: IncomingContent; rest: Buffer[] }> {
  received: Received | undefined

  get isEnded(): boolean {
    return this.received !== undefined && this.parts.rest.length === 0
  }

  /** Chunks of `length` bytes together, fewer at the end. */
  async next(length: number): Promise<Buffer[]> {
    const { rest } = this.parts
    const gathered = new GrowingBuffer()
    while (gathered.length < length) {
      const chunk = rest.shift() ?? (await this.#read())
      if (!chunk) break
      const taken = chunk.subarray(0, length - gathered.length)
      gathered.append(taken)
      if (taken.length < chunk.length) rest.unshift(chunk.subarray(taken.length))
    }
    return [gathered.take()]
  }

  async #read(): Promise<Buffer | undefined> {
    if (this.received) return undefined
    const chunk = await this.parts.content.next()
    if (chunk) return chunk
    const { table, received } = this.parts.content.finish()
    this.received = received
    return table
  }
}

/** A body that is hashed and compared with its constraints while it is read. */
class IncomingContent extends Component<{ body: Readable; expected: PutConstraints }> {
  // The body is not destroyed on an early exit, so that the client can still receive the error.
  readonly #chunks: AsyncIterator<Buffer> = this.parts.body.iterator({ destroyOnReturn: false })
  readonly #hash = createHash('sha256')
  readonly #pieces = new PieceHasher()
  #size = 0
  #isEnded = false

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
      assertLength(this.#size, this.parts.expected)
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
      assertExpected(received, this.parts.expected)
    } catch (cause) {
      throw new BodyError(cause)
    }
    return { table, received }
  }
}
