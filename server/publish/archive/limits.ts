import { type ArchiveLink, TooManyLinksError } from '../../../protocol/folder/archive-links.ts'
import { type FolderSelection, TooManyRulesError } from '../../../protocol/folder/folder-selection.ts'
import { formatLimit, formatNumber } from '../../../protocol/format.ts'
import { IgnoreFileError, invalidIgnoreFile } from '../../../protocol/ignore/default-rules.ts'
import type { Exclusion } from '../../../protocol/ignore/exclusions.ts'
import { NOT_UTF8, sanitizePath } from '../../../protocol/manifest/paths.ts'
import { Component } from '../../lib/component.ts'
import { ApiError, validationError } from '../../lib/errors.ts'

/** Sizes are decompressed bytes of files. */
export interface ArchiveLimitValues {
  files: number
  fileBytes: number
  totalBytes: number
  pathCharacters: number
  /** On the wire; by default what such files and the headers of any archiver can take. */
  wireBytes?: number
  /** Follows links of the folder and leaves out special files; without it both are refused. */
  selection?: FolderSelection
}

/** Allowance for headers, padding and names. Archivers need about 1 KiB per file. */
const MAX_OVERHEAD_BYTES = 16 * 2 ** 20
const OVERHEAD_BYTES_PER_FILE = 8 * 2 ** 10

/** Folders have metadata files of their own, so there may be more exclusions than files. */
const MAX_EXCLUSIONS_PER_FILE = 4

/** An empty record costs time too, so each is charged at least a tar header. */
const MIN_RECORD_BYTES = 512

/** Engines reserve before they read a file and return no more bytes than reserved: a false size gains nothing. */
export class ArchiveLimits extends Component<ArchiveLimitValues> {
  /** By path; a later file of this path replaces a link. */
  readonly links = new Map<string, ArchiveLink>()
  readonly notes: string[] = []
  readonly #excluded = new Map<string, Exclusion>()
  readonly #misnamed = new Set<string>()
  #files = 0
  #bytes = 0
  #overhead = 0

  /** Maximum bytes of an archive within the limits: incompressible contents and overhead. */
  get wireBytes(): number {
    return this.parts.wireBytes ?? Math.ceil(this.parts.totalBytes * 1.001) + this.#overheadLimit
  }

  /** A folder once, however many files it holds. */
  get excluded(): Exclusion[] {
    return [...this.#excluded.values()]
  }

  /** Undefined where every file is published. */
  get selection(): FolderSelection | undefined {
    return this.parts.selection
  }

  /** Excludes and counts a file, or a folder with a final `/`, because of its name; false for one to be read. */
  async excludeByName(path: string, size: number): Promise<boolean> {
    if (path.length > this.#maxNameLength) this.#assertPathLength(path)
    const exclusion = await this.selection?.findEarly(path).catch(refuse)
    if (exclusion) this.#exclude(exclusion, size)
    else this.#assertPathLength(path)
    return exclusion !== undefined
  }

  /** False where links are refused. */
  addLink(link: ArchiveLink): boolean {
    if (!this.selection) return false
    this.#checkName(link.path)
    if (this.selection.isIgnoreFile(link.path)) refuse(invalidIgnoreFile(link.path))
    this.#assertPathLength(link.target)
    this.links.set(link.path, link)
    const { files } = this.parts
    if (this.links.size > files)
      throw archiveTooLarge(`The archive has too many links. The limit is ${formatNumber(files)} per site.`)
    return true
  }

  /** False where such entries are refused. */
  excludeAs(reason: 'special', path: string): boolean {
    if (!this.selection) return false
    this.#exclude({ path, reason }, 0)
    return true
  }

  admit(path: string, size: number): void {
    this.#checkName(path)
    this.links.delete(path)
    const { files, fileBytes } = this.parts
    if (++this.#files > files)
      throw archiveTooLarge(`The archive has too many files. The limit is ${formatNumber(files)} per site.`)
    if (size > fileBytes)
      throw archiveTooLarge(
        `${sanitizePath(path)}: too large. The limit is ${formatLimit(fileBytes)} per file.`,
      )
    this.#charge(size)
  }

  /** Throws for names that no site can have, once all are known. */
  assertNames(): void {
    if (this.#misnamed.size > 0)
      throw validationError(
        Array.from(this.#misnamed, (path) => ({ field: sanitizePath(path), message: NOT_UTF8 })),
      )
  }

  #checkName(path: string): void {
    this.#assertPathLength(path)
    if (this.selection && path.includes('\uFFFD')) this.#misnamed.add(path)
  }

  /** Adds the folder's `.slipwayignore`, which must be known before the files that it includes. */
  addIgnoreFile(path: string, text: string): void {
    try {
      this.selection?.addIgnoreFile(path, text)
    } catch (error) {
      refuse(error)
    }
  }

  /** Counts a record of the archive other than file contents. */
  countOverhead(bytes: number): void {
    this.#overhead += Math.max(bytes, MIN_RECORD_BYTES)
    if (this.#overhead > this.#overheadLimit) {
      throw archiveTooLarge(
        `The archive has too much metadata. The limit is ${formatLimit(this.#overheadLimit)} beside the files.`,
      )
    }
  }

  #exclude(exclusion: Exclusion, size: number): void {
    this.#excluded.set(exclusion.path, exclusion)
    const max = this.parts.files * MAX_EXCLUSIONS_PER_FILE
    if (this.#excluded.size > max)
      throw archiveTooLarge(`The archive has too many excluded files. The limit is ${formatNumber(max)}.`)
    this.#charge(size)
  }

  get #overheadLimit(): number {
    return MAX_OVERHEAD_BYTES + this.parts.files * OVERHEAD_BYTES_PER_FILE
  }

  #charge(size: number): void {
    this.#bytes += size
    if (this.#bytes > this.parts.totalBytes) {
      throw archiveTooLarge(
        `The total size is too large. The limit is ${formatLimit(this.parts.totalBytes)} per site.`,
      )
    }
  }

  /** Throws for a name that no code page makes short enough, before it is decoded. */
  assertNameLength(name: Buffer): void {
    const max = this.parts.pathCharacters
    if (name.length > this.#maxNameLength)
      throw entryError(name.toString('latin1', 0, max), `must have at most ${max} characters`)
  }

  /** In bytes or UTF-16 units. */
  get #maxNameLength(): number {
    return 4 * this.parts.pathCharacters
  }

  /** Without a top folder, which may not belong to the site: the paths of the site are validated in any case. */
  #assertPathLength(path: string): void {
    const max = this.parts.pathCharacters
    if (path.length <= max) return
    const { length } = [...path.slice(path.indexOf('/') + 1)]
    if (length > max || path.length > this.#maxNameLength)
      throw entryError(path, `must have at most ${max} characters, not ${length}`)
  }
}

export function entryError(path: string, message: string): ApiError {
  return validationError([{ field: sanitizePath(path), message }])
}

export function refuse(error: unknown): never {
  if (error instanceof IgnoreFileError) throw validationError([{ field: 'archive', message: error.message }])
  if (error instanceof TooManyLinksError || error instanceof TooManyRulesError)
    throw archiveTooLarge(error.message)
  throw error
}

export function archiveTooLarge(sentence: string): ApiError {
  return new ApiError('PAYLOAD_TOO_LARGE', sentence)
}

export function archiveError(message: string): ApiError {
  return validationError(
    [{ field: 'archive', message }],
    'Create the archive again as zip, tar or tar.gz, with the Content-Type of its format, and send all of it.',
  )
}
