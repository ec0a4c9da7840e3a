import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { type Budget, Kept } from '../../memory/kept.ts'
import type { Answer } from '../answer.ts'

/** An answer as bytes: its head and, when that is short, the body behind it. */
export interface Wire {
  bytes: Buffer
  /** Where the value of `Date` is. */
  date: number
  /** Where the body begins. */
  head: number
  /** Whether the whole body is there. */
  whole: boolean
  /** The second since 1970 that its `Date` says. */
  second: number
  /** Whether a socket may still be reading the bytes: then they must not be changed. */
  lent: boolean
}

/** Up to this many bytes a body is kept behind its head, so that both go out at once. */
const SHORT = 16 * 1024

/**
 * Answers as they go over the wire (RFC 9112), made once for each and remembered within a budget of bytes: after
 * that, only the date in them changes.
 */
export class Wires {
  readonly #clock: () => number
  readonly #kept: Kept<Wire, Answer>
  /** Answers that were sent once: one that comes again is worth keeping. */
  readonly #seen = new WeakSet<Answer>()
  #second = 0
  #date = ''

  constructor({ clock, budget }: { clock: () => number; budget: Budget }) {
    this.#clock = clock
    this.#kept = new Kept(budget)
  }

  /** Sends an answer when everything that it needs is remembered. */
  sendKnown(socket: Socket, answer: Answer, head: boolean): boolean {
    const wire = knownOf(answer)
    if (!wire || !(wire.whole || head)) return false
    this.#write(socket, wire, head)
    return true
  }

  /** Sends an answer, its `body` unless only the head is wanted; `close` says that nothing follows. */
  send(
    socket: Socket,
    answer: Answer,
    { body, head, close }: { body: Buffer | undefined; head: boolean; close: boolean },
  ): void {
    const known = close ? undefined : knownOf(answer)
    const fits = known && (known.whole || head || !isShort(body))
    const wire = fits ? known : this.#make(answer, body, close)
    if (head || wire.whole || body === undefined) return void this.#write(socket, wire, head)
    socket.cork()
    this.#write(socket, wire, true)
    socket.write(body)
    socket.uncork()
  }

  #make(answer: Answer, body: Buffer | undefined, close: boolean): Wire {
    const wire = this.#wireOf(answer, body, close)
    if (close) return wire
    if (this.#seen.has(answer)) answer.wire = this.#kept.set(answer, wire, wire.bytes.length + 300)
    else this.#seen.add(answer)
    return wire
  }

  #wireOf({ status, headers, body: own, content }: Answer, body: Buffer | undefined, close: boolean): Wire {
    const line = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nDate: `
    const text = `${line}${this.#now()}\r\n${linesOf(headers, close)}`
    const short = isShort(body)
    const bytes = Buffer.allocUnsafeSlow(text.length + (short ? body.length : 0))
    bytes.write(text, 'latin1')
    if (short) body.copy(bytes, text.length)
    const whole = short || (own === undefined && content === undefined)
    return { bytes, date: line.length, head: text.length, whole, second: this.#second, lent: false }
  }

  #write(socket: Socket, wire: Wire, head: boolean): void {
    const date = this.#now()
    if (wire.second !== this.#second) {
      if (wire.lent) wire.bytes = Buffer.from(wire.bytes)
      wire.lent = false
      wire.bytes.write(date, wire.date, 'latin1')
      wire.second = this.#second
    }
    const all = wire.head === wire.bytes.length || !head
    socket.write(all ? wire.bytes : wire.bytes.subarray(0, wire.head))
    if (socket.writableLength > 0) wire.lent = true
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

function knownOf({ wire }: Answer): Wire | undefined {
  if (!wire?.value) return undefined
  wire.used = true
  return wire.value
}

function isShort(body: Buffer | undefined): body is Buffer {
  return body !== undefined && body.length <= SHORT
}

/** Header values are latin1, as `_headers` and manifests give them. */
function linesOf(headers: readonly string[], close: boolean): string {
  let text = ''
  for (let at = 0; at < headers.length; at += 2) text += `${headers[at]}: ${headers[at + 1]}\r\n`
  return close ? `${text}Connection: close\r\n\r\n` : `${text}\r\n`
}
