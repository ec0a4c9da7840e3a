import type { Socket } from 'node:net'
import type { Edge } from '../../edge/edge.ts'
import type { MemoryBudget } from '../../lib/lru-cache.ts'
import { readIntoSharedBuffer } from '../shared-buffer-read.ts'
import { FastPathConnection, type FastPathContext } from './connection.ts'
import { ResponseSerializer } from './response-serializer.ts'

/** Interval of idle checks in milliseconds. */
const TICK_INTERVAL_MS = 5000

/** Idle checks before the first request, and later without activity: 15 and 65 seconds. */
const INITIAL_TICKS = 3
const IDLE_TICKS = 13

interface Http1FastPathOptions {
  edge: Edge
  /** Milliseconds since 1970. */
  clock: () => number
  budget: MemoryBudget
  read?: typeof readIntoSharedBuffer
}

/**
 * Serves visitors directly from the socket (design.md, "The fast lane"): complete plain requests are answered
 * with prebuilt bytes; a connection that sends anything else goes to Node's parser for good. Both give the
 * same responses, because both call the same `Edge`.
 */
export class Http1FastPath implements FastPathContext {
  readonly edge: Edge
  readonly serializer: ResponseSerializer
  readonly read: typeof readIntoSharedBuffer
  closing = false
  responses = 0
  /** Connections passed to Node's parser. */
  fallbacks = 0
  ticks = 0
  readonly #connections = new Map<FastPathConnection, (socket: Socket) => void>()
  readonly #timer: NodeJS.Timeout

  constructor({ edge, clock, budget, read = readIntoSharedBuffer }: Http1FastPathOptions) {
    this.edge = edge
    this.read = read
    this.serializer = new ResponseSerializer({ clock, budget })
    this.#timer = setInterval(() => this.#tick(), TICK_INTERVAL_MS).unref()
  }

  /** Takes a connection from which nothing has been read; `parse` passes it to Node's parser. */
  accept(socket: Socket, parse: (socket: Socket) => void): void {
    const connection = new FastPathConnection(socket, this)
    this.#connections.set(connection, parse)
    socket.once('close', () => this.#connections.delete(connection))
  }

  fallBackToNode(connection: FastPathConnection, socket: Socket): void {
    const parse = this.#connections.get(connection)!
    this.#connections.delete(connection)
    this.fallbacks++
    parse(socket)
  }

  /** Closes connections as soon as nothing is in progress on them. */
  close(): void {
    this.closing = true
    clearInterval(this.#timer)
    for (const connection of this.#connections.keys()) connection.close()
  }

  /** Destroys all connections. */
  destroy(): void {
    for (const connection of this.#connections.keys()) connection.destroy()
  }

  /**
   * One check of all connections costs less than a timer for each, which every read and write would reset.
   */
  #tick(): void {
    this.ticks++
    for (const connection of this.#connections.keys()) {
      if (connection.checkIdle() > (connection.isAwaitingFirstRequest ? INITIAL_TICKS : IDLE_TICKS))
        connection.destroy()
    }
  }
}
