import { type Asked, VISIT_HEADERS, type VisitHeaders } from '../asked.ts'
import { wordIn } from './words.ts'

/** A whole, plain request that was found in a chunk. */
export interface Recognised extends Asked {
  /** HEAD rather than GET. */
  head: boolean
  /** Whether the client wants the connection to end after the answer (RFC 9112, 9.6). */
  last: boolean
  /** Where the next request of the chunk begins. */
  end: number
}

/** What a block of header lines says, with the empty line that ends it. */
interface Block {
  /** The bytes up to the value of Host, and those behind it. */
  before: Buffer
  after: Buffer
  headers: VisitHeaders
  last: boolean
}

/** A request with a longer head is Node's to read, or to refuse. */
const MOST_HEAD = 8192
const MOST_LINES = 100

const [LF, CR, TAB, SPACE, SLASH, COLON, QUESTION] = [10, 13, 9, 32, 47, 58, 63] as const

const GET = Buffer.from('GET ')
const HEAD = Buffer.from('HEAD ')
const VERSION = Buffer.from(' HTTP/1.1\r\n')

/** RFC 3986, 3.3 and 3.4: what a path and a query are made of; whether a percent sign is in its place is not looked at. */
const TARGET = characters(/[\w.~!$&'()*+,;=:@/%?-]/)
/** RFC 9110, 5.6.2. */
const NAME = characters(/[\w!#$%&'*+.^`|~-]/)
/** RFC 9110, 5.5, without obs-text. */
const VALUE = characters(/[\t -~]/)
/** RFC 9112, 3.2: a name or an IPv4 address, and a port. */
const HOST = characters(/[\w.-]/)
const DIGIT = characters(/\d/)
const MOST_DIGITS = 5

/** A header that says more than this lane can hear: of a body, of another protocol, of a connection that ends. */
const FOREIGN = [
  'content-length',
  'expect',
  'http2-settings',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
] as const

const READ = [...VISIT_HEADERS, 'host'] as const

type Read = (typeof READ)[number]
type Meaning = Read | 'connection' | 'foreign'

const NAMES = new Map<number, { bytes: Buffer; meaning: Meaning }[]>()
for (const name of FOREIGN) mean(name, 'foreign')
for (const name of READ) mean(name, name)
mean('connection', 'connection')

/**
 * Finds requests that leave no doubt in what a connection sends: GET or HEAD of an ordinary path, HTTP/1.1, well-formed
 * header lines that end in CRLF, exactly one Host, no body, nothing that changes the connection. Everything else is
 * undefined: it is for Node's parser. It never guesses and never repairs (design.md, "The fast lane").
 */
export class Recogniser {
  readonly #secure: boolean
  /** A client says mostly the same again and again: then a comparison takes the place of reading. */
  #last: Block | undefined

  constructor(secure: boolean) {
    this.#secure = secure
  }

  /** The request that begins at `start`. The chunk has to be whole up to `length`; see `isWhole`. */
  read(chunk: Buffer, start: number, length: number): Recognised | undefined {
    const head = begins(chunk, start, length, HEAD)
    if (!head && !begins(chunk, start, length, GET)) return undefined
    const from = start + (head ? HEAD.length : GET.length)
    if (chunk[from] !== SLASH) return undefined
    let to = from
    let query = 0
    while (TARGET[chunk[to]!] === 1) {
      if (chunk[to] === QUESTION && query === 0) query = to
      to++
    }
    if (!begins(chunk, to, length, VERSION)) return undefined
    const block = this.#block(chunk, to + VERSION.length, length)
    if (!block) return undefined
    const hostFrom = to + VERSION.length + block.before.length
    const hostTo = endOfHost(chunk, hostFrom)
    const end = hostTo + block.after.length
    if (end - start > MOST_HEAD) return undefined
    const target =
      query === 0
        ? { path: wordIn(chunk, from, to), query: '' }
        : { path: wordIn(chunk, from, query), query: chunk.toString('latin1', query, to) }
    const host = wordIn(chunk, hostFrom, hostTo)
    const { headers, last } = block
    return { host, secure: this.#secure, target, headers, head, last, end, site: undefined }
  }

  #block(chunk: Buffer, start: number, length: number): Block | undefined {
    if (!this.#last || !isLike(this.#last, chunk, start, length)) this.#last = readBlock(chunk, start)
    return this.#last
  }
}

/** Whether the block of header lines that begins there is the same, but perhaps for the host that it names. */
function isLike({ before, after }: Block, chunk: Buffer, start: number, length: number): boolean {
  if (!begins(chunk, start, length, before)) return false
  const from = start + before.length
  const to = endOfHost(chunk, from)
  return to !== from && begins(chunk, to, length, after)
}

/** Whether a chunk ends, after `length` bytes, as a request without a body does: every search in it comes to an end. */
export function isWhole(chunk: Buffer, length: number): boolean {
  return (
    length >= 4 &&
    chunk[length - 1] === LF &&
    chunk[length - 2] === CR &&
    chunk[length - 3] === LF &&
    chunk[length - 4] === CR
  )
}

function readBlock(chunk: Buffer, start: number): Block | undefined {
  const found: Partial<Record<Read, string>> = {}
  let at = start
  let hostFrom = 0
  let hostTo = 0
  let last: boolean | undefined
  for (let lines = 0; chunk[at] !== CR; lines++) {
    if (lines === MOST_LINES) return undefined
    const nameFrom = at
    while (NAME[chunk[at]!] === 1) at++
    const nameTo = at
    if (nameTo === nameFrom || chunk[at] !== COLON) return undefined
    do at++
    while (isBlank(chunk[at]))
    const valueFrom = at
    while (VALUE[chunk[at]!] === 1) at++
    if (chunk[at] !== CR || chunk[at + 1] !== LF) return undefined
    let valueTo = at
    while (valueTo > valueFrom && isBlank(chunk[valueTo - 1])) valueTo--
    at += 2
    const meaning = meaningOf(chunk, nameFrom, nameTo)
    if (meaning === undefined) continue
    if (meaning === 'foreign') return undefined
    const value = chunk.toString('latin1', valueFrom, valueTo)
    if (meaning === 'connection') {
      if (last !== undefined || !isOption(value)) return undefined
      last = value.length === CLOSE.length
    } else if (found[meaning] === undefined) found[meaning] = value
    else return undefined
    if (meaning === 'host') [hostFrom, hostTo] = [valueFrom, valueTo]
  }
  const { host, ...headers } = found
  if (chunk[at + 1] !== LF || !host || endOfHost(chunk, hostFrom) !== hostTo) return undefined
  const before = Buffer.from(chunk.subarray(start, hostFrom))
  const after = Buffer.from(chunk.subarray(hostTo, at + 2))
  return { before, after, headers, last: last === true }
}

const CLOSE = 'close'

/** What may be said of a connection: that it ends, or that it does not. */
function isOption(value: string): boolean {
  const option = value.toLowerCase()
  return option === 'keep-alive' || option === CLOSE
}

/** Where a host that begins there ends; there, when it is none. */
function endOfHost(chunk: Buffer, from: number): number {
  let to = from
  while (HOST[chunk[to]!] === 1) to++
  if (to === from || chunk[to] !== COLON) return to
  const port = ++to
  while (DIGIT[chunk[to]!] === 1) to++
  return to - port > MOST_DIGITS ? from : to
}

function begins(chunk: Buffer, at: number, length: number, bytes: Buffer): boolean {
  const end = at + bytes.length
  if (end > length) return false
  if (bytes.length > 32) return chunk.compare(bytes, 0, bytes.length, at, end) === 0
  for (let index = 0; index < bytes.length; index++) {
    if (chunk[at + index] !== bytes[index]) return false
  }
  return true
}

function meaningOf(chunk: Buffer, from: number, to: number): Meaning | undefined {
  const names = NAMES.get(to - from)
  if (names === undefined) return undefined
  for (const { bytes, meaning } of names) if (isNamed(chunk, from, bytes)) return meaning
  return undefined
}

/** Without regard to case; `bytes` are lower case, and a letter differs from its other case in one bit. */
function isNamed(chunk: Buffer, from: number, bytes: Buffer): boolean {
  for (let index = 0; index < bytes.length; index++) {
    const byte = chunk[from + index]!
    if (byte !== bytes[index] && (byte < 65 || byte > 90 || (byte | 32) !== bytes[index])) return false
  }
  return true
}

function isBlank(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB
}

function mean(name: string, meaning: Meaning): void {
  const bytes = Buffer.from(name)
  const names = NAMES.get(bytes.length)
  if (names) names.push({ bytes, meaning })
  else NAMES.set(bytes.length, [{ bytes, meaning }])
}

/** By byte: 1 for those that a pattern of one character allows. */
function characters(pattern: RegExp): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) =>
    byte < 128 && pattern.test(String.fromCharCode(byte)) ? 1 : 0,
  )
}
