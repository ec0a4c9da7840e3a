import { request as ask, type ClientRequest, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { type Duplex, duplexPair } from 'node:stream'
import type { RequestHead } from './request-head.ts'

/** What becomes of a request that went to Node's parser. */
export interface Answering {
  /** The body is wanted (RFC 9110, 15.2.1). */
  goOn(): void
  /** The status and the header lines, name before value. */
  head(status: number, lines: readonly string[]): void
  /** A piece of the body; false when no more is wanted before `resume`. */
  piece(bytes: Buffer): boolean
  end(): void
  /** There is no answer, or no more of it. */
  fail(): void
}

interface RelayOptions {
  head: RequestHead
  /** Whether no body follows. */
  ended: boolean
  /** The connection that it came by. */
  peer: Socket
  /** Gives a connection to Node's parser. */
  parse: (socket: Duplex) => void
  to: Answering
}

/** Header lines of an answer; who publishes is told in one line what the service allows itself. */
const MOST_HEAD = 64 * 1024

/**
 * A request on its way through Node's parser, as one of HTTP/1.1 on a connection of its own that leaves no memory of this
 * process: there it meets the same limits, refusals and answers as any other. Bytes wait on both sides until they are wanted.
 */
export class Relay {
  readonly #request: ClientRequest
  readonly #near: Duplex
  readonly #far: Duplex
  readonly #to: Answering
  #response: IncomingMessage | undefined
  #isOver = false

  /** Throws when what is asked cannot be said in HTTP/1.1. */
  constructor({ head, ended, peer, parse, to }: RelayOptions) {
    const [near, far] = duplexPair()
    this.#near = near
    this.#far = far
    this.#to = to
    this.#request = ask({
      createConnection: () => near,
      method: head.method,
      path: head.path,
      headers: linesOf(head, ended),
      maxHeaderSize: MOST_HEAD,
    })
    this.#request.on('response', (response) => this.#take(response))
    this.#request.on('continue', () => this.#isOver || to.goOn())
    this.#request.on('error', () => this.#fail())
    this.#request.on('close', () => this.#fail())
    far.on('error', () => undefined)
    near.on('error', () => undefined)
    const { remoteAddress, remoteFamily, remotePort } = peer
    parse(Object.assign(far, { remoteAddress, remoteFamily, remotePort, encrypted: true }))
    if (ended) this.#request.end()
    else this.#request.flushHeaders()
  }

  /** A piece of the body, which stays as it is; `taken` is called when it was wanted. */
  write(bytes: Buffer, taken: () => void): void {
    if (this.#isOver) return void taken()
    this.#request.write(bytes, taken)
  }

  /** The body is complete. */
  end(): void {
    this.#request.end()
  }

  /** More of the answer is wanted. */
  resume(): void {
    this.#response?.resume()
  }

  /** Nothing more of it is wanted. */
  destroy(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#close()
  }

  #take(response: IncomingMessage): void {
    if (this.#isOver) return
    this.#response = response
    this.#to.head(response.statusCode!, response.rawHeaders)
    response.on('data', (bytes: Buffer) => {
      if (!this.#isOver && !this.#to.piece(bytes)) response.pause()
    })
    response.on('error', () => this.#fail())
    response.on('end', () => {
      if (this.#isOver) return
      this.#isOver = true
      this.#to.end()
      setImmediate(() => this.#close())
    })
  }

  #fail(): void {
    if (this.#isOver) return
    this.destroy()
    this.#to.fail()
  }

  #close(): void {
    this.#request.destroy()
    this.#near.destroy()
    this.#far.destroy()
  }
}

const BODY_EXPECTED = new Set(['POST', 'PUT', 'PATCH'])

function linesOf({ method, authority, lines, cookie, length }: RequestHead, ended: boolean): string[] {
  const all = ['Host', authority, 'Connection', 'close']
  for (const { name, value } of lines) if (name !== 'te') all.push(name, value)
  if (cookie !== undefined) all.push('cookie', cookie)
  if (length === undefined && !ended) all.push('Transfer-Encoding', 'chunked')
  if (length === undefined && ended && BODY_EXPECTED.has(method)) all.push('Content-Length', '0')
  return all
}
