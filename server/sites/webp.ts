import { ApiError } from '../lib/errors.ts'

/** Bounds the memory of browsers that show the picture. */
const MAX_PIXELS = 1280

/** One still WebP picture of a bounded size (RFC 9649). VALIDATION_ERROR otherwise. */
export function assertThumbnail(bytes: Buffer): void {
  const size = readWebpSize(bytes)
  if (!size) throw invalid('must be a still picture in WebP')
  const isBounded = [size.width, size.height].every((pixels) => pixels >= 1 && pixels <= MAX_PIXELS)
  if (!isBounded) throw invalid(`must be at most ${MAX_PIXELS} pixels wide and high`)
}

/** Undefined for anything else, and for an animation. */
function readWebpSize(bytes: Buffer): { width: number; height: number } | undefined {
  const tag = (at: number) => bytes.toString('latin1', at, at + 4)
  if (bytes.length < 30 || tag(0) !== 'RIFF' || tag(8) !== 'WEBP') return undefined
  if (bytes.readUInt32LE(4) + 8 !== bytes.length) return undefined
  const data = 20
  if (tag(12) === 'VP8 ' && bytes.readUIntBE(data + 3, 3) === 0x9d012a)
    return { width: bytes.readUInt16LE(data + 6) & 0x3fff, height: bytes.readUInt16LE(data + 8) & 0x3fff }
  if (tag(12) === 'VP8L' && bytes[data] === 0x2f) {
    const packed = bytes.readUInt32LE(data + 1)
    return { width: (packed & 0x3fff) + 1, height: ((packed >>> 14) & 0x3fff) + 1 }
  }
  const isAnimation = (bytes[data]! & 0x02) !== 0
  if (tag(12) !== 'VP8X' || isAnimation) return undefined
  return { width: bytes.readUIntLE(data + 4, 3) + 1, height: bytes.readUIntLE(data + 7, 3) + 1 }
}

function invalid(message: string): ApiError {
  return new ApiError('VALIDATION_ERROR', `The thumbnail ${message}`, {
    details: [{ field: 'thumbnail', message }],
  })
}
