import { createServer, type Server } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Log } from '../log.ts'
import type { ClientHello } from '../tls/client-hello.ts'
import type { Choice } from '../tls/contexts.ts'
import { Handshakes, type Read } from '../tls/handshakes.ts'
import { listenOn, portOf } from './ports.ts'

/** Who speaks with visitors once a connection is encrypted. */
export interface SecureDoors {
  /** Which certificate; undefined refuses the name. */
  choose(hello: ClientHello): Choice | undefined | Promise<Choice | undefined>
  http1(socket: TLSSocket): void
  http2(socket: TLSSocket): void
  /** How the first message of a connection is read. */
  read: Read
}

/** The HTTPS sockets of one process: TLS 1.2 and 1.3, then HTTP/2 or HTTP/1.1 as the client wishes (RFC 7301). */
export class SecureListener {
  readonly port: number
  readonly #servers: readonly Server[]
  readonly #ready: PromiseWithResolvers<Handshakes>
  #handshakes: Handshakes | undefined
  /** Connections that are encrypted. */
  readonly #secured = new Set<TLSSocket>()

  private constructor(servers: readonly [Server, ...Server[]], ready: PromiseWithResolvers<Handshakes>) {
    this.#servers = servers
    this.#ready = ready
    this.port = portOf(servers[0])
  }

  /** Listens, and holds connections back until `serve`. ListenError when the port cannot be had. */
  static async open(host: string, port: number, { shared = false } = {}): Promise<SecureListener> {
    const ready = Promise.withResolvers<Handshakes>()
    const make = () => {
      const server = createServer({ noDelay: true, allowHalfOpen: true }, (raw) => {
        raw.on('error', () => raw.destroy())
        void ready.promise.then((handshakes) => handshakes.accept(raw))
      })
      server.maxConnections = 20_000
      return server
    }
    const place = { host, port, shared, setting: 'SLIPWAY_HTTPS_PORT' }
    return new SecureListener(await listenOn(place, make), ready)
  }

  serve(doors: SecureDoors, log: Log): void {
    this.#handshakes = new Handshakes({
      choose: (hello) => doors.choose(hello),
      read: doors.read,
      log,
      secured: (socket) => {
        this.#secured.add(socket)
        socket.once('close', () => this.#secured.delete(socket))
        if (socket.alpnProtocol === 'h2') doors.http2(socket)
        else if (socket.alpnProtocol === 'acme-tls/1') socket.destroySoon()
        else doors.http1(socket)
      },
    })
    this.#ready.resolve(this.#handshakes)
  }

  /** Takes no more connections. Those that are encrypted are for the doors to end. */
  close(): void {
    for (const server of this.#servers) server.close()
    this.#handshakes?.cut()
  }

  /** Resolves when the last connection has ended; cuts those that are left after `seconds`. */
  async drain(seconds: number): Promise<void> {
    this.close()
    const cut = setTimeout(() => {
      for (const socket of this.#secured) socket.destroy()
    }, seconds * 1000)
    await Promise.all(
      [...this.#secured].map((socket) => new Promise((resolve) => socket.once('close', resolve))),
    )
    clearTimeout(cut)
  }
}
