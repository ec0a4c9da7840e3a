import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { connect as connectSecurely } from 'node:tls'
import { type Request, wireForm } from './request.ts'

/** A response, read byte by byte. */
export interface Reply {
  status: number
  /** Names in lower case. */
  headers: ReadonlyMap<string, string>
  body: Buffer
  /** Bytes of the whole response on the wire. */
  wireBytes: number
  /** Milliseconds from the request's last byte to the response's first. */
  firstByte: number
}

/** A connection for consecutive requests. */
export class Line implements Disposable {
  readonly #socket: Socket

  private constructor(socket: Socket) {
    this.#socket = socket
  }

  /** Over TLS when a server name is given. */
  static async open(port: number, secureName?: string): Promise<Line> {
    const place = { host: '127.0.0.1', port, noDelay: true }
    const secure = { servername: secureName ?? '', rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] }
    const socket = secureName === undefined ? connect(place) : connectSecurely({ ...place, ...secure })
    await once(socket, secureName === undefined ? 'connect' : 'secureConnect')
    return new Line(socket)
  }

  /** Rejects when the connection ends before the response does, or after ten seconds. */
  send(request: Request): Promise<Reply> {
    const socket = this.#socket
    const { promise, resolve, reject } = Promise.withResolvers<Reply>()
    const chunks: Buffer[] = []
    let firstByte = 0
    const started = performance.now()
    const timer = setTimeout(() => reject(new Error('no whole answer within ten seconds')), 10_000)
    const onData = (chunk: Buffer) => {
      if (chunks.push(chunk) === 1) firstByte = performance.now() - started
      const reply = readReply(Buffer.concat(chunks))
      if (reply) resolve({ ...reply, firstByte })
    }
    const onEnd = () => reject(new Error('the connection ended before the answer did'))
    socket.on('data', onData).on('close', onEnd).on('error', reject)
    socket.write(wireForm(request))
    return promise.finally(() => {
      clearTimeout(timer)
      socket.off('data', onData).off('close', onEnd).off('error', reject)
    })
  }

  [Symbol.dispose](): void {
    this.#socket.destroy()
  }
}

/** Sends one request on a connection of its own. */
export async function send(port: number, request: Request): Promise<Reply> {
  using line = await Line.open(port)
  return await line.send(request)
}

/** Undefined while the response is incomplete. */
function readReply(bytes: Buffer): Omit<Reply, 'firstByte'> | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const [first, ...lines] = bytes.toString('latin1', 0, end).split('\r\n')
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const
    }),
  )
  const status = Number(first!.split(' ')[1])
  const rest = bytes.subarray(end + 4)
  const body = status === 304 ? rest : readBody(rest, headers)
  return body && { status, headers, body, wireBytes: bytes.length }
}

function readBody(rest: Buffer, headers: ReadonlyMap<string, string>): Buffer | undefined {
  if (headers.get('transfer-encoding') === 'chunked') return unchunked(rest)
  const length = Number(headers.get('content-length') ?? 0)
  return rest.length >= length ? rest : undefined
}

function unchunked(rest: Buffer): Buffer | undefined {
  const chunks: Buffer[] = []
  for (let at = 0; ; ) {
    const line = rest.indexOf('\r\n', at)
    if (line < 0) return undefined
    const size = Number.parseInt(rest.toString('latin1', at, line), 16)
    const start = line + 2
    if (rest.length < start + size + 2) return undefined
    if (size === 0) return Buffer.concat(chunks)
    chunks.push(rest.subarray(start, start + size))
    at = start + size + 2
  }
}
