import type { Socket } from 'node:net'
import { continueInNextTurn } from '../turn-limit.ts'
import { buildFrame, CODE, type Code, ConnectionError, MAX_STREAM_ID, TYPE } from './frame.ts'
import { FrameReader } from './frame-reader.ts'
import { FrameHandler } from './frames.ts'
import { Progress } from './progress.ts'
import type { Http2ServerContext } from './server-state.ts'
import { OWN_SETTINGS } from './settings.ts'
import { WriteBuffer } from './write-buffer.ts'

const LOW_WATER_MARK_BYTES = 2 ** 19

/** Idle checks after which a closed connection is destroyed, whatever its client still sends. */
const CLOSING_TICKS = 2

/**
 * GOAWAY that refuses no request yet, and a PING: its acknowledgment follows all requests that the client sent before it
 * received GOAWAY (RFC 9113, 6.8).
 */
const SHUTDOWN_NOTICE = Buffer.concat([
  buildFrame({ type: TYPE.goAway, flags: 0, stream: 0 }, MAX_STREAM_ID, CODE.noError),
  buildFrame({ type: TYPE.ping, flags: 0, stream: 0 }, 0, 0),
])

const EMPTY = Buffer.alloc(0)

/** An HTTP/2 connection (RFC 9113). No input makes it throw. */
export class Http2Session {
  readonly #socket: Socket
  readonly #server: Http2ServerContext
  readonly #writeBuffer: WriteBuffer
  readonly #frames: FrameHandler
  readonly #reader: FrameReader
  /** Unprocessed input while output is queued, or until the next turn. */
  #unprocessed = EMPTY
  #isPaused = false
  #hasClientEnded = false
  /** The idle check at which the end of the connection was announced, if it was. */
  #announcedAtTick: number | undefined
  #isGoingAway = false
  #endedAtTick: number | undefined
  #lastActiveTick: number
  #lastBufferedBytes = 0
  /** Bytes delivered while the server waits for the client, and what was delivered up to the last idle check. */
  readonly #progress: Progress
  #deliveredBytes = 0
  #sentBytes = 0

  constructor(socket: Socket, server: Http2ServerContext) {
    this.#socket = socket
    this.#server = server
    this.#lastActiveTick = server.pool.ticks
    this.#progress = new Progress(server.pool.ticks)
    const address = server.connectionAddress(socket)
    this.#writeBuffer = new WriteBuffer(
      socket,
      server.clientMemory.reserve(address, () => socket.destroy()),
    )
    this.#frames = new FrameHandler({
      server,
      socket,
      writeBuffer: this.#writeBuffer,
      memory: server.clientMemory.reserve(address),
      onProgress: this.#onProgress,
      onEmpty: () => this.#isGoingAway && this.#end(),
      onGoAway: () => this.#refuse(CODE.noError),
      onPingAck: () => this.#announcedAtTick !== undefined && this.#refuse(CODE.noError),
      onFault: (error) => this.#fail(error),
      onFlood: () => this.#refuse(CODE.enhanceYourCalm),
    })
    this.#reader = new FrameReader(this.#frames.handle)
    socket.setNoDelay(true)
    socket.on('drain', this.#onDrain)
    socket.on('error', () => socket.destroy())
    // A client that has closed its side cannot open windows any more.
    socket.on('end', () => {
      this.#hasClientEnded = true
      if (!this.#isPaused) this.#end()
    })
    socket.on('close', () => {
      this.#frames.close()
      this.#writeBuffer.release()
    })
    this.#writeBuffer.add(OWN_SETTINGS)
    this.#frames.begin()
    server.read(socket, this.#onData)
  }

  /** Closes after the requests that the client sends before it knows of the end, which it then need not repeat. */
  close(): void {
    if (this.#endedAtTick !== undefined || this.#isGoingAway || this.#announcedAtTick !== undefined) return
    this.#announcedAtTick = this.#server.pool.ticks
    this.#writeBuffer.add(SHUTDOWN_NOTICE)
  }

  timeout(): void {
    if (this.isAwaitingRequest || !this.#frames.isIdle) this.destroy()
    else this.#refuse(CODE.noError)
  }

  destroy(): void {
    this.#socket.destroy()
  }

  get isAwaitingRequest(): boolean {
    return !this.#reader.hasPreface
  }

  checkIdle(limit: number): number {
    const { ticks } = this.#server.pool
    // A client that does not acknowledge the PING.
    if (this.#announcedAtTick !== undefined && ticks > this.#announcedAtTick + 1) this.#refuse(CODE.noError)
    if (this.#endedAtTick !== undefined) {
      if (ticks - this.#endedAtTick > CLOSING_TICKS) this.destroy()
      return 0
    }
    const waiting = this.#socket.writableLength
    if (waiting !== this.#lastBufferedBytes || this.#frames.isServersTurn) this.#lastActiveTick = ticks
    this.#lastBufferedBytes = waiting
    this.#writeBuffer.account()
    if (this.#isTooSlow(limit)) return Number.POSITIVE_INFINITY
    this.#writeBuffer.begin()
    this.#frames.resetIdle(limit)
    this.#writeBuffer.end()
    return ticks - this.#lastActiveTick
  }

  #isTooSlow(period: number): boolean {
    const { deliveredBytes } = this.#writeBuffer
    const { sentBytes, isBlocked } = this.#frames.sender
    // What needs no window does not show that the client takes what waits for it.
    this.#progress.add(isBlocked ? sentBytes - this.#sentBytes : deliveredBytes - this.#deliveredBytes)
    this.#deliveredBytes = deliveredBytes
    this.#sentBytes = sentBytes
    const isWaiting = this.#lastBufferedBytes > 0 || isBlocked
    return this.#progress.isTooSlow({ tick: this.#server.pool.ticks, period, isWaiting })
  }

  readonly #onProgress = (): void => {
    this.#lastActiveTick = this.#server.pool.ticks
  }

  readonly #onData = (buffer: Buffer, length: number): void => {
    if (this.#endedAtTick !== undefined) return
    if (this.#isPaused) this.#unprocessed = Buffer.concat([this.#unprocessed, buffer.subarray(0, length)])
    else this.#process(buffer, length)
  }

  readonly #onDrain = (): void => {
    this.#lastActiveTick = this.#server.pool.ticks
    this.#writeBuffer.release()
    this.#frames.pump()
    this.#continue()
  }

  readonly #continue = (): void => {
    if (
      !this.#isPaused ||
      this.#socket.destroyed ||
      this.#endedAtTick !== undefined ||
      this.#writeBuffer.bufferedBytes > LOW_WATER_MARK_BYTES
    )
      return
    this.#isPaused = false
    const rest = this.#unprocessed
    this.#unprocessed = EMPTY
    this.#process(rest, rest.length)
    if (this.#isPaused) return
    if (this.#hasClientEnded) this.#end()
    else this.#socket.resume()
  }

  #process(bytes: Buffer, length: number): void {
    this.#writeBuffer.begin()
    try {
      const at = this.#reader.read(bytes, 0, length)
      const { isFull } = this.#writeBuffer
      if (this.#endedAtTick === undefined && (at < length || isFull)) {
        this.#isPaused = true
        this.#unprocessed = Buffer.from(bytes.subarray(at, length))
        this.#socket.pause()
        if (!isFull) continueInNextTurn(this.#continue)
      }
      this.#frames.pump()
    } catch (error) {
      this.#fail(error)
    }
    this.#writeBuffer.end()
  }

  /** Refuses new requests and closes after those in progress (RFC 9113, 6.8). */
  #refuse(code: Code): void {
    if (this.#endedAtTick !== undefined || (this.#isGoingAway && code === CODE.noError)) return
    this.#isGoingAway = true
    this.#frames.goAway()
    this.#goAway(code)
    if (this.#frames.isIdle) this.#end()
  }

  #fail(error: unknown): void {
    if (this.#endedAtTick !== undefined) return
    const isFault = error instanceof ConnectionError
    if (!isFault) this.#server.log?.error('HTTP/2 connection failed', { error })
    this.#goAway(isFault ? error.code : CODE.internal)
    this.#end()
  }

  #goAway(code: Code): void {
    this.#writeBuffer.add(
      buildFrame({ type: TYPE.goAway, flags: 0, stream: 0 }, this.#frames.lastStreamId, code),
    )
  }

  /** Reads and drops input for a while: closing a connection with unread bytes would lose the last output. */
  #end(): void {
    if (this.#endedAtTick !== undefined) return
    this.#endedAtTick = this.#server.pool.ticks
    this.#unprocessed = EMPTY
    this.#frames.close()
    this.#writeBuffer.close()
    this.#socket.resume()
  }
}
