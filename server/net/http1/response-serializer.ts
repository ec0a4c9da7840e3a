import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { EdgeResponse } from '../../edge/response.ts'
import { type CacheEntry, type MemoryBudget, SecondChanceCache } from '../../lib/lru-cache.ts'

/** A response as bytes: its head and, when short, its body. */
export interface SerializedResponse {
  bytes: Buffer
  /** Offset of the `Date` value. */
  dateOffset: number
  /** Offset of the body. */
  headLength: number
  /** Whether the whole body is included. */
  isComplete: boolean
  /** The second since 1970 of its `Date`. */
  second: number
  /** Whether a socket may still read the bytes: they must not change then. */
  isInFlight: boolean
}

/** Bodies up to this many bytes are stored behind their head, so that both are sent at once. */
const MAX_INLINE_BODY_BYTES = 16 * 1024

/**
 * Responses in their wire format (RFC 9112), serialized once and cached within a budget of bytes: later only
 * the date changes.
 */
export class ResponseSerializer {
  readonly #clock: () => number
  readonly #cache: SecondChanceCache<SerializedResponse, EdgeResponse>
  /** Responses that were sent once: a repeated one is worth caching. */
  readonly #seen = new WeakSet<EdgeResponse>()
  /** Cached responses. A weak key lookup takes a fraction of a Map lookup by content, and frees entries with their response. */
  readonly #slots = new WeakMap<EdgeResponse, CacheEntry<SerializedResponse>>()
  #second = 0
  #date = ''

  constructor({ clock, budget }: { clock: () => number; budget: MemoryBudget }) {
    this.#clock = clock
    this.#cache = new SecondChanceCache(budget)
  }

  /** Sends a response when its serialized form is cached. */
  sendCached(socket: Socket, answer: EdgeResponse, head: boolean): boolean {
    const wire = this.#known(answer)
    if (!wire || !(wire.isComplete || head)) return false
    this.#write(socket, wire, head)
    return true
  }

  /** Sends a response, with `body` unless it answers a HEAD; `close` closes the connection after it. */
  send(
    socket: Socket,
    answer: EdgeResponse,
    { body, head, close }: { body: Buffer | undefined; head: boolean; close: boolean },
  ): void {
    const known = close ? undefined : this.#known(answer)
    const fits = known && (known.isComplete || head || !isInlineable(body))
    const wire = fits ? known : this.#make(answer, body, close)
    if (head || wire.isComplete || body === undefined) return void this.#write(socket, wire, head)
    socket.cork()
    this.#write(socket, wire, true)
    socket.write(body)
    socket.uncork()
  }

  #known(answer: EdgeResponse): SerializedResponse | undefined {
    const slot = this.#slots.get(answer)
    if (slot?.value === undefined) return undefined
    slot.used = true
    return slot.value
  }

  #keep(answer: EdgeResponse, wire: SerializedResponse): void {
    const slot = this.#cache.set(answer, wire, wire.bytes.length + 300)
    if (slot) this.#slots.set(answer, slot)
  }

  #make(answer: EdgeResponse, body: Buffer | undefined, close: boolean): SerializedResponse {
    const wire = this.#serialize(answer, body, close)
    if (close) return wire
    if (this.#seen.has(answer)) this.#keep(answer, wire)
    else this.#seen.add(answer)
    return wire
  }

  #serialize(
    { status, headers, body: own, content }: EdgeResponse,
    body: Buffer | undefined,
    close: boolean,
  ): SerializedResponse {
    const line = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nDate: `
    const text = `${line}${this.#now()}\r\n${formatHeaders(headers, close)}`
    const short = isInlineable(body)
    const bytes = Buffer.allocUnsafeSlow(text.length + (short ? body.length : 0))
    bytes.write(text, 'latin1')
    if (short) body.copy(bytes, text.length)
    const isComplete = short || (own === undefined && content === undefined)
    return {
      bytes,
      dateOffset: line.length,
      headLength: text.length,
      isComplete,
      second: this.#second,
      isInFlight: false,
    }
  }

  #write(socket: Socket, wire: SerializedResponse, head: boolean): void {
    const date = this.#now()
    if (wire.second !== this.#second) {
      if (wire.isInFlight) wire.bytes = Buffer.from(wire.bytes)
      wire.isInFlight = false
      wire.bytes.write(date, wire.dateOffset, 'latin1')
      wire.second = this.#second
    }
    const all = wire.headLength === wire.bytes.length || !head
    socket.write(all ? wire.bytes : wire.bytes.subarray(0, wire.headLength))
    if (socket.writableLength > 0) wire.isInFlight = true
  }

  #now(): string {
    const second = Math.floor(this.#clock() / 1000)
    if (second !== this.#second) {
      this.#second = second
      this.#date = new Date(second * 1000).toUTCString()
    }
    return this.#date
  }
}

function isInlineable(body: Buffer | undefined): body is Buffer {
  return body !== undefined && body.length <= MAX_INLINE_BODY_BYTES
}

/** Header values are latin1, as `_headers` and manifests contain them. */
function formatHeaders(headers: readonly string[], close: boolean): string {
  let text = ''
  for (let at = 0; at < headers.length; at += 2) text += `${headers[at]}: ${headers[at + 1]}\r\n`
  return close ? `${text}Connection: close\r\n\r\n` : `${text}\r\n`
}
