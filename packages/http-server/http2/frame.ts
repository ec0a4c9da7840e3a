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

/** RFC 9113, 6: the meaning of a bit depends on the type. */
export const FLAG = { endStream: 1, ack: 1, endHeaders: 4, padded: 8, priority: 0x20 } as const

/** RFC 9113, 7. */
export const CODE = {
  noError: 0,
  protocol: 1,
  internal: 2,
  flowControl: 3,
  streamClosed: 5,
  frameSize: 6,
  refused: 7,
  cancel: 8,
  compression: 9,
  enhanceYourCalm: 11,
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

export const FRAME_HEADER_BYTES = 9

/** The initial SETTINGS_MAX_FRAME_SIZE; it stays so in both directions. */
export const MAX_FRAME_BYTES = 16_384

export const MAX_WINDOW_BYTES = 2 ** 31 - 1

export const MAX_STREAM_ID = 2 ** 31 - 1

/** The initial window size (RFC 9113, 6.9.2). */
export const INITIAL_WINDOW_BYTES = 65_535

/** A connection error (RFC 9113, 5.4.1). */
export class ConnectionError extends Error {
  readonly code: Code

  constructor(code: Code, message: string) {
    super(message)
    this.code = code
  }
}

export interface FrameHead {
  type: number
  flags: number
  stream: number
  length: number
}

export function writeFrameHead(to: Buffer, at: number, { type, flags, stream, length }: FrameHead): void {
  to.writeUIntBE(length, at, 3)
  to[at + 3] = type
  to[at + 4] = flags
  to.writeUInt32BE(stream, at + 5)
}

export function buildFrame(head: Omit<FrameHead, 'length'>, ...numbers: number[]): Buffer {
  const frame = Buffer.alloc(FRAME_HEADER_BYTES + 4 * numbers.length)
  writeFrameHead(frame, 0, { ...head, length: 4 * numbers.length })
  for (const [index, number] of numbers.entries()) frame.writeUInt32BE(number, FRAME_HEADER_BYTES + 4 * index)
  return frame
}

export function settingsFrame(values: readonly (readonly [setting: number, value: number])[]): Buffer {
  const frame = Buffer.alloc(FRAME_HEADER_BYTES + 6 * values.length)
  writeFrameHead(frame, 0, { type: TYPE.settings, flags: 0, stream: 0, length: 6 * values.length })
  for (const [index, [setting, value]] of values.entries()) {
    frame.writeUInt16BE(setting, FRAME_HEADER_BYTES + 6 * index)
    frame.writeUInt32BE(value, FRAME_HEADER_BYTES + 6 * index + 2)
  }
  return frame
}

/** A header block as a HEADERS frame and any CONTINUATION frames. */
export function headerFrames(stream: number, block: Buffer, ended: boolean): Buffer {
  const count = Math.max(1, Math.ceil(block.length / MAX_FRAME_BYTES))
  const frames = Buffer.allocUnsafeSlow(block.length + count * FRAME_HEADER_BYTES)
  for (let index = 0, at = 0; index < count; index++) {
    const part = block.subarray(index * MAX_FRAME_BYTES, (index + 1) * MAX_FRAME_BYTES)
    const type = index === 0 ? TYPE.headers : TYPE.continuation
    const end = index === count - 1 ? FLAG.endHeaders : 0
    const flags = index === 0 && ended ? end | FLAG.endStream : end
    writeFrameHead(frames, at, { type, flags, stream, length: part.length })
    part.copy(frames, at + FRAME_HEADER_BYTES)
    at += FRAME_HEADER_BYTES + part.length
  }
  return frames
}
