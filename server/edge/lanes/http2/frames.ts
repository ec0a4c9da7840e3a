import type { Socket } from 'node:net'
import {
  CODE,
  ConnectionFault,
  FIRST_WINDOW,
  FLAG,
  type FrameHead,
  frameOf,
  HEADER,
  MOST_WINDOW,
  TYPE,
  writeFrameHead,
} from './frame.ts'
import { HeaderBlock, type Part, withoutPadding } from './header-block.ts'
import { NO_TABLE } from './hpack/encoder.ts'
import type { Outbox } from './outbox.ts'
import { Patience } from './patience.ts'
import { Replies } from './replies.ts'
import { Requests } from './requests.ts'
import type { Lane } from './session.ts'
import { readSettings } from './settings.ts'
import type { Stream } from './stream.ts'
import { Streams } from './streams.ts'

/** Bytes of bodies that a client may send over all streams. It is never in the way of one: each has a window of its own. */
const WINDOW = 16 * 2 ** 20

/** For less it is not told that it may send more. */
const WORTH_TELLING = 16 * 1024

const SETTINGS_ACK = frameOf({ type: TYPE.settings, flags: FLAG.ack, stream: 0 })

interface FramesOptions {
  lane: Lane
  socket: Socket
  outbox: Outbox
  onProgress: () => void
  /** The last open stream is over. */
  onEmpty: () => void
  /** The client takes its leave. */
  onLeave: () => void
  onFault: (error: unknown) => void
}

/** What each frame of a client means (RFC 9113, 6), in the order in which they come. */
export class Frames {
  readonly #outbox: Outbox
  readonly #onProgress: () => void
  readonly #onLeave: () => void
  readonly #patience: Patience
  readonly #streams: Streams
  readonly #replies: Replies
  readonly #requests: Requests
  /** A header block whose end is still to come: nothing else may come before it. */
  #block: HeaderBlock | undefined
  /** Bytes that the client may send over all streams. */
  #incoming = WINDOW
  #tableSize = 4096

  constructor({ lane, socket, outbox, onProgress, onEmpty, onLeave, onFault }: FramesOptions) {
    this.#outbox = outbox
    this.#onProgress = onProgress
    this.#onLeave = onLeave
    const patience = new Patience(lane.clock)
    const streams = new Streams({ outbox, patience, look: () => lane.looks, onProgress, onEmpty })
    const replies = new Replies({ lane, streams, outbox, patience, socket, onFault })
    this.#patience = patience
    this.#streams = streams
    this.#replies = replies
    this.#requests = new Requests({ lane, streams, replies })
  }

  /** The newest stream that was not refused because the end is near. */
  get last(): number {
    return this.#requests.last
  }

  /** Whether no stream is open. */
  get isIdle(): boolean {
    return this.#streams.size === 0
  }

  /** Says what the client may send, beyond what it may at first. */
  begin(): void {
    this.#outbox.add(frameOf({ type: TYPE.windowUpdate, flags: 0, stream: 0 }, WINDOW - FIRST_WINDOW))
  }

  /** Sends what the client has room for. */
  pump(): void {
    this.#streams.sender.pump()
  }

  /** Refuses what is asked from here on. */
  leave(): void {
    this.#requests.leave()
    this.#streams.leave()
  }

  /** Ends streams whose clients did not move since that look. */
  cutIdle(since: number): void {
    this.#streams.cutIdle(since)
  }

  close(): void {
    this.#streams.close()
  }

  /** Takes a frame; throws a `ConnectionFault`. False once enough is there to be sent. */
  readonly take = (head: FrameHead, bytes: Buffer, at: number): boolean => {
    if (this.#block && (head.type !== TYPE.continuation || head.stream !== this.#block.stream))
      throw new ConnectionFault(CODE.protocol, 'a header block is interrupted')
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
        throw new ConnectionFault(CODE.protocol, 'a client promises a push')
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
        this.#patience.frame()
    }
    return !this.#outbox.isFull
  }

  #data(head: FrameHead, bytes: Buffer, at: number): void {
    const stream = this.#streamOf(head)
    this.#incoming -= head.length
    if (this.#incoming < 0) throw new ConnectionFault(CODE.flowControl, 'more comes than was allowed')
    const { from, to } = withoutPadding(head, bytes, at)
    const ended = (head.flags & FLAG.endStream) !== 0
    if (to === from && !ended) this.#patience.frame()
    this.#permit()
    if (!stream) return void this.#stray(head)
    if (stream.ended) return void this.#streams.fault(stream, CODE.streamClosed)
    stream.incoming -= head.length
    if (stream.incoming < 0) return void this.#streams.fault(stream, CODE.flowControl)
    this.#streams.moved(stream, to - from)
    stream.received += to - from
    stream.returned += head.length - (to - from)
    if (stream.received > (stream.announced ?? stream.received))
      return void this.#streams.fault(stream, CODE.protocol)
    const count = to - from
    if (count > 0) {
      const piece = Buffer.from(bytes.subarray(from, to))
      if (stream.relay) stream.relay.write(piece, () => this.#return(stream, count))
      else stream.returned += count
    }
    if (ended) this.#endOf(stream)
    else this.#return(stream, 0)
  }

  #headers(head: FrameHead, bytes: Buffer, at: number): void {
    if (head.stream % 2 === 0)
      throw new ConnectionFault(CODE.protocol, 'a client begins a stream that is not its own')
    const part = withoutPadding(head, bytes, at)
    let dependsOnItself = false
    if ((head.flags & FLAG.priority) !== 0) {
      if (part.to - part.from < 5) throw new ConnectionFault(CODE.frameSize, 'a priority has five bytes')
      dependsOnItself = (bytes.readUInt32BE(part.from) & MOST_WINDOW) === head.stream
      part.from += 5
    }
    if ((head.flags & FLAG.endHeaders) !== 0) {
      const ended = (head.flags & FLAG.endStream) !== 0
      return void this.#fields({ stream: head.stream, ended, dependsOnItself }, bytes, part)
    }
    this.#block = new HeaderBlock(head, dependsOnItself)
    this.#block.add(bytes, part)
  }

  #continuation({ flags, length }: FrameHead, bytes: Buffer, at: number): void {
    const block = this.#block
    if (!block) throw new ConnectionFault(CODE.protocol, 'a header block is continued that did not begin')
    block.add(bytes, { from: at, to: at + length })
    if ((flags & FLAG.endHeaders) === 0) return
    this.#block = undefined
    this.#fields(block, block.bytes, { from: 0, to: block.bytes.length })
  }

  #fields(block: Pick<HeaderBlock, 'stream' | 'ended' | 'dependsOnItself'>, bytes: Buffer, part: Part): void {
    this.#onProgress()
    const stream = this.#streams.get(block.stream)
    if (stream) {
      if (this.#requests.trailers(stream, block.ended, bytes, part)) this.#endOf(stream)
    } else this.#requests.take(block, bytes, part)
  }

  /** The client has said everything. */
  #endOf(stream: Stream): void {
    if (stream.isAnswered) return void this.#streams.drop(stream)
    if (stream.received !== (stream.announced ?? stream.received))
      return void this.#streams.fault(stream, CODE.protocol)
    stream.ended = true
    stream.relay?.end()
  }

  #priority({ stream, length }: FrameHead, bytes: Buffer, at: number): void {
    this.#patience.frame()
    if (stream === 0) throw new ConnectionFault(CODE.protocol, 'a priority is of no stream')
    const isWhole = length === 5
    if (isWhole && (bytes.readUInt32BE(at) & MOST_WINDOW) !== stream) return
    const open = this.#streams.get(stream)
    if (open) this.#streams.fault(open, isWhole ? CODE.protocol : CODE.frameSize)
    else throw new ConnectionFault(isWhole ? CODE.protocol : CODE.frameSize, 'a priority is malformed')
  }

  #reset(head: FrameHead): void {
    if (head.length !== 4) throw new ConnectionFault(CODE.frameSize, 'a code has four bytes')
    const stream = this.#streamOf(head)
    if (!stream) return void this.#patience.frame()
    this.#streams.drop(stream)
    if (!stream.isAnswered) this.#patience.reset()
  }

  #settings({ stream, flags, length }: FrameHead, bytes: Buffer, at: number): void {
    this.#patience.frame()
    if (stream !== 0) throw new ConnectionFault(CODE.protocol, 'settings are of no stream')
    if ((flags & FLAG.ack) !== 0) {
      if (length !== 0) throw new ConnectionFault(CODE.frameSize, 'an acknowledgement says nothing')
      return
    }
    const { headerTableSize = this.#tableSize, initialWindowSize } = readSettings(bytes, at, length)
    if (headerTableSize < this.#tableSize) {
      this.#tableSize = 0
      this.#replies.before = Buffer.from([NO_TABLE])
    }
    this.#outbox.add(SETTINGS_ACK)
    if (initialWindowSize !== undefined && !this.#streams.resize(initialWindowSize))
      throw new ConnectionFault(CODE.flowControl, 'a window is too large')
  }

  #ping({ stream, flags, length }: FrameHead, bytes: Buffer, at: number): void {
    this.#patience.frame()
    if (stream !== 0) throw new ConnectionFault(CODE.protocol, 'a ping is of no stream')
    if (length !== 8) throw new ConnectionFault(CODE.frameSize, 'a ping has eight bytes')
    if ((flags & FLAG.ack) !== 0) return
    const pong = Buffer.allocUnsafe(HEADER + length)
    writeFrameHead(pong, 0, { type: TYPE.ping, flags: FLAG.ack, stream, length })
    bytes.copy(pong, HEADER, at, at + length)
    this.#outbox.add(pong)
  }

  #goAway({ stream, length }: FrameHead): void {
    this.#patience.frame()
    if (stream !== 0) throw new ConnectionFault(CODE.protocol, 'leave is taken of a connection')
    if (length < 8) throw new ConnectionFault(CODE.frameSize, 'a leave has eight bytes or more')
    this.#onLeave()
  }

  #windowUpdate(head: FrameHead, bytes: Buffer, at: number): void {
    this.#patience.frame()
    if (head.length !== 4) throw new ConnectionFault(CODE.frameSize, 'an increment has four bytes')
    const increment = bytes.readUInt32BE(at) & MOST_WINDOW
    if (head.stream === 0) return void this.#widen(increment)
    const stream = this.#streamOf(head)
    if (!stream) return
    if (increment === 0) return void this.#streams.fault(stream, CODE.protocol)
    stream.window += increment
    if (stream.window > MOST_WINDOW) return void this.#streams.fault(stream, CODE.flowControl)
    this.#streams.sender.wake(stream)
  }

  #widen(increment: number): void {
    const { sender } = this.#streams
    if (increment === 0) throw new ConnectionFault(CODE.protocol, 'an increment is nothing')
    sender.window += increment
    if (sender.window > MOST_WINDOW) throw new ConnectionFault(CODE.flowControl, 'a window is too large')
    sender.pump()
  }

  /** The open stream that a frame is of; a frame of one that was never begun is a fault (RFC 9113, 5.1). */
  #streamOf({ stream }: FrameHead): Stream | undefined {
    if (stream === 0 || stream > this.#requests.newest || stream % 2 === 0)
      throw new ConnectionFault(CODE.protocol, 'a frame is of a stream that was never begun')
    return this.#streams.get(stream)
  }

  /** A body that comes for a stream that is over: no fault as long as the client may not know. */
  #stray({ stream }: FrameHead): void {
    if (this.#streams.wasEnded(stream)) return
    this.#streams.faultOf(stream, CODE.streamClosed)
  }

  /** The client may send again what it has sent. */
  #permit(): void {
    const used = WINDOW - this.#incoming
    if (used < WINDOW / 4) return
    this.#incoming = WINDOW
    this.#outbox.add(frameOf({ type: TYPE.windowUpdate, flags: 0, stream: 0 }, used))
  }

  #return(stream: Stream, bytes: number): void {
    stream.returned += bytes
    if (stream.returned < WORTH_TELLING || stream.ended || stream.isAnswered || stream.closed) return
    this.#streams.permit(stream, stream.returned)
    stream.returned = 0
  }
}
