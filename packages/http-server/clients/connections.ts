import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Log } from '../log.ts'
import { rateLimitSubnet } from './client-ip.ts'
import type { ClientMemory } from './client-memory.ts'
import { SendQueue } from './send-queue.ts'
import { Tally } from './tally.ts'

const CHECK_INTERVAL_MS = 1000

interface ConnectionsOptions {
  memory: ClientMemory
  /** Connections that one network may have open; undefined where peers are proxies that bring many clients. */
  perNetwork: number | undefined
  log: Log
}

/** The open connections of clients over all ports of this process. */
export class Connections implements Disposable {
  readonly #options: ConnectionsOptions
  readonly #ofNetwork = new Tally()
  readonly #queues = new Map<Duplex, SendQueue>()
  readonly #timer: NodeJS.Timeout
  #watched = 0
  readonly closed = { tooMany: 0, tooSlow: 0 }
  #open = 0

  constructor(options: ConnectionsOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#check(), CHECK_INTERVAL_MS).unref()
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }

  get open(): number {
    return this.#open
  }

  /** Counts a new connection. Returns false, and closes it, at the limit of its network. */
  admit(socket: Socket): boolean {
    const { perNetwork } = this.#options
    if (perNetwork === undefined) return this.#countOpen(socket)
    const key = rateLimitSubnet(socket.remoteAddress ?? '')
    if (this.#ofNetwork.of(key) >= perNetwork) {
      this.closed.tooMany++
      socket.destroy()
      // Without the address, as all of the log.
      this.#options.log.summarize('warn', 'connections refused: limit per address reached', {
        limit: perNetwork,
      })
      return false
    }
    this.#ofNetwork.add(key, 1)
    socket.once('close', () => this.#ofNetwork.add(key, -1))
    return this.#countOpen(socket)
  }

  /** Accounts for the responses of HTTP/1.1 that are sent on a connection from here on. */
  watch(socket: Duplex & { remoteAddress?: string | undefined }): void {
    const { memory, perNetwork } = this.#options
    // Behind a proxy all clients have its address, so each connection gets its own share.
    const address = perNetwork === undefined ? `connection ${++this.#watched}` : (socket.remoteAddress ?? '')
    this.#queues.set(socket, new SendQueue(socket, memory, address))
    socket.once('close', () => this.#queues.delete(socket))
  }

  #countOpen(socket: Socket): true {
    this.#open++
    socket.once('close', () => this.#open--)
    return true
  }

  /** One pass over all of them costs less than a timer for each. */
  #check(): void {
    for (const [socket, queue] of this.#queues) {
      if (queue.check()) continue
      this.closed.tooSlow++
      socket.destroy()
    }
  }
}
