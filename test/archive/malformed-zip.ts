import { deflateRawSync } from 'node:zlib'
import { text } from './bytes.ts'
import { extraHeader, type ZipPart, zip } from './zip-file.ts'

/** Entries that are in the directory only. */
export function folders(count: number): ZipPart[] {
  return Array.from({ length: count }, () => ({ name: 'folder/', data: text(''), isDirectoryOnly: true }))
}

export function aliased(): Buffer {
  const part = { name: 'a', data: text('x') }
  return zip([part, { ...part, name: 'b', isDirectoryOnly: true, offset: 0 }])
}

/** The data of every entry extends to the end of the last one. */
export function overlapping(count: number, size: number): Buffer {
  const kernel = deflateRawSync(Buffer.alloc(size))
  return zip(
    Array.from({ length: count }, (_, index) => ({
      name: `f${String(index).padStart(4, '0')}`,
      data: Buffer.alloc(size),
      raw: index === count - 1 ? kernel : text(''),
      compressedSize: (count - 1 - index) * 35 + kernel.length,
    })),
  )
}

export function malformedZip64({ record = 0n, directory = 0n, count = 1n }): Buffer {
  const bytes = Buffer.alloc(98)
  bytes.writeUInt32LE(0x06064b50)
  bytes.writeBigUInt64LE(count, 32)
  bytes.writeBigUInt64LE(directory, 48)
  bytes.writeUInt32LE(0x07064b50, 56)
  bytes.writeBigUInt64LE(record, 64)
  bytes.writeUInt32LE(0x06054b50, 76)
  return bytes
}

export function zip64Entry({ size = 1n, compressedSize = 3n, offset = 0n }): Buffer {
  const fields = Buffer.alloc(24)
  fields.writeBigUInt64LE(size)
  fields.writeBigUInt64LE(compressedSize, 8)
  fields.writeBigUInt64LE(offset, 16)
  const none = 0xffffffff
  const extra = Buffer.concat([extraHeader(1, 24), fields])
  return zip([{ name: 'a', data: text('x'), size: none, compressedSize: none, offset: none, extra }])
}
