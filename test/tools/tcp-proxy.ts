import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { setTimeout as pause } from 'node:timers/promises'

/** One direction of all connections of a proxy. */
export class Flow {
  delayMs = 0
  /** Called with bytes before they are delivered, so that it may stop the flow in time. */
  onBytes: ((bytes: Buffer) => void) | undefined
  #resumed: PromiseWithResolvers<void> | undefined

  /** Delivers nothing from now on, not even the end of a connection, as a network that drops every packet. */
  stop(): void {
    this.#resumed ??= Promise.withResolvers()
  }

  /** Delivers what was held back, and all that follows. */
  resume(): void {
    this.#resumed?.resolve()
    this.#resumed = undefined
  }

  /** Resolves when `bytes`, or the end of a connection, may be delivered. */
  async pass(bytes?: Buffer): Promise<void> {
    if (bytes) this.onBytes?.(bytes)
    if (this.delayMs > 0) await pause(this.delayMs)
    await this.#resumed?.promise
  }
}

/** A TCP proxy on a free port of loopback, which delays, stops and cuts connections on command. */
export class TcpProxy implements AsyncDisposable {
  readonly toServer = new Flow()
  readonly toClient = new Flow()
  /** The port on loopback to which new connections lead. */
  upstreamPort: number
  /** Connections that were accepted since the start. */
  accepted = 0
  readonly #server: Server
  readonly #pairs = new Set<{ client: Socket; upstream?: Socket }>()

  private constructor(upstreamPort: number) {
    this.upstreamPort = upstreamPort
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => void this.#accept(client))
  }

  static async open(upstreamPort: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(upstreamPort)
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Open connections of clients. */
  get connections(): number {
    return this.#pairs.size
  }

  /** Delivers nothing in both directions. */
  stop(): void {
    this.toServer.stop()
    this.toClient.stop()
  }

  resume(): void {
    this.toServer.resume()
    this.toClient.resume()
  }

  /** Ends all connections on both sides. */
  cut(): void {
    for (const { client, upstream } of this.#pairs) {
      client.destroy()
      upstream?.destroy()
    }
  }

  /** Resets all connections of clients. */
  reset(): void {
    for (const { client, upstream } of this.#pairs) {
      resetSocket(client)
      upstream?.destroy()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    this.resume()
    this.cut()
    if (this.#server.listening) await once(this.#server, 'close')
  }

  async #accept(client: Socket): Promise<void> {
    this.accepted++
    const pair: { client: Socket; upstream?: Socket } = { client }
    this.#pairs.add(pair)
    client.once('close', () => this.#pairs.delete(pair)).on('error', () => undefined)
    await this.toServer.pass()
    if (client.destroyed) return
    const options = { port: this.upstreamPort, host: '127.0.0.1', allowHalfOpen: true, noDelay: true }
    const upstream = connect(options)
    pair.upstream = upstream
    upstream.on('error', () => resetSocket(client))
    const flows = [deliver(client, upstream, this.toServer), deliver(upstream, client, this.toClient)]
    await Promise.allSettled(flows)
    client.destroy()
    upstream.destroy()
  }
}

/** Node leaks the handle of a socket that is reset while its end is being sent, and then hangs at the exit. */
function resetSocket(socket: Socket): void {
  if (socket.writableEnded) socket.destroy()
  else socket.resetAndDestroy()
}

/** Resolves when the end of `from` was delivered; rejects when either side was lost. */
async function deliver(from: Socket, to: Socket, flow: Flow): Promise<void> {
  await pipeline(
    from,
    async function* (source: AsyncIterable<Buffer>) {
      for await (const bytes of source) {
        await flow.pass(bytes)
        yield bytes
      }
      await flow.pass()
    },
    to,
  )
}
