import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { crc32, createDeflateRaw } from 'node:zlib'
import type { StoredFile } from '../../protocol/manifest/manifest.ts'
import { ApiError } from '../lib/errors.ts'

type OpenFile = (file: StoredFile) => Promise<Readable>

/** POSIX.1-2001. The caller must destroy the stream. `now` is the time of all files. */
export async function createTar(
  files: readonly StoredFile[],
  openFile: OpenFile,
  now: number,
): Promise<Readable> {
  const { pack } = await import('tar-stream')
  const archive = pack()
  let open: Readable | undefined
  archive.once('close', () => open?.destroy())
  const fill = async () => {
    for (const file of files) {
      open = await openFile(file)
      if (archive.destroying) return void open.destroy()
      const entry = archive.entry({ name: file.path, size: file.size, mode: 0o644, mtime: new Date(now) })
      await pipeline(open, entry)
    }
    archive.finalize()
  }
  fill().catch((error: Error) => archive.destroy(error))
  return Readable.from(archive)
}

/** APPNOTE 6.3.10, without Zip64. The caller must destroy the stream. PAYLOAD_TOO_LARGE at 4 GB. */
export function createZip(files: readonly StoredFile[], openFile: OpenFile, now: number): Readable {
  const bytes = files.reduce((sum, { size, path }) => sum + size + ENTRY_BYTES + 6 * path.length, 0)
  if (bytes > MAX_ZIP_BYTES || files.length > MAX_ZIP_ENTRIES)
    throw new ApiError('PAYLOAD_TOO_LARGE', 'The version is too large for a zip; download it as tar.gz')
  return Readable.from(zipChunks(files, openFile, toDosTime(now)), { objectMode: false })
}

/** Sizes and offsets are 32-bit numbers; compression adds less than a thousandth to bytes that it cannot reduce. */
const MAX_ZIP_BYTES = 4_290_000_000 / 1.001
const MAX_ZIP_ENTRIES = 65_534

/** Of the headers of an entry, without its name. */
const ENTRY_BYTES = 30 + 16 + 46

/** Sizes follow the data, and names are UTF-8. */
const FLAGS = 0x0808
const DEFLATE = 8
const VERSION_NEEDED = 20
const MADE_ON_UNIX = (3 << 8) | VERSION_NEEDED
const REGULAR_FILE = 0o100644 * 0x10000

interface Entry {
  name: Buffer
  offset: number
  crc: number
  compressedSize: number
  size: number
}

async function* zipChunks(
  files: readonly StoredFile[],
  openFile: OpenFile,
  time: number,
): AsyncGenerator<Buffer> {
  const entries: Entry[] = []
  let offset = 0
  for (const file of files) {
    const entry = { name: Buffer.from(file.path), offset, crc: 0, compressedSize: 0, size: file.size }
    const local = localHeader(entry, time)
    yield local
    const source = await openFile(file)
    const deflate = createDeflateRaw({ level: 5 })
    const countCrc = async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        entry.crc = crc32(chunk, entry.crc)
        yield chunk
      }
    }
    // A failure destroys `deflate`, which the loop reads.
    pipeline(source, countCrc, deflate).catch(() => undefined)
    for await (const chunk of deflate as AsyncIterable<Buffer>) {
      entry.compressedSize += chunk.length
      yield chunk
    }
    const descriptor = u32(0x08074b50, entry.crc, entry.compressedSize, entry.size)
    yield descriptor
    offset += local.length + entry.compressedSize + descriptor.length
    entries.push(entry)
  }
  const directory = Buffer.concat(entries.map((entry) => directoryHeader(entry, time)))
  yield directory
  yield endOfDirectory(entries.length, directory.length, offset)
}

function localHeader({ name }: Entry, time: number): Buffer {
  const fields = [u32(0x04034b50), u16(VERSION_NEEDED, FLAGS, DEFLATE), u32(time, 0, 0, 0)]
  return Buffer.concat([...fields, u16(name.length, 0), name])
}

function directoryHeader({ name, offset, crc, compressedSize, size }: Entry, time: number): Buffer {
  const fields = [u32(0x02014b50), u16(MADE_ON_UNIX, VERSION_NEEDED, FLAGS, DEFLATE)]
  const place = [u16(name.length, 0, 0, 0, 0), u32(REGULAR_FILE, offset)]
  return Buffer.concat([...fields, u32(time, crc, compressedSize, size), ...place, name])
}

function endOfDirectory(entries: number, length: number, offset: number): Buffer {
  return Buffer.concat([u32(0x06054b50), u16(0, 0, entries, entries), u32(length, offset), u16(0)])
}

function u16(...numbers: number[]): Buffer {
  const bytes = Buffer.alloc(2 * numbers.length)
  for (const [index, number] of numbers.entries()) bytes.writeUInt16LE(number, 2 * index)
  return bytes
}

function u32(...numbers: number[]): Buffer {
  const bytes = Buffer.alloc(4 * numbers.length)
  for (const [index, number] of numbers.entries()) bytes.writeUInt32LE(number, 4 * index)
  return bytes
}

/** Time and date in UTC, in units of two seconds. */
function toDosTime(milliseconds: number): number {
  const at = new Date(milliseconds)
  const time = (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1)
  const date = ((at.getUTCFullYear() - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate()
  return ((date << 16) | time) >>> 0
}
