import type { S3Client } from './client.ts'
import { childText } from './xml.ts'

/** Each of at least 5 MiB, apart from the last. */
export const MAX_PARTS = 10_000

/** An object of several requests: for content of unknown length, or too large for one. Nothing is stored before its end. */
export class MultipartUpload {
  readonly #client: S3Client
  readonly #object: string
  readonly #uploadId: string
  readonly #tags: string[] = []

  private constructor(client: S3Client, object: string, uploadId: string) {
    this.#client = client
    this.#object = object
    this.#uploadId = uploadId
  }

  static async begin(client: S3Client, object: string): Promise<MultipartUpload> {
    const request = { kind: 'multipart_begin', method: 'POST', object, query: { uploads: '' } } as const
    const verify = (body: Buffer) => Boolean(childText(body.toString(), 'UploadId'))
    const { body } = await client.send({ ...request, verify })
    return new MultipartUpload(client, object, childText(body.toString(), 'UploadId')!)
  }

  /** Sends the next part. */
  async put(body: readonly Buffer[]): Promise<void> {
    const query = { partNumber: `${this.#tags.length + 1}`, uploadId: this.#uploadId }
    const object = this.#object
    const request = { kind: 'put_part', method: 'PUT', object, query, body, continues: true } as const
    const { headers } = await this.#client.send(request)
    this.#tags.push(headers.etag ?? '')
  }

  async complete(): Promise<void> {
    const parts = this.#tags.map(
      (tag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${tag}</ETag></Part>`,
    )
    await this.#client.send({
      kind: 'multipart_end',
      method: 'POST',
      object: this.#object,
      continues: true,
      query: { uploadId: this.#uploadId },
      body: [Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`)],
      // An error may follow the status 200, after which the request is to be sent again.
      verify: (body) => body.includes('<CompleteMultipartUploadResult'),
    })
  }

  /** Discards the parts; a failure is ignored. */
  async abort(): Promise<void> {
    const query = { uploadId: this.#uploadId }
    const request = { kind: 'multipart_abort', method: 'DELETE', object: this.#object, query } as const
    await this.#client.send(request).catch(() => undefined)
  }
}
