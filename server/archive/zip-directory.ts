import { isUtf8 } from 'node:buffer'
import { type Entry, fromRandomAccessReaderPromise, getFileNameLowLevel, RandomAccessReader } from 'yauzl'
import { Failure, invalid, type Problem } from '../failure.ts'
import { type Budget, shown } from './budget.ts'
import { isFolder, sitePath } from './file.ts'
import type { Spool } from './spool.ts'

export const LOCAL_HEADER_BYTES = 30

// Names are decoded here: yauzl would refuse those that the rules for paths have to name.
const OPTIONS = { lazyEntries: true, autoClose: false, decodeStrings: false, validateEntrySizes: true }

const UTF8_FLAG = 0x800
const FILE_TYPE = 0o170000
const SYMBOLIC_LINK = 0o120000
const NO_SPECIAL_FILE = new Set([0, 0o100000, 0o040000])
const DEFLATED = 8
const CENTRAL_HEADER = 0x02014b50

/** A file in a zip archive, as its central directory has it. */
export interface ZipEntry {
  path: string
  /** Where its local header begins. */
  offset: number
  compressedSize: number
  size: number
  deflated: boolean
  crc32: number
}

/**
 * The files of a zip archive, ordered by where their bytes are. Everything that can be refused without reading a
 * file is refused here: before the first one is handed on, and all of it at once.
 */
export async function readDirectory(spool: Spool, budget: Budget): Promise<ZipEntry[]> {
  const reader = new SpoolReader(spool)
  const entries: ZipEntry[] = []
  const problems: Problem[] = []
  try {
    const zip = await fromRandomAccessReaderPromise(reader, spool.size, OPTIONS)
    const start = Number(zip.readEntryCursor)
    for await (const entry of zip.eachEntry()) {
      const path = pathOf(entry)
      budget.record(entry.fileNameLength + entry.extraFieldLength + entry.fileCommentLength)
      if (isFolder(path)) continue
      if (budget.isLitter(path)) budget.leaveOut(path, entry.uncompressedSize)
      else {
        budget.admit(path, entry.uncompressedSize)
        const message = unfit(entry)
        if (message) problems.push({ field: shown(path), message })
        entries.push(fileOf(entry, path))
      }
    }
    await refuseHidden(spool, Number(zip.readEntryCursor))
    entries.sort((one, other) => one.offset - other.offset)
    problems.push(...overlaps(entries, start))
  } catch (error) {
    if (error instanceof Failure) throw error
    throw reader.failure ?? unreadable((error as Error).message)
  }
  if (problems.length > 0) throw invalid(problems)
  return entries
}

/** The failure for an archive that is not whole. */
export function unreadable(why: string): Failure {
  return invalid([{ field: 'archive', message: `it cannot be read as a zip archive: ${why}` }])
}

/** Gives a spool to yauzl. Its own reader of files ends the process when an offset is beyond 2^53. */
class SpoolReader extends RandomAccessReader {
  failure: unknown
  readonly #spool: Spool

  constructor(spool: Spool) {
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

/** UTF-8 when it can be, whatever the flag says, because many archivers forget it; else the CP437 of old. */
function pathOf(entry: Entry): string {
  const flags = isUtf8(entry.fileNameRaw)
    ? entry.generalPurposeBitFlag | UTF8_FLAG
    : entry.generalPurposeBitFlag & ~UTF8_FLAG
  return sitePath(getFileNameLowLevel(flags, entry.fileNameRaw, entry.extraFields, true))
}

function fileOf(entry: Entry, path: string): ZipEntry {
  return {
    path,
    offset: entry.relativeOffsetOfLocalHeader,
    compressedSize: entry.compressedSize,
    size: entry.uncompressedSize,
    deflated: entry.compressionMethod === DEFLATED,
    crc32: entry.crc32,
  }
}

/** Why an entry cannot be published, or undefined. */
function unfit(entry: Entry): string | undefined {
  const type = (entry.externalFileAttributes >>> 16) & FILE_TYPE
  if (type === SYMBOLIC_LINK) return 'is a symbolic link'
  if (!NO_SPECIAL_FILE.has(type)) return 'is a device, a socket or a pipe'
  if (entry.isEncrypted()) return 'is encrypted'
  if (!entry.canDecodeFileData())
    return `is compressed by method ${entry.compressionMethod}; only deflate can be read`
  return undefined
}

/** Bombs let many entries share the same bytes; no archiver does. */
function overlaps(entries: ZipEntry[], directoryStart: number): Problem[] {
  return entries
    .filter((entry, index) => {
      const next = entries[index + 1]?.offset ?? directoryStart
      return entry.offset + LOCAL_HEADER_BYTES + entry.compressedSize > next
    })
    .map(({ path }) => ({
      field: shown(path),
      message: 'its bytes overlap with something else in the archive',
    }))
}

/** The count of entries has 16 bits, and yauzl believes it: an old archiver's 70,000 files would become 4,464. */
async function refuseHidden(spool: Spool, end: number): Promise<void> {
  const next = await spool.read(end, 4)
  if (next.length === 4 && next.readUInt32LE() === CENTRAL_HEADER) {
    throw unreadable('it has more entries than it says')
  }
}
