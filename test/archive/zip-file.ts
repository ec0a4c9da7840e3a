import { crc32, deflateRawSync } from 'node:zlib'
import { text } from './bytes.ts'
import type { Part } from './part.ts'

export interface ZipPart extends Part {
  method?: number
  flags?: number
  mode?: number
  /** External attributes, if they are not those of `mode`. */
  attributes?: number
  extra?: Buffer
  /** The compressed bytes, if they are not those of `data`. */
  raw?: Buffer
  crc32?: number
  size?: number
  compressedSize?: number
  offset?: number
  /** Written to the directory only. */
  isDirectoryOnly?: boolean
}

export function zip(parts: ZipPart[], { count, start }: { count?: number; start?: number } = {}): Buffer {
  const locals: Buffer[] = []
  const directory: Buffer[] = []
  let at = 0
  for (const part of parts) {
    const { local, central } = zipPart(part, at)
    if (!part.isDirectoryOnly) {
      locals.push(local)
      at += local.length
    }
    directory.push(central)
  }
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50)
  end.writeUInt16LE((count ?? parts.length) & 0xffff, 10)
  end.writeUInt32LE(start ?? at, 16)
  return Buffer.concat([...locals, ...directory, end])
}

export function unicodePath(plain: string, unicode: string): Buffer {
  const body = Buffer.concat([Buffer.from([1]), signature(crc32(plain)), text(unicode)])
  return Buffer.concat([extraHeader(0x7075, body.length), body])
}

export function extraHeader(id: number, length: number): Buffer {
  const header = Buffer.alloc(4)
  header.writeUInt16LE(id)
  header.writeUInt16LE(length, 2)
  return header
}

function zipPart(part: ZipPart, at: number): { local: Buffer; central: Buffer } {
  const {
    data,
    method = data.length > 0 ? 8 : 0,
    flags = 0,
    mode = 0o100644,
    attributes = (mode << 16) >>> 0,
    extra = text(''),
  } = part
  const name = Buffer.from(part.name)
  const raw = part.raw ?? (method === 8 ? deflateRawSync(data) : data)
  const both = Buffer.alloc(26)
  both.writeUInt16LE(20)
  both.writeUInt16LE(flags, 2)
  both.writeUInt16LE(part.raw ? 8 : method, 4)
  both.writeUInt32LE(part.crc32 ?? crc32(data), 10)
  both.writeUInt32LE(part.compressedSize ?? raw.length, 14)
  both.writeUInt32LE(part.size ?? data.length, 18)
  both.writeUInt16LE(name.length, 22)
  const local = Buffer.concat([signature(0x04034b50), both, name, raw])
  both.writeUInt16LE(extra.length, 24)
  const rest = Buffer.alloc(14)
  rest.writeUInt32LE(attributes, 6)
  rest.writeUInt32LE(part.offset ?? at, 10)
  const central = Buffer.concat([signature(0x02014b50), Buffer.from([20, 3]), both, rest, name, extra])
  return { local, central }
}

function signature(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
