import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Log } from '../../../log.ts'
import type { Budget } from '../../../memory/kept.ts'
import type { Edge } from '../../edge.ts'
import { readInto } from '../read-into.ts'
import { PackedAnswers } from './packed-answers.ts'
import { type Lane, Session } from './session.ts'

/** Milliseconds between two looks for connections that fell asleep. */
const LOOK = 5000

/** Looks that a client may take to say hello, and later on without a byte of use from or to it: 15 and 65 seconds. */
const FIRST = 3
const IDLE = 13

interface Http2LaneOptions {
  edge: Edge
  /** Milliseconds since 1970. */
  clock: () => number
  budget: Budget
  read?: typeof readInto
  /** Gives a connection to Node's parser of HTTP/1.1. */
  parse: (socket: Duplex) => void
  log?: Log
}

/**
 * Serves visitors who speak HTTP/2 (RFC 9113). Plain requests for sites are answered with frames that were made ahead; each
 * other one goes through Node's parser by itself, so that there is one place where it is understood. The answers are those of
 * the other lanes, because all ask the same `Edge`. See docs/decisions/007-http2.md.
 */
export class Http2Lane implements Lane {
  readonly edge: Edge
  readonly clock: () => number
  readonly answers: PackedAnswers
  readonly read: typeof readInto
  readonly parse: (socket: Duplex) => void
  readonly log: Log | undefined
  asked = 0
  relayed = 0
  looks = 0
  #isClosing = false
  readonly #sessions = new Set<Session>()
  readonly #timer: NodeJS.Timeout

  constructor({ edge, clock, budget, parse, log, read = readInto }: Http2LaneOptions) {
    this.edge = edge
    this.clock = clock
    this.read = read
    this.parse = parse
    this.log = log
    this.answers = new PackedAnswers({ clock, budget })
    this.#timer = setInterval(() => this.#look(), LOOK).unref()
  }

  /** Takes a connection on which HTTP/2 was agreed and nothing was read yet. */
  accept(socket: Duplex): void {
    const session = new Session(socket as Socket, this)
    this.#sessions.add(session)
    socket.once('close', () => this.#leave(session))
    if (this.#isClosing) session.finish()
  }

  /** Ends each connection as soon as nothing is under way on it. */
  close(): void {
    this.#isClosing = true
    for (const session of this.#sessions) session.finish()
    if (this.#sessions.size === 0) clearInterval(this.#timer)
  }

  /** Ends every connection now. */
  cut(): void {
    for (const session of this.#sessions) session.cut()
  }

  #leave(session: Session): void {
    this.#sessions.delete(session)
    if (this.#isClosing && this.#sessions.size === 0) clearInterval(this.#timer)
  }

  #look(): void {
    this.looks++
    for (const session of this.#sessions) {
      const asleep = session.look(IDLE)
      if (asleep > (session.isNew ? FIRST : IDLE)) session.expire()
    }
  }
}
