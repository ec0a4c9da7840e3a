import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer, Server as NetServer, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import { formatRefusal, isAnswered, type LastExchange, onClientError } from './client-error.ts'
import type { Connections } from './clients/connections.ts'
import { findSendQueue } from './clients/send-queue.ts'
import type { ConnectionPool } from './connection-pool.ts'
import { CountedResponse } from './counted-response.ts'
import { CONNECTION_DEADLINES, type ConnectionDeadlines } from './deadlines.ts'
import { LingeringConnections } from './lingering.ts'
import { http } from './node-http.ts'
import { getPort, limited, listenOn, SOCKET_OPTIONS, SOCKETS } from './ports.ts'
import type { ProxyProtocol } from './proxy-protocol.ts'
import { headBytes, RequestMessage } from './request-message.ts'
import { beginInTurn } from './turn-limit.ts'

export interface RequestHandlers {
  request(request: IncomingMessage, response: ServerResponse): void
  /** Takes connections before anything is read from them; `parse` passes one to Node's parser. */
  fastPath?: ConnectionHandler | undefined
}

export interface ConnectionHandler {
  accept(socket: Socket, parse: (socket: Socket) => void): void
  readonly pool: Pick<ConnectionPool<never>, 'isClosing' | 'close' | 'destroy'>
}

export interface ListenOptions {
  /** Whether several processes of this machine listen there. */
  shared?: boolean
  connections?: Connections
  /** Given where proxies announce the client at the beginning of each connection. */
  proxyProtocol?: ProxyProtocol | undefined
  deadlines?: Readonly<ConnectionDeadlines>
}

/** Ends the listening socket only. */
const stopListening = NetServer.prototype.close

/** Maximum number of pipelined requests in progress before a connection is paused: each takes some KiB. */
const MAX_PIPELINED = 32

/** How long no connection comes before the sockets of a port are closed, and how often that is waited for. */
const QUIET_MS = 50
const MAX_WAITS = 10

/** Listens from the start, so that an ephemeral port is known, and queues requests until `serve`. */
export class Listener {
  readonly port: number
  readonly #server: Server
  readonly #sockets: readonly NetServer[]
  readonly #ready: PromiseWithResolvers<RequestHandlers>
  readonly #connections: Connections | undefined
  readonly #proxyProtocol: ProxyProtocol | undefined
  readonly #lastRequestMs: number
  #fastPath: ConnectionHandler | undefined
  #isServing = false

  private constructor(
    server: Server,
    sockets: [NetServer, ...NetServer[]],
    ready: PromiseWithResolvers<RequestHandlers>,
    { connections, proxyProtocol, deadlines = CONNECTION_DEADLINES }: ListenOptions,
  ) {
    this.#server = server
    this.#sockets = sockets
    this.#ready = ready
    this.#connections = connections
    this.#proxyProtocol = proxyProtocol
    this.#lastRequestMs = deadlines.connection.lastRequest
    this.port = getPort(sockets[0])
  }

  /** With `shared`, together with other processes of this machine. ListenError when the port or a descriptor is not available. */
  static async open(host: string, port: number, options: ListenOptions = {}): Promise<Listener> {
    const { shared = false } = options
    const ready = Promise.withResolvers<RequestHandlers>()
    const place = { host, port, shared, sockets: SOCKETS }
    const lingering = new LingeringConnections({
      deadlines: (options.deadlines ?? CONNECTION_DEADLINES).lingering,
    })
    const server = makeServer(ready.promise, lingering, options)
    const forward = (socket: Socket) => void server.emit('connection', socket)
    // The first socket is that of the server, and the others only accept for it.
    let next: NetServer | undefined = server
    const sockets = await listenOn(place, () => {
      const socket = next ?? createServer(SOCKET_OPTIONS, forward)
      next = undefined
      return socket
    })
    return new Listener(server, sockets, ready, options)
  }

  /** Accepts an HTTP/1.1 connection from another listener like one of its own. */
  accept(socket: Duplex): void {
    acceptors.get(this.#server)!(socket as Socket)
  }

  /** Passes an in-process HTTP/1.1 connection directly to Node's parser. */
  parse(socket: Duplex): void {
    this.#connections?.watch(socket)
    nodeHandlers.get(this.#server)!(socket)
  }

  serve(handlers: RequestHandlers): void {
    this.#isServing = true
    this.#fastPath = handlers.fastPath
    this.#ready.resolve(handlers)
  }

  /**
   * Stops accepting connections, and lets requests in progress finish for at most `maxSeconds`, then destroys the rest: before
   * `serve` all of them, which nothing will answer. The response to the next request of a connection says that it is the last
   * one (RFC 9112, 9.6); connections without a request are closed a moment later, because their clients may be sending one.
   * So are those that `accept` was given, until `others` resolves, which their listener does when the last of them has ended.
   */
  async drain(maxSeconds: number, others?: Promise<void>): Promise<void> {
    const seconds = this.#isServing ? maxSeconds : 0
    const lastRequestMs = Math.min(this.#lastRequestMs, seconds * 1000)
    const closed = lastRequestMs === 0 ? this.#stopListening() : await this.#stopAccepting()
    this.#proxyProtocol?.close()
    if (this.#fastPath) this.#fastPath.pool.isClosing = true
    const closeIdle = () => {
      closeIdleConnections(this.#server)
      this.#fastPath?.pool.close()
    }
    if (lastRequestMs === 0) closeIdle()
    // Requests that were in progress leave connections behind.
    const closing = setInterval(closeIdle, lastRequestMs)
    const destroying = setTimeout(() => {
      this.#server.closeAllConnections()
      this.#fastPath?.pool.destroy()
    }, seconds * 1000)
    await Promise.all([...closed, others])
    clearInterval(closing)
    clearTimeout(destroying)
  }

  /**
   * The system resets connections that a closed socket has not accepted. So new ones get their response when all processes
   * have probably closed theirs: most clients open the next connection after a response.
   */
  async #stopAccepting(): Promise<Promise<unknown>[]> {
    // Timers run before the event loop accepts and reads: a turn of a busy machine may be as long as the pause.
    const pause = () => new Promise((resolve) => setTimeout(setImmediate, QUIET_MS, resolve))
    const accept = acceptors.get(this.#server)!
    const held = new Set<Socket>()
    let events = 0
    const count = () => void events++
    // One that comes through a proxy is held when its header has been read, in a later turn.
    this.#server.on('connection', count)
    acceptors.set(this.#server, (socket) => {
      count()
      held.add(socket.once('error', () => held.delete(socket)))
    })
    for (let waits = 0, before = -1; before < events && waits < MAX_WAITS; waits++) {
      before = events
      await pause()
    }
    this.#server.off('connection', count)
    const closed = this.#stopListening()
    await pause()
    acceptors.set(this.#server, accept)
    for (const socket of held) if (!socket.destroyed) accept(socket)
    return closed
  }

  /** `close` of an HTTP server would also reset idle connections, on which a client may be sending a request. */
  #stopListening(): Promise<unknown>[] {
    return this.#sockets.map((socket) => new Promise((resolve) => stopListening.call(socket, resolve)))
  }
}

/**
 * Overrides Node's defaults, which assume trusted clients: connections are limited in number and idle time, a head has to be
 * complete after 15 seconds. A body may take longer than Node's five minutes: `TransferRates` requires a minimum rate instead.
 */
function makeServer(
  ready: Promise<RequestHandlers>,
  lingering: LingeringConnections,
  options: ListenOptions,
): Server {
  const { connection } = options.deadlines ?? CONNECTION_DEADLINES
  let handlers: RequestHandlers | undefined
  const pipelined = new WeakMap<Duplex, number>()
  const failed = new WeakSet<Duplex>()
  const server = createHttpServer(connection)
  const begin = (request: RequestMessage, response: ServerResponse, handle: () => void) => {
    const release = countPipelined(pipelined, request)
    response.once('close', () => {
      endBody(request, response, lingering)
      release()
    })
    if (!server.listening) response.setHeader('Connection', 'close')
    lastExchange.set(request.socket, { request, response })
    handle()
  }
  const handle = (request: RequestMessage, response: ServerResponse) =>
    begin(request, response, () => {
      const run = () => response.destroyed || handlers!.request(request, response)
      if (handlers) beginBeside(pipelined.get(request.socket)! - 1, run)
      else void ready.then(run)
    })
  server.on('request', handle)
  server.on('checkContinue', (request, response) => {
    request.continueWhenRead(response)
    handle(request, response)
  })
  server.on('checkExpectation', (request, response) =>
    begin(request, response, () => response.writeHead(417).end()),
  )
  const closeLast = (socket: Socket) => {
    const { request, response } = lastExchange.get(socket) ?? {}
    // Nothing may follow a complete last request.
    if (request?.complete && response?.writableFinished) return void Socket.prototype.destroySoon.call(socket)
    lingering.close(socket)
  }
  // A handler has deadlines of its own. Its response begins the idle time anew. Earlier responses are sent before the last.
  server.on('timeout', (socket) => {
    const { request, response } = lastExchange.get(socket) ?? {}
    if (!request?.complete || response?.writableFinished || socket.writableLength > 0) socket.destroy()
  })
  saveNodeHandler(server, { ...options, closeLast })
  void ready.then((given) => {
    handlers = given
    if (given.fastPath) interceptConnections(server, given.fastPath)
  })
  server.on('clientError', (error, socket) => {
    // Every further byte would raise the error again.
    if (failed.has(socket)) return
    failed.add(socket)
    onClientError(error, socket, { last: lastExchange.get(socket), lingering })
  })
  refuseTunnels(server, lingering)
  return server
}

/** One request of each connection begins when it arrives: in a later turn, a busy service would only refuse it later. */
function beginBeside(others: number, run: () => void): void {
  if (others === 0) run()
  else beginInTurn(run)
}

/** Accounts for a request until the returned function is called, and pauses a connection with too many. */
function countPipelined(pipelined: WeakMap<Duplex, number>, request: IncomingMessage): () => void {
  const { socket } = request
  const hold = () => {
    if (pipelined.get(socket)! >= MAX_PIPELINED) pauseParsing(socket, true)
  }
  // Node resumes a connection when it has sent what was answered, also while many requests are not.
  if (!pipelined.has(socket)) socket.on('resume', hold)
  pipelined.set(socket, (pipelined.get(socket) ?? 0) + 1)
  hold()
  const queue = findSendQueue(socket)
  const bytes = headBytes(request)
  queue?.addRequest(bytes)
  return () => {
    queue?.addRequest(-bytes)
    const left = pipelined.get(socket)! - 1
    pipelined.set(socket, left)
    if (left === MAX_PIPELINED - 1) pauseParsing(socket, false)
  }
}

/** CONNECT is not supported (RFC 9110, 9.3.6). */
function refuseTunnels(server: Server, lingering: LingeringConnections): void {
  server.on('connect', (_request, socket) => {
    // Node has removed its own listener, and an error that nothing handles ends the process.
    socket.on('error', () => socket.destroy())
    const last = lastExchange.get(socket)
    // It has removed its other listeners too, without which it does not send an earlier response to its end.
    if (last && !isAnswered(last.response)) return void socket.destroy()
    socket.write(formatRefusal(405, ['Allow: GET, HEAD, OPTIONS']))
    lingering.close(socket)
  })
}

function createHttpServer(connection: ConnectionDeadlines['connection']) {
  const server = http.createServer({
    headersTimeout: connection.head,
    requestTimeout: 0,
    keepAliveTimeout: 65_000,
    connectionsCheckingInterval: 5000,
    maxHeaderSize: 16 * 1024,
    ...SOCKET_OPTIONS,
    IncomingMessage: RequestMessage,
    ServerResponse: CountedResponse,
    // `request-target.ts` checks Host. Node would respond without an entry in `lastExchange`, so that the bytes
    // that follow would get a second response.
    requireHostHeader: false,
  })
  server.setTimeout(connection.idle)
  return server
}

function endBody(request: RequestMessage, response: ServerResponse, lingering: LingeringConnections): void {
  const { socket } = request
  if (request.complete) return
  if (lingering.isClosing(socket)) request.abandon()
  else if (response.writableFinished && socket instanceof Socket && !socket.destroyed)
    lingering.drain(request)
  else destroyWithSocket(request)
}

/** Node leaves an incomplete body open when its connection ends after the response: its reader would wait forever. */
function destroyWithSocket(request: IncomingMessage): void {
  const { socket } = request
  if (request.complete || request.destroyed) return
  const destroy = () => request.destroy()
  if (socket.destroyed) return void destroy()
  socket.once('close', destroy)
  request.once('close', () => socket.off('close', destroy))
}

/** Pauses and resumes a connection's parser as Node does when responses are not read. */
function pauseParsing(socket: Socket, held: boolean): void {
  const own = socket as Socket & { _paused?: boolean; parser?: { resume(): void } | null }
  if (own._paused === held) return
  own._paused = held
  if (held) return void socket.pause()
  own.parser?.resume()
  socket.resume()
}

/** Closes connections without a request or response. Node's method of this name cuts responses that it has not sent yet. */
function closeIdleConnections(server: Server): void {
  const key = Object.getOwnPropertySymbols(server).find(
    ({ description }) => description === 'http.server.connections',
  )
  const { [key!]: connections } = server as unknown as Record<symbol, { idle(): { socket: Duplex }[] }>
  for (const { socket } of connections!.idle()) {
    const last = lastExchange.get(socket)
    if (!last || isAnswered(last.response)) socket.destroy()
  }
}

const lastExchange = new WeakMap<Duplex, LastExchange>()

/** How each server passes a connection to Node's parser, and to the handler that accepts it first. */
const nodeHandlers = new WeakMap<Server, (socket: Duplex) => void>()
const acceptors = new WeakMap<Server, (socket: Socket) => void>()

function saveNodeHandler(
  server: Server,
  { connections, proxyProtocol, closeLast }: ListenOptions & { closeLast: (socket: Socket) => void },
): void {
  const [listener] = server.listeners('connection') as [(this: Server, socket: Duplex) => void]
  const parse = (socket: Duplex) => {
    // Node calls it after the last response.
    if (socket instanceof Socket) socket.destroySoon = () => closeLast(socket)
    // Node reads it next: whether it sends what it has, or the rest of all responses first. Later ones may not have begun.
    socket.on('end', () => {
      const { _httpMessage: current } = socket as { _httpMessage?: CountedResponse | null }
      Object.assign(server, { httpAllowHalfOpen: current?.allowsHalfClose === true })
    })
    listener.call(server, socket)
    if (socket instanceof TLSSocket) readAsStream(socket)
  }
  nodeHandlers.set(server, parse)
  acceptors.set(server, parse)
  server.removeAllListeners('connection')
  const accept = (socket: Socket) => {
    if (connections?.admit(socket) === false) return
    connections?.watch(socket)
    acceptors.get(server)!(socket)
  }
  server.on(
    'connection',
    limited((socket) => {
      if (proxyProtocol) proxyProtocol.accept(socket, () => accept(socket))
      else accept(socket)
    }),
  )
}

function interceptConnections(server: Server, handler: ConnectionHandler): void {
  const parse = nodeHandlers.get(server)!
  acceptors.set(server, (socket) => handler.accept(socket, parse))
}

/**
 * Feeds Node's parser through the socket's stream instead of its handle. A paused TLS socket still delivers
 * every record of its last read, and the parser of Node 26 rejects bytes while it is paused (HPE_PAUSED,
 * 400). The stream buffers them in order.
 */
function readAsStream(socket: TLSSocket): void {
  socket.on('data', () => undefined)
}
