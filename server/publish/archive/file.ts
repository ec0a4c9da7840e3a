import { Readable } from 'node:stream'
import { SNIFFED_BYTES } from '../../../protocol/manifest/media-type.ts'

export interface ArchiveFile {
  /** As in the archive, without a leading `./`. Untrusted until it is checked. */
  path: string
  /** Exact length of the body. */
  size: number
  body: Readable
  /** Undefined for that of its name and its first bytes. */
  contentType?: string
  /** Its first bytes, up to `SNIFFED_BYTES`, when they were read. */
  start: Buffer
}

export interface ArchiveEntry extends ArchiveFile {
  /** All bytes are in memory: other files may be read concurrently. */
  isBuffered: boolean
  /** The error of the body, which its consumer may report differently. */
  sourceError?: unknown
}

export const MAX_BUFFERED_FILE_BYTES = 256 * 2 ** 10

export function bufferedEntry(path: string, bytes: Buffer): ArchiveEntry {
  const body = new Readable({ read() {} })
  body.push(bytes)
  body.push(null)
  return { path, size: bytes.length, body, start: bytes.subarray(0, SNIFFED_BYTES), isBuffered: true }
}

/** One entry; its body has ended, read or not, and nothing reads `chunks` any more when the next one is requested. */
export async function* streamedEntry(
  path: string,
  size: number,
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<ArchiveEntry, void, undefined> {
  async function* watched(): AsyncGenerator<Buffer, void, undefined> {
    try {
      for await (const chunk of chunks) {
        if (file.start.length < SNIFFED_BYTES)
          file.start = Buffer.concat([file.start, chunk.subarray(0, SNIFFED_BYTES - file.start.length)])
        yield chunk
      }
    } catch (error) {
      file.sourceError = error
      throw error
    }
  }
  const body = Readable.from(watched(), { objectMode: false })
  // `sourceError` is checked after the file was used; without a listener an error would end the process.
  body.on('error', () => {})
  const file: ArchiveEntry = { path, size, body, start: Buffer.alloc(0), isBuffered: false }
  try {
    yield file
  } finally {
    body.destroy()
    if (!body.closed) await new Promise((resolve) => body.once('close', resolve))
  }
}

export function isFolder(path: string): boolean {
  return path.endsWith('/')
}

/** Resource forks and Finder's view settings of macOS archivers. */
export function isOsMetadata(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1)
  return path.startsWith('__MACOSX/') || name === '.DS_Store' || name.startsWith('._')
}
