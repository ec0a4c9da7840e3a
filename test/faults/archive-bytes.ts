import { buffer } from 'node:stream/consumers'
import { crc32, deflateRawSync, gzipSync } from 'node:zlib'
import { pack } from 'tar-stream'

export type ArchiveType = 'application/x-tar' | 'application/gzip' | 'application/zip'

export const ARCHIVE_TYPES = ['application/x-tar', 'application/gzip', 'application/zip'] as const

export async function buildArchive(type: ArchiveType, files: Iterable<[string, Buffer]>): Promise<Buffer> {
  if (type === 'application/zip') return zip(files)
  const tar = await buildTar(files)
  return type === 'application/gzip' ? gzipSync(tar) : tar
}

function buildTar(files: Iterable<[string, Buffer]>): Promise<Buffer> {
  const archive = pack()
  for (const [name, bytes] of files) archive.entry({ name, size: bytes.length }, bytes)
  archive.finalize()
  return buffer(archive)
}

const DEFLATED = 8
const UTF8_NAMES = 0x0800
const VERSION = 20

/** APPNOTE.TXT 4.3: local headers with their data, the central directory, its end. */
function zip(files: Iterable<[string, Buffer]>): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const [path, bytes] of files) {
    const name = Buffer.from(path)
    const data = deflateRawSync(bytes)
    const common = commonHeader(name, bytes, data)
    const local = Buffer.concat([number32(0x04034b50), common, name, data])
    parts.push(local)
    const rest = Buffer.alloc(14)
    rest.writeUInt32LE(offset, 10)
    directory.push(number32(0x02014b50), number16(VERSION), common, rest, name)
    offset += local.length
  }
  const central = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(parts.length, 8)
  end.writeUInt16LE(parts.length, 10)
  end.writeUInt32LE(central.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...parts, central, end])
}

/** The fields that the local and the central header share: from "version needed" to "extra field length". */
function commonHeader(name: Buffer, bytes: Buffer, data: Buffer): Buffer {
  const header = Buffer.alloc(26)
  header.writeUInt16LE(VERSION, 0)
  header.writeUInt16LE(UTF8_NAMES, 2)
  header.writeUInt16LE(DEFLATED, 4)
  header.writeUInt32LE(crc32(bytes), 10)
  header.writeUInt32LE(data.length, 14)
  header.writeUInt32LE(bytes.length, 18)
  header.writeUInt16LE(name.length, 22)
  return header
}

function number16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16LE(value)
  return bytes
}

function number32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
