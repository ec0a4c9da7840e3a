import type { HttpRequest, HttpResponse } from '../http-handler.ts'
import { interpretRequest, isConnectionSpecific, type RequestField } from '../http2-request.ts'
import type { FloodGuard } from './flood-guard.ts'
import { CODE, ConnectionError } from './frame.ts'
import type { HeaderBlockAssembler, PayloadRange } from './header-block.ts'
import { type FieldList, HpackDecoder } from './hpack/decoder.ts'
import type { Responder } from './responder.ts'
import type { Http2ServerContext } from './server-state.ts'
import type { Stream } from './stream.ts'
import { MAX_CONCURRENT_STREAMS, type Streams } from './streams.ts'

const HEADERS_TOO_LARGE: HttpResponse = { status: 431, headers: ['Content-Length', '0'] }

const MAX_CACHED_BLOCK_BYTES = 1024

interface CachedRequest {
  bytes: Buffer
  /** Version of the decoder's table for which the block decodes to it. */
  version: number
  request: HttpRequest
}

interface RequestReaderOptions {
  server: Http2ServerContext
  streams: Streams
  responder: Responder
  floodGuard: FloodGuard
}

export class RequestReader {
  readonly #options: RequestReaderOptions
  readonly #decoder = new HpackDecoder()
  /** Clients repeat themselves: comparing a block with the previous one replaces decoding it. */
  #cached: CachedRequest | undefined
  #isGoingAway = false
  /** The newest stream that was begun, and the newest that was processed. */
  newestStreamId = 0
  lastAcceptedStreamId = 0

  constructor(options: RequestReaderOptions) {
    this.#options = options
  }

  /** Refuses new requests, which the client may retry elsewhere (RFC 9113, 6.8). */
  goAway(): void {
    this.#isGoingAway = true
  }

  handle(
    block: Pick<HeaderBlockAssembler, 'stream' | 'ended' | 'dependsOnItself'>,
    bytes: Buffer,
    part: PayloadRange,
  ): void {
    const { server, streams, responder, floodGuard } = this.#options
    const { stream: id, ended } = block
    if (id <= this.newestStreamId) {
      // RFC 9113, 5.1.1. Whether a lower one was ever used is not remembered.
      const code = id === this.newestStreamId ? CODE.streamClosed : CODE.protocol
      if (!streams.wasEnded(id)) throw new ConnectionError(code, 'stream identifier not above the newest one')
      floodGuard.charge(1)
      return void this.#decode(bytes, part)
    }
    this.newestStreamId = id
    const isRefused = this.#isGoingAway || floodGuard.refusesRequests
    if (!isRefused) this.lastAcceptedStreamId = id
    const mayBegin = !isRefused && streams.size < MAX_CONCURRENT_STREAMS && !block.dependsOnItself
    if (mayBegin && ended && this.#isCached(bytes, part) && responder.respond(id, this.#cached!.request)) {
      server.requests++
      return
    }
    const { version } = this.#decoder
    const list = this.#decode(bytes, part)
    if (isRefused) {
      streams.sendReset(id, CODE.refused)
      floodGuard.charge(1)
    } else if (block.dependsOnItself) streams.streamErrorById(id, CODE.protocol)
    else if (!mayBegin) streams.streamErrorById(id, CODE.refused)
    else {
      server.requests++
      const request = this.#respond(block, list)
      if (request && version === this.#decoder.version) this.#cache(request, bytes, part)
    }
  }

  /** Trailers; true when they are valid. They are discarded. */
  trailers(stream: Stream, ended: boolean, bytes: Buffer, part: PayloadRange): boolean {
    const { fields } = this.#decode(bytes, part)
    const { streams } = this.#options
    const isAllowed = ended && fields.every(isTrailer)
    if (stream.ended) streams.streamError(stream, CODE.streamClosed)
    else if (isAllowed) return true
    else streams.streamError(stream, CODE.protocol)
    return false
  }

  /** Responds to a request, and returns it if it was a plain one. */
  #respond(
    { stream: id, ended }: Pick<HeaderBlockAssembler, 'stream' | 'ended'>,
    { fields, tooLong }: FieldList,
  ): HttpRequest | undefined {
    const { server, streams, responder } = this.#options
    const reject = (response: HttpResponse, isHead: boolean) => {
      server.handler.countRejected(response)
      responder.respondShort(id, response, { ended, head: isHead })
    }
    if (tooLong) return void reject(HEADERS_TOO_LARGE, false)
    const { socket } = responder
    const found = interpretRequest({ fields, ended, socket, handler: server.handler })
    if (found.kind === 'malformed') return void streams.streamErrorById(id, CODE.protocol)
    if (found.kind === 'rejected') return void reject(found.response, found.isHead)
    const { head, plain } = found
    if (plain && responder.respond(id, plain)) return plain
    if (!responder.relay(id, head, ended)) reject(server.handler.errorResponse(400), head.method === 'HEAD')
    return undefined
  }

  #decode(bytes: Buffer, { from, to }: PayloadRange): FieldList {
    const list = this.#decoder.decode(bytes, from, to)
    if (!list) throw new ConnectionError(CODE.compression, 'invalid header block')
    if (list.tooLong) this.#options.floodGuard.oversized(to - from)
    return list
  }

  #cache(request: HttpRequest, bytes: Buffer, { from, to }: PayloadRange): void {
    if (to - from > MAX_CACHED_BLOCK_BYTES) return
    this.#cached = { bytes: Buffer.from(bytes.subarray(from, to)), version: this.#decoder.version, request }
  }

  #isCached(bytes: Buffer, { from, to }: PayloadRange): boolean {
    const known = this.#cached
    if (known === undefined || known.version !== this.#decoder.version || known.bytes.length !== to - from)
      return false
    if (to - from > 32) return bytes.compare(known.bytes, 0, to - from, from, to) === 0
    for (let index = 0; index < known.bytes.length; index++) {
      if (bytes[from + index] !== known.bytes[index]) return false
    }
    return true
  }
}

/** RFC 9113, 8.1 and 8.2.2. */
function isTrailer(field: RequestField): boolean {
  return field.isWellFormed && field.name[0] !== ':' && !isConnectionSpecific(field)
}
