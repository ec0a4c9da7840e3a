import type { EdgeResponse } from '../../edge/response.ts'
import { type CacheEntry, type MemoryBudget, SecondChanceCache } from '../../lib/lru-cache.ts'
import { FLAG, FRAME_HEADER_BYTES, headerFrames, MAX_FRAME_BYTES, TYPE, writeFrameHead } from './frame.ts'
import { encodeHeaders, findDateOffset } from './hpack/encoder.ts'

/** A response as frames without a stream id: a HEADERS frame and, when the body fits in one, a DATA frame. */
export interface SerializedFrames {
  bytes: Buffer
  /** Offset of the `dateOffset` value. */
  dateOffset: number
  /** Offset of the DATA frame. */
  headLength: number
  /** Whether the whole body is included. */
  isComplete: boolean
  /** Bytes of the included body. */
  bodyLength: number
  /** The second since 1970 of its `dateOffset`. */
  second: number
}

/** Offsets of the stream id and the flags in a frame header. */
const STREAM = 5
const FLAGS = 4

/**
 * Responses as frames (RFC 9113), serialized once and cached within a budget of bytes: later only the date
 * changes.
 */
export class FrameSerializer {
  readonly #clock: () => number
  readonly #cache: SecondChanceCache<SerializedFrames, EdgeResponse>
  /** Responses that were sent once: a repeated one is worth caching. */
  readonly #seen = new WeakSet<EdgeResponse>()
  readonly #slots = new WeakMap<EdgeResponse, CacheEntry<SerializedFrames>>()
  #second = 0
  #date = ''

  constructor({ clock, budget }: { clock: () => number; budget: MemoryBudget }) {
    this.#clock = clock
    this.#cache = new SecondChanceCache(budget)
  }

  /** The cached frames of a response. */
  getCached(answer: EdgeResponse): SerializedFrames | undefined {
    const slot = this.#slots.get(answer)
    if (slot?.value === undefined) return undefined
    slot.used = true
    return slot.value
  }

  /**
   * Serializes a response with its body, and caches it when it repeats; undefined when its headers exceed a
   * frame.
   */
  serialize(answer: EdgeResponse, body: Buffer | undefined): SerializedFrames | undefined {
    const packed = this.#make(answer, body)
    if (!packed) return undefined
    if (!this.#seen.has(answer)) this.#seen.add(answer)
    else {
      const slot = this.#cache.set(answer, packed, packed.bytes.length + 300)
      if (slot) this.#slots.set(answer, slot)
    }
    return packed
  }

  /** Writes the frames for a stream, without the body for a HEAD; returns their length. */
  write(
    packed: SerializedFrames,
    to: Buffer,
    at: number,
    { stream, head }: { stream: number; head: boolean },
  ): number {
    const { bytes } = packed
    if (packed.second !== this.#now()) {
      bytes.write(this.#date, packed.dateOffset, 'latin1')
      packed.second = this.#second
    }
    const length = head ? packed.headLength : bytes.length
    bytes.copy(to, at, 0, length)
    to.writeUInt32BE(stream, at + STREAM)
    if (length > packed.headLength) to.writeUInt32BE(stream, at + packed.headLength + STREAM)
    else if (head) to[at + FLAGS]! |= FLAG.endStream
    return length
  }

  /** The header frames of an uncached response; `prefix` precedes its block. */
  headers({ status, headers }: Pick<EdgeResponse, 'status' | 'headers'>, more: HeaderFrameOptions): Buffer {
    const { stream, ended, withDate = true, prefix } = more
    this.#now()
    const block = encodeHeaders(status, withDate ? this.#date : undefined, headers)
    return headerFrames(stream, prefix ? Buffer.concat([prefix, block]) : block, ended)
  }

  #make(
    { status, headers, body: own, content }: EdgeResponse,
    body: Buffer | undefined,
  ): SerializedFrames | undefined {
    this.#now()
    const block = encodeHeaders(status, this.#date, headers)
    if (block.length > MAX_FRAME_BYTES) return undefined
    const isShort = body !== undefined && body.length <= MAX_FRAME_BYTES
    const isComplete = isShort || (own === undefined && content === undefined)
    const ended = isComplete && !body?.length
    const frames = headerFrames(0, block, ended)
    const dateOffset = FRAME_HEADER_BYTES + findDateOffset(status)
    const second = this.#second
    if (!isShort || ended)
      return { bytes: frames, dateOffset, headLength: frames.length, isComplete, bodyLength: 0, second }
    const bytes = Buffer.allocUnsafeSlow(frames.length + FRAME_HEADER_BYTES + body.length)
    frames.copy(bytes)
    const length = body.length
    writeFrameHead(bytes, frames.length, { type: TYPE.data, flags: FLAG.endStream, stream: 0, length })
    body.copy(bytes, frames.length + FRAME_HEADER_BYTES)
    return { bytes, dateOffset, headLength: frames.length, isComplete, bodyLength: length, second }
  }

  /** The current second, with its date. */
  #now(): number {
    const second = Math.floor(this.#clock() / 1000)
    if (second !== this.#second) {
      this.#second = second
      this.#date = new Date(second * 1000).toUTCString()
    }
    return second
  }
}

interface HeaderFrameOptions {
  stream: number
  ended: boolean
  /** Whether the date is still to be added. */
  withDate?: boolean
  prefix?: Buffer | undefined
}
