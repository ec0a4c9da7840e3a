import type { Socket } from 'node:net'
import type { MemoryReservation } from '../clients/client-memory.ts'
import type { DataScheduler } from './data-scheduler.ts'
import { FloodGuard } from './flood-guard.ts'
import {
  buildFrame,
  CODE,
  ConnectionError,
  FLAG,
  FRAME_HEADER_BYTES,
  type FrameHead,
  INITIAL_WINDOW_BYTES,
  MAX_WINDOW_BYTES,
  TYPE,
  writeFrameHead,
} from './frame.ts'
import { HeaderBlockAssembler, type PayloadRange, withoutPadding } from './header-block.ts'
import { EMPTY_TABLE_UPDATE } from './hpack/encoder.ts'
import { RequestReader } from './request-handler.ts'
import { Responder } from './responder.ts'
import type { Http2ServerContext } from './server-state.ts'
import { readSettings } from './settings.ts'
import type { Stream } from './stream.ts'
import { Streams } from './streams.ts'
import type { WriteBuffer } from './write-buffer.ts'

/** The receive window of a connection. It never limits a single stream: each has a window of its own. */
const CONNECTION_WINDOW_BYTES = 16 * 2 ** 20

const SETTINGS_ACK = buildFrame({ type: TYPE.settings, flags: FLAG.ack, stream: 0 })

interface FrameHandlerOptions {
  server: Http2ServerContext
  socket: Socket
  writeBuffer: WriteBuffer
  /** For a header block in several frames. */
  memory: MemoryReservation
  onProgress: () => void
  onEmpty: () => void
  onGoAway: () => void
  onPingAck: () => void
  onFault: (error: unknown) => void
  /** The client has used up its flood budget: it is to send no further requests. */
  onFlood: () => void
}

/** Handles the frames of a client (RFC 9113, 6) in order. */
export class FrameHandler {
  readonly #writeBuffer: WriteBuffer
  readonly #onProgress: () => void
  readonly #onGoAway: () => void
  readonly #onPingAck: () => void
  readonly #floodGuard: FloodGuard
  readonly #streams: Streams
  readonly #responder: Responder
  readonly #requests: RequestReader
  /** An incomplete header block: only CONTINUATION may follow. */
  #block: HeaderBlockAssembler | undefined
  /** Bytes that the client may send over all streams. */
  #receiveWindow = CONNECTION_WINDOW_BYTES
  #tableSize = 4096
  readonly #memory: MemoryReservation
  #isClosed = false

  constructor(options: FrameHandlerOptions) {
    const { server, socket, writeBuffer, memory, onProgress, onEmpty, onFault } = options
    this.#writeBuffer = writeBuffer
    this.#memory = memory
    this.#onProgress = onProgress
    this.#onGoAway = options.onGoAway
    this.#onPingAck = options.onPingAck
    const floodGuard = new FloodGuard({ clock: server.clock, onExhausted: options.onFlood })
    const streams = new Streams({
      writeBuffer,
      floodGuard,
      tick: () => server.pool.ticks,
      onProgress,
      onEmpty,
    })
    const responder = new Responder({ server, streams, writeBuffer, floodGuard, socket, onFault })
    this.#floodGuard = floodGuard
    this.#streams = streams
    this.#responder = responder
    this.#requests = new RequestReader({ server, streams, responder, floodGuard })
  }

  /** The newest stream that was processed: later ones can be retried. */
  get lastStreamId(): number {
    return this.#requests.lastAcceptedStreamId
  }

  get sender(): DataScheduler {
    return this.#streams.sender
  }

  get isIdle(): boolean {
    return this.#streams.size === 0
  }

  get isServersTurn(): boolean {
    return this.#streams.isServersTurn
  }

  /** Announces the receive window beyond the initial one. */
  begin(): void {
    this.#writeBuffer.add(
      buildFrame(
        { type: TYPE.windowUpdate, flags: 0, stream: 0 },
        CONNECTION_WINDOW_BYTES - INITIAL_WINDOW_BYTES,
      ),
    )
  }

  /** Sends what the windows allow: once per read, so that many small WINDOW_UPDATEs are used together. */
  pump(): void {
    this.#streams.sender.pump()
  }

  goAway(): void {
    this.#requests.goAway()
    this.#streams.goAway()
  }

  resetIdle(period: number): void {
    this.#streams.resetIdle(period)
  }

  close(): void {
    this.#isClosed = true
    this.#streams.close()
    this.#memory[Symbol.dispose]()
  }

  /** Handles a frame; throws a `ConnectionError`. False when the write buffer is full or the connection is closed. */
  readonly handle = (head: FrameHead, bytes: Buffer, at: number): boolean => {
    if (this.#block && (head.type !== TYPE.continuation || head.stream !== this.#block.stream))
      throw new ConnectionError(CODE.protocol, 'header block interrupted by another frame')
    switch (head.type) {
      case TYPE.data:
        this.#data(head, bytes, at)
        break
      case TYPE.headers:
        this.#headers(head, bytes, at)
        break
      case TYPE.priority:
        this.#priority(head, bytes, at)
        break
      case TYPE.reset:
        this.#reset(head)
        break
      case TYPE.settings:
        this.#settings(head, bytes, at)
        break
      case TYPE.pushPromise:
        throw new ConnectionError(CODE.protocol, 'PUSH_PROMISE from a client')
      case TYPE.ping:
        this.#ping(head, bytes, at)
        break
      case TYPE.goAway:
        this.#goAway(head)
        break
      case TYPE.windowUpdate:
        this.#windowUpdate(head, bytes, at)
        break
      case TYPE.continuation:
        this.#continuation(head, bytes, at)
        break
      default:
        this.#floodGuard.charge(1)
    }
    return !this.#isClosed && !this.#writeBuffer.isFull
  }

  #data(head: FrameHead, bytes: Buffer, at: number): void {
    const stream = this.#getStream(head)
    this.#receiveWindow -= head.length
    if (this.#receiveWindow < 0)
      throw new ConnectionError(CODE.flowControl, 'data beyond the flow-control window')
    const { from, to } = withoutPadding(head, bytes, at)
    const ended = (head.flags & FLAG.endStream) !== 0
    this.#floodGuard.dataReceived(to - from, ended)
    this.#sendWindowUpdate()
    if (!stream) return void this.#onDataAfterClose(head)
    if (stream.ended) return void this.#streams.streamError(stream, CODE.streamClosed)
    stream.receiveWindow -= head.length
    if (stream.receiveWindow < 0) return void this.#streams.streamError(stream, CODE.flowControl)
    this.#streams.onProgress(stream, to - from)
    stream.bytesReceived += to - from
    stream.bytesConsumed += head.length - (to - from)
    if (stream.bytesReceived > (stream.contentLength ?? stream.bytesReceived))
      return void this.#streams.streamError(stream, CODE.protocol)
    const count = to - from
    if (count > 0 && !stream.bridge) stream.bytesConsumed += count
    else if (count > 0 && !stream.bridge!.write(bytes, from, to)) this.#responder.refuse(stream)
    if (ended) this.#onRequestEnd(stream)
    else this.#streams.consume(stream, 0)
  }

  #headers(head: FrameHead, bytes: Buffer, at: number): void {
    if (head.stream % 2 === 0) throw new ConnectionError(CODE.protocol, 'stream identifier is not odd')
    const part = withoutPadding(head, bytes, at)
    let dependsOnItself = false
    if ((head.flags & FLAG.priority) !== 0) {
      if (part.to - part.from < 5) throw new ConnectionError(CODE.frameSize, 'PRIORITY frame is not 5 bytes')
      dependsOnItself = (bytes.readUInt32BE(part.from) & MAX_WINDOW_BYTES) === head.stream
      part.from += 5
    }
    if ((head.flags & FLAG.endHeaders) !== 0) {
      const ended = (head.flags & FLAG.endStream) !== 0
      return void this.#fields({ stream: head.stream, ended, dependsOnItself }, bytes, part)
    }
    this.#block = new HeaderBlockAssembler({ head, dependsOnItself, memory: this.#memory })
    this.#block.add(bytes, part)
  }

  #continuation({ flags, length }: FrameHead, bytes: Buffer, at: number): void {
    const block = this.#block
    if (!block) throw new ConnectionError(CODE.protocol, 'CONTINUATION without HEADERS')
    block.add(bytes, { from: at, to: at + length })
    if ((flags & FLAG.endHeaders) === 0) return
    this.#block = undefined
    const all = block.take()
    this.#fields(block, all, { from: 0, to: all.length })
  }

  #fields(
    block: Pick<HeaderBlockAssembler, 'stream' | 'ended' | 'dependsOnItself'>,
    bytes: Buffer,
    part: PayloadRange,
  ): void {
    this.#onProgress()
    const stream = this.#streams.get(block.stream)
    if (stream) {
      if (this.#requests.trailers(stream, block.ended, bytes, part)) this.#onRequestEnd(stream)
    } else this.#requests.handle(block, bytes, part)
  }

  #onRequestEnd(stream: Stream): void {
    if (stream.isAnswered) return void this.#streams.onReset(stream)
    if (stream.bytesReceived !== (stream.contentLength ?? stream.bytesReceived))
      return void this.#streams.streamError(stream, CODE.protocol)
    stream.ended = true
    stream.bridge?.end()
  }

  #priority({ stream, length }: FrameHead, bytes: Buffer, at: number): void {
    this.#floodGuard.charge(1)
    if (stream === 0) throw new ConnectionError(CODE.protocol, 'PRIORITY_UPDATE without a stream')
    const isWhole = length === 5
    if (isWhole && (bytes.readUInt32BE(at) & MAX_WINDOW_BYTES) !== stream) return
    const open = this.#streams.get(stream)
    if (open) this.#streams.streamError(open, isWhole ? CODE.protocol : CODE.frameSize)
    else throw new ConnectionError(isWhole ? CODE.protocol : CODE.frameSize, 'malformed PRIORITY_UPDATE')
  }

  #reset(head: FrameHead): void {
    if (head.length !== 4) throw new ConnectionError(CODE.frameSize, 'RST_STREAM frame is not 4 bytes')
    const stream = this.#getStream(head)
    if (!stream) return void this.#floodGuard.charge(1)
    this.#streams.onReset(stream)
    // Cancelling a download is legitimate: only its frame is charged.
    if (stream.hasResponse) this.#floodGuard.charge(1)
    else this.#floodGuard.onReset()
  }

  #settings({ stream, flags, length }: FrameHead, bytes: Buffer, at: number): void {
    this.#floodGuard.charge(1)
    if (stream !== 0) throw new ConnectionError(CODE.protocol, 'SETTINGS on a stream')
    if ((flags & FLAG.ack) !== 0) {
      if (length !== 0) throw new ConnectionError(CODE.frameSize, 'SETTINGS acknowledgment with a payload')
      return
    }
    const { headerTableSize = this.#tableSize, initialWindowSize } = readSettings(bytes, at, length)
    if (headerTableSize < this.#tableSize) {
      this.#tableSize = 0
      this.#responder.pendingPrefix = Buffer.from([EMPTY_TABLE_UPDATE])
    }
    this.#writeBuffer.add(SETTINGS_ACK)
    if (initialWindowSize !== undefined && !this.#streams.resize(initialWindowSize))
      throw new ConnectionError(CODE.flowControl, 'flow-control window too large')
  }

  #ping({ stream, flags, length }: FrameHead, bytes: Buffer, at: number): void {
    this.#floodGuard.charge(1)
    if (stream !== 0) throw new ConnectionError(CODE.protocol, 'PING on a stream')
    if (length !== 8) throw new ConnectionError(CODE.frameSize, 'PING frame is not 8 bytes')
    if ((flags & FLAG.ack) !== 0) return void this.#onPingAck()
    const pong = Buffer.allocUnsafe(FRAME_HEADER_BYTES + length)
    writeFrameHead(pong, 0, { type: TYPE.ping, flags: FLAG.ack, stream, length })
    bytes.copy(pong, FRAME_HEADER_BYTES, at, at + length)
    this.#writeBuffer.add(pong)
  }

  #goAway({ stream, length }: FrameHead): void {
    this.#floodGuard.charge(1)
    if (stream !== 0) throw new ConnectionError(CODE.protocol, 'GOAWAY on a stream')
    if (length < 8) throw new ConnectionError(CODE.frameSize, 'GOAWAY frame is shorter than 8 bytes')
    this.#onGoAway()
  }

  #windowUpdate(head: FrameHead, bytes: Buffer, at: number): void {
    this.#floodGuard.charge(1)
    if (head.length !== 4) throw new ConnectionError(CODE.frameSize, 'WINDOW_UPDATE frame is not 4 bytes')
    const increment = bytes.readUInt32BE(at) & MAX_WINDOW_BYTES
    if (head.stream === 0) return void this.#growWindow(increment)
    const stream = this.#getStream(head)
    if (!stream) return
    if (increment === 0) return void this.#streams.streamError(stream, CODE.protocol)
    stream.window += increment
    if (stream.window > MAX_WINDOW_BYTES) return void this.#streams.streamError(stream, CODE.flowControl)
    this.#streams.sender.enqueue(stream)
  }

  #growWindow(increment: number): void {
    const { sender } = this.#streams
    if (increment === 0) throw new ConnectionError(CODE.protocol, 'WINDOW_UPDATE of 0')
    sender.window += increment
    if (sender.window > MAX_WINDOW_BYTES)
      throw new ConnectionError(CODE.flowControl, 'flow-control window too large')
  }

  /** The open stream of a frame; a frame of an idle stream is a connection error (RFC 9113, 5.1). */
  #getStream({ stream }: FrameHead): Stream | undefined {
    if (stream === 0 || stream > this.#requests.newestStreamId || stream % 2 === 0)
      throw new ConnectionError(CODE.protocol, 'frame for an idle stream')
    return this.#streams.get(stream)
  }

  /** DATA for a closed stream: no error while the client may not have received the reset. */
  #onDataAfterClose({ stream }: FrameHead): void {
    if (this.#streams.wasEnded(stream)) return
    this.#streams.streamErrorById(stream, CODE.streamClosed)
  }

  #sendWindowUpdate(): void {
    const used = CONNECTION_WINDOW_BYTES - this.#receiveWindow
    if (used < CONNECTION_WINDOW_BYTES / 4) return
    this.#receiveWindow = CONNECTION_WINDOW_BYTES
    this.#writeBuffer.add(buildFrame({ type: TYPE.windowUpdate, flags: 0, stream: 0 }, used))
  }
}
