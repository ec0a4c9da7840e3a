import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { clientIp } from '../clients/client-ip.ts'
import type { ClientMemory } from '../clients/client-memory.ts'
import { ConnectionPool } from '../connection-pool.ts'
import type { HttpHandler } from '../http-handler.ts'
import type { Log } from '../log.ts'
import type { MemoryBudget } from '../memory/second-chance-cache.ts'
import { readIntoSharedBuffer } from '../shared-buffer-read.ts'
import { FrameSerializer } from './serialized-frames.ts'
import type { Http2ServerContext } from './server-state.ts'
import { Http2Session } from './session.ts'

export interface Http2Options {
  handler: HttpHandler
  /** Milliseconds since 1970. */
  clock: () => number
  /** Memory for serialized responses. */
  budget: MemoryBudget
  clientMemory: ClientMemory
  /** Proxies in front that append to X-Forwarded-For. */
  trustedProxies?: number
  read?: typeof readIntoSharedBuffer
  parse: (socket: Duplex) => void
  log?: Log
}

/**
 * HTTP/2 (RFC 9113, docs/decisions/007-http2.md). Plain requests are answered with prebuilt frames. Others are relayed: only
 * Node's HTTP/1.1 parser interprets them.
 */
export class Http2Server implements Http2ServerContext {
  readonly handler: HttpHandler
  readonly clock: () => number
  readonly serializer: FrameSerializer
  readonly clientMemory: ClientMemory
  readonly read: typeof readIntoSharedBuffer
  readonly parse: (socket: Duplex) => void
  readonly log: Log | undefined
  requests = 0
  relayed = 0
  readonly pool = new ConnectionPool<Http2Session>()
  readonly #trustedProxies: number
  #connections = 0

  constructor(options: Http2Options) {
    this.#trustedProxies = options.trustedProxies ?? 0
    this.handler = options.handler
    this.clock = options.clock
    this.read = options.read ?? readIntoSharedBuffer
    this.parse = options.parse
    this.log = options.log
    this.clientMemory = options.clientMemory
    this.serializer = new FrameSerializer(options)
  }

  /** Takes a connection with ALPN h2 from which nothing has been read. */
  accept(socket: Duplex): void {
    const session = new Http2Session(socket as Socket, this)
    this.pool.add(session, socket)
    if (this.pool.isClosing) session.close()
  }

  /** The peer's; behind a proxy, which is the peer of all, each connection has a share of its own. */
  connectionAddress(socket: Socket): string {
    if (this.#trustedProxies === 0) return socket.remoteAddress ?? 'unknown'
    return `HTTP/2 connection ${this.#connections++}`
  }

  /** The client's address, whose memory share a request uses, by the values of `X-Forwarded-For`. */
  getClientIp(socket: Socket, forwardedFor: string | undefined): string {
    return clientIp(this.#trustedProxies)({ socket, headers: { 'x-forwarded-for': forwardedFor } })
  }
}
