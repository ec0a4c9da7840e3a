import type { Answer } from '../../answer.ts'
import { MALFORMED } from '../../pages/pages.ts'
import { CODE, ConnectionFault } from './frame.ts'
import type { HeaderBlock, Part } from './header-block.ts'
import { FieldDecoder, type FieldList } from './hpack/decoder.ts'
import type { Replies } from './replies.ts'
import { plainVisit, readRequestHead, type Visit } from './request-head.ts'
import type { Lane } from './session.ts'
import type { Stream } from './stream.ts'
import { MOST_STREAMS, type Streams } from './streams.ts'

/** Nothing is forwarded for anybody (RFC 9110, 9.3.6). */
const NO_TUNNEL: Answer = { status: 405, headers: ['Allow', 'GET, HEAD, OPTIONS', 'Content-Length', '0'] }

const TOO_LONG: Answer = { status: 431, headers: ['Content-Length', '0'] }

/** Requests of all connections that may be under way through Node's parser; each takes some ten KiB. One more may be asked for again. */
const MOST_RELAYED = 10_000

/** A block that is longer is read each time. */
const MOST_REMEMBERED = 1024

/** A visit, and the block that said it. */
interface Known {
  bytes: Buffer
  /** Of the decoder's table, in which the block means that. */
  version: number
  visit: Visit
}

interface RequestsOptions {
  lane: Lane
  streams: Streams
  replies: Replies
}

/** What the header blocks of one connection ask for. */
export class Requests {
  readonly #options: RequestsOptions
  readonly #decoder = new FieldDecoder()
  /** A client says mostly the same again and again: then a comparison takes the place of reading. */
  #known: Known | undefined
  #isLeaving = false
  /** The newest stream that was begun, and the newest of those that were not refused because the end is near. */
  newest = 0
  last = 0

  constructor(options: RequestsOptions) {
    this.#options = options
  }

  /** Refuses what is asked from here on: it may be asked elsewhere (RFC 9113, 6.8). */
  leave(): void {
    this.#isLeaving = true
  }

  /** A header block that does not belong to an open stream. */
  take(block: Pick<HeaderBlock, 'stream' | 'ended' | 'dependsOnItself'>, bytes: Buffer, part: Part): void {
    const { lane, streams, replies } = this.#options
    const { stream: id, ended } = block
    if (id <= this.newest) {
      if (!streams.wasEnded(id)) throw new ConnectionFault(CODE.streamClosed, 'a stream is begun again')
      return void this.#decode(bytes, part)
    }
    this.newest = id
    if (!this.#isLeaving) this.last = id
    const mayBegin = !this.#isLeaving && streams.size < MOST_STREAMS && !block.dependsOnItself
    if (mayBegin && ended && this.#isKnown(bytes, part) && replies.visit(id, this.#known!.visit)) {
      lane.asked++
      return
    }
    const { version } = this.#decoder
    const list = this.#decode(bytes, part)
    if (this.#isLeaving) streams.refuse(id, CODE.refused)
    else if (block.dependsOnItself) streams.faultOf(id, CODE.protocol)
    else if (!mayBegin) streams.faultOf(id, CODE.refused)
    else {
      lane.asked++
      const visit = this.#answer(block, list)
      if (visit && version === this.#decoder.version) this.#remember(visit, bytes, part)
    }
  }

  /** What follows a body; true when it may stand there. It is read and dropped. */
  trailers(stream: Stream, ended: boolean, bytes: Buffer, part: Part): boolean {
    const { fields } = this.#decode(bytes, part)
    const { streams } = this.#options
    const isAllowed = ended && fields.every(({ name, isWellFormed }) => isWellFormed && name[0] !== ':')
    if (stream.ended) streams.fault(stream, CODE.streamClosed)
    else if (isAllowed) return true
    else streams.fault(stream, CODE.protocol)
    return false
  }

  /** Answers a request, and gives back the visit if it was one. */
  #answer(
    { stream: id, ended }: Pick<HeaderBlock, 'stream' | 'ended'>,
    { fields, tooLong }: FieldList,
  ): Visit | undefined {
    const { lane, streams, replies } = this.#options
    if (tooLong) return void replies.short(id, TOO_LONG, { ended, head: false })
    const head = readRequestHead(fields)
    if (head === 'malformed') return void streams.faultOf(id, CODE.protocol)
    if (head === 'unclear') return void replies.short(id, MALFORMED, { ended, head: isHead(fields) })
    if (ended && head.length) return void streams.faultOf(id, CODE.protocol)
    if (head.method === 'CONNECT') return void replies.short(id, NO_TUNNEL, { ended, head: false })
    const visit = ended && lane.edge.knows(head.authority) ? plainVisit(head) : undefined
    if (visit && replies.visit(id, visit)) return visit
    if (lane.relayed >= MOST_RELAYED) return void streams.refuse(id, CODE.refused)
    if (!replies.relay(id, head, ended)) replies.short(id, MALFORMED, { ended, head: head.method === 'HEAD' })
    return undefined
  }

  #decode(bytes: Buffer, { from, to }: Part): FieldList {
    const list = this.#decoder.decode(bytes, from, to)
    if (!list) throw new ConnectionFault(CODE.compression, 'a header block cannot be read')
    return list
  }

  #remember(visit: Visit, bytes: Buffer, { from, to }: Part): void {
    if (to - from > MOST_REMEMBERED) return
    this.#known = { bytes: Buffer.from(bytes.subarray(from, to)), version: this.#decoder.version, visit }
  }

  #isKnown(bytes: Buffer, { from, to }: Part): boolean {
    const known = this.#known
    if (known === undefined || known.version !== this.#decoder.version || known.bytes.length !== to - from)
      return false
    if (to - from > 32) return bytes.compare(known.bytes, 0, to - from, from, to) === 0
    for (let index = 0; index < known.bytes.length; index++) {
      if (bytes[from + index] !== known.bytes[index]) return false
    }
    return true
  }
}

function isHead(fields: FieldList['fields']): boolean {
  return fields.some(({ name, value }) => name === ':method' && value === 'HEAD')
}
