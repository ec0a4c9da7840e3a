import type { Duplex } from 'node:stream'

export const CHECK_INTERVAL_SECONDS = 5

/** Idle checks before the first request, and later without activity: 15 and 65 seconds. */
const INITIAL_TICKS = 3
const IDLE_TICKS = 13

interface PooledConnection {
  /** Whether its first request, or the preface of its protocol, is incomplete. */
  readonly isAwaitingRequest: boolean
  /** Returns the number of checks since the last activity. A part, such as a stream, may be idle for `limit` checks. */
  checkIdle(limit: number): number
  timeout(): void
  /** Closes it as soon as nothing is in progress on it. */
  close(): void
  destroy(): void
}

export class ConnectionPool<C extends PooledConnection> {
  ticks = 0
  /** The next response of each connection is its last one. */
  isClosing = false
  readonly #connections = new Set<C>()
  /** One check of all connections costs less than a timer for each, which every read and write would reset. */
  readonly #timer = setInterval(() => this.#tick(), CHECK_INTERVAL_SECONDS * 1000).unref()

  add(connection: C, socket: Duplex): void {
    this.#connections.add(connection)
    socket.once('close', () => this.remove(connection))
  }

  remove(connection: C): void {
    this.#connections.delete(connection)
  }

  close(): void {
    this.isClosing = true
    for (const connection of this.#connections) connection.close()
  }

  destroy(): void {
    for (const connection of this.#connections) connection.destroy()
  }

  #tick(): void {
    this.ticks++
    if (this.isClosing && this.#connections.size === 0) clearInterval(this.#timer)
    for (const connection of this.#connections) {
      const idleTicks = connection.checkIdle(IDLE_TICKS)
      if (idleTicks > (connection.isAwaitingRequest ? INITIAL_TICKS : IDLE_TICKS)) connection.timeout()
    }
  }
}
