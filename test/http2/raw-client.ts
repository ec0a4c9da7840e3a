import type { TLSSocket } from 'node:tls'
import { FRAME_HEADER_BYTES, settingsFrame, TYPE, writeFrameHead } from '../../server/net/http2/frame.ts'
import { PREFACE } from '../../server/net/http2/frame-reader.ts'

/** A frame as it came. */
export interface CameFrame {
  type: number
  flags: number
  stream: number
  payload: Buffer
}

/** What a client begins with. */
export const HELLO = Buffer.concat([PREFACE, settingsFrame([])])

/** A frame of any kind. */
export function frame(type: number, flags: number, stream: number, payload: Buffer | string = ''): Buffer {
  const bytes = Buffer.from(payload as string, 'latin1')
  const head = Buffer.alloc(FRAME_HEADER_BYTES)
  writeFrameHead(head, 0, { type, flags, stream, length: bytes.length })
  return Buffer.concat([head, bytes])
}

/** A header block of literals that no table remembers. */
export function block(fields: Record<string, string> | readonly (readonly [string, string])[]): Buffer {
  const pairs = Array.isArray(fields) ? fields : Object.entries(fields)
  return Buffer.concat(
    pairs.flatMap(([name, value]) => [Buffer.from([0]), ...literal(name), ...literal(value)]),
  )
}

/** The fields of a GET. */
export function get(host: string, path = '/', more: Record<string, string> = {}): Record<string, string> {
  return { ':method': 'GET', ':scheme': 'https', ':authority': host, ':path': path, ...more }
}

/** A GET as a whole. */
export function getFrame(
  stream: number,
  host: string,
  path = '/',
  more: Record<string, string> = {},
): Buffer {
  return frame(TYPE.headers, 5, stream, block(get(host, path, more)))
}

/** A number of four bytes. */
export function four(number: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(number)
  return bytes
}

/** Sends whatever it is told to, and takes down what comes back. */
export class RawClient {
  readonly socket: TLSSocket
  readonly came: CameFrame[] = []
  /** Bytes of bodies that came, by stream. */
  readonly bodies = new Map<number, number>()
  /** Called for each frame as it comes. */
  onFrame: ((frame: CameFrame) => void) | undefined
  /** Resolves once the server has ended the connection. */
  readonly closed: Promise<void>
  #rest = Buffer.alloc(0)
  readonly #watchers = new Set<() => void>()

  constructor(socket: TLSSocket) {
    this.socket = socket
    this.closed = new Promise((resolve) => {
      socket.on('close', () => resolve())
    })
    socket.on('error', () => undefined)
    socket.on('end', () => socket.end())
    socket.on('data', (chunk: Buffer) => this.#take(chunk))
    socket.on('close', () => this.#tell())
  }

  send(...frames: Buffer[]): void {
    this.socket.write(Buffer.concat(frames))
  }

  /** The first frame that came, or comes, of which this holds. Rejects when the connection ends without it. */
  async frame(holds: (frame: CameFrame) => boolean): Promise<CameFrame> {
    for (;;) {
      const found = this.came.find(holds)
      if (found) return found
      if (this.socket.destroyed) throw new Error(`it did not come: ${JSON.stringify(this.told().slice(-20))}`)
      await new Promise<void>((resolve) => {
        this.#watchers.add(resolve)
      })
    }
  }

  /** The code with which the server ends the connection. */
  async goAway(): Promise<number> {
    return (await this.frame(({ type }) => type === TYPE.goAway)).payload.readUInt32BE(4)
  }

  /** The code with which the server ends a stream. */
  async reset(stream: number): Promise<number> {
    const found = await this.frame((one) => one.type === TYPE.reset && one.stream === stream)
    return found.payload.readUInt32BE(0)
  }

  /** The first byte of the header block of an answer: it says a common status. */
  async status(stream: number): Promise<number | undefined> {
    const found = await this.frame((one) => one.type === TYPE.headers && one.stream === stream)
    return STATUSES[found.payload[0]! & 0x7f]
  }

  /** Resolves when the server has answered all that was sent. */
  async answered(mark: string): Promise<void> {
    this.send(frame(TYPE.ping, 0, 0, mark))
    await this.frame(({ type, payload }) => type === TYPE.ping && payload.toString() === mark)
  }

  /** The end of an answer. */
  async ended(stream: number): Promise<void> {
    await this.frame(
      (one) =>
        one.stream === stream &&
        (one.type === TYPE.data || one.type === TYPE.headers) &&
        (one.flags & 1) === 1,
    )
  }

  told(): string[] {
    return this.came.map(({ type, stream, payload }) => `${type} on ${stream}, ${payload.length} bytes`)
  }

  #take(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk])
    while (this.#rest.length >= FRAME_HEADER_BYTES) {
      const end = FRAME_HEADER_BYTES + this.#rest.readUIntBE(0, 3)
      if (this.#rest.length < end) break
      const [type, flags] = [this.#rest[3]!, this.#rest[4]!]
      const stream = this.#rest.readUInt32BE(5)
      const came = { type, flags, stream, payload: Buffer.from(this.#rest.subarray(FRAME_HEADER_BYTES, end)) }
      this.came.push(came)
      if (type === TYPE.data)
        this.bodies.set(stream, (this.bodies.get(stream) ?? 0) + end - FRAME_HEADER_BYTES)
      this.#rest = this.#rest.subarray(end)
      this.onFrame?.(came)
    }
    this.#tell()
  }

  #tell(): void {
    for (const watcher of this.#watchers) watcher()
    this.#watchers.clear()
  }
}

/** By their index (RFC 7541, appendix A). */
const STATUSES: Record<number, number> = { 8: 200, 9: 204, 10: 206, 11: 304, 12: 400, 13: 404, 14: 500 }

function literal(text: string): Buffer[] {
  const bytes = Buffer.from(text, 'latin1')
  if (bytes.length < 127) return [Buffer.from([bytes.length]), bytes]
  const rest: number[] = [127]
  let left = bytes.length - 127
  for (; left >= 128; left >>= 7) rest.push((left & 127) | 128)
  return [Buffer.from([...rest, left]), bytes]
}
