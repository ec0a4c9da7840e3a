import type { UploadReceipt, UploadTarget } from '../wire.ts'
import { isSlipwayError, SlipwayError } from './slipway-error.ts'
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

/** What is said of a body beside its bytes. */
export interface Sending {
  /** Length of a stream in bytes. */
  size?: number
  /** Hears how many bytes have gone so far, from transports that can tell. */
  onSent?: (bytes: number) => void
}

/** Carries a body to a target and brings back the receipt. */
export type Put = (target: UploadTarget, body: Bytes, sending: Sending) => Promise<UploadReceipt>

/** Counts the bytes of one try. */
export class Tally {
  readonly #size: number
  readonly #onBytes: (bytes: number) => void
  #counted = 0

  constructor(size: number, onBytes: (bytes: number) => void) {
    this.#size = size
    this.#onBytes = onBytes
  }

  /** So many have gone altogether: never fewer than before, never more than there are. */
  upTo(bytes: number): void {
    const more = Math.min(bytes, this.#size) - this.#counted
    if (more <= 0) return
    this.#counted += more
    this.#onBytes(more)
  }

  /** The try has failed. */
  takeBack(): void {
    if (this.#counted > 0) this.#onBytes(-this.#counted)
    this.#counted = 0
  }
}

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
  const { size } = file
  const tally = new Tally(size, onBytes)
  const source = isStream(body) ? new CountedStream(file, body, tally) : whole(file, body)
  const onSent = (bytes: number) => tally.upTo(bytes)
  try {
    await put(target, source, source instanceof CountedStream ? { size } : { size, onSent })
    tally.upTo(size)
  } catch (error) {
    tally.takeBack()
    if (source instanceof CountedStream) throw source.failure ?? error
    await refuseUnreadable(file, source, error)
    throw error
  }
}

/**
 * FILE_CHANGED when a request failed because a file in it cannot be read any more: browsers give up a file that changed on
 * the disk, and call that a broken connection.
 */
export async function refuseUnreadable(
  file: PublishFile,
  content: Uint8Array | Blob,
  reason: unknown,
): Promise<void> {
  if (!(content instanceof Blob) || !isSlipwayError(reason, 'NETWORK')) return
  await content
    .slice(0, 1)
    .arrayBuffer()
    .catch((cause: unknown) => {
      throw changed(file, cause)
    })
}

export function isStream(body: Bytes): body is AsyncIterable<Uint8Array> {
  return !(body instanceof Uint8Array) && !(body instanceof Blob)
}

/** The bytes when they are as many as the manifest says; FILE_CHANGED otherwise. */
export function whole<Body extends Uint8Array | Blob>(file: PublishFile, body: Body): Body {
  const size = body instanceof Blob ? body.size : body.byteLength
  if (size !== file.size) throw changed(file)
  return body
}

class CountedStream implements AsyncIterable<Uint8Array> {
  /** Why the source broke, so that the fault is not taken for the network's. */
  failure: unknown
  readonly #file: PublishFile
  readonly #chunks: AsyncIterable<Uint8Array>
  readonly #tally: Tally

  constructor(file: PublishFile, chunks: AsyncIterable<Uint8Array>, tally: Tally) {
    this.#file = file
    this.#chunks = chunks
    this.#tally = tally
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    let read = 0
    try {
      for await (const chunk of this.#chunks) {
        read += chunk.byteLength
        if (read > this.#file.size) throw changed(this.#file)
        this.#tally.upTo(read)
        yield chunk
      }
      if (read < this.#file.size) throw changed(this.#file)
    } catch (error) {
      this.failure = error
      throw error
    }
  }
}

export function changed(file: PublishFile, cause?: unknown): SlipwayError {
  return new SlipwayError(`${file.path} changed while it was being published`, {
    code: 'FILE_CHANGED',
    details: { path: file.path },
    cause,
  })
}
