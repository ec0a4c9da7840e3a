import { type Budget, Kept } from '../../../memory/kept.ts'
import type { Answer } from '../../answer.ts'
import { FLAG, HEADER, headerFrames, MOST_PAYLOAD, TYPE, writeFrameHead } from './frame.ts'
import { dateIn, encodeAnswer } from './hpack/encoder.ts'

/** An answer as frames of a stream that is still to be named: a HEADERS frame and, when the body fits in one, a DATA frame. */
export interface Packed {
  bytes: Buffer
  /** Where the value of `date` is. */
  date: number
  /** Where the DATA frame begins. */
  head: number
  /** Whether the whole body is there. */
  whole: boolean
  /** Bytes of the body that is there. */
  body: number
  /** The second since 1970 that its `date` says. */
  second: number
}

/** Where frames name their stream and say their flags. */
const STREAM = 5
const FLAGS = 4

/** Answers as frames (RFC 9113), made once for each and remembered within a budget of bytes: after that, only the date changes. */
export class PackedAnswers {
  readonly #clock: () => number
  readonly #kept: Kept<Packed, Answer>
  /** Answers that were sent once: one that comes again is worth keeping. */
  readonly #seen = new WeakSet<Answer>()
  #second = 0
  #date = ''

  constructor({ clock, budget }: { clock: () => number; budget: Budget }) {
    this.#clock = clock
    this.#kept = new Kept(budget)
  }

  /** An answer that is remembered. */
  known({ packed }: Answer): Packed | undefined {
    if (!packed?.value) return undefined
    packed.used = true
    return packed.value
  }

  /** An answer with its body, remembered when it comes again; undefined when its header lines take more than a frame. */
  pack(answer: Answer, body: Buffer | undefined): Packed | undefined {
    const packed = this.#make(answer, body)
    if (!packed) return undefined
    if (this.#seen.has(answer)) answer.packed = this.#kept.set(answer, packed, packed.bytes.length + 300)
    else this.#seen.add(answer)
    return packed
  }

  /** Writes the frames as those of a stream, without the body when only the head is wanted; answers their length. */
  write(packed: Packed, to: Buffer, at: number, { stream, head }: { stream: number; head: boolean }): number {
    const { bytes } = packed
    if (packed.second !== this.#now()) {
      bytes.write(this.#date, packed.date, 'latin1')
      packed.second = this.#second
    }
    const length = head ? packed.head : bytes.length
    bytes.copy(to, at, 0, length)
    to.writeUInt32BE(stream, at + STREAM)
    if (length > packed.head) to.writeUInt32BE(stream, at + packed.head + STREAM)
    else if (head) to[at + FLAGS]! |= FLAG.endStream
    return length
  }

  /** The header frames of an answer that is not remembered; `before` goes ahead of its block. */
  headers({ status, headers }: Pick<Answer, 'status' | 'headers'>, more: HeadOptions): Buffer {
    const { stream, ended, dated = true, before } = more
    this.#now()
    const block = encodeAnswer(status, dated ? this.#date : undefined, headers)
    return headerFrames(stream, before ? Buffer.concat([before, block]) : block, ended)
  }

  #make({ status, headers, body: own, content }: Answer, body: Buffer | undefined): Packed | undefined {
    this.#now()
    const block = encodeAnswer(status, this.#date, headers)
    if (block.length > MOST_PAYLOAD) return undefined
    const isShort = body !== undefined && body.length <= MOST_PAYLOAD
    const whole = isShort || (own === undefined && content === undefined)
    const ended = whole && !body?.length
    const frames = headerFrames(0, block, ended)
    const date = HEADER + dateIn(status)
    const second = this.#second
    if (!isShort || ended) return { bytes: frames, date, head: frames.length, whole, body: 0, second }
    const bytes = Buffer.allocUnsafeSlow(frames.length + HEADER + body.length)
    frames.copy(bytes)
    const length = body.length
    writeFrameHead(bytes, frames.length, { type: TYPE.data, flags: FLAG.endStream, stream: 0, length })
    body.copy(bytes, frames.length + HEADER)
    return { bytes, date, head: frames.length, whole, body: length, second }
  }

  /** The second that it is, with its date at hand. */
  #now(): number {
    const second = Math.floor(this.#clock() / 1000)
    if (second !== this.#second) {
      this.#second = second
      this.#date = new Date(second * 1000).toUTCString()
    }
    return second
  }
}

interface HeadOptions {
  stream: number
  ended: boolean
  /** Whether the date is still to be said. */
  dated?: boolean
  before?: Buffer | undefined
}
