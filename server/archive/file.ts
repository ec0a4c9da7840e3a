import { Readable } from 'node:stream'

/** One file of an archive. */
export interface ArchiveFile {
  /** As the archive has it, but for a leading `./`. Hostile until it is checked. */
  path: string
  /** Exact length of the body in bytes. */
  size: number
  body: Readable
}

/** A file as an engine finds it. */
export interface Found extends ArchiveFile {
  /** All bytes are in memory: others may be read beside it. */
  whole: boolean
  /** What broke the body, which is not always what its user fails with. */
  broken?: unknown
}

/** Files up to this many bytes are read whole. */
export const SMALL = 256 * 2 ** 10

/** A file whose bytes are at hand. */
export function wholeFile(path: string, bytes: Buffer): Found {
  const body = new Readable({ read() {} })
  body.push(bytes)
  body.push(null)
  return { path, size: bytes.length, body, whole: true }
}

/** A file that is read as it is used. `closed` has to be awaited before its source is read further. */
export function streamedFile(path: string, size: number, chunks: AsyncIterable<Buffer>): Found {
  async function* watched(): AsyncGenerator<Buffer, void, undefined> {
    try {
      yield* chunks
    } catch (error) {
      file.broken = error
      throw error
    }
  }
  const body = Readable.from(watched(), { objectMode: false })
  // `broken` is looked at when the file was used; an `each` that does not listen must not end the process.
  body.on('error', () => {})
  const file: Found = { path, size, body, whole: false }
  return file
}

/** Ends a body, read or not, and waits until nothing reads its source any more. */
export async function closed({ body }: Found): Promise<void> {
  body.destroy()
  if (!body.closed) await new Promise((resolve) => body.once('close', resolve))
}

/** The path a file would have in the site: archivers write `./index.html` for `index.html`. */
export function sitePath(name: string): string {
  return name.replace(/^\.\/(?=.)/s, '')
}

export function isFolder(path: string): boolean {
  return path.endsWith('/')
}

/** Litter of macOS archivers: resource forks and Finder's view settings. */
export function isJunk(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1)
  return path.startsWith('__MACOSX/') || name === '.DS_Store' || name.startsWith('._')
}
