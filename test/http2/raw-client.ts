import type { TLSSocket } from 'node:tls'
import {
  FRAME_HEADER_BYTES,
  settingsFrame,
  TYPE,
  writeFrameHead,
} from '../../packages/http-server/http2/frame.ts'
import { PREFACE } from '../../packages/http-server/http2/frame-reader.ts'

export interface ReceivedFrame {
  type: number
  flags: number
  stream: number
  payload: Buffer
}

/** The preface and empty SETTINGS. */
export const CLIENT_PREFACE = Buffer.concat([PREFACE, settingsFrame([])])

/** Serializes a frame. */
export function frame(type: number, flags: number, stream: number, payload: Buffer | string = ''): Buffer {
  const bytes = Buffer.from(payload as string, 'latin1')
  const head = Buffer.alloc(FRAME_HEADER_BYTES)
  writeFrameHead(head, 0, { type, flags, stream, length: bytes.length })
  return Buffer.concat([head, bytes])
}

/** A header block of literals, without indexing or, with 0x40, in the dynamic table. */
export function headerBlock(
  fields: Record<string, string> | readonly (readonly [string, string])[],
  representation = 0,
): Buffer {
  const pairs = Array.isArray(fields) ? fields : Object.entries(fields)
  return Buffer.concat(
    pairs.flatMap(([name, value]) => [Buffer.from([representation]), ...literal(name), ...literal(value)]),
  )
}

/** The header fields of a GET. */
export function getFields(
  host: string,
  path = '/',
  more: Record<string, string> = {},
): Record<string, string> {
  return { ':method': 'GET', ':scheme': 'https', ':authority': host, ':path': path, ...more }
}

/** HEADERS of a GET with END_STREAM. */
export function getFrame(
  stream: number,
  host: string,
  path = '/',
  more: Record<string, string> = {},
): Buffer {
  return frame(TYPE.headers, 5, stream, headerBlock(getFields(host, path, more)))
}

/** Serializes a 32-bit number. */
export function uint32(number: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(number)
  return bytes
}

/** Sends arbitrary frames and records the frames received. */
export class RawClient {
  readonly socket: TLSSocket
  readonly received: ReceivedFrame[] = []
  /** Body bytes received, by stream. */
  readonly bodies = new Map<number, number>()
  /** Called for each received frame. */
  onFrame: ((frame: ReceivedFrame) => void) | undefined
  /** Resolves when the server has closed the connection. */
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
    socket.on('data', (chunk: Buffer) => this.#parse(chunk))
    socket.on('close', () => this.#notify())
  }

  send(...frames: Buffer[]): void {
    this.socket.write(Buffer.concat(frames))
  }

  /** The first frame that matches, received before or later. Rejects when the connection ends without it. */
  async frame(matches: (frame: ReceivedFrame) => boolean): Promise<ReceivedFrame> {
    for (;;) {
      const found = this.received.find(matches)
      if (found) return found
      if (this.socket.destroyed)
        throw new Error(`it did not come: ${JSON.stringify(this.describeFrames().slice(-20))}`)
      await new Promise<void>((resolve) => {
        this.#watchers.add(resolve)
      })
    }
  }

  /** Waits for GOAWAY; returns its error code. */
  async goAway(): Promise<number> {
    return (await this.frame(({ type }) => type === TYPE.goAway)).payload.readUInt32BE(4)
  }

  /** Waits for RST_STREAM; returns its error code. */
  async reset(stream: number): Promise<number> {
    const found = await this.frame((one) => one.type === TYPE.reset && one.stream === stream)
    return found.payload.readUInt32BE(0)
  }

  /** Waits for a response; decodes its status from the first byte of the header block, for common statuses. */
  async status(stream: number): Promise<number | undefined> {
    const found = await this.frame((one) => one.type === TYPE.headers && one.stream === stream)
    return STATUSES[found.payload[0]! & 0x7f]
  }

  /** Sends a ping with `mark` (8 characters) and waits for its acknowledgment. */
  async roundTrip(mark: string): Promise<void> {
    this.send(frame(TYPE.ping, 0, 0, mark))
    await this.frame(({ type, payload }) => type === TYPE.ping && payload.toString() === mark)
  }

  /** Waits for END_STREAM. */
  async ended(stream: number): Promise<void> {
    await this.frame(
      (one) =>
        one.stream === stream &&
        (one.type === TYPE.data || one.type === TYPE.headers) &&
        (one.flags & 1) === 1,
    )
  }

  describeFrames(): string[] {
    return this.received.map(({ type, stream, payload }) => `${type} on ${stream}, ${payload.length} bytes`)
  }

  #parse(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk])
    while (this.#rest.length >= FRAME_HEADER_BYTES) {
      const end = FRAME_HEADER_BYTES + this.#rest.readUIntBE(0, 3)
      if (this.#rest.length < end) break
      const [type, flags] = [this.#rest[3]!, this.#rest[4]!]
      const stream = this.#rest.readUInt32BE(5)
      const received = {
        type,
        flags,
        stream,
        payload: Buffer.from(this.#rest.subarray(FRAME_HEADER_BYTES, end)),
      }
      this.received.push(received)
      if (type === TYPE.data)
        this.bodies.set(stream, (this.bodies.get(stream) ?? 0) + end - FRAME_HEADER_BYTES)
      this.#rest = this.#rest.subarray(end)
      this.onFrame?.(received)
    }
    this.#notify()
  }

  #notify(): void {
    for (const watcher of this.#watchers) watcher()
    this.#watchers.clear()
  }
}

/** Statuses by static table index (RFC 7541, appendix A). */
const STATUSES: Record<number, number> = { 8: 200, 9: 204, 10: 206, 11: 304, 12: 400, 13: 404, 14: 500 }

function literal(text: string): Buffer[] {
  const bytes = Buffer.from(text, 'latin1')
  if (bytes.length < 127) return [Buffer.from([bytes.length]), bytes]
  const rest: number[] = [127]
  let left = bytes.length - 127
  for (; left >= 128; left >>= 7) rest.push((left & 127) | 128)
  return [Buffer.from([...rest, left]), bytes]
}
