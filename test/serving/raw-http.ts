import { connect, type NetConnectOpts, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'

/** A parsed HTTP/1.1 response. Header names are in lower case; the body is without chunk framing. */
export interface RawResponse {
  status: number
  version: string
  headers: readonly (readonly [name: string, value: string])[]
  body: Buffer
  /** Statuses of interim responses (1xx) before it. */
  interim: readonly number[]
}

export interface RawExchange {
  responses: RawResponse[]
  /** Whether the server ended the connection. */
  closed: boolean
}

interface RawExchangeOptions {
  /** Methods of the requests in order: responses to HEAD have no body. */
  methods: readonly string[]
  /** Stop after this number of responses instead of at the end of the connection. */
  count?: number
  /** Bytes to send after all pieces and `after` responses. */
  last?: { after: number; bytes: Buffer }
}

/** The first value of a header. */
export function findHeader(response: RawResponse, name: string): string | undefined {
  return response.headers.find(([one]) => one === name)?.[1]
}

/**
 * Sends each piece separately on a new connection, and reads responses until the server closes the connection or
 * `count` responses are complete. Rejects when the bytes received are not HTTP/1.1 (RFC 9112).
 */
export async function sendRaw(
  to: NetConnectOpts,
  pieces: readonly Buffer[],
  { methods, count = Number.POSITIVE_INFINITY, last }: RawExchangeOptions,
): Promise<RawExchange> {
  const socket = connect({ ...to, noDelay: true })
  const over = Promise.withResolvers<RawExchange>()
  const responses: RawResponse[] = []
  let rest: Buffer = Buffer.alloc(0)
  let arePiecesSent = false
  let isLastSent = last === undefined
  const sendLast = () => {
    if (isLastSent || !arePiecesSent || responses.length < last!.after) return
    isLastSent = true
    socket.write(last!.bytes)
  }
  const read = (ended: boolean) => {
    try {
      rest = parseResponses(rest, responses, { methods, ended })
      if (ended && rest.length > 0)
        throw new Error(`an incomplete response: ${rest.toString('latin1', 0, 200)}`)
      sendLast()
      if (ended || responses.length >= count) over.resolve({ responses, closed: ended })
    } catch (error) {
      over.reject(error)
    }
  }
  socket.on('data', (chunk: Buffer) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    read(false)
  })
  // A server that closes a connection with unread bytes resets it.
  socket.on('error', () => undefined)
  socket.on('close', () => read(true))
  try {
    void sendAll(socket, pieces).then(() => {
      arePiecesSent = true
      sendLast()
    })
    return await over.promise
  } finally {
    socket.destroy()
  }
}

/** Lets the server read each piece before the next is sent. */
async function sendAll(socket: Socket, pieces: readonly Buffer[]): Promise<void> {
  for (const piece of pieces) {
    if (socket.destroyed || !socket.writable) return
    socket.write(piece)
    if (pieces.length > 1) await turn()
  }
}

/** Parses all complete responses and returns the remaining bytes. `ended`: the connection has ended. */
export function parseResponses(
  bytes: Buffer,
  responses: RawResponse[],
  { methods, ended }: { methods: readonly string[]; ended: boolean },
): Buffer {
  let at = 0
  for (;;) {
    const found = readResponse(bytes, at, { method: methods[responses.length], ended })
    if (!found) return at === 0 ? bytes : bytes.subarray(at)
    responses.push(found.response)
    at = found.end
  }
}

/** The response at `start`, or undefined while it is incomplete. */
function readResponse(
  bytes: Buffer,
  start: number,
  context: { method: string | undefined; ended: boolean },
): { response: RawResponse; end: number } | undefined {
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
    return body && { response: { status, version, headers, body: body.bytes, interim }, end: body.end }
  }
}

function readHeader(line: string): readonly [string, string] {
  const [, name, value] = /^([\w!#$%&'*+.^`|~-]+):[ \t]*([\t -~\x80-\xff]*)$/.exec(line) ?? []
  if (name === undefined) throw new Error(`no header: ${JSON.stringify(line)}`)
  return [name.toLowerCase(), value!.trimEnd()]
}

interface Framing {
  status: number
  headers: RawResponse['headers']
  method: string | undefined
  ended: boolean
}

/** RFC 9112, 6.3. A response delimited by the end of the connection must have Connection: close. */
function readBody(
  bytes: Buffer,
  at: number,
  { status, headers, method, ended }: Framing,
): { bytes: Buffer; end: number } | undefined {
  const lengths = headers.filter(([name]) => name === 'content-length').map(([, value]) => value)
  const codings = headers.filter(([name]) => name === 'transfer-encoding').map(([, value]) => value)
  if (lengths.length + codings.length > 1) throw new Error('two lengths in one response')
  if (method === 'HEAD' || status === 204 || status === 304) return { bytes: Buffer.alloc(0), end: at }
  if (codings.length === 1) return readChunks(bytes, at)
  const [length] = lengths
  if (length === undefined && headers.some(([name, value]) => name === 'connection' && value === 'close'))
    return ended ? { bytes: bytes.subarray(at), end: bytes.length } : undefined
  if (length === undefined || !/^\d+$/.test(length)) throw new Error(`a response ${status} without a length`)
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
