import type { ClientRequest, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { type Duplex, duplexPair } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { CONNECTION_DEADLINES } from './deadlines.ts'
import type { RequestHead } from './http2-request.ts'
import { GrowingBuffer } from './memory/growing-buffer.ts'
import { http } from './node-http.ts'

export interface BridgeSink {
  /** The body is requested (RFC 9110, 15.2.1). */
  continue(): void
  /** The status and the header lines, name before value. */
  head(status: number, lines: readonly string[]): void
  /** A chunk of the body; false pauses until `resume`. */
  data(bytes: Buffer): boolean
  end(): void
  /** The response failed or was cut off. */
  fail(): void
  /** Accounts for bytes of the request's body that are held now. False when there is no memory for them. */
  account(bytes: number): boolean
  consumed(bytes: number): void
}

/** Memory that a relayed request takes without its bodies: measured, see docs/decisions/007-http2.md. */
export const RELAY_BYTES = 32 * 1024

interface Http1BridgeOptions {
  head: RequestHead
  ended: boolean
  peer: Socket
  parse: (socket: Duplex) => void
  sink: BridgeSink
}

const EMPTY = Buffer.alloc(0)

/** Maximum bytes of a body per write: Node's parser buffers all of them, even if no handler reads the body. */
const MAX_WRITE_BYTES = 64 * 1024

/** Maximum size of a refusal that waits for the end of the body. */
const MAX_HELD_BYTES = 64 * 1024

/** Maximum size of response headers; the service allows publishers fewer. */
const MAX_RESPONSE_HEAD_BYTES = 64 * 1024

/** Relays a request to Node's HTTP/1.1 parser in memory, where the same limits, rejections and handlers apply. */
export class Http1Bridge {
  readonly #request: ClientRequest
  readonly #near: Duplex
  readonly #far: Duplex
  readonly #sink: BridgeSink
  /** Body bytes received during a write; the unwritten rest of that write, and its memory. */
  readonly #buffered = new GrowingBuffer()
  #unwritten: Buffer = EMPTY
  #writingBytes = 0
  #isFlushing = false
  #isEnded = false
  #unconsumedBytes = 0
  readonly #mustDrain: boolean
  /** Ends the wait for the end of the body of a refused request, which is dropped. */
  #endDraining: (() => void) | undefined
  #response: IncomingMessage | undefined
  #isClosed = false

  /** Throws when the request cannot be expressed in HTTP/1.1. */
  constructor({ head, ended, peer, parse, sink }: Http1BridgeOptions) {
    const [near, far] = duplexPair()
    this.#near = near
    this.#far = far
    this.#sink = sink
    this.#mustDrain = losesEarlyResponses(head)
    this.#request = http.request({
      createConnection: () => near,
      method: head.method,
      path: head.path,
      headers: toHttp1Headers(head, ended),
      maxHeaderSize: MAX_RESPONSE_HEAD_BYTES,
    })
    this.#request.on('response', (response) => this.#onResponse(response))
    this.#request.on('continue', () => this.#isClosed || sink.continue())
    this.#request.on('error', () => this.#fail())
    this.#request.on('close', () => this.#fail())
    far.on('error', () => undefined)
    near.on('error', () => undefined)
    const { remoteAddress, remoteFamily, remotePort } = peer
    const origin = { remoteAddress, remoteFamily, remotePort, encrypted: true, alpnProtocol: 'h2' }
    parse(Object.assign(far, origin))
    if (ended) this.#request.end()
    else this.#request.flushHeaders()
  }

  write(bytes: Buffer, from: number, to: number): boolean {
    const count = to - from
    if (this.#isClosed || this.#endDraining) {
      this.#sink.consumed(count)
      return true
    }
    this.#unconsumedBytes += count
    if (!this.#sink.account(this.#writingBytes + this.#buffered.capacityFor(count))) return false
    this.#buffered.appendCopy(bytes.subarray(from, to))
    if (this.#isFlushing) return true
    this.#isFlushing = true
    // One write for all bytes of one read.
    queueMicrotask(() => this.#flush())
    return true
  }

  end(): void {
    this.#isEnded = true
    if (this.#endDraining) this.#endDraining()
    else if (!this.#isFlushing) this.#request.end()
  }

  resume(): void {
    this.#response?.resume()
  }

  destroy(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#close()
  }

  #onResponse(response: IncomingMessage): void {
    if (this.#isClosed) return
    this.#response = response
    const length = Number(response.headers['content-length'])
    if (this.#mustDrain && !this.#isEnded && response.statusCode! >= 400 && length <= MAX_HELD_BYTES)
      return void this.#relayDrained(response).catch(() => this.#fail())
    this.#sink.head(response.statusCode!, response.rawHeaders)
    response.on('data', (bytes: Buffer) => {
      if (!this.#isClosed && !this.#sink.data(bytes)) response.pause()
    })
    response.on('error', () => this.#fail())
    response.on('end', () => {
      if (this.#isClosed) return
      this.#isClosed = true
      this.#sink.end()
      setImmediate(() => this.#close())
    })
  }

  /** Relays a refusal once the client has sent its body, at most as long as a connection of HTTP/1.1 lingers. */
  async #relayDrained(response: IncomingMessage): Promise<void> {
    const { promise: drained, resolve } = Promise.withResolvers<void>()
    this.#endDraining = resolve
    this.#buffered.take()
    this.#sink.account(0)
    this.#sink.consumed(this.#unconsumedBytes)
    const timer = setTimeout(resolve, CONNECTION_DEADLINES.lingering.total).unref()
    try {
      const body = await buffer(response)
      await drained
      if (this.#isClosed) return
      this.#isClosed = true
      this.#sink.head(response.statusCode!, response.rawHeaders)
      this.#sink.data(body)
      this.#sink.end()
      setImmediate(() => this.#close())
    } finally {
      clearTimeout(timer)
      this.#endDraining = undefined
    }
  }

  #flush(): void {
    if (this.#isClosed || this.#endDraining) return
    if (this.#unwritten.length === 0) {
      this.#unwritten = this.#buffered.take()
      this.#writingBytes = this.#unwritten.buffer.byteLength
      this.#sink.account(this.#writingBytes)
    }
    if (this.#unwritten.length === 0) {
      this.#isFlushing = false
      if (this.#isEnded) this.#request.end()
      return
    }
    const bytes = this.#unwritten.subarray(0, MAX_WRITE_BYTES)
    this.#unwritten = this.#unwritten.subarray(bytes.length)
    this.#request.write(bytes, () => {
      if (this.#isClosed || this.#endDraining) return
      this.#unconsumedBytes -= bytes.length
      this.#sink.consumed(bytes.length)
      this.#flush()
    })
  }

  #fail(): void {
    // The connection is closed after a refusal that waits for the end of the body.
    if (this.#isClosed || this.#endDraining) return
    this.destroy()
    this.#sink.fail()
  }

  #close(): void {
    this.#endDraining?.()
    this.#request.destroy()
    this.#near.destroy()
    this.#far.destroy()
  }
}

/** Node's client of HTTP/2 can read a refusal only after its body (docs/decisions/042-lingering-close.md). */
function losesEarlyResponses({ lines }: RequestHead): boolean {
  return lines.some(({ name, value }) => name === 'user-agent' && value === 'node')
}

/** Header lines that are not relayed: trailers are dropped, so they are not announced either. */
const NOT_RELAYED: ReadonlySet<string> = new Set(['te', 'trailer'])

const BODY_EXPECTED = new Set(['POST', 'PUT', 'PATCH'])

function toHttp1Headers({ method, authority, lines, cookie, length }: RequestHead, ended: boolean): string[] {
  const all = ['Host', authority, 'Connection', 'close']
  for (const { name, value } of lines) if (!NOT_RELAYED.has(name)) all.push(name, value)
  if (cookie !== undefined) all.push('cookie', cookie)
  if (length === undefined && !ended) all.push('Transfer-Encoding', 'chunked')
  if (length === undefined && ended && BODY_EXPECTED.has(method)) all.push('Content-Length', '0')
  return all
}
