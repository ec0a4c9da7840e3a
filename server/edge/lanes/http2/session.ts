import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Log } from '../../../log.ts'
import type { Edge } from '../../edge.ts'
import type { readInto } from '../read-into.ts'
import { CODE, type Code, ConnectionFault, frameOf, TYPE } from './frame.ts'
import { FrameReader } from './frame-reader.ts'
import { Frames } from './frames.ts'
import { Outbox } from './outbox.ts'
import type { PackedAnswers } from './packed-answers.ts'
import { OWN_SETTINGS } from './settings.ts'

/** What the connections of a lane share. */
export interface Lane {
  readonly edge: Edge
  readonly answers: PackedAnswers
  /** Milliseconds since 1970. */
  readonly clock: () => number
  readonly log: Log | undefined
  /** How often the lane has looked for connections that fell asleep. */
  readonly looks: number
  /** How sockets are read. */
  readonly read: typeof readInto
  /** Gives a connection to Node's parser. */
  readonly parse: (socket: Duplex) => void
  /** Requests that came. */
  asked: number
  /** Requests that are under way through Node's parser. */
  relayed: number
}

/** With so many bytes that wait for a client it is read again after it was not. */
const FEW_WAITING = 2 ** 19

/** Bytes that a client may still send after it was told why its connection ends. */
const MOST_IGNORED = 2 ** 20

/** Looks after which a connection that was told so is cut. */
const LAST = 2

const NOTHING = Buffer.alloc(0)

/** A connection of HTTP/2 (RFC 9113) from its first byte to its last. Nothing that comes makes it throw. */
export class Session {
  readonly #socket: Socket
  readonly #lane: Lane
  readonly #outbox: Outbox
  readonly #frames: Frames
  readonly #reader: FrameReader
  /** What was read and is not worked on yet, because too much waits for the client. */
  #rest = NOTHING
  #isHeld = false
  /** Whether the client was told that nothing more is taken. */
  #isLeaving = false
  /** Whether nothing more is read, and at which look that began. */
  #ended: number | undefined
  #ignored = 0
  /** The look since which nothing came and nothing went. */
  #asleep: number
  #waiting = 0

  constructor(socket: Socket, lane: Lane) {
    this.#socket = socket
    this.#lane = lane
    this.#asleep = lane.looks
    this.#outbox = new Outbox(socket)
    this.#frames = new Frames({
      lane,
      socket,
      outbox: this.#outbox,
      onProgress: this.#onProgress,
      onEmpty: () => this.#isLeaving && this.#end(),
      onLeave: () => this.finish(),
      onFault: (error) => this.#fail(error),
    })
    this.#reader = new FrameReader(this.#frames.take)
    socket.setNoDelay(true)
    socket.on('drain', this.#onDrain)
    socket.on('error', () => socket.destroy())
    // Who says nothing any more cannot make room for answers either.
    socket.on('end', () => this.#end())
    socket.on('close', () => this.#frames.close())
    this.#outbox.add(OWN_SETTINGS)
    this.#frames.begin()
    lane.read(socket, this.#onData)
  }

  /** Takes no further requests, and ends once those under way have their answers (RFC 9113, 6.8). */
  finish(): void {
    if (this.#isLeaving) return
    this.#isLeaving = true
    this.#frames.leave()
    this.#goAway(CODE.none)
    if (this.#frames.isIdle) this.#end()
  }

  /** Ends a connection on which nothing came and went for too long. */
  expire(): void {
    if (this.isNew || !this.#frames.isIdle) this.cut()
    else this.finish()
  }

  cut(): void {
    this.#socket.destroy()
  }

  /** Whether the client has not yet said what every one says first. */
  get isNew(): boolean {
    return !this.#reader.isOpen
  }

  /** Looks, and answers how many looks ago something came or went; `idle` is how many looks a stream may take. */
  look(idle: number): number {
    const { looks } = this.#lane
    if (this.#ended !== undefined) {
      if (looks - this.#ended > LAST) this.cut()
      return 0
    }
    const waiting = this.#socket.writableLength
    if (waiting !== this.#waiting) this.#asleep = looks
    this.#waiting = waiting
    this.#outbox.begin()
    this.#frames.cutIdle(looks - idle)
    this.#outbox.end()
    return looks - this.#asleep
  }

  readonly #onProgress = (): void => {
    this.#asleep = this.#lane.looks
  }

  readonly #onData = (buffer: Buffer, length: number): void => {
    if (this.#ended !== undefined) this.#ignore(length)
    else if (this.#isHeld) this.#rest = Buffer.concat([this.#rest, buffer.subarray(0, length)])
    else this.#work(buffer, length)
  }

  /** The client has read what was sent. */
  readonly #onDrain = (): void => {
    this.#asleep = this.#lane.looks
    this.#frames.pump()
    if (!this.#isHeld || this.#ended !== undefined || this.#outbox.waiting > FEW_WAITING) return
    this.#isHeld = false
    const rest = this.#rest
    this.#rest = NOTHING
    this.#work(rest, rest.length)
    if (!this.#isHeld) this.#socket.resume()
  }

  #work(bytes: Buffer, length: number): void {
    this.#outbox.begin()
    try {
      for (let at = 0; at < length; ) {
        at = this.#reader.read(bytes, at, length)
        if (!this.#outbox.isFull) continue
        this.#isHeld = true
        this.#rest = Buffer.from(bytes.subarray(at, length))
        this.#socket.pause()
        break
      }
    } catch (error) {
      this.#fail(error)
    }
    this.#outbox.end()
  }

  #fail(error: unknown): void {
    if (this.#ended !== undefined) return
    const isFault = error instanceof ConnectionFault
    if (!isFault) this.#lane.log?.error('a connection of HTTP/2 failed', { error })
    this.#goAway(isFault ? error.code : CODE.internal)
    this.#end()
  }

  #goAway(code: Code): void {
    this.#outbox.add(frameOf({ type: TYPE.goAway, flags: 0, stream: 0 }, this.#frames.last, code))
  }

  /** What still comes is read and dropped for a while: a connection that is closed with bytes unread loses what was said last. */
  #end(): void {
    if (this.#ended !== undefined) return
    this.#ended = this.#lane.looks
    this.#rest = NOTHING
    this.#frames.close()
    this.#outbox.close()
    this.#socket.resume()
  }

  #ignore(length: number): void {
    this.#ignored += length
    if (this.#ignored > MOST_IGNORED) this.cut()
  }
}
