/** A picture in lossless WebP of this size; its colors are the remaining bytes, up to `length`. */
export function webp(width: number, height: number, length = 40): Buffer {
  const bytes = Buffer.alloc(length, 7)
  bytes.write('RIFF')
  bytes.write('WEBPVP8L', 8)
  bytes.writeUInt32LE(length - 8, 4)
  bytes.writeUInt32LE(length - 20, 16)
  bytes[20] = 0x2f
  bytes.writeUInt32LE((width - 1) | ((height - 1) << 14), 21)
  return bytes
}
