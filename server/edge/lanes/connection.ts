import type { Socket } from 'node:net'
import type { Answer } from '../answer.ts'
import type { Edge } from '../edge.ts'
import { Visitor } from '../visitor.ts'
import { isEncrypted } from './encrypted.ts'
import { pour } from './pour.ts'
import { inPieces, type readInto } from './read-into.ts'
import { isWhole, type Recognised, Recogniser } from './recogniser.ts'
import type { Wires } from './wires.ts'

/** What the connections of a lane share. */
export interface Lane {
  readonly edge: Edge
  readonly wires: Wires
  /** Whether each connection is to end after its next answer. */
  readonly closing: boolean
  /** How often the lane has looked for connections that fell asleep. */
  readonly looks: number
  /** How sockets are read. */
  readonly read: typeof readInto
  /** Requests that were answered here. */
  answered: number
  /** Takes the socket of a connection that needs Node's parser, with everything on it that was not answered. */
  handOver(connection: Connection, socket: Socket): void
}

const NOTHING = Buffer.alloc(0)

/**
 * A connection in the fast lane: its requests are answered one after the other as they come, until one comes that is
 * not plain.
 */
export class Connection {
  readonly #socket: Socket
  readonly #lane: Lane
  readonly #recogniser: Recogniser
  readonly #visitor: Visitor
  readonly #stopReading: () => void
  /** What came and is not answered yet: from `#at` up to `#end`. */
  #chunk: Buffer = NOTHING
  #at = 0
  #end = 0
  /** Whether an answer is under way that takes time: nothing is read meanwhile. */
  #busy = false
  /** Whether the client will send no more. */
  #ended = false
  #isNew = true
  /** Whether nothing is answered any more after what is under way. */
  #isLast = false
  /** The look since which nothing came and nothing went. */
  #asleep: number
  /** What waited for the client at the last look, in bytes. */
  #waiting = 0

  constructor(socket: Socket, lane: Lane) {
    this.#socket = socket
    this.#lane = lane
    this.#recogniser = new Recogniser(isEncrypted(socket))
    this.#visitor = new Visitor(socket)
    this.#asleep = lane.looks
    this.#stopReading = lane.read(socket, this.#onData)
    socket.on('drain', this.#onDrain)
    socket.on('end', this.#onEnd)
    socket.on('error', this.#onError)
  }

  /** Ends the connection once the client has what was sent; an answer that takes time ends it itself. */
  finish(): void {
    if (!this.#busy) this.#socket.destroySoon()
  }

  cut(): void {
    this.#socket.destroy()
  }

  /** Looks, and answers how many looks ago something came or went. */
  look(): number {
    const waiting = waitingOn(this.#socket)
    if (waiting !== this.#waiting) this.#asleep = this.#lane.looks
    this.#waiting = waiting
    return this.#lane.looks - this.#asleep
  }

  /** Whether nothing was asked yet. */
  get isNew(): boolean {
    return this.#isNew
  }

  readonly #onData = (buffer: Buffer, length: number): void => {
    this.#asleep = this.#lane.looks
    // After the last answer nothing is heard.
    if (this.#socket.writableEnded) return
    if (this.#busy || !this.#isDone()) return void this.#keepToo(buffer, length)
    this.#chunk = buffer
    this.#at = 0
    this.#end = length
    this.#work()
    this.#keepRest()
  }

  /** The client has read what was sent. */
  readonly #onDrain = (): void => {
    this.#asleep = this.#lane.looks
    if (!this.#busy) this.#goOn()
  }

  readonly #onEnd = (): void => {
    this.#ended = true
    if (!this.#busy && this.#isDone()) this.#socket.end()
  }

  /** A client that goes away is no fault of anybody's. */
  readonly #onError = (): void => {
    this.#socket.destroy()
  }

  #work(): void {
    if (!isWhole(this.#chunk, this.#end)) return void this.#handOver()
    let corked = false
    while (!this.#isDone() && !this.#socket.writableEnded) {
      if (this.#socket.writableNeedDrain) {
        this.#socket.pause()
        break
      }
      const asked = this.#recogniser.read(this.#chunk, this.#at, this.#end)
      const answer = asked && this.#lane.edge.answer(asked)
      if (!asked || !answer) {
        this.#handOver()
        break
      }
      this.#at = asked.end
      if (!corked && !this.#isDone()) {
        corked = true
        this.#socket.cork()
      }
      if (!this.#reply(asked, answer)) break
    }
    if (corked) this.#socket.uncork()
  }

  /** False when the answer takes time; the connection goes on after it by itself. */
  #reply(asked: Recognised, answer: Answer | Promise<Answer>): boolean {
    this.#isNew = false
    this.#isLast ||= asked.last
    this.#lane.answered++
    if (!(answer instanceof Promise) && this.#send(asked, answer)) return true
    this.#busy = true
    this.#socket.pause()
    void this.#take(asked, answer)
    return false
  }

  /** Sends an answer whose bytes are in memory; false when they are not. */
  #send(asked: Recognised, answer: Answer): boolean {
    const { edge, wires } = this.#lane
    const { head } = asked
    const closing = this.#isClosing
    if (!closing && wires.sendKnown(this.#socket, answer, head)) {
      edge.count(asked, answer, this.#visitor)
      return true
    }
    const { content } = answer
    const body = content ? edge.warm(content) : answer.body
    if (content && !body && !head) return false
    edge.count(asked, answer, this.#visitor)
    this.#write(answer, body, head)
    if (closing) this.#socket.destroySoon()
    return true
  }

  async #take(asked: Recognised, answer: Answer | Promise<Answer>): Promise<void> {
    const found = await answer
    if (!this.#socket.destroyed && !this.#send(asked, found)) await this.#fetch(asked, found)
    this.#busy = false
    this.#goOn()
  }

  async #fetch(asked: Recognised, wanted: Answer): Promise<void> {
    const { edge } = this.#lane
    const { answer, body } = await edge.deliver(asked, wanted)
    if (!this.#socket.destroyed) edge.count(asked, answer, this.#visitor)
    if (body === undefined || Buffer.isBuffer(body)) return void this.#write(answer, body, false)
    this.#write(answer, undefined, true)
    await pour(body, this.#socket).catch((error: unknown) => {
      edge.damaged(asked, answer.content!, error)
      this.#socket.destroy()
    })
  }

  #write(answer: Answer, body: Buffer | undefined, head: boolean): void {
    if (this.#socket.destroyed) return
    const close = this.#isClosing
    this.#lane.wires.send(this.#socket, answer, { body, head, close })
  }

  #goOn(): void {
    if (this.#socket.destroyed) return
    if (this.#isClosing) return void this.#socket.destroySoon()
    if (!this.#isDone()) this.#work()
    if (this.#busy || !this.#isDone()) return
    if (this.#ended) this.#socket.end()
    else this.#socket.resume()
  }

  get #isClosing(): boolean {
    return this.#isLast || this.#lane.closing
  }

  #isDone(): boolean {
    return this.#at >= this.#end
  }

  /** The bytes that were read are gone after this turn; those that are not answered yet are kept. */
  #keepRest(): void {
    this.#chunk = this.#isDone() ? NOTHING : this.#rest()
    this.#end = this.#chunk.length
    this.#at = 0
  }

  /**
   * Over TLS a socket that was paused still brings every record of what the system gave at once: it waits behind what came
   * before. That is one read at most.
   */
  #keepToo(buffer: Buffer, length: number): void {
    this.#chunk = Buffer.concat([this.#rest(), buffer.subarray(0, length)])
    this.#at = 0
    this.#end = this.#chunk.length
  }

  #rest(): Buffer {
    return Buffer.from(this.#chunk.subarray(this.#at, this.#end))
  }

  /** What this connection says is for Node's parser from here on. */
  #handOver(): void {
    const socket = this.#socket
    const rest = this.#rest()
    this.#at = this.#end
    this.#stopReading()
    socket.off('drain', this.#onDrain)
    socket.off('end', this.#onEnd)
    socket.off('error', this.#onError)
    for (const piece of inPieces(rest).toReversed()) socket.unshift(piece)
    this.#lane.handOver(this, socket)
    socket.resume()
  }
}

/** Bytes that were written and that the system did not take yet. Node's own time-outs look there too. */
function waitingOn(socket: Socket): number {
  const { _handle: handle } = socket as unknown as { _handle?: { writeQueueSize?: number } | null }
  return socket.writableLength + (handle?.writeQueueSize ?? 0)
}
