import type { UploadReceipt, UploadTarget } from '../../protocol/api/publish.schema.ts'
import { isSlipwayError, SlipwayError } from './slipway-error.ts'
import type { Bytes } from './transport.ts'

/** A file to publish: its manifest entry and a function that opens its bytes, possibly several times. */
export interface PublishFile {
  path: string
  /** 0 for an empty file, which is not opened. */
  size: number
  /** That of an empty file is determined by the server. */
  contentType: string
  hash?: string
  /** All bytes of a small file, a stream (or a browser's `File`) for a large one. */
  open(): Bytes | Promise<Bytes>
}

/** Upload options. */
export interface UploadOptions {
  /** Length of a stream in bytes. */
  size?: number
  /** Receives the number of bytes sent so far, from transports that can report it. */
  onSent?: (bytes: number) => void
}

/** Sends a body to a target and returns the receipt. */
export type PutFile = (target: UploadTarget, body: Bytes, sending: UploadOptions) => Promise<UploadReceipt>

/** Counts the bytes of one attempt. */
export class ProgressCounter {
  readonly #size: number
  readonly #onBytes: (bytes: number) => void
  #counted = 0

  constructor(size: number, onBytes: (bytes: number) => void) {
    this.#size = size
    this.#onBytes = onBytes
  }

  /** Total bytes sent: never decreases, never exceeds the size. */
  advanceTo(bytes: number): void {
    const more = Math.min(bytes, this.#size) - this.#counted
    if (more <= 0) return
    this.#counted += more
    this.#onBytes(more)
  }

  /** The attempt has failed. */
  rollback(): void {
    if (this.#counted > 0) this.#onBytes(-this.#counted)
    this.#counted = 0
  }
}

/**
 * Uploads one file to its target. `onBytes` receives progress, and its reversal when the attempt fails.
 * Rejects with FILE_CHANGED, not NETWORK, when the size differs from the manifest.
 */
export async function upload(
  file: PublishFile,
  target: UploadTarget,
  put: PutFile,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const body = await file.open()
  const { size } = file
  const progress = new ProgressCounter(size, onBytes)
  const source = isStream(body) ? new CountingStream(file, body, progress) : assertSize(file, body)
  const onSent = (bytes: number) => progress.advanceTo(bytes)
  try {
    await put(target, source, source instanceof CountingStream ? { size } : { size, onSent })
    progress.advanceTo(size)
  } catch (error) {
    progress.rollback()
    if (source instanceof CountingStream) throw source.failure ?? error
    await assertReadable(file, source, error)
    throw error
  }
}

/**
 * FILE_CHANGED when a request failed because a file cannot be read any more: browsers report a file that
 * changed on the disk as a network error.
 */
export async function assertReadable(
  file: PublishFile,
  content: Uint8Array | Blob,
  reason: unknown,
): Promise<void> {
  if (!(content instanceof Blob) || !isSlipwayError(reason, 'NETWORK')) return
  await content
    .slice(0, 1)
    .arrayBuffer()
    .catch((cause: unknown) => {
      throw fileChanged(file, cause)
    })
}

export function isStream(body: Bytes): body is AsyncIterable<Uint8Array> {
  return !(body instanceof Uint8Array) && !(body instanceof Blob)
}

/** The bytes if their size matches the manifest; FILE_CHANGED otherwise. */
export function assertSize<Body extends Uint8Array | Blob>(file: PublishFile, body: Body): Body {
  const size = body instanceof Blob ? body.size : body.byteLength
  if (size !== file.size) throw fileChanged(file)
  return body
}

class CountingStream implements AsyncIterable<Uint8Array> {
  /** Why the source failed, to distinguish that from a network error. */
  failure: unknown
  readonly #file: PublishFile
  readonly #chunks: AsyncIterable<Uint8Array>
  readonly #progress: ProgressCounter

  constructor(file: PublishFile, chunks: AsyncIterable<Uint8Array>, progress: ProgressCounter) {
    this.#file = file
    this.#chunks = chunks
    this.#progress = progress
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    let read = 0
    try {
      for await (const chunk of this.#chunks) {
        read += chunk.byteLength
        if (read > this.#file.size) throw fileChanged(this.#file)
        this.#progress.advanceTo(read)
        yield chunk
      }
      if (read < this.#file.size) throw fileChanged(this.#file)
    } catch (error) {
      this.failure = error
      throw error
    }
  }
}

export function fileChanged(file: PublishFile, cause?: unknown): SlipwayError {
  return new SlipwayError(`${file.path} changed while it was being published`, {
    code: 'FILE_CHANGED',
    details: { path: file.path },
    cause,
  })
}
