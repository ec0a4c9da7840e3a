import { Failure, invalid } from '../failure.ts'
import { isJunk } from './file.ts'

/** What an archive may hold. Sizes are bytes of files as they come out of it, never what it takes on the wire. */
export interface Limits {
  files: number
  fileBytes: number
  totalBytes: number
  pathCharacters: number
  /** Most bytes on the wire; else as many as such files and the headers of any archiver may take. */
  wireBytes?: number
  /** Files that archivers add by themselves are given like all others, not left out. */
  withLitter?: true
}

/** Room for what is not contents: headers, padding, names. Archivers need about 1 KiB a file. */
const OVERHEAD_BYTES = 16 * 2 ** 20
const OVERHEAD_BYTES_PER_FILE = 8 * 2 ** 10

/** Folders have litter of their own, so there may be more of it than there are files. */
const JUNK_PER_FILE = 4

/** Even an empty record costs time, so that none is charged less than a tar header. */
const RECORD_BYTES = 512

/**
 * How much of its limits an archive has used. The engines ask before they read a file and never let it have
 * more bytes than it was admitted with, so that a lie about a size gains nothing.
 */
export class Budget {
  /** Litter of archivers, by path. */
  readonly leftOut: string[] = []
  readonly #limits: Limits
  #files = 0
  #bytes = 0
  #overhead = 0

  constructor(limits: Limits) {
    this.#limits = limits
  }

  /** Most bytes that an archive within the limits can have on the wire: contents that do not compress, and overhead. */
  get wireBytes(): number {
    return this.#limits.wireBytes ?? Math.ceil(this.#limits.totalBytes * 1.001) + this.#overheadLimit
  }

  /** Whether a file is to be left out because nobody meant to send it. */
  isLitter(path: string): boolean {
    return !this.#limits.withLitter && isJunk(path)
  }

  /** Counts a file that is about to be read. */
  admit(path: string, size: number): void {
    this.#refuseLongPath(path)
    const { files, fileBytes } = this.#limits
    if (++this.#files > files) throw tooLarge(`The archive has more than ${files} files`)
    if (size > fileBytes) throw tooLarge(`${shown(path)}: a file may have at most ${fileBytes} bytes`)
    this.#charge(size)
  }

  /** Counts and remembers a file that is left out. */
  leaveOut(path: string, size: number): void {
    this.#refuseLongPath(path)
    const most = this.#limits.files * JUNK_PER_FILE
    if (this.leftOut.length >= most)
      throw tooLarge(`The archive has more than ${most} files that are left out`)
    this.leftOut.push(path)
    this.#charge(size)
  }

  /** Counts a record of the archive that is not contents of a file. */
  record(bytes: number): void {
    this.#overhead += Math.max(bytes, RECORD_BYTES)
    if (this.#overhead > this.#overheadLimit) {
      throw tooLarge(
        `The archive has more than ${this.#overheadLimit} bytes beside the contents of its files`,
      )
    }
  }

  get #overheadLimit(): number {
    return OVERHEAD_BYTES + this.#limits.files * OVERHEAD_BYTES_PER_FILE
  }

  #charge(size: number): void {
    this.#bytes += size
    if (this.#bytes > this.#limits.totalBytes) {
      throw tooLarge(`The files of the archive may have at most ${this.#limits.totalBytes} bytes together`)
    }
  }

  #refuseLongPath(path: string): void {
    const most = this.#limits.pathCharacters
    if (path.length <= most || [...path].length <= most) return
    throw invalid([{ field: shown(path), message: `a path may have at most ${most} characters` }])
  }
}

/** A path as a sentence can carry it. */
export function shown(path: string): string {
  return path.length <= 100 ? path : `${path.slice(0, 100)}…`
}

function tooLarge(sentence: string): Failure {
  return new Failure('PAYLOAD_TOO_LARGE', sentence)
}
