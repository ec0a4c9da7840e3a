import type { Socket } from 'node:net'
import type { MemoryReservation } from '../clients/client-memory.ts'
import type { HttpRequest, HttpResponse, HttpResult } from '../http-handler.ts'
import { Http1Bridge, RELAY_BYTES } from '../http1-bridge.ts'
import { forwardedFor, OPEN_BODIES, type RequestHead } from '../http2-request.ts'
import { pipeBody, type Sink } from '../pipe-body.ts'
import { isRefusal, Semaphore } from '../semaphore.ts'
import { countBegun } from '../turn-limit.ts'
import type { FloodGuard } from './flood-guard.ts'
import { CODE, MAX_FRAME_BYTES } from './frame.ts'
import type { SerializedFrames } from './serialized-frames.ts'
import type { Http2ServerContext } from './server-state.ts'
import type { Stream } from './stream.ts'
import type { Streams } from './streams.ts'
import type { WriteBuffer } from './write-buffer.ts'

interface ResponderOptions {
  server: Http2ServerContext
  streams: Streams
  writeBuffer: WriteBuffer
  floodGuard: FloodGuard
  socket: Socket
  onFault: (error: unknown) => void
}

export class Responder {
  readonly #options: ResponderOptions
  readonly #client: object
  #openBodies: Semaphore | undefined
  /** Precedes the next header block. */
  pendingPrefix: Buffer | undefined

  constructor(options: ResponderOptions) {
    this.#options = options
    this.#client = options.server.handler.trackClient(options.socket)
  }

  /** Answers a complete plain request; false when the host belongs to no site. */
  respond(id: number, request: HttpRequest): boolean {
    const { server, onFault, floodGuard, streams } = this.#options
    const result = server.handler.respond(request)
    if (result === undefined) return false
    if (!(result instanceof Promise) && this.#sendImmediately(id, streams.initialWindow, request, result)) {
      floodGuard.onStreamDone()
      return true
    }
    const stream = streams.open(id, true)
    this.#awaitResponse(stream, request, result).catch((error: unknown) => {
      if (!isRefusal(error)) onFault(error)
      else if (!stream.closed) streams.reset(stream, CODE.refused)
    })
    return true
  }

  get socket(): Socket {
    return this.#options.socket
  }

  respondShort(id: number, answer: HttpResponse, { ended, head }: { ended: boolean; head: boolean }): void {
    this.#send(this.#options.streams.open(id, ended), answer, head ? undefined : answer.body)
  }

  /** Relays a request to Node's parser; false when HTTP/1.1 cannot express it. */
  relay(id: number, head: RequestHead, ended: boolean): boolean {
    const { server, streams, socket: peer } = this.#options
    const { parse } = server
    countBegun()
    const stream = streams.open(id, ended)
    stream.memory = server.clientMemory.reserve(server.getClientIp(peer, forwardedFor(head)))
    stream.fixedBytes = RELAY_BYTES
    if (!stream.account()) {
      this.refuse(stream)
      return true
    }
    server.relayed++
    stream.onClose = () => server.relayed--
    stream.contentLength = head.length
    const sink = {
      continue: () => this.#sendHeaders(stream, { status: 100, headers: [] }, { ended: false, dated: false }),
      head: (status: number, headers: readonly string[]) =>
        this.#sendHeaders(stream, { status, headers }, { ended: false, dated: false }),
      data: (bytes: Buffer) => {
        streams.sender.push(stream, bytes)
        if (!stream.account()) this.refuse(stream)
        if (stream.canQueue) return true
        stream.onDrain(() => stream.bridge?.resume())
        return false
      },
      end: () => streams.sender.end(stream),
      fail: () => stream.closed || streams.reset(stream, CODE.internal),
      account: (bytes: number) => {
        stream.unconsumedBytes = bytes
        return stream.account()
      },
      consumed: (bytes: number) => streams.consume(stream, bytes),
    }
    try {
      stream.bridge = new Http1Bridge({ head, ended, peer, parse, sink })
    } catch {
      streams.onReset(stream)
      return false
    }
    if (!ended) streams.growWindow(stream)
    return true
  }

  refuse(stream: Stream): void {
    const { streams } = this.#options
    if (stream.hasResponse) return void streams.reset(stream, CODE.enhanceYourCalm)
    stream.release()
    const busy = this.#options.server.handler.errorResponse(503)
    this.#send(stream, busy, busy.body)
  }

  #sendImmediately(id: number, window: number, request: HttpRequest, result: HttpResult): boolean {
    const { server, writeBuffer, streams } = this.#options
    const { isHead: head = false } = request
    const { sender } = streams
    const packed = this.pendingPrefix ? undefined : this.#getFrames(result.response, head)
    if (!packed) return false
    const body = head ? 0 : packed.bodyLength
    if (body > sender.window || body > window) return false
    sender.window -= body
    server.handler.count(request, result, this.#client)
    const at = writeBuffer.reserve(head ? packed.headLength : packed.bytes.length)
    server.serializer.write(packed, writeBuffer.target, at, { stream: id, head })
    return true
  }

  #getFrames(response: HttpResponse, head: boolean): SerializedFrames | undefined {
    const { serializer, handler } = this.#options.server
    const cached = serializer.getCached(response)
    if (cached && (cached.isComplete || head)) return cached
    const body = handler.peekBody(response)
    if (!head && (body ? body.length > MAX_FRAME_BYTES : response.content)) return undefined
    return serializer.serialize(response, body)
  }

  async #awaitResponse(
    stream: Stream,
    request: HttpRequest,
    result: HttpResult | Promise<HttpResult>,
  ): Promise<void> {
    const { server, writeBuffer, streams } = this.#options
    const found = await result
    if (stream.closed) return
    writeBuffer.begin()
    const isSent = this.#sendImmediately(stream.id, stream.window, request, found)
    if (isSent) streams.onAnswered(stream)
    writeBuffer.end()
    if (isSent) return
    const { response } = found
    const body = request.isHead ? undefined : server.handler.peekBody(response)
    if (body || !response.content || request.isHead) {
      server.handler.count(request, found, this.#client)
      this.#send(stream, response, body, request)
    } else await this.#streamBody(stream, request, found)
  }

  /** Holds its slot until the body is sent, so that waiting streams hold no memory. */
  async #streamBody(stream: Stream, request: HttpRequest, wanted: HttpResult): Promise<void> {
    const { server, streams } = this.#options
    const { handler } = server
    this.#openBodies ??= new Semaphore(OPEN_BODIES)
    await this.#openBodies.run(async () => {
      if (stream.closed) return
      using memory = this.#reserve(request)
      const result = await handler.openBody(request, wanted, memory)
      const { response, body } = result
      if (!stream.closed) handler.count(request, result, this.#client)
      if (body === undefined || Buffer.isBuffer(body)) {
        this.#send(stream, response, body, request)
        return new Promise<void>((resolve) => stream.onDrain(resolve))
      }
      this.#sendHeaders(stream, response, { ended: false })
      if (await pipeBody(body, this.#sink(stream, request))) streams.sender.end(stream)
    })
  }

  #send(stream: Stream, answer: HttpResponse, body: Buffer | undefined, request?: HttpRequest): void {
    const { writeBuffer, streams } = this.#options
    if (stream.closed) return
    writeBuffer.begin()
    this.#sendHeaders(stream, answer, { ended: !body?.length })
    if (!body?.length) streams.onAnswered(stream)
    else {
      stream.isLast = true
      streams.sender.push(stream, body)
      if (!stream.closed && stream.bufferedBytes > 0) this.#sink(stream, request).account()
    }
    writeBuffer.end()
  }

  /** Accounts for the queued bytes of a stream until it is closed. */
  #sink(stream: Stream, request?: HttpRequest): Sink {
    const { streams } = this.#options
    const refuse = () => stream.closed || streams.reset(stream, CODE.enhanceYourCalm)
    const memory = this.#reserve(request, refuse)
    const { onClose } = stream
    stream.onClose = () => {
      onClose?.()
      memory[Symbol.dispose]()
    }
    return {
      get destroyed() {
        return stream.closed
      },
      get isFull() {
        return !stream.canQueue
      },
      write: (bytes) => streams.sender.push(stream, bytes),
      drained: () => new Promise((resolve) => stream.onDrain(resolve)),
      account: () => void (stream.closed || memory.require(stream.bufferedBytes) || refuse()),
      abort: () => stream.closed || streams.reset(stream, CODE.internal),
    }
  }

  #reserve(request?: HttpRequest, evict?: () => void): MemoryReservation {
    const { server, socket } = this.#options
    const address = server.getClientIp(socket, request?.headers['x-forwarded-for'])
    return server.clientMemory.reserve(address, evict)
  }

  #sendHeaders(
    stream: Stream,
    answer: Pick<HttpResponse, 'status' | 'headers'>,
    { ended, dated: withDate = true }: { ended: boolean; dated?: boolean },
  ): void {
    const { id, closed } = stream
    if (closed) return
    stream.hasResponse ||= answer.status >= 200
    const { server, writeBuffer } = this.#options
    writeBuffer.add(
      server.serializer.headers(answer, { stream: id, ended, withDate, prefix: this.pendingPrefix }),
    )
    this.pendingPrefix = undefined
  }
}
