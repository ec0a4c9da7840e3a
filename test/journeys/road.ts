import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** The way from clients to a service, which a test may block after so many bytes and open again. */
export class FlakyProxy implements AsyncDisposable {
  readonly #server: Server
  readonly #clients = new Set<Socket>()
  readonly #waiting: (() => void)[] = []
  #port = 0
  #bytesLeft = Number.POSITIVE_INFINITY
  #blocked = Promise.withResolvers<void>()

  static async build(): Promise<FlakyProxy> {
    const road = new FlakyProxy()
    road.#server.listen(0, 'localhost')
    await once(road.#server, 'listening')
    return road
  }

  private constructor() {
    this.#server = createServer((client) => this.#carry(client))
  }

  /** The address at its near end. */
  get url(): string {
    return `http://localhost:${(this.#server.address() as AddressInfo).port}`
  }

  /** Where it leads to: a port of this machine. */
  leadTo(port: number): void {
    this.#port = port
  }

  /** Lets so many bytes of clients pass and no more; resolves when it came to that. */
  blockAfter(bytes: number): Promise<void> {
    this.#blocked = Promise.withResolvers()
    this.#bytesLeft = bytes
    return this.#blocked.promise
  }

  /** Lets everything pass, what waits first. */
  open(): void {
    this.#bytesLeft = Number.POSITIVE_INFINITY
    for (const pass of this.#waiting.splice(0)) pass()
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
      // What a client has sent is on its way, and its end is heard of at the far end at once.
      this.#waiting.push(() => service.write(chunk))
      this.#blocked.resolve()
    })
    service.pipe(client)
    client.on('end', () => service.end())
    for (const [one, other] of [
      [client, service],
      [service, client],
    ] as const) {
      // Whatever breaks one half has broken the other: that is all there is to know of an error.
      one.on('error', () => other.destroy())
      one.on('close', () => other.destroy())
    }
    client.on('close', () => this.#clients.delete(client))
  }
}
