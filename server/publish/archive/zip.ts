import { crc32, createInflateRaw, inflateRawSync } from 'node:zlib'
import { SharedSemaphore } from '../../lib/concurrency-limiter.ts'
import type { ApiError } from '../../lib/errors.ts'
import { decompress } from './chunks.ts'
import { type ArchiveEntry, bufferedEntry, MAX_BUFFERED_FILE_BYTES, streamedEntry } from './file.ts'
import { type ArchiveLimits, entryError } from './limits.ts'
import { type RandomAccess, Spool, type SpoolPlace } from './spool.ts'
import { hasDirectoryEntryAt, LOCAL_HEADER_BYTES, readDirectory, type ZipEntry } from './zip-directory.ts'

const LOCAL_HEADER_SIGNATURE = 0x04034b50
const READ_CHUNK_BYTES = 64 * 2 ** 10

/** A directory of 45,000 excluded files takes 45 MB of memory until it has been read. */
const directories = new SharedSemaphore({ running: 4, waiting: 1000 })

/** Ordered by the position of their data. The directory is at the end, so the archive must be complete. */
export async function* zipFiles(
  source: AsyncIterable<Buffer>,
  budget: ArchiveLimits,
  place: SpoolPlace,
): AsyncGenerator<ArchiveEntry, void, undefined> {
  await using archive = await Spool.from(source, place)
  const spool = await withoutSurroundings(archive)
  const readText = async (entry: ZipEntry) =>
    (await readContents(spool, await findContentsStart(spool, entry), entry)).toString()
  const read = () => readDirectory(spool, budget, readText)
  for (const entry of await directories.run(place.space?.network ?? '', read)) {
    if (entry.isLink) {
      budget.addLink({ path: entry.path, target: await readText(entry), isSymbolic: true })
      continue
    }
    const start = await findContentsStart(spool, entry)
    if (Math.max(entry.size, entry.compressedSize) <= MAX_BUFFERED_FILE_BYTES) {
      yield bufferedEntry(entry.path, await readContents(spool, start, entry))
    } else yield* readStreamed(spool, start, entry)
  }
}

const END_SIGNATURE = 0x06054b50
const END_BYTES = 22

/**
 * The zip behind the program of a self-extractor, from whose end its offsets may be counted, as Info-ZIP reads it (APPNOTE
 * 4.1.9), and before the zeros with which bsdtar fills its last block; the archive itself otherwise.
 */
async function withoutSurroundings(archive: RandomAccess): Promise<RandomAccess> {
  const tailBytes = Math.min(archive.size, END_BYTES + 0xffff)
  const tail = await archive.read(archive.size - tailBytes, tailBytes)
  const at = findEnd(tail)
  if (at === undefined) return archive
  const endStart = archive.size - tailBytes + at
  const end = endStart + END_BYTES + tail.readUInt16LE(at + 20)
  const directoryStart = endStart - tail.readUInt32LE(at + 12)
  const stubBytes = directoryStart - tail.readUInt32LE(at + 16)
  const isShifted = stubBytes > 0 && (await hasDirectoryEntryAt(archive, directoryStart))
  const start = isShifted ? stubBytes : 0
  return { size: end - start, read: (position, length) => archive.read(position + start, length) }
}

/** Where the central directory ends, whose comment ends the archive, apart from zeros. */
function findEnd(tail: Buffer): number | undefined {
  const zerosAt = tail.findLastIndex((byte) => byte !== 0) + 1
  for (let at = tail.length - END_BYTES; at >= 0; at--) {
    if (tail.readUInt32LE(at) !== END_SIGNATURE) continue
    const end = at + END_BYTES + tail.readUInt16LE(at + 20)
    if (end >= zerosAt && end <= tail.length) return at
  }
  return undefined
}

/** The local header may have other lengths than the directory. */
async function findContentsStart(spool: RandomAccess, { path, offset }: ZipEntry): Promise<number> {
  const header = await spool.read(offset, LOCAL_HEADER_BYTES)
  if (header.length < LOCAL_HEADER_BYTES || header.readUInt32LE() !== LOCAL_HEADER_SIGNATURE)
    throw corruptEntry(path)
  return offset + LOCAL_HEADER_BYTES + header.readUInt16LE(26) + header.readUInt16LE(28)
}

/** In one turn; of no more bytes than a file in memory may have, whatever the directory says of their contents. */
async function readContents(spool: RandomAccess, start: number, entry: ZipEntry): Promise<Buffer> {
  if (entry.compressedSize > MAX_BUFFERED_FILE_BYTES) throw corruptEntry(entry.path)
  const raw = await spool.read(start, entry.compressedSize)
  const bytes = entry.deflated ? inflate(raw, entry) : raw
  if (bytes.length !== entry.size || crc32(bytes) !== entry.crc32) throw corruptEntry(entry.path)
  return bytes
}

/** Stops when there is more than the declared size. */
function inflate(raw: Buffer, { path, size }: ZipEntry): Buffer {
  try {
    return inflateRawSync(raw, { maxOutputLength: Math.max(size, 1), chunkSize: Math.max(size + 1, 64) })
  } catch {
    throw corruptEntry(path)
  }
}

async function* readStreamed(
  spool: RandomAccess,
  start: number,
  entry: ZipEntry,
): AsyncGenerator<ArchiveEntry, void, undefined> {
  const raw = readPieces(spool, start, entry.compressedSize)
  const bytes = entry.deflated
    ? decompress(
        raw,
        () => createInflateRaw({ chunkSize: READ_CHUNK_BYTES }),
        () => corruptEntry(entry.path),
      )
    : raw
  yield* streamedEntry(entry.path, entry.size, verifyContents(bytes, entry))
}

async function* readPieces(spool: RandomAccess, start: number, length: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < length; at += READ_CHUNK_BYTES)
    yield spool.read(start + at, Math.min(READ_CHUNK_BYTES, length - at))
}

/** Never a byte more than the declared size, and no end with a wrong checksum. */
async function* verifyContents(bytes: AsyncIterable<Buffer>, { path, size, crc32: expected }: ZipEntry) {
  let left = size
  let sum = 0
  for await (const chunk of bytes) {
    left -= chunk.length
    if (left < 0) throw corruptEntry(path)
    sum = crc32(chunk, sum)
    yield chunk
  }
  if (left !== 0 || sum !== expected) throw corruptEntry(path)
}

function corruptEntry(path: string): ApiError {
  return entryError(path, 'does not match its size and checksum in the archive')
}
