import type { Socket } from 'node:net'
import type { HttpResponse } from '../http-handler.ts'
import type { MemoryBudget } from '../memory/second-chance-cache.ts'
import { http } from '../node-http.ts'
import { type Serialized, SerializedCache } from '../serialized-cache.ts'

interface SerializedResponse extends Serialized {
  /** Whether a socket may still read the bytes: they must not change then. */
  isInFlight: boolean
}

/** Bodies up to this many bytes are stored behind their head, so that one write sends both. */
const MAX_INLINE_BODY_BYTES = 16 * 1024

export class ResponseSerializer {
  readonly #cache: SerializedCache<SerializedResponse>

  constructor(options: { clock: () => number; budget: MemoryBudget }) {
    this.#cache = new SerializedCache(options)
  }

  sendCached(socket: Socket, response: HttpResponse, head: boolean): boolean {
    const cached = this.#cache.get(response)
    if (!cached || !(cached.isComplete || head)) return false
    this.#write(socket, cached, head)
    return true
  }

  send(
    socket: Socket,
    response: HttpResponse,
    { body, head, close }: { body: Buffer | undefined; head: boolean; close: boolean },
  ): void {
    const cached = close ? undefined : this.#cache.get(response)
    const fits = cached && (cached.isComplete || head || !isInlineable(body))
    const serialized = fits ? cached : this.#serialize(response, body, close)
    if (!fits && !close) this.#cache.add(response, serialized)
    if (head || serialized.isComplete || body === undefined) return void this.#write(socket, serialized, head)
    socket.cork()
    this.#write(socket, serialized, true)
    socket.write(body)
    socket.uncork()
  }

  #serialize(
    { status, headers, body: own, content }: HttpResponse,
    body: Buffer | undefined,
    close: boolean,
  ): SerializedResponse {
    const { second, date } = this.#cache
    const line = `HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\nDate: `
    const text = `${line}${date}\r\n${formatHeaders(headers, close)}`
    const short = isInlineable(body)
    const bytes = Buffer.allocUnsafeSlow(text.length + (short ? body.length : 0))
    bytes.write(text, 'latin1')
    if (short) body.copy(bytes, text.length)
    const isComplete = short || (own === undefined && content === undefined)
    const [dateOffset, headLength] = [line.length, text.length]
    return { bytes, dateOffset, headLength, isComplete, second, isInFlight: false }
  }

  #write(socket: Socket, serialized: SerializedResponse, head: boolean): void {
    if (this.#cache.isOutdated(serialized)) {
      if (serialized.isInFlight) serialized.bytes = Buffer.from(serialized.bytes)
      serialized.isInFlight = false
      this.#cache.updateDate(serialized)
    }
    const { bytes, headLength } = serialized
    const all = headLength === bytes.length || !head
    socket.write(all ? bytes : bytes.subarray(0, headLength))
    if (socket.writableLength > 0) serialized.isInFlight = true
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
