import type { Socket } from 'node:net'
import type { Budget } from '../../memory/kept.ts'
import type { Edge } from '../edge.ts'
import { Connection, type Lane } from './connection.ts'
import { readInto } from './read-into.ts'
import { Wires } from './wires.ts'

/** Milliseconds between two looks for connections that fell asleep. */
const LOOK = 5000

/** Looks that a client may take to its first request, and later on without a byte from or to it: 15 and 65 seconds. */
const FIRST = 3
const IDLE = 13

interface FastLaneOptions {
  edge: Edge
  /** Milliseconds since 1970. */
  clock: () => number
  budget: Budget
  read?: typeof readInto
}

/**
 * Serves visitors straight from the socket (design.md, "The fast lane"): whole, plain requests are answered with bytes
 * that were made ahead; a connection that says anything else goes to Node's parser, for good. Both lanes give the same
 * answers, because both ask the same `Edge`.
 */
export class FastLane implements Lane {
  readonly edge: Edge
  readonly wires: Wires
  readonly read: typeof readInto
  closing = false
  answered = 0
  /** Connections that went to Node's parser. */
  handedOver = 0
  looks = 0
  readonly #connections = new Map<Connection, (socket: Socket) => void>()
  readonly #timer: NodeJS.Timeout

  constructor({ edge, clock, budget, read = readInto }: FastLaneOptions) {
    this.edge = edge
    this.read = read
    this.wires = new Wires({ clock, budget })
    this.#timer = setInterval(() => this.#look(), LOOK).unref()
  }

  /** Takes a connection on which nothing was read yet; `parse` gives it to Node's parser. */
  accept(socket: Socket, parse: (socket: Socket) => void): void {
    const connection = new Connection(socket, this)
    this.#connections.set(connection, parse)
    socket.once('close', () => this.#connections.delete(connection))
  }

  handOver(connection: Connection, socket: Socket): void {
    const parse = this.#connections.get(connection)!
    this.#connections.delete(connection)
    this.handedOver++
    parse(socket)
  }

  /** Ends connections as soon as nothing is under way on them. */
  close(): void {
    this.closing = true
    clearInterval(this.#timer)
    for (const connection of this.#connections.keys()) connection.finish()
  }

  /** Ends every connection now. */
  cut(): void {
    for (const connection of this.#connections.keys()) connection.cut()
  }

  /** One look at all of them costs less than a timer for each, which every read and write would put off. */
  #look(): void {
    this.looks++
    for (const connection of this.#connections.keys()) {
      if (connection.look() > (connection.isNew ? FIRST : IDLE)) connection.cut()
    }
  }
}
