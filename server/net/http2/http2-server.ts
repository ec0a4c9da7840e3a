import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Edge } from '../../edge/edge.ts'
import { clientIp } from '../../lib/client-ip.ts'
import type { ClientMemory } from '../../lib/client-memory.ts'
import type { Log } from '../../lib/log.ts'
import type { MemoryBudget } from '../../lib/lru-cache.ts'
import { readIntoSharedBuffer } from '../shared-buffer-read.ts'
import { LOOK_SECONDS } from './progress.ts'
import { FrameSerializer } from './serialized-frames.ts'
import type { Http2ServerContext } from './server-state.ts'
import { Http2Session } from './session.ts'

/** Idle checks before the preface, and later without useful activity: 15 and 65 seconds. */
const INITIAL_TICKS = 3
const IDLE_TICKS = 13

interface Http2ServerOptions {
  edge: Edge
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
 * those of HTTP/1.1, because all protocols call the same `Edge`. See docs/decisions/007-http2.md.
 */
export class Http2Server implements Http2ServerContext {
  readonly edge: Edge
  readonly clock: () => number
  readonly serializer: FrameSerializer
  readonly clientMemory: ClientMemory
  readonly read: typeof readIntoSharedBuffer
  readonly parse: (socket: Duplex) => void
  readonly log: Log | undefined
  requests = 0
  relayed = 0
  ticks = 0
  #isClosing = false
  readonly #sessions = new Set<Http2Session>()
  readonly #timer: NodeJS.Timeout
  readonly #trustedProxies: number
  #connections = 0

  constructor(options: Http2ServerOptions) {
    const {
      edge,
      clock,
      budget,
      clientMemory,
      parse,
      log,
      read = readIntoSharedBuffer,
      trustedProxies = 0,
    } = options
    this.#trustedProxies = trustedProxies
    this.edge = edge
    this.clock = clock
    this.read = read
    this.parse = parse
    this.log = log
    this.clientMemory = clientMemory
    this.serializer = new FrameSerializer({ clock, budget })
    this.#timer = setInterval(() => this.#tick(), LOOK_SECONDS * 1000).unref()
  }

  /** Takes a connection with ALPN h2 from which nothing has been read. */
  accept(socket: Duplex): void {
    const session = new Http2Session(socket as Socket, this)
    this.#sessions.add(session)
    socket.once('close', () => this.#onSessionClosed(session))
    if (this.#isClosing) session.close()
  }

  /** The peer's; behind a proxy, which is the peer of all, each connection has a share of its own. */
  connectionAddress(socket: Socket): string {
    if (this.#trustedProxies === 0) return socket.remoteAddress ?? 'unknown'
    return `HTTP/2 connection ${this.#connections++}`
  }

  callerAddress(socket: Socket, forwardedFor: string | undefined): string {
    return clientIp(this.#trustedProxies)({ socket, headers: { 'x-forwarded-for': forwardedFor } })
  }

  /** Closes each connection as soon as nothing is in progress on it. */
  close(): void {
    this.#isClosing = true
    for (const session of this.#sessions) session.close()
    if (this.#sessions.size === 0) clearInterval(this.#timer)
  }

  /** Destroys all connections. */
  destroy(): void {
    for (const session of this.#sessions) session.destroy()
  }

  #onSessionClosed(session: Http2Session): void {
    this.#sessions.delete(session)
    if (this.#isClosing && this.#sessions.size === 0) clearInterval(this.#timer)
  }

  #tick(): void {
    this.ticks++
    for (const session of this.#sessions) {
      const asleep = session.checkIdle(IDLE_TICKS)
      if (asleep > (session.isNew ? INITIAL_TICKS : IDLE_TICKS)) session.timeout()
    }
  }
}
