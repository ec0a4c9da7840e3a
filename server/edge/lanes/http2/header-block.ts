import { CODE, ConnectionFault, FLAG, type FrameHead } from './frame.ts'

/** Bytes and frames of one header block; what is longer ends the connection. */
const MOST_BYTES = 16 * 1024
const MOST_FRAMES = 8

/** Where the part of a frame is that is neither padding nor about priorities. */
export interface Part {
  from: number
  to: number
}

/** The payload of a DATA or HEADERS frame without its padding (RFC 9113, 6.1 and 6.2). */
export function withoutPadding({ flags, length }: FrameHead, bytes: Buffer, at: number): Part {
  if ((flags & FLAG.padded) === 0) return { from: at, to: at + length }
  const from = at + 1
  const to = at + length - (length > 0 ? bytes[at]! : 0)
  if (length === 0 || to < from) throw new ConnectionFault(CODE.protocol, 'a frame is all padding')
  return { from, to }
}

/** A header block that comes in several frames (RFC 9113, 6.10). */
export class HeaderBlock {
  readonly stream: number
  /** Whether the stream ends with it. */
  readonly ended: boolean
  /** Whether the stream is said to depend on itself. */
  readonly dependsOnItself: boolean
  #bytes = Buffer.alloc(0)
  #frames = 0

  constructor({ stream, flags }: FrameHead, dependsOnItself: boolean) {
    this.stream = stream
    this.ended = (flags & FLAG.endStream) !== 0
    this.dependsOnItself = dependsOnItself
  }

  get bytes(): Buffer {
    return this.#bytes
  }

  add(bytes: Buffer, { from, to }: Part): void {
    if (++this.#frames > MOST_FRAMES || this.#bytes.length + to - from > MOST_BYTES)
      throw new ConnectionFault(CODE.calm, 'a header block is too long')
    this.#bytes = Buffer.concat([this.#bytes, bytes.subarray(from, to)])
  }
}
