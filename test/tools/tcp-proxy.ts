import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { listen } from '../support/listen.ts'

export type Direction = 'toServer' | 'toClient'

/** One connection through the proxy. */
export class ProxiedConnection {
  readonly client: Socket
  upstream: Socket | undefined
  readonly #stopped = new Map<Direction, PromiseWithResolvers<void>>()

  constructor(client: Socket) {
    this.client = client
  }

  /** Delivers nothing from now on, not even the end of the connection, as a network that drops every packet. */
  stop(direction: Direction): void {
    if (!this.#stopped.has(direction)) this.#stopped.set(direction, Promise.withResolvers())
  }

  /** Delivers what was held back, and all that follows. */
  resume(direction: Direction): void {
    this.#stopped.get(direction)?.resolve()
    this.#stopped.delete(direction)
  }

  /** Resolves when the next bytes may be delivered. */
  async untilDelivered(direction: Direction): Promise<void> {
    await this.#stopped.get(direction)?.promise
  }

  /** Ends the connection on both sides. */
  cut(): void {
    this.client.destroy()
    this.upstream?.destroy()
  }

  /** Resets the connection of the client. */
  reset(): void {
    resetSocket(this.client)
    this.upstream?.destroy()
  }
}

/** A TCP proxy on a free port of loopback, which delays, stops and cuts connections on command. */
export class TcpProxy implements AsyncDisposable {
  /** The port on loopback to which new connections lead. */
  upstreamPort: number
  /** Milliseconds before bytes are delivered. */
  readonly delayMs: Record<Direction, number> = { toServer: 0, toClient: 0 }
  /** Called with bytes before they are delivered, so that it may stop their direction in time. */
  onBytes: ((direction: Direction, bytes: Buffer, connection: ProxiedConnection) => void) | undefined
  /** Connections that were accepted since the start. */
  accepted = 0
  readonly connections = new Set<ProxiedConnection>()
  port = 0
  readonly #server: Server
  readonly #stopped = new Set<Direction>()

  private constructor(upstreamPort: number) {
    this.upstreamPort = upstreamPort
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => void this.#accept(client))
  }

  static async open(upstreamPort: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(upstreamPort)
    proxy.port = await listen(proxy.#server)
    return proxy
  }

  /** Delivers nothing over all connections, also those to come. */
  stop(...directions: Direction[]): void {
    for (const direction of directions.length > 0 ? directions : DIRECTIONS) {
      this.#stopped.add(direction)
      for (const connection of this.connections) connection.stop(direction)
    }
  }

  /** Delivers nothing over the connections of now; those to come work. */
  abandon(): void {
    for (const connection of this.connections) for (const direction of DIRECTIONS) connection.stop(direction)
  }

  resume(): void {
    this.#stopped.clear()
    for (const connection of this.connections)
      for (const direction of DIRECTIONS) connection.resume(direction)
  }

  cut(): void {
    for (const connection of this.connections) connection.cut()
  }

  reset(): void {
    for (const connection of this.connections) connection.reset()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.cut()
    await closed
  }

  async #accept(client: Socket): Promise<void> {
    this.accepted++
    const connection = new ProxiedConnection(client)
    for (const direction of this.#stopped) connection.stop(direction)
    this.connections.add(connection)
    client.once('close', () => this.connections.delete(connection)).on('error', () => undefined)
    await connection.untilDelivered('toServer')
    if (client.destroyed) return
    const options = { port: this.upstreamPort, host: '127.0.0.1', allowHalfOpen: true, noDelay: true }
    const upstream = connect(options).on('error', () => resetSocket(client))
    connection.upstream = upstream
    await Promise.allSettled([
      this.#deliver(connection, { direction: 'toServer', from: client, to: upstream }),
      this.#deliver(connection, { direction: 'toClient', from: upstream, to: client }),
    ])
    connection.cut()
  }

  /** The end of one direction ends both: no protocol of the tests closes half of a connection. */
  async #deliver(connection: ProxiedConnection, { direction, from, to }: Delivery): Promise<void> {
    const proxy = this
    async function* pass(source: AsyncIterable<Buffer>) {
      for await (const bytes of source) {
        proxy.onBytes?.(direction, bytes, connection)
        const delayMs = proxy.delayMs[direction]
        if (delayMs > 0) await pause(delayMs, undefined, { ref: false })
        await connection.untilDelivered(direction)
        yield bytes
      }
      await connection.untilDelivered(direction)
    }
    await pipeline(from, pass, to, { end: false })
    to.destroySoon()
  }
}

/** Node leaks the handle of a socket that is reset while its end is being sent, and then hangs at the exit. */
function resetSocket(socket: Socket): void {
  if (socket.writableEnded) socket.destroy()
  else socket.resetAndDestroy()
}

interface Delivery {
  direction: Direction
  from: Socket
  to: Socket
}

const DIRECTIONS: readonly Direction[] = ['toServer', 'toClient']
