/** RFC 9113, 6. */
export const TYPE = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const

/** RFC 9113, 6: what the bits say depends on the type. */
export const FLAG = { endStream: 1, ack: 1, endHeaders: 4, padded: 8, priority: 0x20 } as const

/** RFC 9113, 7. */
export const CODE = {
  none: 0,
  protocol: 1,
  internal: 2,
  flowControl: 3,
  streamClosed: 5,
  frameSize: 6,
  refused: 7,
  cancel: 8,
  compression: 9,
  calm: 11,
} as const

export type Code = (typeof CODE)[keyof typeof CODE]

/** RFC 9113, 6.5.2. */
export const SETTING = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
  noPriorities: 9,
} as const

/** Bytes before the payload of a frame. */
export const HEADER = 9

/** The largest payload that may be sent before anything is agreed; it stays so in both directions. */
export const MOST_PAYLOAD = 16_384

export const MOST_WINDOW = 2 ** 31 - 1

/** What both ends begin with (RFC 9113, 6.9.2). */
export const FIRST_WINDOW = 65_535

/** Ends a connection whose other end breaks the protocol (RFC 9113, 5.4.1). */
export class ConnectionFault extends Error {
  readonly code: Code

  constructor(code: Code, message: string) {
    super(message)
    this.code = code
  }
}

/** The beginning of a frame. */
export interface FrameHead {
  type: number
  flags: number
  stream: number
  /** Bytes of the payload. */
  length: number
}

export function writeFrameHead(to: Buffer, at: number, { type, flags, stream, length }: FrameHead): void {
  to.writeUIntBE(length, at, 3)
  to[at + 3] = type
  to[at + 4] = flags
  to.writeUInt32BE(stream, at + 5)
}

/** A frame whose payload is some numbers of four bytes. */
export function frameOf(head: Omit<FrameHead, 'length'>, ...numbers: number[]): Buffer {
  const frame = Buffer.alloc(HEADER + 4 * numbers.length)
  writeFrameHead(frame, 0, { ...head, length: 4 * numbers.length })
  for (const [index, number] of numbers.entries()) frame.writeUInt32BE(number, HEADER + 4 * index)
  return frame
}

/** A SETTINGS frame. */
export function settingsFrame(values: readonly (readonly [setting: number, value: number])[]): Buffer {
  const frame = Buffer.alloc(HEADER + 6 * values.length)
  writeFrameHead(frame, 0, { type: TYPE.settings, flags: 0, stream: 0, length: 6 * values.length })
  for (const [index, [setting, value]] of values.entries()) {
    frame.writeUInt16BE(setting, HEADER + 6 * index)
    frame.writeUInt32BE(value, HEADER + 6 * index + 2)
  }
  return frame
}

/** A header block in a HEADERS frame and as many CONTINUATION frames as it needs. */
export function headerFrames(stream: number, block: Buffer, ended: boolean): Buffer {
  const count = Math.max(1, Math.ceil(block.length / MOST_PAYLOAD))
  const frames = Buffer.allocUnsafeSlow(block.length + count * HEADER)
  for (let index = 0, at = 0; index < count; index++) {
    const part = block.subarray(index * MOST_PAYLOAD, (index + 1) * MOST_PAYLOAD)
    const type = index === 0 ? TYPE.headers : TYPE.continuation
    const end = index === count - 1 ? FLAG.endHeaders : 0
    const flags = index === 0 && ended ? end | FLAG.endStream : end
    writeFrameHead(frames, at, { type, flags, stream, length: part.length })
    part.copy(frames, at + HEADER)
    at += HEADER + part.length
  }
  return frames
}
