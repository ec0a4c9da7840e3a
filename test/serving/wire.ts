import { connect, type NetConnectOpts, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'

/** An answer as it came over the wire. Header names are in lower case; the body is without its chunks. */
export interface WireResponse {
  status: number
  version: string
  headers: readonly (readonly [name: string, value: string])[]
  body: Buffer
  /** Interim answers (1xx) before it. */
  interim: readonly number[]
}

export interface Talk {
  answers: WireResponse[]
  /** Whether the server ended the connection. */
  closed: boolean
}

interface TalkOptions {
  /** Of each request in its order: answers to HEAD have no body. */
  methods: readonly string[]
  /** Ends with so many answers rather than with the connection. */
  count?: number
  /** Sent by itself after so many answers. */
  last?: { after: number; bytes: Buffer }
}

/** Milliseconds without a byte from the server after which it is taken to wait for more. */
const TIMEOUT_MS = 60_000

/** The first value of a header. */
export function findHeader(answer: WireResponse, name: string): string | undefined {
  return answer.headers.find(([one]) => one === name)?.[1]
}

/**
 * Sends bytes on a connection of its own, each piece by itself, and reads answers until the server ends the connection
 * or as many as wanted are there. Rejects when what comes back is not HTTP/1.1 (RFC 9112).
 */
export async function talk(
  to: NetConnectOpts,
  pieces: readonly Buffer[],
  { methods, count = Number.POSITIVE_INFINITY, last }: TalkOptions,
): Promise<Talk> {
  const socket = connect({ ...to, noDelay: true })
  const over = Promise.withResolvers<Talk>()
  const answers: WireResponse[] = []
  let rest: Buffer = Buffer.alloc(0)
  let isLastSent = last === undefined
  const read = (ended: boolean) => {
    try {
      rest = take(rest, answers, { methods, ended })
      if (ended && rest.length > 0) throw new Error(`half an answer: ${rest.toString('latin1', 0, 200)}`)
      if (!isLastSent && answers.length >= last!.after) {
        isLastSent = true
        socket.write(last!.bytes)
      }
      if (ended || answers.length >= count) over.resolve({ answers, closed: ended })
    } catch (error) {
      over.reject(error)
    }
  }
  socket.on('data', (chunk: Buffer) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    read(false)
  })
  // A server that ends a connection with bytes unread resets it.
  socket.on('error', () => undefined)
  socket.on('close', () => read(true))
  socket.setTimeout(TIMEOUT_MS, () => over.resolve({ answers, closed: false }))
  try {
    void sendAll(socket, pieces)
    return await over.promise
  } finally {
    socket.destroy()
  }
}

/** A piece goes after the one before has had its chance to be read. */
async function sendAll(socket: Socket, pieces: readonly Buffer[]): Promise<void> {
  for (const piece of pieces) {
    if (socket.destroyed || !socket.writable) return
    socket.write(piece)
    if (pieces.length > 1) await turn()
  }
}

/** Takes all whole answers off the bytes and gives back what is left. `ended`: the connection brings no more. */
export function take(
  bytes: Buffer,
  answers: WireResponse[],
  { methods, ended }: { methods: readonly string[]; ended: boolean },
): Buffer {
  let at = 0
  for (;;) {
    const found = readResponse(bytes, at, { method: methods[answers.length], ended })
    if (!found) return at === 0 ? bytes : bytes.subarray(at)
    answers.push(found.answer)
    at = found.end
  }
}

/** The answer that begins there, or undefined while it is not whole. */
function readResponse(
  bytes: Buffer,
  start: number,
  context: { method: string | undefined; ended: boolean },
): { answer: WireResponse; end: number } | undefined {
  const interim: number[] = []
  for (let at = start; ; ) {
    const end = bytes.indexOf('\r\n\r\n', at)
    if (end < 0) return undefined
    const [line = '', ...lines] = bytes.toString('latin1', at, end).split('\r\n')
    const [, version, code] = /^HTTP\/(1\.[01]) ([1-5]\d\d) [\t -~]*$/.exec(line) ?? []
    if (version === undefined) throw new Error(`no status line: ${JSON.stringify(line)}`)
    const status = Number(code)
    at = end + 4
    if (status < 200 && status !== 101) {
      interim.push(status)
      continue
    }
    const headers = lines.map(readHeader)
    const body = readBody(bytes, at, { status, headers, ...context })
    return body && { answer: { status, version, headers, body: body.bytes, interim }, end: body.end }
  }
}

function readHeader(line: string): readonly [string, string] {
  const [, name, value] = /^([\w!#$%&'*+.^`|~-]+):[ \t]*([\t -~\x80-\xff]*)$/.exec(line) ?? []
  if (name === undefined) throw new Error(`no header: ${JSON.stringify(line)}`)
  return [name.toLowerCase(), value!.trimEnd()]
}

interface Framing {
  status: number
  headers: WireResponse['headers']
  method: string | undefined
  ended: boolean
}

/** RFC 9112, 6.3. An answer that ends with the connection has to say so. */
function readBody(
  bytes: Buffer,
  at: number,
  { status, headers, method, ended }: Framing,
): { bytes: Buffer; end: number } | undefined {
  const lengths = headers.filter(([name]) => name === 'content-length').map(([, value]) => value)
  const codings = headers.filter(([name]) => name === 'transfer-encoding').map(([, value]) => value)
  if (lengths.length + codings.length > 1) throw new Error('two lengths in one answer')
  if (method === 'HEAD' || status === 204 || status === 304) return { bytes: Buffer.alloc(0), end: at }
  if (codings.length === 1) return readChunks(bytes, at)
  const [length] = lengths
  if (length === undefined && headers.some(([name, value]) => name === 'connection' && value === 'close'))
    return ended ? { bytes: bytes.subarray(at), end: bytes.length } : undefined
  if (length === undefined || !/^\d+$/.test(length)) throw new Error(`no length in an answer of ${status}`)
  const end = at + Number(length)
  return end <= bytes.length ? { bytes: bytes.subarray(at, end), end } : undefined
}

function readChunks(bytes: Buffer, start: number): { bytes: Buffer; end: number } | undefined {
  const chunks: Buffer[] = []
  for (let at = start; ; ) {
    const line = bytes.indexOf('\r\n', at)
    if (line < 0) return undefined
    const size = Number.parseInt(bytes.toString('latin1', at, line), 16)
    const end = line + 2 + size
    if (end + 2 > bytes.length) return undefined
    if (bytes.toString('latin1', end, end + 2) !== '\r\n') throw new Error('a chunk without its end')
    if (size === 0) return { bytes: Buffer.concat(chunks), end: end + 2 }
    chunks.push(bytes.subarray(line + 2, end))
    at = end + 2
  }
}
