import type { Socket } from 'node:net'
import { Failure } from '../../../failure.ts'
import { Turns } from '../../../limits/turns.ts'
import type { Answer } from '../../answer.ts'
import type { Pieces } from '../../memory/pieces.ts'
import { Visitor } from '../../visitor.ts'
import { CODE, MOST_PAYLOAD } from './frame.ts'
import type { Outbox } from './outbox.ts'
import type { Packed } from './packed-answers.ts'
import type { Patience } from './patience.ts'
import { Relay } from './relay.ts'
import type { RequestHead, Visit } from './request-head.ts'
import type { Lane } from './session.ts'
import type { Stream } from './stream.ts'
import type { Streams } from './streams.ts'

/** Bodies of one connection that are open at once; each takes some hundred KiB. */
const OPEN_BODIES = { running: 32, waiting: 100 }

interface RepliesOptions {
  lane: Lane
  streams: Streams
  outbox: Outbox
  patience: Patience
  socket: Socket
  /** What must not happen has happened. */
  onFault: (error: unknown) => void
}

/** Answers the requests of one connection: from tables when they are plain, else through Node's parser. */
export class Replies {
  readonly #options: RepliesOptions
  readonly #visitor: Visitor
  #bodies: Turns | undefined
  /** Goes ahead of the next header block. */
  before: Buffer | undefined

  constructor(options: RepliesOptions) {
    this.#options = options
    this.#visitor = new Visitor(options.socket)
  }

  /** Answers a visit whose request has ended; false when it is not for a host of sites. */
  visit(id: number, visit: Visit): boolean {
    const { lane, onFault, patience, streams } = this.#options
    const answer = lane.edge.answer(visit.asked)
    if (answer === undefined) return false
    if (!(answer instanceof Promise) && this.#sendAtOnce(id, streams.firstWindow, visit, answer)) {
      patience.done()
      return true
    }
    const stream = streams.open(id, true)
    this.#take(stream, visit, answer).catch((error: unknown) => {
      if (!(error instanceof Failure)) onFault(error)
      else if (!stream.closed) streams.reset(stream, CODE.refused)
    })
    return true
  }

  /** Sends an answer whose body is short. */
  short(id: number, answer: Answer, { ended, head }: { ended: boolean; head: boolean }): void {
    this.#send(this.#options.streams.open(id, ended), answer, head ? undefined : answer.body)
  }

  /** Gives a request to Node's parser; false when it cannot be said there. */
  relay(id: number, head: RequestHead, ended: boolean): boolean {
    const { lane, streams, socket: peer } = this.#options
    const { parse } = lane
    const stream = streams.open(id, ended)
    lane.relayed++
    stream.onClose = () => lane.relayed--
    stream.announced = head.length
    const to = {
      goOn: () => this.#head(stream, { status: 100, headers: [] }, { ended: false, dated: false }),
      head: (status: number, headers: readonly string[]) =>
        this.#head(stream, { status, headers }, { ended: false, dated: false }),
      piece: (bytes: Buffer) => {
        streams.sender.push(stream, bytes)
        if (stream.hasRoom) return true
        stream.onRoom(() => stream.relay?.resume())
        return false
      },
      end: () => streams.sender.end(stream),
      fail: () => stream.closed || streams.reset(stream, CODE.internal),
    }
    try {
      stream.relay = new Relay({ head, ended, peer, parse, to })
    } catch {
      streams.drop(stream)
      return false
    }
    if (!ended) streams.widen(stream)
    return true
  }

  /** Sends an answer that is in memory and that the windows have room for. */
  #sendAtOnce(id: number, window: number, { asked, head }: Visit, answer: Answer): boolean {
    const { lane, outbox, streams } = this.#options
    const { sender } = streams
    const packed = this.before ? undefined : this.#packed(answer, head)
    if (!packed) return false
    const body = head ? 0 : packed.body
    if (body > sender.window || body > window) return false
    sender.window -= body
    lane.edge.count(asked, answer, this.#visitor)
    const at = outbox.reserve(head ? packed.head : packed.bytes.length)
    lane.answers.write(packed, outbox.buffer, at, { stream: id, head })
    return true
  }

  /** The answer as frames, when they are all that is to be sent. */
  #packed(answer: Answer, head: boolean): Packed | undefined {
    const { answers, edge } = this.#options.lane
    const known = answers.known(answer)
    if (known && (known.whole || head)) return known
    const { content } = answer
    const body = content ? edge.warm(content) : answer.body
    if (!head && (body ? body.length > MOST_PAYLOAD : content)) return undefined
    return answers.pack(answer, body)
  }

  async #take(stream: Stream, visit: Visit, answer: Answer | Promise<Answer>): Promise<void> {
    const { lane, outbox, streams } = this.#options
    const found = await answer
    if (stream.closed) return
    outbox.begin()
    const isSent = this.#sendAtOnce(stream.id, stream.window, visit, found)
    if (isSent) streams.answered(stream)
    outbox.end()
    if (isSent) return
    const { content } = found
    const body = content ? lane.edge.warm(content) : found.body
    if (body || !content || visit.head) {
      lane.edge.count(visit.asked, found, this.#visitor)
      this.#send(stream, found, visit.head ? undefined : body)
    } else await this.#fetch(stream, visit, found)
  }

  /** Keeps its turn until the body is sent, so that those that wait hold nothing. */
  async #fetch(stream: Stream, { asked }: Visit, wanted: Answer): Promise<void> {
    const { streams } = this.#options
    const { edge } = this.#options.lane
    this.#bodies ??= new Turns(OPEN_BODIES)
    await this.#bodies.take(async () => {
      if (stream.closed) return
      const { answer, body } = await edge.deliver(asked, wanted)
      if (!stream.closed) edge.count(asked, answer, this.#visitor)
      if (body === undefined || Buffer.isBuffer(body)) {
        this.#send(stream, answer, body)
        return new Promise<void>((resolve) => stream.onRoom(resolve))
      }
      this.#head(stream, answer, { ended: false })
      await pour(body, stream, streams).catch((error: unknown) => {
        edge.damaged(asked, answer.content!, error)
        if (!stream.closed) streams.reset(stream, CODE.internal)
      })
    })
  }

  #send(stream: Stream, answer: Answer, body: Buffer | undefined): void {
    const { outbox, streams } = this.#options
    if (stream.closed) return
    outbox.begin()
    this.#head(stream, answer, { ended: !body?.length })
    if (!body?.length) streams.answered(stream)
    else {
      stream.isLast = true
      streams.sender.push(stream, body)
    }
    outbox.end()
  }

  #head(
    { id, closed }: Stream,
    answer: Pick<Answer, 'status' | 'headers'>,
    { ended, dated = true }: { ended: boolean; dated?: boolean },
  ): void {
    if (closed) return
    const { lane, outbox } = this.#options
    outbox.add(lane.answers.headers(answer, { stream: id, ended, dated, before: this.before }))
    this.before = undefined
  }
}

/** Sends pieces as fast as the client takes them, and closes them however it ends. Rejects when one cannot be had. */
async function pour(pieces: Pieces, stream: Stream, streams: Streams): Promise<void> {
  try {
    while (!stream.closed) {
      const next = pieces.next()
      const bytes = next instanceof Promise ? await next : next
      if (bytes === undefined) return void streams.sender.end(stream)
      streams.sender.push(stream, bytes)
      if (!stream.hasRoom) await new Promise<void>((resolve) => stream.onRoom(resolve))
    }
  } finally {
    pieces.close()
  }
}
