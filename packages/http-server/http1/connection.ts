import type { Socket } from 'node:net'
import { findSendQueue, type SendQueue } from '../clients/send-queue.ts'
import type { ConnectionPool } from '../connection-pool.ts'
import type { HttpHandler, HttpResponse, HttpResult } from '../http-handler.ts'
import type { Log } from '../log.ts'
import { pipeBody, writableSink } from '../pipe-body.ts'
import { type readIntoSharedBuffer, splitForParser } from '../shared-buffer-read.ts'
import { isCovered } from '../tls/covered-hosts.ts'
import { continueInNextTurn, isTurnOver } from '../turn-limit.ts'
import { endsWithBlankLine, type ParsedRequest, RequestParser } from './request-parser.ts'
import type { ResponseSerializer } from './response-serializer.ts'

export interface FastPathContext {
  readonly handler: HttpHandler
  readonly serializer: ResponseSerializer
  /** When it closes, each connection closes after its next response. */
  readonly pool: Pick<ConnectionPool<FastPathConnection>, 'ticks' | 'isClosing'>
  readonly read: typeof readIntoSharedBuffer
  readonly log: Log | undefined
  responses: number
}

const EMPTY = Buffer.alloc(0)

/** More queued bytes than this are accounted for immediately, fewer by the check that runs each second. */
const ACCOUNTING_THRESHOLD_BYTES = 32 * 1024

/** A connection on the fast path: answers its requests in order until one is not plain. */
export class FastPathConnection {
  readonly #socket: Socket
  readonly #fastPath: FastPathContext
  readonly #parser: RequestParser
  readonly #client: object
  readonly #onFallback: () => void
  readonly #stopReading: () => void
  readonly #queue: SendQueue | undefined
  /** Unprocessed input: from `#at` up to `#end`. */
  #chunk: Buffer = EMPTY
  #at = 0
  #end = 0
  /** Whether an asynchronous response is in progress. Until it ends, nothing is read. */
  #busy = false
  #isWaitingForTurn = false
  /** Whether the client has closed its side. */
  #ended = false
  isAwaitingRequest = true
  #host: string | undefined
  #isLast = false
  #lastActiveTick: number
  #lastBufferedBytes = 0

  /** `onFallback` passes the socket to Node's parser, with all unanswered bytes. */
  constructor(socket: Socket, fastPath: FastPathContext, onFallback: () => void) {
    this.#socket = socket
    this.#onFallback = onFallback
    this.#fastPath = fastPath
    this.#parser = new RequestParser(socket)
    this.#client = fastPath.handler.trackClient(socket)
    this.#queue = findSendQueue(socket)
    this.#lastActiveTick = fastPath.pool.ticks
    this.#stopReading = fastPath.read(socket, this.#onData)
    socket.on('drain', this.#onDrain)
    socket.on('end', this.#onEnd)
    socket.on('error', this.#onError)
  }

  receive(bytes: Buffer): void {
    this.#onData(bytes, bytes.length)
  }

  /** Closes the connection once the queued bytes are sent; a response that is still to come closes it itself. */
  close(): void {
    if (!this.#busy && !this.#isWaitingForTurn) this.#socket.destroySoon()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  timeout(): void {
    this.destroy()
  }

  checkIdle(): number {
    const waiting = bufferedBytes(this.#socket)
    if (waiting !== this.#lastBufferedBytes) this.#lastActiveTick = this.#fastPath.pool.ticks
    this.#lastBufferedBytes = waiting
    return this.#fastPath.pool.ticks - this.#lastActiveTick
  }

  readonly #onData = (buffer: Buffer, length: number): void => {
    this.#lastActiveTick = this.#fastPath.pool.ticks
    // Input after the last response is ignored.
    if (this.#socket.writableEnded) return
    if (this.#busy || !this.#hasEnded()) return void this.#appendPaused(buffer, length)
    this.#chunk = buffer
    this.#at = 0
    this.#end = length
    this.#process()
    this.#bufferRemainder()
  }

  readonly #onDrain = (): void => {
    this.#lastActiveTick = this.#fastPath.pool.ticks
    this.#queue?.update()
    if (!this.#busy && !this.#isWaitingForTurn) this.#continue()
  }

  readonly #onEnd = (): void => {
    this.#ended = true
    if (!this.#busy && this.#hasEnded()) this.#socket.end()
  }

  /** A client that disconnects is not an error. */
  readonly #onError = (): void => {
    this.#socket.destroy()
  }

  #process(): void {
    if (!endsWithBlankLine(this.#chunk, this.#end)) return void this.#fallBackToNode()
    let corked = false
    while (!this.#hasEnded() && !this.#socket.writableEnded) {
      if (this.#socket.writableNeedDrain) {
        this.#socket.pause()
        break
      }
      if (corked && isTurnOver()) {
        this.#socket.pause()
        this.#isWaitingForTurn = true
        continueInNextTurn(this.#onTurn)
        break
      }
      const request = this.#parser.parse(this.#chunk, this.#at, this.#end)
      const isHere = request && (request.host === this.#host || this.#isCovered(request.host))
      const result = isHere && this.#fastPath.handler.respond(request)
      if (!request || !result) {
        this.#fallBackToNode()
        break
      }
      this.#at = request.end
      if (!corked && !this.#hasEnded()) {
        corked = true
        this.#socket.cork()
      }
      if (!this.#reply(request, result)) break
    }
    if (corked) this.#socket.uncork()
    if (this.#socket.writableLength > ACCOUNTING_THRESHOLD_BYTES) this.#queue?.update()
  }

  /** Whether the connection's certificate covers this host; Node's handler rejects requests for others. */
  #isCovered(host: string): boolean {
    if (!isCovered(this.#socket, host)) return false
    this.#host = host
    return true
  }

  /** False when the response is asynchronous; the connection then continues when it is sent. */
  #reply(request: ParsedRequest, result: HttpResult | Promise<HttpResult>): boolean {
    this.isAwaitingRequest = false
    this.#isLast ||= request.isLast
    this.#fastPath.responses++
    if (!(result instanceof Promise) && this.#send(request, result)) return true
    this.#busy = true
    this.#socket.pause()
    this.#awaitResponse(request, result).catch((error: unknown) => {
      this.#fastPath.log?.error('HTTP/1 request failed', { error })
      this.#socket.destroy()
    })
    return false
  }

  /** Sends a response if its bytes are in memory; otherwise returns false. */
  #send(request: ParsedRequest, result: HttpResult): boolean {
    const { handler, serializer } = this.#fastPath
    const { isHead } = request
    const { response } = result
    const closing = this.#isClosing
    if (!closing && serializer.sendCached(this.#socket, response, isHead)) {
      handler.count(request, result, this.#client)
      return true
    }
    const body = handler.peekBody(response)
    if (response.content && !body && !isHead) return false
    handler.count(request, result, this.#client)
    this.#write(response, body, isHead)
    if (closing) this.#socket.destroySoon()
    return true
  }

  async #awaitResponse(request: ParsedRequest, result: HttpResult | Promise<HttpResult>): Promise<void> {
    const found = await result
    if (!this.#socket.destroyed && !this.#send(request, found)) await this.#streamBody(request, found)
    this.#busy = false
    this.#continue()
  }

  async #streamBody(request: ParsedRequest, wanted: HttpResult): Promise<void> {
    const { handler } = this.#fastPath
    using memory = this.#queue?.reserve()
    const result = await handler.openBody(request, wanted, memory)
    const { response, body } = result
    if (!this.#socket.destroyed) handler.count(request, result, this.#client)
    if (body === undefined || Buffer.isBuffer(body)) return void this.#write(response, body, false)
    this.#write(response, undefined, true)
    await pipeBody(body, writableSink(this.#socket, this.#queue))
  }

  #write(response: HttpResponse, body: Buffer | undefined, head: boolean): void {
    if (this.#socket.destroyed) return
    const close = this.#isClosing
    this.#fastPath.serializer.send(this.#socket, response, { body, head, close })
  }

  #continue(): void {
    if (this.#socket.destroyed) return
    if (this.#isClosing) return void this.#socket.destroySoon()
    this.#proceed()
  }

  readonly #onTurn = (): void => {
    this.#isWaitingForTurn = false
    if (!this.#socket.destroyed) this.#proceed()
  }

  #proceed(): void {
    if (!this.#hasEnded()) this.#process()
    if (this.#busy || !this.#hasEnded()) return
    if (this.#ended) this.#socket.end()
    else this.#socket.resume()
  }

  get #isClosing(): boolean {
    return this.#isLast || this.#fastPath.pool.isClosing
  }

  #hasEnded(): boolean {
    return this.#at >= this.#end
  }

  /** Copies unprocessed input: the shared buffer is reused after this turn. */
  #bufferRemainder(): void {
    this.#chunk = this.#hasEnded() ? EMPTY : this.#unprocessed()
    this.#end = this.#chunk.length
    this.#at = 0
  }

  /** A paused TLS socket still delivers every record of its last read: at most one read is appended. */
  #appendPaused(buffer: Buffer, length: number): void {
    this.#chunk = Buffer.concat([this.#unprocessed(), buffer.subarray(0, length)])
    this.#at = 0
    this.#end = this.#chunk.length
  }

  #unprocessed(): Buffer {
    return Buffer.from(this.#chunk.subarray(this.#at, this.#end))
  }

  #fallBackToNode(): void {
    const socket = this.#socket
    const rest = this.#unprocessed()
    this.#at = this.#end
    this.#stopReading()
    socket.off('drain', this.#onDrain)
    socket.off('end', this.#onEnd)
    socket.off('error', this.#onError)
    for (const piece of splitForParser(rest).toReversed()) socket.unshift(piece)
    this.#onFallback()
    socket.resume()
  }
}

/** Bytes that were written but not accepted by the system. Node's own time-outs use the same count. */
function bufferedBytes(socket: Socket): number {
  const { _handle: handle } = socket as unknown as { _handle?: { writeQueueSize?: number } | null }
  return socket.writableLength + (handle?.writeQueueSize ?? 0)
}
