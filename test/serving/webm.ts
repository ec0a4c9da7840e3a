// Writes a video frame by frame, because the output of MediaRecorder has no index for seeking.

/** Encodes WebP pictures as a video, `perSecond` pictures a second, with an index entry for each (RFC 8794, 9559). */
export function webm(pictures: readonly Buffer[], { width, height, perSecond }: WebmOptions): Buffer {
  const frames = pictures.map(extractFrame)
  const every = 1000 / perSecond
  const clusters = frames.map((frame, index) =>
    element(0x1f43b675, [
      number(0xe7, index * every),
      element(0xa3, [Buffer.from([0x81, 0, 0, 0x80]), frame]),
    ]),
  )
  const info = element(0x1549a966, [
    number(0x2ad7b1, 1_000_000),
    element(0x4489, [double(frames.length * every)]),
    text(0x4d80, 'test'),
    text(0x5741, 'test'),
  ])
  const track = [number(0xd7, 1), number(0x73c5, 1), number(0x83, 1), text(0x86, 'V_VP8')]
  const video = element(0xe0, [number(0xb0, width), number(0xba, height)])
  const tracks = element(0x1654ae6b, [element(0xae, [...track, video])])
  const before = info.length + tracks.length
  // Positions include the length of the index itself; its numbers have a fixed length.
  const { length } = cues(clusters, every, 0)
  const index = cues(clusters, every, before + length)
  return Buffer.concat([HEAD, element(0x18538067, [info, tracks, index, ...clusters])])
}

export interface WebmOptions {
  /** In pixels. */
  width: number
  height: number
  perSecond: number
}

const HEAD = element(0x1a45dfa3, [
  ...[number(0x4286, 1), number(0x42f7, 1), number(0x42f2, 4), number(0x42f3, 8)],
  ...[text(0x4282, 'webm'), number(0x4287, 2), number(0x4285, 2)],
])

/** Byte positions of the clusters, relative to the segment. */
function cues(clusters: readonly Buffer[], every: number, first: number): Buffer {
  let at = first
  const points = clusters.map(({ length }, index) => {
    const position = element(0xb7, [number(0xf7, 1), number(0xf1, at)])
    at += length
    return element(0xbb, [number(0xb3, index * every), position])
  })
  return element(0x1c53bb6b, points)
}

/** The VP8 key frame within a lossy WebP. */
function extractFrame(picture: Buffer): Buffer {
  for (let at = 12; at < picture.length; ) {
    const size = picture.readUInt32LE(at + 4)
    if (picture.toString('latin1', at, at + 4) === 'VP8 ') return picture.subarray(at + 8, at + 8 + size)
    at += 8 + size + (size % 2)
  }
  throw new Error('the picture has no lossy frame')
}

function element(id: number, parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  const size = Buffer.alloc(8)
  size.writeBigUInt64BE((1n << 56n) | BigInt(body.length))
  return Buffer.concat([Buffer.from(id.toString(16), 'hex'), size, body])
}

function number(id: number, value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(BigInt(Math.round(value)))
  return element(id, [bytes])
}

function double(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleBE(value)
  return bytes
}

function text(id: number, value: string): Buffer {
  return element(id, [Buffer.from(value)])
}
