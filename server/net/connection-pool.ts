import type { Duplex } from 'node:stream'

/** Seconds between two idle checks. */
export const CHECK_INTERVAL_SECONDS = 5

/** Idle checks before the first request, and later without activity: 15 and 65 seconds. */
const INITIAL_TICKS = 3
const IDLE_TICKS = 13

/** A connection of any protocol. */
interface PooledConnection {
  /** Whether its first request, or the preface of its protocol, is incomplete. */
  readonly isAwaitingRequest: boolean
  /**
   * Performs an idle check; returns the number of checks since the last activity. `limit` is the number of checks
   * that a part of the connection, such as a stream, may be idle.
   */
  checkIdle(limit: number): number
  /** Closes it after its idle time-out. */
  timeout(): void
  /** Closes it as soon as nothing is in progress on it. */
  close(): void
  destroy(): void
}

/** The connections of one protocol, and their idle time-outs. */
export class ConnectionPool<C extends PooledConnection> {
  /** Number of idle checks so far. */
  ticks = 0
  isClosing = false
  readonly #connections = new Set<C>()
  /** One check of all connections costs less than a timer for each, which every read and write would reset. */
  readonly #timer = setInterval(() => this.#tick(), CHECK_INTERVAL_SECONDS * 1000).unref()

  /** Adds a connection until its socket closes. */
  add(connection: C, socket: Duplex): void {
    this.#connections.add(connection)
    socket.once('close', () => this.remove(connection))
  }

  remove(connection: C): void {
    this.#connections.delete(connection)
  }

  /** Closes each connection as soon as nothing is in progress on it. */
  close(): void {
    this.isClosing = true
    for (const connection of this.#connections) connection.close()
  }

  /** Destroys all connections. */
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
