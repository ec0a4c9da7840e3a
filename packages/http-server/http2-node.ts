import {
  constants,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { MemoryReservation } from './clients/client-memory.ts'
import { ConnectionPool } from './connection-pool.ts'
import type { HttpRequest, HttpResponse, HttpResult } from './http-handler.ts'
import { Http1Bridge, RELAY_BYTES } from './http1-bridge.ts'
import { getClientIp, type Http2Engine, type Http2Options } from './http2-engine.ts'
import {
  forwardedFor,
  HTTP1_ONLY_HEADERS,
  interpretRequest,
  OPEN_BODIES,
  type RequestHead,
} from './http2-request.ts'
import { pipeBody, writableSink } from './pipe-body.ts'
import { isRefusal, Semaphore } from './semaphore.ts'

/** The limits of `node:http2`; docs/security.md lists those that only `http2/` enforces. */
const SESSION_OPTIONS = {
  settings: { maxConcurrentStreams: 100, maxHeaderListSize: 16 * 1024, enablePush: false },
  /** MB of one connection, with the cached files that wait for its windows. */
  maxSessionMemory: 32,
  maxSettings: 16,
  maxOutstandingPings: 4,
  maxHeaderListPairs: 256,
  maxSessionInvalidFrames: 100,
  maxSessionRejectedStreams: 100,
  streamResetBurst: 1000,
  streamResetRate: 33,
  strictSingleValueFields: false,
}

/** Time without a byte on a stream. */
const STREAM_TIMEOUT_MS = 65_000

const {
  NGHTTP2_FLAG_END_STREAM,
  NGHTTP2_PROTOCOL_ERROR,
  NGHTTP2_REFUSED_STREAM,
  NGHTTP2_STREAM_STATE_HALF_CLOSED_REMOTE,
} = constants

/** HTTP/2 by `node:http2` (docs/decisions/018-http2-engine.md). */
export class NodeHttp2Server implements Http2Engine {
  readonly pool = new ConnectionPool<NodeHttp2Session>()
  readonly #options: Http2Options

  constructor(options: Http2Options) {
    this.#options = options
  }

  accept(socket: Duplex): void {
    const session = new NodeHttp2Session(socket as Socket, this.#options, this.pool)
    this.pool.add(session, socket)
    if (this.pool.isClosing) session.close()
  }
}

class NodeHttp2Session {
  readonly #socket: Socket
  readonly #options: Http2Options
  readonly #pool: { readonly ticks: number }
  readonly #session: ServerHttp2Session
  readonly #client: object
  readonly #openBodies = new Semaphore(OPEN_BODIES)
  #lastActiveTick: number
  readonly #openStreams = new Set<ServerHttp2Stream>()
  isAwaitingRequest = true

  constructor(socket: Socket, options: Http2Options, pool: { readonly ticks: number }) {
    this.#socket = socket
    this.#options = options
    this.#pool = pool
    this.#lastActiveTick = pool.ticks
    this.#client = options.handler.trackClient(socket)
    // Only `tls.Server` resets this flag after the handshake; the session waits until it is reset.
    Object.assign(socket, { secureConnecting: false })
    this.#session = performServerHandshake(socket, SESSION_OPTIONS)
    this.#session.on('error', () => socket.destroy())
    this.#session.once('remoteSettings', () => {
      this.isAwaitingRequest = false
    })
    this.#session.on('stream', (stream, _headers, flags, rawHeaders: string[]) => {
      stream.on('error', () => undefined)
      this.#openStreams.add(stream)
      stream.once('close', () => {
        this.#openStreams.delete(stream)
        this.#lastActiveTick = this.#pool.ticks
      })
      abortIdle(stream)
      this.#respond(stream, rawHeaders, (flags & NGHTTP2_FLAG_END_STREAM) !== 0)
    })
  }

  checkIdle(): number {
    // Node keeps a stream that the client reset with NO_ERROR until its body is read.
    for (const stream of this.#openStreams) if (stream.closed) stream.destroy()
    return this.#openStreams.size > 0 ? 0 : this.#pool.ticks - this.#lastActiveTick
  }

  timeout(): void {
    // A client that keeps its side open does not end a closed connection.
    if (this.isAwaitingRequest || this.#session.closed) this.destroy()
    else this.close()
  }

  close(): void {
    if (!this.#session.closed) this.#session.close()
  }

  destroy(): void {
    this.#session.destroy()
    this.#socket.destroy()
  }

  #respond(stream: ServerHttp2Stream, rawHeaders: readonly string[], ended: boolean): void {
    const fields = []
    for (let at = 0; at < rawHeaders.length; at += 2)
      fields.push({ name: rawHeaders[at]!, value: rawHeaders[at + 1]!, isWellFormed: true })
    const { handler } = this.#options
    const found = interpretRequest({ fields, ended, socket: this.#socket, handler })
    if (found.kind === 'malformed') return void stream.close(NGHTTP2_PROTOCOL_ERROR)
    if (found.kind === 'rejected') return void this.#reject(stream, found.response, found.isHead)
    const { head, plain } = found
    const result = plain && handler.respond(plain)
    if (plain && result)
      this.#serve(stream, plain, result).catch((error: unknown) => this.#fail(stream, error))
    else this.#relay(stream, head, ended)
  }

  async #serve(
    stream: ServerHttp2Stream,
    request: HttpRequest,
    result: HttpResult | Promise<HttpResult>,
  ): Promise<void> {
    const { handler } = this.#options
    const found = result instanceof Promise ? await result : result
    const body = request.isHead ? undefined : handler.peekBody(found.response)
    if (found.response.content && !body && !request.isHead)
      return this.#openBodies.run(() => this.#streamBody(stream, request, found))
    if (stream.closed) return
    handler.count(request, found, this.#client)
    this.#send(stream, found.response, body)
    const memory = this.#reserve(stream, request.headers['x-forwarded-for'])
    if (stream.writableLength > 0 && !memory.require(stream.writableLength)) abort(stream)
  }

  /** Refuses a request for which there is no place; any other error is internal. */
  #fail(stream: ServerHttp2Stream, error: unknown): void {
    if (isRefusal(error)) return void stream.close(NGHTTP2_REFUSED_STREAM)
    this.#options.log?.error('HTTP/2 stream failed', { error })
    abort(stream)
  }

  async #streamBody(stream: ServerHttp2Stream, request: HttpRequest, wanted: HttpResult): Promise<void> {
    if (stream.closed) return
    const { handler } = this.#options
    const forwarded = request.headers['x-forwarded-for']
    const result = await handler.openBody(request, wanted, this.#reserve(stream, forwarded))
    const { response, body } = result
    if (body && !Buffer.isBuffer(body) && stream.closed) return body.close()
    if (stream.closed) return
    handler.count(request, result, this.#client)
    if (body === undefined || Buffer.isBuffer(body)) return this.#send(stream, response, body)
    stream.respond(this.#toHeaders(response))
    const memory = this.#reserve(stream, forwarded)
    const update = () => void (memory.require(stream.writableLength) || abort(stream))
    const sink = Object.assign(writableSink(stream, { update }), { abort: () => abort(stream) })
    if (await pipeBody(body, sink)) stream.end()
  }

  #send(stream: ServerHttp2Stream, response: HttpResponse, body: Buffer | undefined): void {
    if (stream.closed) return
    stream.respond(this.#toHeaders(response), { endStream: !body?.length })
    if (body?.length) stream.end(body)
  }

  #relay(stream: ServerHttp2Stream, head: RequestHead, ended: boolean): void {
    const { parse, handler } = this.#options
    const memory = this.#reserve(stream, forwardedFor(head))
    let heldBytes = 0
    const account = () => memory.resize(RELAY_BYTES + heldBytes + stream.writableLength)
    if (!account()) {
      const busy = handler.errorResponse(503)
      return void this.#send(stream, busy, busy.body)
    }
    const sink = {
      continue: () => stream.closed || stream.additionalHeaders({ ':status': 100 }),
      head: (status: number, headers: readonly string[]) => {
        if (!stream.closed) stream.respond(this.#toHeaders({ status, headers }))
      },
      data: (bytes: Buffer) => {
        const isWritable = stream.write(bytes)
        if (!account()) abort(stream)
        return isWritable
      },
      end: () => stream.end(),
      fail: () => abort(stream),
      account: (bytes: number) => {
        heldBytes = bytes
        return account()
      },
      consumed: () => stream.resume(),
    }
    try {
      const bridge = new Http1Bridge({ head, ended, peer: this.#socket, parse, sink })
      stream.once('close', () => bridge.destroy())
      stream.on('drain', () => bridge.resume())
      stream.on('end', () => bridge.end())
      stream.on('data', (bytes: Buffer) => {
        stream.pause()
        if (!bridge.write(bytes, 0, bytes.length)) abort(stream)
      })
    } catch {
      this.#reject(stream, handler.errorResponse(400), head.method === 'HEAD')
    }
  }

  #reject(stream: ServerHttp2Stream, response: HttpResponse, isHead: boolean): void {
    this.#options.handler.countRejected(response)
    this.#send(stream, response, isHead ? undefined : response.body)
  }

  #reserve(stream: ServerHttp2Stream, forwarded: string | undefined): MemoryReservation {
    const { clientMemory, trustedProxies = 0 } = this.#options
    const memory = clientMemory.reserve(getClientIp(trustedProxies, this.#socket, forwarded), () =>
      abort(stream),
    )
    stream.once('close', () => memory[Symbol.dispose]())
    return memory
  }

  #toHeaders({
    status,
    headers,
  }: Pick<HttpResponse, 'status' | 'headers'>): Record<string, string | string[]> {
    const fields: Record<string, string | string[]> = { ':status': String(status) }
    fields.date = new Date(this.#options.clock()).toUTCString()
    for (let at = 0; at < headers.length; at += 2) {
      const [name, value] = [headers[at]!.toLowerCase(), headers[at + 1]!]
      if (HTTP1_ONLY_HEADERS.has(name)) continue
      const earlier = name === 'date' ? undefined : fields[name]
      fields[name] = earlier === undefined ? value : [earlier, value].flat()
    }
    return fields
  }
}

/** Unless the client waits for the begin of a response: its handler has deadlines of its own. */
function abortIdle(stream: ServerHttp2Stream): void {
  stream.setTimeout(STREAM_TIMEOUT_MS, () => {
    const isServersTurn =
      stream.state.state === NGHTTP2_STREAM_STATE_HALF_CLOSED_REMOTE && !stream.headersSent
    if (isServersTurn) abortIdle(stream)
    else abort(stream)
  })
}

/** Resets a stream with an incomplete response, which `close` would end like a complete one. */
function abort(stream: ServerHttp2Stream): void {
  stream.destroy(new Error('the response is incomplete'))
}
