import type { MemoryReservation } from '../clients/client-memory.ts'
import { GrowingBuffer } from '../memory/growing-buffer.ts'
import { CODE, ConnectionError, FLAG, type FrameHead } from './frame.ts'

/** A longer block ends the connection; a shorter one that decodes to more than MAX_HEADER_LIST_BYTES gets 431. */
const MAX_BYTES = 64 * 1024
const MAX_FRAMES = 16

export type PayloadRange = ReturnType<typeof withoutPadding>

/** The payload of a DATA or HEADERS frame without its padding (RFC 9113, 6.1 and 6.2). */
export function withoutPadding({ flags, length }: FrameHead, bytes: Buffer, at: number) {
  if ((flags & FLAG.padded) === 0) return { from: at, to: at + length }
  const from = at + 1
  const to = at + length - (length > 0 ? bytes[at]! : 0)
  if (length === 0 || to < from) throw new ConnectionError(CODE.protocol, 'padding as long as the frame')
  return { from, to }
}

interface HeaderBlockOptions {
  head: FrameHead
  /** Whether the priority fields declare that the stream depends on itself. */
  dependsOnItself: boolean
  memory: MemoryReservation
}

/** A header block in several frames (RFC 9113, 6.10). */
export class HeaderBlockAssembler {
  readonly stream: number
  readonly ended: boolean
  readonly dependsOnItself: boolean
  readonly #memory: MemoryReservation
  readonly #buffered = new GrowingBuffer()
  #bytes = 0
  #frames = 0

  constructor({ head, dependsOnItself, memory }: HeaderBlockOptions) {
    this.stream = head.stream
    this.ended = (head.flags & FLAG.endStream) !== 0
    this.dependsOnItself = dependsOnItself
    this.#memory = memory
  }

  /** Throws a `ConnectionError` when the block gets too long. */
  add(bytes: Buffer, { from, to }: PayloadRange): void {
    this.#bytes += to - from
    if (++this.#frames > MAX_FRAMES || this.#bytes > MAX_BYTES)
      throw new ConnectionError(CODE.enhanceYourCalm, 'header block too large')
    if (!this.#memory.resize(this.#buffered.capacityFor(to - from)))
      throw new ConnectionError(CODE.enhanceYourCalm, 'no memory for the header block')
    this.#buffered.appendCopy(bytes.subarray(from, to))
  }

  take(): Buffer {
    this.#memory.resize(0)
    return this.#buffered.take()
  }
}
