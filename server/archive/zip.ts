import { crc32, createInflateRaw, inflateRawSync } from 'node:zlib'
import { type Failure, invalid } from '../failure.ts'
import { type Budget, shown } from './budget.ts'
import { decompressed } from './decompressed.ts'
import { closed, type Found, SMALL, streamedFile, wholeFile } from './file.ts'
import { Spool } from './spool.ts'
import { LOCAL_HEADER_BYTES, readDirectory, type ZipEntry } from './zip-directory.ts'

const LOCAL_HEADER = 0x04034b50
const PIECE = 64 * 2 ** 10

/** The files of a zip archive, ordered by where their bytes are; its directory is at the end, so all of it comes first. */
export async function* zipFiles(
  source: AsyncIterable<Buffer>,
  budget: Budget,
  spoolFolder: string,
): AsyncGenerator<Found, void, undefined> {
  await using spool = await Spool.take(source, spoolFolder)
  for (const entry of await readDirectory(spool, budget)) {
    const start = await contentsStart(spool, entry)
    if (Math.max(entry.size, entry.compressedSize) <= SMALL) {
      yield wholeFile(entry.path, await contents(spool, start, entry))
    } else yield* streamed(spool, start, entry)
  }
}

/** Where the bytes of an entry begin: behind the local header, whose lengths may differ from the directory's. */
async function contentsStart(spool: Spool, { path, offset }: ZipEntry): Promise<number> {
  const header = await spool.read(offset, LOCAL_HEADER_BYTES)
  if (header.length < LOCAL_HEADER_BYTES || header.readUInt32LE() !== LOCAL_HEADER) throw damaged(path)
  return offset + LOCAL_HEADER_BYTES + header.readUInt16LE(26) + header.readUInt16LE(28)
}

async function contents(spool: Spool, start: number, entry: ZipEntry): Promise<Buffer> {
  const raw = await spool.read(start, entry.compressedSize)
  const bytes = entry.deflated ? inflate(raw, entry) : raw
  if (bytes.length !== entry.size || crc32(bytes) !== entry.crc32) throw damaged(entry.path)
  return bytes
}

/** Inflates in one step, and stops when there is more than the entry says. */
function inflate(raw: Buffer, { path, size }: ZipEntry): Buffer {
  try {
    return inflateRawSync(raw, { maxOutputLength: Math.max(size, 1), chunkSize: Math.max(size + 1, 64) })
  } catch {
    throw damaged(path)
  }
}

async function* streamed(
  spool: Spool,
  start: number,
  entry: ZipEntry,
): AsyncGenerator<Found, void, undefined> {
  const raw = pieces(spool, start, entry.compressedSize)
  const bytes = entry.deflated
    ? decompressed(
        raw,
        () => createInflateRaw({ chunkSize: PIECE }),
        () => damaged(entry.path),
      )
    : raw
  const file = streamedFile(entry.path, entry.size, checked(bytes, entry))
  try {
    yield file
  } finally {
    await closed(file)
  }
}

async function* pieces(spool: Spool, start: number, length: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < length; at += PIECE) yield spool.read(start + at, Math.min(PIECE, length - at))
}

/** Hands on what agrees with the directory: never a byte more than the entry says, and no end with a wrong checksum. */
async function* checked(bytes: AsyncIterable<Buffer>, { path, size, crc32: expected }: ZipEntry) {
  let left = size
  let sum = 0
  for await (const chunk of bytes) {
    left -= chunk.length
    if (left < 0) throw damaged(path)
    sum = crc32(chunk, sum)
    yield chunk
  }
  if (left !== 0 || sum !== expected) throw damaged(path)
}

function damaged(path: string): Failure {
  return invalid([
    { field: shown(path), message: 'its bytes do not agree with the size and checksum in the archive' },
  ])
}
