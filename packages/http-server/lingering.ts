import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { rateLimitSubnet } from './clients/client-ip.ts'
import type { ConnectionDeadlines } from './deadlines.ts'
import type { RequestMessage } from './request-message.ts'

/** Maximum number of connections of one process that linger. Each also counts as an open connection. */
const MAX_LINGERING = 1000

interface LingeringOptions {
  deadlines: ConnectionDeadlines['lingering']
  max?: number
}

/** Lets clients that still send read their response (RFC 9112, 9.6; docs/decisions/042-lingering-close.md). */
export class LingeringConnections {
  readonly #deadlines: ConnectionDeadlines['lingering']
  readonly #max: number
  readonly #closing = new WeakSet<Duplex>()
  /** The lingering connections of each network, the oldest first. */
  readonly #ofNetwork = new Map<string, Set<Socket>>()
  readonly #timers = new Map<Socket, Disposable>()

  constructor({ deadlines, max = MAX_LINGERING }: LingeringOptions) {
    this.#deadlines = deadlines
    this.#max = max
  }

  get count(): number {
    return this.#timers.size
  }

  isClosing(socket: Duplex): boolean {
    return this.#closing.has(socket)
  }

  /** Closes the sending side after what was written, and the connection once the client has closed its side. */
  close(socket: Duplex): void {
    if (this.#closing.has(socket)) return
    this.#closing.add(socket)
    // A connection within this process loses nothing.
    if (!(socket instanceof Socket)) return void socket.end(() => socket.destroy())
    socket.end()
    // Node's parser would take what follows for further requests.
    socket.removeAllListeners('data')
    socket.on('data', this.#linger(socket)).once('end', () => destroySoon(socket))
    resumeReading(socket)
  }

  /** Drops the rest of the body of an answered request, so that its connection can have further requests. */
  drain(request: RequestMessage): void {
    const { socket } = request
    request.abandon({ onBytes: this.#linger(socket), onEnd: () => this.#remove(socket) })
    resumeReading(socket)
  }

  /** Starts the time-outs. Returns a function to call for each chunk that arrives. */
  #linger(socket: Socket): () => void {
    this.#remove(socket)
    if (this.count >= this.#max) this.#destroyOldest()
    const destroy = () => socket.destroy()
    const total = setTimeout(destroy, this.#deadlines.total).unref()
    const startIdle = () => setTimeout(destroy, this.#deadlines.idle).unref()
    let idle = startIdle()
    const network = rateLimitSubnet(socket.remoteAddress ?? '')
    const sockets = this.#ofNetwork.get(network) ?? new Set()
    this.#ofNetwork.set(network, sockets.add(socket))
    const onClose = () => this.#remove(socket)
    socket.once('close', onClose)
    this.#timers.set(socket, {
      [Symbol.dispose]: () => {
        clearTimeout(total)
        clearTimeout(idle)
        socket.off('close', onClose)
        sockets.delete(socket)
        if (sockets.size === 0) this.#ofNetwork.delete(network)
      },
    })
    return () => {
      clearTimeout(idle)
      if (sockets.has(socket)) idle = startIdle()
    }
  }

  #remove(socket: Socket): void {
    this.#timers.get(socket)?.[Symbol.dispose]()
    this.#timers.delete(socket)
  }

  #destroyOldest(): void {
    const fullest = [...this.#ofNetwork.values()].reduce((one, other) =>
      other.size > one.size ? other : one,
    )
    const oldest = fullest.values().next().value!
    this.#remove(oldest)
    oldest.destroy()
  }
}

/** Node's own `destroySoon`, which `Listener` replaces: destroys a connection once what was written is sent. */
function destroySoon(socket: Socket): void {
  Socket.prototype.destroySoon.call(socket)
}

/** Resumes a connection that Node's HTTP server has paused because its body was not read. */
function resumeReading(socket: Socket): void {
  Object.assign(socket, { _paused: false })
  socket.resume()
}
