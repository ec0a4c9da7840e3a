import { type Dirent, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, sep } from 'node:path'
import type { IgnoreRules } from '../../folder/ignore.ts'
import { leavingOut } from '../../folder/left-out.ts'
import type { NamedFile } from '../../folder/limits.ts'

export interface FoundFile extends NamedFile {
  /** Path on this machine. */
  source: string
}

/** What a folder holds. Paths of folders end with `/`. */
export interface Scan {
  files: FoundFile[]
  /** Junk, secrets and what `.slipwayignore` names. */
  leftOut: string[]
  /** Empty files, which the service refuses. */
  empty: string[]
  /** Links that lead outside the folder, in a circle or nowhere. */
  links: string[]
  /** Neither file nor folder, such as sockets. */
  odd: string[]
}

/** Looks through a folder, or at a single file. Reads names and sizes only. Results are sorted by path. */
export function scan(root: string): Scan {
  const found: Scan = { files: [], leftOut: [], empty: [], links: [], odd: [] }
  const isFolder = statSync(root).isDirectory()
  const top = realpathSync(isFolder ? root : dirname(root))
  if (!isFolder) {
    addFile(found, root, basename(root))
    return found
  }
  const rules = leavingOut(slipwayignore(top))
  new Walk(top, rules, found).folder(top, '', [top])
  for (const list of [found.leftOut, found.empty, found.links, found.odd]) list.sort()
  found.files.sort((a, b) => (a.path < b.path ? -1 : 1))
  return found
}

function slipwayignore(folder: string): string {
  try {
    return readFileSync(join(folder, '.slipwayignore'), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}

function addFile(found: Scan, source: string, local: string): void {
  const { size } = statSync(source)
  if (size === 0) found.empty.push(local)
  else found.files.push({ path: local.normalize('NFC'), local, source, size })
}

class Walk {
  readonly #top: string
  readonly #rules: IgnoreRules
  readonly #found: Scan

  constructor(top: string, rules: IgnoreRules, found: Scan) {
    this.#top = top
    this.#rules = rules
    this.#found = found
  }

  /** `above` are the real folders that this one is reached through, itself included. */
  folder(source: string, prefix: string, above: string[]): void {
    for (const entry of readdirSync(source, { withFileTypes: true })) {
      this.#entry(entry, join(source, entry.name), prefix + entry.name, above)
    }
  }

  #entry(entry: Dirent, source: string, path: string, above: string[]): void {
    const isFolder = entry.isDirectory()
    if (this.#rules.ignores(path, isFolder)) this.#found.leftOut.push(isFolder ? `${path}/` : path)
    else if (isFolder) this.folder(source, `${path}/`, [...above, source])
    else if (entry.isFile()) addFile(this.#found, source, path)
    else if (entry.isSymbolicLink()) this.#link(source, path, above)
    else this.#found.odd.push(path)
  }

  /** A link counts as what it leads to, as long as that is in the folder and not left out itself. */
  #link(source: string, path: string, above: string[]): void {
    const target = existing(source)
    if (target === undefined || !target.startsWith(withSeparator(this.#top))) {
      this.#found.links.push(path)
      return
    }
    const kind = statSync(target)
    const inside = relative(this.#top, target).split(sep).join('/')
    if (
      this.#rules.ignores(path, kind.isDirectory()) ||
      this.#rules.ignoresWithin(inside, kind.isDirectory())
    ) {
      this.#found.leftOut.push(path)
    } else if (kind.isDirectory()) {
      if (above.some((folder) => folder === target)) this.#found.links.push(path)
      else this.folder(target, `${path}/`, [...above, target])
    } else if (kind.isFile()) addFile(this.#found, target, path)
    else this.#found.odd.push(path)
  }
}

function existing(link: string): string | undefined {
  try {
    return realpathSync(link)
  } catch {
    return undefined
  }
}

function withSeparator(folder: string): string {
  return folder.endsWith(sep) ? folder : folder + sep
}
