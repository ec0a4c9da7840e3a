import type { UploadReceipt, UploadTarget } from '../wire.ts'
import { SlipwayError } from './slipway-error.ts'
import type { Bytes } from './transport.ts'

/** One file to publish: its manifest entry and a way to its bytes, which may be opened more than once. */
export interface PublishFile {
  path: string
  size: number
  contentType: string
  hash?: string
  /** Whole bytes for a small file, a stream (or a browser's `File`) for a large one. */
  open(): Bytes | Promise<Bytes>
}

/** Carries a body to a target and brings back the receipt. */
export type Put = (target: UploadTarget, body: Bytes, size: number) => Promise<UploadReceipt>

/**
 * Sends one file to its target. `onBytes` hears how far it is, and hears it taken back when the try fails.
 * Rejects with FILE_CHANGED, without blaming the network, when the bytes are not as many as the manifest says.
 */
export async function upload(
  file: PublishFile,
  target: UploadTarget,
  put: Put,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const body = await file.open()
  const source = isStream(body) ? new CountedStream(file, body, onBytes) : whole(file, body)
  try {
    await put(target, source, file.size)
    if (!(source instanceof CountedStream)) onBytes(file.size)
  } catch (error) {
    if (!(source instanceof CountedStream)) throw error
    onBytes(-source.counted)
    throw source.failure ?? error
  }
}

function isStream(body: Bytes): body is AsyncIterable<Uint8Array> {
  return !(body instanceof Uint8Array) && !(body instanceof Blob)
}

function whole<Body extends Uint8Array | Blob>(file: PublishFile, body: Body): Body {
  const size = body instanceof Blob ? body.size : body.byteLength
  if (size !== file.size) throw changed(file)
  return body
}

class CountedStream implements AsyncIterable<Uint8Array> {
  counted = 0
  /** Why the source broke, so that the fault is not taken for the network's. */
  failure: unknown
  readonly #file: PublishFile
  readonly #chunks: AsyncIterable<Uint8Array>
  readonly #onBytes: (bytes: number) => void

  constructor(file: PublishFile, chunks: AsyncIterable<Uint8Array>, onBytes: (bytes: number) => void) {
    this.#file = file
    this.#chunks = chunks
    this.#onBytes = onBytes
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    try {
      for await (const chunk of this.#chunks) {
        if (this.counted + chunk.byteLength > this.#file.size) throw changed(this.#file)
        this.counted += chunk.byteLength
        this.#onBytes(chunk.byteLength)
        yield chunk
      }
      if (this.counted < this.#file.size) throw changed(this.#file)
    } catch (error) {
      this.failure = error
      throw error
    }
  }
}

function changed(file: PublishFile): SlipwayError {
  return new SlipwayError(`${file.path} changed while it was being published`, {
    code: 'FILE_CHANGED',
    details: { path: file.path },
  })
}
