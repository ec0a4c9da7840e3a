import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Entry, fromRandomAccessReaderPromise, getFileNameLowLevel, RandomAccessReader } from 'yauzl'
import { toArchivePath } from '../../../protocol/folder/folder-selection.ts'
import { decodeZipNames, forEachName, type ZipName } from '../../../protocol/folder/zip-names.ts'
import { describeUnreadable, groupProblems } from '../../../protocol/folder/zip-problems.ts'
import { invalidIgnoreFile, MAX_IGNORE_BYTES } from '../../../protocol/ignore/default-rules.ts'
import { MAX_PATH_LENGTH, sanitizePath } from '../../../protocol/manifest/paths.ts'
import { ApiError, validationError } from '../../lib/errors.ts'
import { isFolder } from './file.ts'
import { type ArchiveLimits, archiveError, refuse } from './limits.ts'
import type { RandomAccess } from './spool.ts'

export const LOCAL_HEADER_BYTES = 30

// Names are decoded here: yauzl would reject names that our own path rules report better.
const OPTIONS = { lazyEntries: true, autoClose: false, decodeStrings: false, validateEntrySizes: true }

const UTF8_FLAG = 0x800
const FILE_TYPE = 0o170000
const SYMBOLIC_LINK = 0o120000
const FOLDER = 0o040000
const REGULAR_FILE_TYPES = new Set([0, 0o100000, FOLDER])
/** The attribute of a folder in FAT, which archivers set beside those of other file systems. */
const FAT_FOLDER = 0x10
const DEFLATED = 8
const CENTRAL_HEADER_SIGNATURE = 0x02014b50
const ENTRIES_A_TURN = 1000

export interface ZipEntry {
  path: string
  offset: number
  compressedSize: number
  size: number
  deflated: boolean
  crc32: number
  isLink: boolean
}

/** Ordered by the position of their data. Rejects everything that can be rejected without reading a file. */
export async function readDirectory(
  spool: RandomAccess,
  budget: ArchiveLimits,
  readText: (entry: ZipEntry) => Promise<string>,
): Promise<ZipEntry[]> {
  const reader = new SpoolReader(spool)
  const entries: ZipEntry[] = []
  const problems: { path: string; problem: string }[] = []
  try {
    const zip = await fromRandomAccessReaderPromise(reader, spool.size, OPTIONS)
    const start = Number(zip.readEntryCursor)
    const found: [Entry, ZipName][] = []
    for await (const entry of zip.eachEntry()) {
      budget.countOverhead(entry.fileNameLength + entry.extraFieldLength + entry.fileCommentLength)
      budget.assertNameLength(entry.fileNameRaw)
      found.push([entry, readName(entry)])
      if (found.length % ENTRIES_A_TURN === 0) await nextTurn()
    }
    const named = await nameEntries(found, budget)
    await addIgnoreFiles(named, budget, readText)
    for (const [at, [entry, path]] of named.entries()) {
      if (at % ENTRIES_A_TURN === 0) await nextTurn()
      if (isFolder(path) || isEmptyFolder(entry)) {
        await budget.excludeByName(isFolder(path) ? path : `${path}/`, 0)
        continue
      }
      if (await budget.excludeByName(path, entry.uncompressedSize)) continue
      const isLink = isSymbolicLink(entry)
      const message = unsupportedReason(entry, budget.selection !== undefined && isLink)
      if (message === SPECIAL_FILE && budget.excludeAs('special', path)) continue
      if (message) problems.push({ path, problem: message })
      if (!isLink) budget.admit(path, entry.uncompressedSize)
      entries.push({ ...toZipEntry(entry, path), isLink })
    }
    // The entry count has 16 bits, and yauzl believes it: an old archiver's 70,000 files would become 4,464.
    if (await hasDirectoryEntryAt(spool, Number(zip.readEntryCursor)))
      throw unreadableZip('it has more entries than its directory declares')
    entries.sort((one, other) => one.offset - other.offset)
    problems.push(...findOverlaps(entries, start))
  } catch (error) {
    if (error instanceof ApiError) throw error
    throw reader.failure ?? unreadableZip(describeDamage((error as Error).message))
  }
  const causes = groupProblems(problems)
  if (causes.length > 0)
    throw validationError(
      causes.map(({ path, problem }) => ({ field: sanitizePath(path), message: problem })),
    )
  return entries
}

function describeDamage(message: string): string {
  if (/multi-disk/i.test(message)) return 'it is a part of a split archive; join the parts with zip -s 0'
  if (/strong encryption/i.test(message)) return 'its directory is encrypted'
  return 'it is damaged, incomplete, or not a zip archive'
}

export function unreadableZip(why: string): ApiError {
  return archiveError(`cannot be read as a zip archive: ${why}`)
}

/** Adapts a spool to yauzl. Its own file reader ends the process when an offset is beyond 2^53. */
class SpoolReader extends RandomAccessReader {
  failure: unknown
  readonly #spool: RandomAccess

  constructor(spool: RandomAccess) {
    super()
    this.#spool = spool
  }

  override read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null, bytesRead?: number) => void,
  ): void {
    this.#spool.read(position, length).then(
      (bytes) => callback(null, bytes.copy(buffer, offset)),
      (error) => {
        this.failure = error
        callback(error)
      },
    )
  }
}

function readName(entry: Entry): ZipName {
  const { fileNameRaw: bytes, generalPurposeBitFlag: flags, extraFields, versionMadeBy } = entry
  const name = getFileNameLowLevel(flags | UTF8_FLAG, bytes, extraFields, true)
  const unicode = name === bytes.toString() ? undefined : name
  return { bytes, unicode, system: versionMadeBy >>> 8 }
}

async function nameEntries(
  found: readonly [Entry, ZipName][],
  budget: ArchiveLimits,
): Promise<[Entry, path: string][]> {
  const given = found.map(([, name]) => name)
  const { names, notes } = await decodeZipNames(given, nextTurn)
  budget.notes.push(...notes)
  const named: [Entry, path: string][] = []
  await forEachName(given, nextTurn, (_, at) => {
    named.push([found[at]![0], toArchivePath(names[at]!)])
  })
  return named
}

/** Runs before any other file is selected. */
async function addIgnoreFiles(
  entries: readonly [Entry, path: string][],
  budget: ArchiveLimits,
  readText: (entry: ZipEntry) => Promise<string>,
): Promise<void> {
  for (const [entry, path] of entries) {
    if (!budget.selection?.isIgnoreFile(path)) continue
    const isFine = entry.uncompressedSize <= MAX_IGNORE_BYTES && unsupportedReason(entry, false) === undefined
    if (!isFine) refuse(invalidIgnoreFile(path))
    budget.addIgnoreFile(path, await readText({ ...toZipEntry(entry, path), isLink: false }))
  }
}

function isSymbolicLink(entry: Entry): boolean {
  return fileType(entry) === SYMBOLIC_LINK && entry.uncompressedSize <= MAX_PATH_LENGTH * 4
}

function toZipEntry(entry: Entry, path: string): Omit<ZipEntry, 'isLink'> {
  return {
    path,
    offset: entry.relativeOffsetOfLocalHeader,
    compressedSize: entry.compressedSize,
    size: entry.uncompressedSize,
    deflated: entry.compressionMethod === DEFLATED,
    crc32: entry.crc32,
  }
}

/** Also true for an entry without a final slash. */
function isEmptyFolder(entry: Entry): boolean {
  const isMarked = fileType(entry) === FOLDER || (entry.externalFileAttributes & FAT_FOLDER) !== 0
  return entry.uncompressedSize === 0 && isMarked
}

function fileType(entry: Entry): number {
  return (entry.externalFileAttributes >>> 16) & FILE_TYPE
}

const SPECIAL_FILE = 'is a device, a socket or a pipe'

function unsupportedReason(entry: Entry, followsLink: boolean): string | undefined {
  const type = fileType(entry)
  if (type === SYMBOLIC_LINK && !followsLink) return 'is a symbolic link'
  if (type !== SYMBOLIC_LINK && !REGULAR_FILE_TYPES.has(type)) return SPECIAL_FILE
  return describeUnreadable({ isEncrypted: entry.isEncrypted(), method: entry.compressionMethod })
}

/** Zip bombs let many entries share the same bytes; no archiver does. */
function findOverlaps(entries: ZipEntry[], directoryStart: number): { path: string; problem: string }[] {
  return entries
    .filter((entry, index) => {
      const next = entries[index + 1]?.offset ?? directoryStart
      return entry.offset + LOCAL_HEADER_BYTES + entry.compressedSize > next
    })
    .map(({ path }) => ({ path, problem: 'overlaps with other data in the archive' }))
}

export async function hasDirectoryEntryAt(archive: RandomAccess, position: number): Promise<boolean> {
  const bytes = await archive.read(position, 4)
  return bytes.length === 4 && bytes.readUInt32LE() === CENTRAL_HEADER_SIGNATURE
}
