import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** A TCP proxy between clients and a service that a test can block after a number of bytes and unblock again. */
export class FlakyProxy implements AsyncDisposable {
  readonly #server: Server
  readonly #clients = new Set<Socket>()
  readonly #queued: (() => void)[] = []
  #port = 0
  #bytesLeft = Number.POSITIVE_INFINITY
  #blocked = Promise.withResolvers<void>()

  static async build(): Promise<FlakyProxy> {
    const proxy = new FlakyProxy()
    proxy.#server.listen(0, 'localhost')
    await once(proxy.#server, 'listening')
    return proxy
  }

  private constructor() {
    this.#server = createServer((client) => this.#carry(client))
  }

  /** The base URL for clients. */
  get url(): string {
    return `http://localhost:${(this.#server.address() as AddressInfo).port}`
  }

  /** Sets the port of this machine that new connections are forwarded to. */
  forwardTo(port: number): void {
    this.#port = port
  }

  /** Forwards at most `bytes` more bytes from clients; resolves when further bytes are held back. */
  blockAfter(bytes: number): Promise<void> {
    this.#blocked = Promise.withResolvers()
    this.#bytesLeft = bytes
    return this.#blocked.promise
  }

  /** Forwards everything again, queued bytes first. */
  open(): void {
    this.#bytesLeft = Number.POSITIVE_INFINITY
    for (const pass of this.#queued.splice(0)) pass()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) client.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #carry(client: Socket): void {
    const service = connect(this.#port, 'localhost')
    this.#clients.add(client)
    client.on('data', (chunk) => {
      if (this.#bytesLeft >= chunk.length) {
        this.#bytesLeft -= chunk.length
        service.write(chunk)
        return
      }
      this.#bytesLeft = 0
      // Only data is held back: the end of a client is forwarded immediately.
      this.#queued.push(() => service.write(chunk))
      this.#blocked.resolve()
    })
    service.pipe(client)
    client.on('end', () => service.end())
    for (const [one, other] of [
      [client, service],
      [service, client],
    ] as const) {
      // An error on one side closes both; its reason does not matter.
      one.on('error', () => other.destroy())
      one.on('close', () => other.destroy())
    }
    client.on('close', () => this.#clients.delete(client))
  }
}
