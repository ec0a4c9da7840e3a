import { createServer, type Server, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Connections } from '../clients/connections.ts'
import type { ListenOptions } from '../listener.ts'
import type { Log } from '../log.ts'
import { getPort, limited, listenOn, SOCKET_OPTIONS, SOCKETS } from '../ports.ts'
import type { ProxyProtocol } from '../proxy-protocol.ts'
import type { ClientHello } from './client-hello.ts'
import { type ReadSocket, type SelectedCertificate, TlsAcceptor } from './tls-acceptor.ts'

export interface TlsHandlers {
  select(
    hello: ClientHello,
    address: string,
  ): SelectedCertificate | undefined | Promise<SelectedCertificate | undefined>
  http1(socket: TLSSocket): void
  http2(socket: TLSSocket): void
  read: ReadSocket
}

/** The HTTPS sockets of one process: TLS 1.2 and 1.3, then HTTP/2 or HTTP/1.1 by ALPN (RFC 7301). */
export class SecureListener {
  readonly port: number
  readonly #servers: readonly Server[]
  readonly #ready: PromiseWithResolvers<TlsAcceptor>
  readonly #connections: Connections | undefined
  readonly #proxyProtocol: ProxyProtocol | undefined
  #acceptor: TlsAcceptor | undefined
  readonly #tlsSockets = new Set<TLSSocket>()

  private constructor(
    servers: readonly [Server, ...Server[]],
    ready: PromiseWithResolvers<TlsAcceptor>,
    { connections, proxyProtocol }: ListenOptions,
  ) {
    this.#servers = servers
    this.#ready = ready
    this.#connections = connections
    this.#proxyProtocol = proxyProtocol
    this.port = getPort(servers[0])
  }

  /** Listens, and queues connections until `serve`. ListenError when the port or a descriptor is not available. */
  static async open(host: string, port: number, options: ListenOptions = {}): Promise<SecureListener> {
    const { shared = false, connections, proxyProtocol } = options
    const ready = Promise.withResolvers<TlsAcceptor>()
    const accept = (raw: Socket) => {
      raw.on('error', () => raw.destroy())
      if (connections?.admit(raw) === false) return
      void ready.promise.then((handshakes) => handshakes.accept(raw))
    }
    const acceptFirst = limited((raw) => {
      if (proxyProtocol) proxyProtocol.accept(raw, () => accept(raw))
      else accept(raw)
    })
    const place = { host, port, shared, sockets: SOCKETS }
    const servers = await listenOn(place, () => createServer(SOCKET_OPTIONS, acceptFirst))
    return new SecureListener(servers, ready, options)
  }

  serve(handlers: TlsHandlers, log: Log): void {
    this.#acceptor = new TlsAcceptor({
      select: (hello, address) => handlers.select(hello, address),
      read: handlers.read,
      log,
      onSecure: (socket) => {
        this.#tlsSockets.add(socket)
        socket.once('close', () => this.#tlsSockets.delete(socket))
        if (socket.alpnProtocol === 'h2') handlers.http2(socket)
        else if (socket.alpnProtocol === 'acme-tls/1') socket.destroySoon()
        else {
          this.#connections?.watch(socket)
          handlers.http1(socket)
        }
      },
    })
    this.#ready.resolve(this.#acceptor)
  }

  /** Stops accepting connections. Those after the handshake are closed by their handlers. */
  close(): void {
    for (const server of this.#servers) server.close()
    this.#proxyProtocol?.close()
    this.#acceptor?.destroy()
  }

  /** Resolves when the last connection has ended; destroys the rest after `seconds`. */
  async drain(seconds: number): Promise<void> {
    this.close()
    const timeout = setTimeout(() => {
      for (const socket of this.#tlsSockets) socket.destroy()
    }, seconds * 1000)
    await Promise.all(
      [...this.#tlsSockets].map((socket) => new Promise((resolve) => socket.once('close', resolve))),
    )
    clearTimeout(timeout)
  }
}
