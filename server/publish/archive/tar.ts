import { createGunzip } from 'node:zlib'
import { toArchivePath } from '../../../protocol/folder/folder-selection.ts'
import { invalidIgnoreFile, MAX_IGNORE_BYTES } from '../../../protocol/ignore/default-rules.ts'
import { BLOCK_BYTES } from '../../../protocol/tar.ts'
import { ByteReader, decompress } from './chunks.ts'
import { type ArchiveEntry, bufferedEntry, isFolder, MAX_BUFFERED_FILE_BYTES, streamedEntry } from './file.ts'
import { type ArchiveLimits, archiveError, archiveTooLarge, entryError, refuse } from './limits.ts'
import {
  type PaxExtension,
  readExtension,
  readHeader,
  readLongName,
  SPARSE_FILE_MESSAGE,
  type TarHeader,
} from './tar-header.ts'

/** macOS archivers store extended attributes in these headers; a site needs no more than this. */
const MAX_EXTENSION_BYTES = 2 ** 20

const ZEROS = Buffer.alloc(64 * 2 ** 10)

const UNSUPPORTED_TYPES: Record<string, string> = {
  '1': 'is a hard link; create the archive with --hard-dereference',
  '2': 'is a symbolic link; create the archive with --dereference',
  '3': 'is a device',
  '4': 'is a device',
  '6': 'is a named pipe',
  S: SPARSE_FILE_MESSAGE,
}

const SPECIAL_TYPES = new Set(['3', '4', '6'])

/** While it arrives. Refuses one without its end, and data after that, which other readers ignore silently. */
export async function* tarFiles(
  source: AsyncIterable<Buffer>,
  budget: ArchiveLimits,
): AsyncGenerator<ArchiveEntry, void, undefined> {
  await using chunks = new ByteReader(source)
  let extension: PaxExtension = {}
  for (;;) {
    const block = await requireBytes(chunks.readExactly(BLOCK_BYTES))
    if (isEmpty(block)) break
    const header = readHeader(block)
    budget.countOverhead(BLOCK_BYTES)
    const more = await readExtensionHeader(header, chunks, budget)
    if (more) extension = { ...extension, ...more }
    else {
      const { path = header.name, size = header.size, linkName = header.linkName } = extension
      yield* readEntry({ type: header.type, name: path, size, linkName }, chunks, budget)
      extension = {}
    }
  }
  await assertNoTrailingData(chunks, budget)
}

/** One or several members; zeros after them are ignored, other data is rejected. */
export function gunzip(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  return decompress(
    source,
    () => createGunzip({ chunkSize: 64 * 2 ** 10 }),
    () => archiveError('the gzip data is damaged or incomplete'),
  )
}

/** Undefined when the header is an entry itself. */
async function readExtensionHeader(
  { type, size }: TarHeader,
  chunks: ByteReader,
  budget: ArchiveLimits,
): Promise<PaxExtension | undefined> {
  if (!'xgLK'.includes(type)) return undefined
  budget.countOverhead(size)
  if (size > MAX_EXTENSION_BYTES)
    throw archiveTooLarge(`An extended header may have at most ${MAX_EXTENSION_BYTES} bytes`)
  const body = (await requireBytes(chunks.readExactly(padToBlock(size)))).subarray(0, size)
  if (type === 'x') return readExtension(body, budget)
  if (type === 'L') return { path: readLongName(body) }
  // Global headers carry comments (git archive).
  return type === 'K' ? { linkName: readLongName(body) } : {}
}

async function* readEntry(
  { name, size, type, linkName }: TarHeader,
  chunks: ByteReader,
  budget: ArchiveLimits,
): AsyncGenerator<ArchiveEntry, void, undefined> {
  budget.assertNameLength(Buffer.from(name))
  const path = toArchivePath(name)
  // GNU's label of the archive and list of a folder, for incremental backups, are no files.
  if (type === 'V' || type === 'D') {
    budget.countOverhead(size)
    await skipBytes(padToBlock(size), chunks)
    return
  }
  // POSIX: the size of a folder is its maximum size, no data follows.
  if (type === '5') {
    await budget.excludeByName(isFolder(path) ? path : `${path}/`, 0)
    return
  }
  const isFile = type === '0' || type === '7'
  if (isFile && budget.selection?.isIgnoreFile(path)) {
    if (size > MAX_IGNORE_BYTES) refuse(invalidIgnoreFile(path))
    const text = await requireBytes(chunks.readExactly(padToBlock(size)), path)
    budget.addIgnoreFile(path, text.toString('utf8', 0, size))
    await budget.excludeByName(path, size)
    return
  }
  // Excluded before the type is checked: `node_modules` holds links.
  if (!isFolder(path) && (await budget.excludeByName(path, isFile ? size : 0))) {
    if (isFile) await skipBytes(padToBlock(size), chunks)
    return
  }
  if (!isFile) {
    if (type === '1' || type === '2') {
      budget.assertNameLength(Buffer.from(linkName))
      if (budget.addLink({ path, target: toArchivePath(linkName), isSymbolic: type === '2' })) return
    } else if (SPECIAL_TYPES.has(type) && budget.excludeAs('special', path)) return
    throw entryError(path, UNSUPPORTED_TYPES[type] ?? 'is not a regular file')
  }
  if (isFolder(path)) {
    budget.countOverhead(size)
    await skipBytes(padToBlock(size), chunks)
    return
  }
  budget.admit(path, size)
  yield* size <= MAX_BUFFERED_FILE_BYTES ? readBuffered(path, size, chunks) : readStreamed(path, size, chunks)
}

async function* readBuffered(
  path: string,
  size: number,
  chunks: ByteReader,
): AsyncGenerator<ArchiveEntry, void, undefined> {
  const bytes = await requireBytes(chunks.readExactly(padToBlock(size)), path)
  yield bufferedEntry(path, bytes.subarray(0, size))
}

async function* readStreamed(
  path: string,
  size: number,
  chunks: ByteReader,
): AsyncGenerator<ArchiveEntry, void, undefined> {
  let left = size
  async function* contents(): AsyncGenerator<Buffer, void, undefined> {
    while (left > 0) {
      const piece = await requireBytes(chunks.readSome(left), path)
      left -= piece.length
      yield piece
    }
  }
  yield* streamedEntry(path, size, contents())
  await skipBytes(left + padToBlock(size) - size, chunks, path)
}

async function assertNoTrailingData(chunks: ByteReader, budget: ArchiveLimits): Promise<void> {
  for (;;) {
    const rest = await chunks.readSome(ZEROS.length)
    if (!rest) return
    budget.countOverhead(rest.length)
    if (!isEmpty(rest)) {
      throw archiveError('has data after its end, perhaps a second archive; join archives with tar -A')
    }
  }
}

async function skipBytes(bytes: number, chunks: ByteReader, path?: string): Promise<void> {
  if (!(await chunks.skip(bytes))) throw truncatedArchive(path)
}

async function requireBytes(bytes: Promise<Buffer | undefined>, path?: string): Promise<Buffer> {
  const found = await bytes
  if (!found) throw truncatedArchive(path)
  return found
}

function truncatedArchive(path: string | undefined): Error {
  return path === undefined
    ? archiveError('is incomplete')
    : entryError(path, 'is incomplete: the archive ends before the end of this file')
}

function padToBlock(size: number): number {
  return Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES
}

function isEmpty(bytes: Buffer): boolean {
  return bytes.equals(ZEROS.subarray(0, bytes.length))
}
