import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import { type Exchange, endBroken } from './broken-request.ts'
import { listenOn, portOf } from './ports.ts'

/** Who answers. */
export interface Doors {
  /** Answers a request that Node's parser has read. */
  request(request: IncomingMessage, response: ServerResponse): void
  /** Takes connections before anything is read from them; `parse` gives one to Node's parser. */
  lane?: Lane | undefined
}

export interface Lane {
  accept(socket: Socket, parse: (socket: Socket) => void): void
  /** Ends each connection as soon as nothing is under way on it. */
  close(): void
  /** Ends every connection now. */
  cut(): void
}

/** With so many of its requests waiting for their answers a connection is not read any further: each takes some KiB. */
const MOST_WAITING = 32

/** Milliseconds without a byte from or to a client after which its connection ends. */
const IDLE = 60_000

/**
 * The HTTP sockets of one process. It listens at once, so that a free port is known, and holds requests back
 * until `serve` says who answers them.
 */
export class Listener {
  readonly port: number
  readonly #servers: [Server, ...Server[]]
  readonly #ready: PromiseWithResolvers<Doors>
  #lane: Lane | undefined

  private constructor(servers: [Server, ...Server[]], ready: PromiseWithResolvers<Doors>) {
    this.#servers = servers
    this.#ready = ready
    this.port = portOf(servers[0])
  }

  /** Listens; with `shared` several processes of this machine do. ListenError when the port cannot be had. */
  static async open(host: string, port: number, { shared = false } = {}): Promise<Listener> {
    const ready = Promise.withResolvers<Doors>()
    const place = { host, port, shared, setting: 'SLIPWAY_PORT' }
    return new Listener(await listenOn(place, () => makeServer(ready.promise)), ready)
  }

  /** Takes a connection that came another way and over which HTTP/1.1 is spoken, as it takes its own. */
  take(socket: Duplex): void {
    this.#servers[0].emit('connection', socket)
  }

  /** Takes a connection over which HTTP/1.1 is spoken and gives it to Node's parser at once. */
  parse(socket: Duplex): void {
    parserOf.get(this.#servers[0])!(socket)
  }

  serve(doors: Doors): void {
    this.#lane = doors.lane
    this.#ready.resolve(doors)
  }

  /** Takes no more connections, lets what is under way finish for at most `seconds`, then cuts it off. */
  async drain(seconds: number): Promise<void> {
    const closed = this.#servers.map((server) => new Promise((resolve) => server.close(resolve)))
    for (const server of this.#servers) server.closeIdleConnections()
    this.#lane?.close()
    const cut = setTimeout(() => {
      for (const server of this.#servers) server.closeAllConnections()
      this.#lane?.cut()
    }, seconds * 1000)
    await Promise.all(closed)
    clearTimeout(cut)
  }
}

/** Nothing is forwarded for anybody (RFC 9110, 9.3.6). */
const NO_TUNNEL = [
  'HTTP/1.1 405 Method Not Allowed',
  'Allow: GET, HEAD, OPTIONS',
  'Content-Length: 0',
  'Connection: close',
  '\r\n',
].join('\r\n')

/** Node's defaults are for trusted clients; see design.md, "Node's defaults to override". */
function makeServer(ready: Promise<Doors>): Server {
  let doors: Doors | undefined
  const last = new WeakMap<Duplex, Exchange>()
  const waiting = new WeakMap<Duplex, number>()
  const broken = new WeakSet<Duplex>()
  const server = createServer(
    {
      headersTimeout: 15_000,
      requestTimeout: 0,
      keepAliveTimeout: 65_000,
      connectionsCheckingInterval: 5000,
      maxHeaderSize: 16 * 1024,
      noDelay: true,
    },
    (request, response) => {
      const { socket } = request
      const count = (waiting.get(socket) ?? 0) + 1
      waiting.set(socket, count)
      if (count >= MOST_WAITING) holdBack(socket, true)
      response.once('close', () => {
        const left = waiting.get(socket)! - 1
        waiting.set(socket, left)
        if (left === MOST_WAITING - 1) holdBack(socket, false)
      })
      if (!server.listening) response.setHeader('Connection', 'close')
      last.set(socket, { request, response })
      if (doors) doors.request(request, response)
      else void ready.then((given) => given.request(request, response))
    },
  )
  keepParser(server)
  void ready.then((given) => {
    doors = given
    if (given.lane) divert(server, given.lane)
  })
  server.on('clientError', (error, socket) => {
    // Each byte that still comes is an error again.
    if (broken.has(socket)) return
    broken.add(socket)
    endBroken(error, socket, last.get(socket))
  })
  server.on('connect', (_request, socket) => socket.end(NO_TUNNEL, () => socket.destroy()))
  server.maxConnections = 20_000
  server.setTimeout(IDLE)
  return server
}

/** Stops and starts a connection's parser as Node does itself when answers are not taken. */
function holdBack(socket: Socket, held: boolean): void {
  const own = socket as Socket & { _paused?: boolean; parser?: { resume(): void } | null }
  if (own._paused === held) return
  own._paused = held
  if (held) return void socket.pause()
  own.parser?.resume()
  socket.resume()
}

/** How each server gives a connection to Node's parser. */
const parserOf = new WeakMap<Server, (socket: Duplex) => void>()

function keepParser(server: Server): void {
  const [listener] = server.listeners('connection') as [(this: Server, socket: Duplex) => void]
  const parse = (socket: Duplex) => {
    listener.call(server, socket)
    if (socket instanceof TLSSocket) readAsStream(socket)
  }
  parserOf.set(server, parse)
  connectTo(server, parse)
}

/** Connections come to the lane first; those that it hands over go the way that all went before. */
function divert(server: Server, lane: Lane): void {
  const parse = parserOf.get(server)!
  connectTo(server, (socket) => lane.accept(socket, parse))
}

function connectTo(server: Server, take: (socket: Socket) => void): void {
  server.removeAllListeners('connection')
  server.on('connection', take)
}

/**
 * Has a connection's bytes come to Node's parser through its stream, as it does for whoever listens to them, rather than from
 * below. A TLS socket that is paused still brings every record of its last read, and `https` of Node 26 alone answers
 * 400 then: its parser refuses what comes while it waits (HPE_PAUSED). A stream keeps it, in its order.
 */
function readAsStream(socket: TLSSocket): void {
  socket.on('data', () => undefined)
}
