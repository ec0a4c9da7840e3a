import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { clientIp } from '../../lib/client-ip.ts'
import type { ClientMemory } from '../../lib/client-memory.ts'
import type { Log } from '../../lib/log.ts'
import type { MemoryBudget } from '../../lib/lru-cache.ts'
import { ConnectionPool } from '../connection-pool.ts'
import type { HttpHandler } from '../http-handler.ts'
import { readIntoSharedBuffer } from '../shared-buffer-read.ts'
import { FrameSerializer } from './serialized-frames.ts'
import type { Http2ServerContext } from './server-state.ts'
import { Http2Session } from './session.ts'

interface Http2ServerOptions {
  handler: HttpHandler
  /** Milliseconds since 1970. */
  clock: () => number
  budget: MemoryBudget
  clientMemory: ClientMemory
  /** Proxies in front that append to X-Forwarded-For. */
  trustedProxies?: number
  read?: typeof readIntoSharedBuffer
  /** Passes a connection to Node's HTTP/1.1 parser. */
  parse: (socket: Duplex) => void
  log?: Log
}

/**
 * Serves visitors over HTTP/2 (RFC 9113). Plain requests for sites are answered with prebuilt frames; every
 * other request goes through Node's parser by itself, so that it is interpreted in one place. Responses equal
 * those of HTTP/1.1, because all protocols call the same `HttpHandler`. See docs/decisions/007-http2.md.
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

  constructor(options: Http2ServerOptions) {
    const {
      handler,
      clock,
      budget,
      clientMemory,
      parse,
      log,
      read = readIntoSharedBuffer,
      trustedProxies = 0,
    } = options
    this.#trustedProxies = trustedProxies
    this.handler = handler
    this.clock = clock
    this.read = read
    this.parse = parse
    this.log = log
    this.clientMemory = clientMemory
    this.serializer = new FrameSerializer({ clock, budget })
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

  callerAddress(socket: Socket, forwardedFor: string | undefined): string {
    return clientIp(this.#trustedProxies)({ socket, headers: { 'x-forwarded-for': forwardedFor } })
  }

  close(): void {
    this.pool.close()
  }

  destroy(): void {
    this.pool.destroy()
  }
}
