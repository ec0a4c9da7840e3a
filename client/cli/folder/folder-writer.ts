import { createHash, randomUUID } from 'node:crypto'
import {
  createWriteStream,
  existsSync,
  lstatSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { makeFolder } from '../../../packages/files/make-folder.ts'
import type { FileEntry } from '../../../protocol/api/fields.schema.ts'
import { validatePath } from '../../../protocol/manifest/paths.ts'
import { normalizeNfc } from '../../../protocol/manifest/unicode.ts'
import { isUnfinished, realPathOrUndefined } from '../../sdk/folder/scan.ts'
import { RefusedError } from '../cli-error.ts'
import type { TarEntry } from './read-tar.ts'

/**
 * Folders whose files instruct programs on this machine or give access to it, with the names that Windows gives them
 * (`GIT~1`): a site cannot replace them.
 */
const PROTECTED_NAME =
  /^(\.(git|hg|svn|slipway|ssh|aws|gnupg|kube)|(git|hg|svn|slipwa|ssh|aws|gnupg|kube)~\d+)$/

/** Characters that HFS+ ignores in names. */
const IGNORED_BY_HFS = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g

/** Names that Windows gives another meaning: devices, streams, and those whose end it drops. */
const SPECIAL_ON_WINDOWS =
  /[<>:"|?*]|[. ]$|^(con|prn|aux|nul|com[\d¹²³]|lpt[\d¹²³]|conin\$|conout\$) *(\.|$)/i

/** Whether a path that a server sent may be written below a folder of this machine. */
export function isWritablePath(path: string, platform: string): boolean {
  if (validatePath(path) !== undefined) return false
  return path
    .split('/')
    .every((name) => !isProtectedName(name) && !(platform === 'win32' && SPECIAL_ON_WINDOWS.test(name)))
}

/**
 * Whether a folder of this machine, or what it leads to, is in one whose files a site cannot replace; those above `top`, in
 * which the user is, do not count.
 */
export function isProtectedFolder(folder: string, top: string): boolean {
  let existing = folder
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing)
  const real = (path: string) => realPathOrUndefined(path) ?? path
  const path = relative(real(top), join(real(existing), relative(existing, folder)))
  return path.split(sep).some(isProtectedName)
}

/** On every system, since the folder may be on a drive of Windows or macOS. */
function isProtectedName(name: string): boolean {
  // In upper case first: a long s (U+017F) is an s for macOS.
  const [base = ''] = name.replace(IGNORED_BY_HFS, '').toUpperCase().toLowerCase().split(':')
  return PROTECTED_NAME.test(base.replace(/(?<![. ])[. ]+$/, ''))
}

/** Writes files below a folder, never through a symbolic link below `base`, which is the folder or contains it. */
export class FolderWriter {
  readonly #base: string
  /** The names from the base to the folder. */
  readonly #folder: string[]
  readonly #signal: AbortSignal
  /** Folders that are known to be folders and no links. */
  readonly #checked = new Set<string>()
  /** Folders without files that a pull has not finished. */
  readonly #cleared = new Set<string>()
  /** Of folders, their names in another Unicode form than NFC, by that. */
  readonly #spellings = new Map<string, ReadonlyMap<string, string>>()
  #foldsCase: boolean | undefined

  constructor({ base, folder, signal }: { base: string; folder: string[]; signal: AbortSignal }) {
    this.#base = base
    this.#folder = folder
    this.#signal = signal
  }

  /** Throws a RefusedError for a file that cannot be written. Changes nothing. */
  check(path: string): void {
    const names = this.#names(path)
    for (let depth = 1; depth < names.length; depth++) {
      const folder = join(this.#base, ...names.slice(0, depth))
      if (this.#checked.has(folder)) continue
      const found = lstatSync(folder, { throwIfNoEntry: false })
      if (found === undefined) return
      if (found.isSymbolicLink())
        throw new RefusedError(`Refusing to write through the symbolic link ${folder}`)
      if (!found.isDirectory()) throw new RefusedError(`Not a folder: ${folder}`)
      this.#checked.add(folder)
    }
    const target = join(this.#base, ...names)
    if (lstatSync(target, { throwIfNoEntry: false })?.isDirectory())
      throw new RefusedError(`Refusing to replace the folder ${target} by a file`)
  }

  /** Whether a folder above a file is a link, through which nothing is written or removed. */
  isBehindLink(path: string): boolean {
    const names = this.#names(path)
    return names.slice(0, -1).some((_, at) => {
      const folder = join(this.#base, ...names.slice(0, at + 1))
      return lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink() ?? false
    })
  }

  /** Whether names that differ only in case are one file. Creates the folder. */
  foldsCase(): boolean {
    this.#foldsCase ??= this.#probeCase()
    return this.#foldsCase
  }

  #probeCase(): boolean {
    const folder = join(this.#base, ...this.#folder)
    makeFolder(folder)
    const name = `.slipway-${randomUUID()}`
    const probe = join(folder, name)
    writeFileSync(probe, '', { flag: 'wx' })
    try {
      return existsSync(join(folder, name.toUpperCase()))
    } finally {
      rmSync(probe, { force: true })
    }
  }

  /**
   * Replaces a file, or a link in its place, atomically once its bytes have the size and the hash of the entry. A
   * RefusedError when they differ, or when the file cannot be written; then it stays as it was.
   */
  async write(file: FileEntry, { content, size }: TarEntry): Promise<void> {
    if (size !== file.size) throw unexpectedBytes(file)
    this.check(file.path)
    const target = join(this.#base, ...this.#names(file.path))
    const folder = dirname(target)
    if (!this.#checked.has(folder)) makeFolder(folder)
    this.#removeUnfinished(folder)
    // A publish of the folder ignores it, and the next pull removes it, should a crash leave it there.
    const fresh = join(folder, `.slipway-${randomUUID()}`)
    const hash = createHash('sha256')
    try {
      await pipeline(
        content,
        async function* (chunks: AsyncIterable<Uint8Array>) {
          for await (const chunk of chunks) {
            hash.update(chunk)
            yield chunk
          }
        },
        createWriteStream(fresh, { flags: 'wx' }),
        { signal: this.#signal },
      )
      if (file.hash !== undefined && hash.digest('hex') !== file.hash) throw unexpectedBytes(file)
      renameSync(fresh, target)
    } catch (error) {
      // One of a write names no file, and others the new one.
      throw Object.assign(error as Error, { path: target })
    } finally {
      rmSync(fresh, { force: true })
    }
  }

  #removeUnfinished(folder: string): void {
    if (this.#cleared.has(folder)) return
    this.#cleared.add(folder)
    for (const name of listNames(folder).filter(isUnfinished)) {
      const path = join(folder, name)
      if (lstatSync(path, { throwIfNoEntry: false })?.isFile()) rmSync(path, { force: true })
    }
  }

  /** Deletes a file, or a link in its place. */
  remove(path: string): void {
    this.check(path)
    rmSync(join(this.#base, ...this.#names(path)), { force: true })
  }

  /** As the folder spells them: a publish makes NFC of names in another Unicode form. */
  #names(path: string): string[] {
    const names = [...this.#folder]
    for (const name of path.split('/')) names.push(this.#spell(names, name))
    return names
  }

  #spell(above: readonly string[], name: string): string {
    const isAscii = Buffer.byteLength(name) === name.length
    if (isAscii) return name
    const folder = join(this.#base, ...above)
    const spellings = this.#spellings.get(folder) ?? findSpellings(folder)
    this.#spellings.set(folder, spellings)
    return spellings.get(name) ?? name
  }
}

/** The names in a folder; none where there is no folder, or none that can be read. */
export function listNames(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function findSpellings(folder: string): Map<string, string> {
  const names = new Set(listNames(folder))
  const spellings = [...names].map((name): [string, string] => [normalizeNfc(name), name])
  return new Map(spellings.filter(([nfc]) => !names.has(nfc)))
}

function unexpectedBytes({ path }: FileEntry): RefusedError {
  return new RefusedError(`${path} differs from the file of its version`)
}
