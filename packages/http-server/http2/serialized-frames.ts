import type { HttpResponse } from '../http-handler.ts'
import type { MemoryBudget } from '../memory/second-chance-cache.ts'
import { type Serialized, SerializedCache } from '../serialized-cache.ts'
import { FLAG, FRAME_HEADER_BYTES, headerFrames, MAX_FRAME_BYTES, TYPE, writeFrameHead } from './frame.ts'
import { encodeHeaders, findDateOffset } from './hpack/encoder.ts'

/** A response as frames without a stream id: a HEADERS frame and, when the body fits in one, a DATA frame. */
export interface SerializedFrames extends Serialized {
  readonly bodyLength: number
}

interface HeaderFrameOptions {
  stream: number
  ended: boolean
  withDate?: boolean
  prefix?: Buffer | undefined
}

/** Offsets of the stream id and the flags in a frame header. */
const STREAM = 5
const FLAGS = 4

export class FrameSerializer {
  readonly #cache: SerializedCache<SerializedFrames>

  constructor(options: { clock: () => number; budget: MemoryBudget }) {
    this.#cache = new SerializedCache(options)
  }

  getCached(response: HttpResponse): SerializedFrames | undefined {
    return this.#cache.get(response)
  }

  /** Caches the frames of a response that repeats; undefined when its headers exceed a frame. */
  serialize(response: HttpResponse, body: Buffer | undefined): SerializedFrames | undefined {
    const frames = this.#toFrames(response, body)
    if (frames) this.#cache.add(response, frames)
    return frames
  }

  /** Writes the frames for a stream, without the body for a HEAD; returns their length. */
  write(
    frames: SerializedFrames,
    to: Buffer,
    at: number,
    { stream, head }: { stream: number; head: boolean },
  ): number {
    const { bytes, headLength } = frames
    if (this.#cache.isOutdated(frames)) this.#cache.updateDate(frames)
    const length = head ? headLength : bytes.length
    bytes.copy(to, at, 0, length)
    to.writeUInt32BE(stream, at + STREAM)
    if (length > headLength) to.writeUInt32BE(stream, at + headLength + STREAM)
    else if (head) to[at + FLAGS]! |= FLAG.endStream
    return length
  }

  /** The header frames of an uncached response; `prefix` precedes its block. */
  headers({ status, headers }: Pick<HttpResponse, 'status' | 'headers'>, more: HeaderFrameOptions): Buffer {
    const { stream, ended, withDate = true, prefix } = more
    const block = encodeHeaders(status, withDate ? this.#cache.date : undefined, headers)
    return headerFrames(stream, prefix ? Buffer.concat([prefix, block]) : block, ended)
  }

  #toFrames(
    { status, headers, body: own, content }: HttpResponse,
    body: Buffer | undefined,
  ): SerializedFrames | undefined {
    const { second, date } = this.#cache
    const block = encodeHeaders(status, date, headers)
    if (block.length > MAX_FRAME_BYTES) return undefined
    const isShort = body !== undefined && body.length <= MAX_FRAME_BYTES
    const isComplete = isShort || (own === undefined && content === undefined)
    const ended = isComplete && !body?.length
    const frames = headerFrames(0, block, ended)
    const dateOffset = FRAME_HEADER_BYTES + findDateOffset(status)
    const head = { dateOffset, headLength: frames.length, isComplete, second }
    if (!isShort || ended) return { bytes: frames, ...head, bodyLength: 0 }
    const { length } = body
    const bytes = Buffer.allocUnsafeSlow(frames.length + FRAME_HEADER_BYTES + length)
    frames.copy(bytes)
    writeFrameHead(bytes, frames.length, { type: TYPE.data, flags: FLAG.endStream, stream: 0, length })
    body.copy(bytes, frames.length + FRAME_HEADER_BYTES)
    return { bytes, ...head, bodyLength: length }
  }
}
