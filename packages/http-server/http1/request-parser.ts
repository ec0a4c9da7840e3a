import type { Socket } from 'node:net'
import { type HttpRequest, RELEVANT_HEADERS, type RequestHeaders } from '../http-handler.ts'
import { isTls } from '../is-tls.ts'

export interface ParsedRequest extends HttpRequest {
  isHead: boolean
  /** Whether the client requests that the connection closes after the response (RFC 9112, 9.6). */
  isLast: boolean
  /** Offset of the next request in the chunk. */
  end: number
}

interface HeaderBlock {
  /** The bytes before and after the value of Host. */
  before: Buffer
  after: Buffer
  headers: RequestHeaders
  isLast: boolean
}

/** Requests with a longer head go to Node's parser. */
const MAX_HEAD_BYTES = 8192
const MAX_HEADERS = 100

/** Longer hosts and paths are decoded at each request: idle connections would keep them. */
const MAX_REMEMBERED_LENGTH = 128

const [LF, CR, TAB, SPACE, SLASH, ZERO, COLON, QUESTION] = [10, 13, 9, 32, 47, 48, 58, 63] as const

const GET = Buffer.from('GET ')
const HEAD = Buffer.from('HEAD ')
const VERSION = Buffer.from(' HTTP/1.1\r\n')

/** RFC 3986, 3.3 and 3.4: characters of a path and a query; the position of percent signs is not checked. */
const TARGET_BYTES = byteSet(/[\w.~!$&'()*+,;=:@/%?-]/)
/** RFC 9110, 5.6.2. */
const NAME_BYTES = byteSet(/[\w!#$%&'*+.^`|~-]/)
/** RFC 9110, 5.5, without obs-text. */
const VALUE_BYTES = byteSet(/[\t -~]/)
/** RFC 9112, 3.2: a name or an IPv4 address, and a port. */
const HOST_BYTES = byteSet(/[\w.-]/)
const DIGIT_BYTES = byteSet(/\d/)
const MAX_PORT_DIGITS = 5
const MAX_PORT = 65_535

/** Headers that the fast path does not support: about bodies, protocols and connections. */
const UNSUPPORTED = [
  'content-length',
  'expect',
  'http2-settings',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
] as const

const PARSED_HEADERS = [...RELEVANT_HEADERS, 'host'] as const

type ParsedHeader = (typeof PARSED_HEADERS)[number]
type HeaderKind = ParsedHeader | 'connection' | 'foreign'

const HEADERS_BY_LENGTH = new Map<number, { bytes: Buffer; meaning: HeaderKind }[]>()
for (const name of UNSUPPORTED) registerHeader(name, 'foreign')
for (const name of PARSED_HEADERS) registerHeader(name, name)
registerHeader('connection', 'connection')

/**
 * Parses requests without any ambiguity: GET or HEAD of an ordinary path, HTTP/1.1, well-formed header lines
 * that end in CRLF, exactly one Host, no body, nothing that changes the connection. Everything else returns
 * undefined and goes to Node's parser. It never guesses and never repairs, so that no request has
 * two readings.
 */
export class RequestParser {
  readonly #socket: Socket
  readonly #secure: boolean
  /** Clients repeat themselves: comparing a block with the previous one replaces parsing it. */
  #previous: HeaderBlock | undefined
  /** The text of the previous request; empty when that was long. */
  #host = ''
  #path = ''

  constructor(socket: Socket) {
    this.#socket = socket
    this.#secure = isTls(socket)
  }

  /** The request at `start`. The chunk must be complete up to `length`; see `endsWithBlankLine`. */
  parse(chunk: Buffer, start: number, length: number): ParsedRequest | undefined {
    const isHead = startsWith(chunk, start, length, HEAD)
    if (!isHead && !startsWith(chunk, start, length, GET)) return undefined
    const from = start + (isHead ? HEAD.length : GET.length)
    if (chunk[from] !== SLASH) return undefined
    let to = from
    let query = 0
    while (TARGET_BYTES[chunk[to]!] === 1) {
      if (chunk[to] === QUESTION && query === 0) query = to
      to++
    }
    if (!startsWith(chunk, to, length, VERSION)) return undefined
    const block = this.#block(chunk, to + VERSION.length, length)
    if (!block) return undefined
    const hostFrom = to + VERSION.length + block.before.length
    const hostTo = findHostEnd(chunk, hostFrom)
    const end = hostTo + block.after.length
    if (end - start > MAX_HEAD_BYTES) return undefined
    const host = decode(chunk, hostFrom, hostTo, this.#host)
    const path = decode(chunk, from, query === 0 ? to : query, this.#path)
    this.#host = host.length > MAX_REMEMBERED_LENGTH ? '' : host
    this.#path = path.length > MAX_REMEMBERED_LENGTH ? '' : path
    const target = { path, query: query === 0 ? '' : chunk.toString('latin1', query, to) }
    const { headers, isLast } = block
    return { host, isSecure: this.#secure, target, headers, socket: this.#socket, isHead, isLast, end }
  }

  #block(chunk: Buffer, start: number, length: number): HeaderBlock | undefined {
    if (!this.#previous || !isSameBlock(this.#previous, chunk, start, length))
      this.#previous = readBlock(chunk, start)
    return this.#previous
  }
}

/** Decodes a part of the chunk. When it equals `previous`, that string is returned, whose hash is already computed. */
function decode(chunk: Buffer, from: number, to: number, previous: string): string {
  if (previous.length !== to - from) return chunk.toString('latin1', from, to)
  for (let index = 0; index < previous.length; index++) {
    if (previous.charCodeAt(index) !== chunk[from + index]) return chunk.toString('latin1', from, to)
  }
  return previous
}

function isSameBlock({ before, after }: HeaderBlock, chunk: Buffer, start: number, length: number): boolean {
  if (!startsWith(chunk, start, length, before)) return false
  const from = start + before.length
  const to = findHostEnd(chunk, from)
  return to !== from && startsWith(chunk, to, length, after)
}

/** Whether a chunk ends after `length` bytes with an empty line, so that every search in it terminates. */
export function endsWithBlankLine(chunk: Buffer, length: number): boolean {
  return (
    length >= 4 &&
    chunk[length - 1] === LF &&
    chunk[length - 2] === CR &&
    chunk[length - 3] === LF &&
    chunk[length - 4] === CR
  )
}

function readBlock(chunk: Buffer, start: number): HeaderBlock | undefined {
  const found: Partial<Record<ParsedHeader, string>> = {}
  let at = start
  let hostFrom = 0
  let hostTo = 0
  let last: boolean | undefined
  for (let lines = 0; chunk[at] !== CR; lines++) {
    if (lines === MAX_HEADERS) return undefined
    const nameFrom = at
    while (NAME_BYTES[chunk[at]!] === 1) at++
    const nameTo = at
    if (nameTo === nameFrom || chunk[at] !== COLON) return undefined
    do at++
    while (isBlank(chunk[at]))
    const valueFrom = at
    while (VALUE_BYTES[chunk[at]!] === 1) at++
    if (chunk[at] !== CR || chunk[at + 1] !== LF) return undefined
    let valueTo = at
    while (valueTo > valueFrom && isBlank(chunk[valueTo - 1])) valueTo--
    at += 2
    const meaning = headerKind(chunk, nameFrom, nameTo)
    if (meaning === undefined) continue
    if (meaning === 'foreign') return undefined
    const value = chunk.toString('latin1', valueFrom, valueTo)
    if (meaning === 'connection') {
      if (last !== undefined || !isConnectionOption(value)) return undefined
      last = value.length === CLOSE.length
    } else if (found[meaning] === undefined) found[meaning] = value
    else return undefined
    if (meaning === 'host') [hostFrom, hostTo] = [valueFrom, valueTo]
  }
  const { host, ...headers } = found
  if (chunk[at + 1] !== LF || !host || findHostEnd(chunk, hostFrom) !== hostTo) return undefined
  const before = Buffer.from(chunk.subarray(start, hostFrom))
  const after = Buffer.from(chunk.subarray(hostTo, at + 2))
  return { before, after, headers, isLast: last === true }
}

const CLOSE = 'close'

function isConnectionOption(value: string): boolean {
  const option = value.toLowerCase()
  return option === 'keep-alive' || option === CLOSE
}

/** The end of the host at `from`; `from` when there is none. */
function findHostEnd(chunk: Buffer, from: number): number {
  let to = from
  while (HOST_BYTES[chunk[to]!] === 1) to++
  if (to === from || chunk[to] !== COLON) return to
  const start = ++to
  let port = 0
  for (; DIGIT_BYTES[chunk[to]!] === 1; to++) port = 10 * port + chunk[to]! - ZERO
  return to - start > MAX_PORT_DIGITS || port > MAX_PORT ? from : to
}

function startsWith(chunk: Buffer, at: number, length: number, bytes: Buffer): boolean {
  const end = at + bytes.length
  if (end > length) return false
  if (bytes.length > 32) return chunk.compare(bytes, 0, bytes.length, at, end) === 0
  for (let index = 0; index < bytes.length; index++) {
    if (chunk[at + index] !== bytes[index]) return false
  }
  return true
}

function headerKind(chunk: Buffer, from: number, to: number): HeaderKind | undefined {
  const names = HEADERS_BY_LENGTH.get(to - from)
  if (names === undefined) return undefined
  for (const { bytes, meaning } of names) if (equalsIgnoreCase(chunk, from, bytes)) return meaning
  return undefined
}

/** Compares without case; `bytes` are lower case. */
function equalsIgnoreCase(chunk: Buffer, from: number, bytes: Buffer): boolean {
  for (let index = 0; index < bytes.length; index++) {
    const byte = chunk[from + index]!
    if (byte !== bytes[index] && (byte < 65 || byte > 90 || (byte | 32) !== bytes[index])) return false
  }
  return true
}

function isBlank(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB
}

function registerHeader(name: string, meaning: HeaderKind): void {
  const bytes = Buffer.from(name)
  const names = HEADERS_BY_LENGTH.get(bytes.length)
  if (names) names.push({ bytes, meaning })
  else HEADERS_BY_LENGTH.set(bytes.length, [{ bytes, meaning }])
}

function byteSet(pattern: RegExp): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) =>
    byte < 128 && pattern.test(String.fromCharCode(byte)) ? 1 : 0,
  )
}
