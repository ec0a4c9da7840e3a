import { Readable } from 'node:stream'
import { defaultProvider } from '@aws-sdk/credential-provider-node'
import type { Bucket } from '../../../packages/s3-client/bucket-url.ts'
import { S3Client } from '../../../packages/s3-client/client.ts'
import { BodyError, S3Error } from '../../../packages/s3-client/errors.ts'
import { listSizes, removeObjects } from '../../../packages/s3-client/listing.ts'
import { contentBytes } from '../../blobs/s3/pieces.ts'
import { Uploads } from '../../blobs/s3/uploads.ts'
import { COPYING_BLOBS } from '../../lib/deadlines.ts'
import { collectYoung } from '../../lib/trim-heap.ts'
import {
  type BackupTarget,
  type BackupTargetError,
  type ContentIdentity,
  type TargetFile,
  unreadableInTarget,
  withTargetErrors,
} from './target.ts'

const READ_BYTES = 8 * 2 ** 20

/** A larger file is followed by the table of its pieces, like every object that `Uploads` stores. */
export class S3Target implements BackupTarget {
  readonly #client: S3Client

  constructor(bucket: Bucket) {
    const credentials = defaultProvider()
    this.#client = new S3Client({ bucket, credentials, timeouts: COPYING_BLOBS, collectYoung })
  }

  async put(name: string, body: Readable, expected: ContentIdentity): Promise<void> {
    const uploads = new Uploads({ client: this.#client, createName: () => name, onStored: () => undefined })
    await withS3Errors(() => uploads.put(body, expected)).catch((error: BackupTargetError) => {
      throw error.cause instanceof BodyError ? error.cause.cause : error
    })
  }

  async read({ name, size }: TargetFile): Promise<Readable | undefined> {
    const first = await withS3Errors(() => this.#readPart(name, 0, size))
    return first && Readable.from(this.#readParts({ name, size }, first), { objectMode: false })
  }

  async *list(folder: string): AsyncGenerator<TargetFile> {
    for (let after: string | undefined; ; ) {
      const options = { folder: `${folder}/`, ...(after === undefined ? {} : { after }) }
      const page = await withS3Errors(() => listSizes(this.#client, options))
      for (const { name, size } of page) yield { name, size: contentBytes(size) }
      if (page.length === 0) return
      after = page.at(-1)!.name
    }
  }

  async remove(names: readonly string[]): Promise<void> {
    await withS3Errors(() => removeObjects(this.#client, names))
  }

  /** A request that was answered has stored its object. */
  async flush(): Promise<void> {}

  async *#readParts({ name, size }: TargetFile, first: Buffer): AsyncGenerator<Buffer> {
    yield first
    for (let at = first.length; at < size; ) {
      const part = await withS3Errors(() => this.#readPart(name, at, size))
      if (!part?.length) throw unreadableInTarget(name)
      yield part
      at += part.length
    }
  }

  async #readPart(object: string, start: number, size: number): Promise<Buffer | undefined> {
    if (size === 0) return Buffer.alloc(0)
    const range = `bytes=${start}-${Math.min(start + READ_BYTES, size) - 1}`
    try {
      const { body } = await this.#client.send({ kind: 'get', method: 'GET', object, headers: { range } })
      return body
    } catch (error) {
      // An object that is shorter has no such range.
      if (error instanceof S3Error && (error.isMissingObject || error.status === 416)) return undefined
      throw error
    }
  }
}

function withS3Errors<T>(work: () => Promise<T>): Promise<T> {
  return withTargetErrors(() =>
    work().catch((error: unknown) => {
      if (error instanceof S3Error && error.isFull)
        throw Object.assign(new Error(error.message), { code: 'ENOSPC' })
      throw error
    }),
  )
}
