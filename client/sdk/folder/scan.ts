import { type Dirent, lstatSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, parse, relative, sep } from 'node:path'
import { formatNumber } from '../../../protocol/format.ts'
import {
  IGNORE_FILE,
  ignoreRules,
  invalidIgnoreFile,
  MAX_IGNORE_BYTES,
  STATE_FOLDER,
} from '../../../protocol/ignore/default-rules.ts'
import { type Exclusion, Exclusions } from '../../../protocol/ignore/exclusions.ts'
import { type ExclusionReason, IgnoreRules } from '../../../protocol/ignore/ignore-rules.ts'
import { type NamedFile, validateFolder } from '../../../protocol/manifest/folder.ts'
import { NOT_UTF8 } from '../../../protocol/manifest/paths.ts'
import { findIndexAliases } from '../../../protocol/manifest/root-document.ts'
import { normalizeNfc } from '../../../protocol/manifest/unicode.ts'

/** Maximum number of entries of folders that are read through links: a few links make any number of paths. */
const MAX_LINKED_ENTRIES = 100_000

export interface FoundFile extends NamedFile {
  /** Path on this machine. */
  source: string
}

/** The contents of a folder. Paths of folders end with `/`. */
export interface FolderScan {
  files: FoundFile[]
  /** The folders that were read, or that of a single file; the first contains the others. */
  folders: string[]
  /** What is left out. */
  excluded: Exclusion[]
  /** Files and folders whose names are not UTF-8, and cannot be opened therefore. */
  misnamed: string[]
  /** Files that are published as the `index.html` of their folder as well. */
  indexes: { path: string; file: FoundFile }[]
}

/** What a scan includes beside what a folder publishes by default. */
export interface ScanOptions {
  /** Private keys and other known secrets, which `.slipwayignore` cannot include. */
  secrets?: boolean | undefined
  /** All that a site may have, whatever a publish leaves out. */
  ignored?: boolean | undefined
  /** Files that are merged with a site, which may have the `index.html` that the folder does not have, get none. */
  mode?: 'merge' | 'replace' | undefined
}

/** Scans a folder or a single file. Reads names and sizes only. Results are sorted by path. */
export function scan(root: string, include: ScanOptions = {}): FolderScan {
  const found: FolderScan = {
    files: [],
    folders: [],
    excluded: [],
    misnamed: [],
    indexes: [],
  }
  const isFolder = statSync(root).isDirectory()
  const top = realpathSync.native(isFolder ? root : dirname(root))
  if (!isFolder) {
    found.folders.push(top)
    const reason = fileExclusion(root, include)
    if (reason !== undefined) found.excluded.push({ path: basename(root), reason })
    else addFile(found, realpathSync.native(root), basename(root))
    return found
  }
  const rules = include.ignored ? NO_RULES : rulesFor(readIgnoreFile(top), include)
  new FolderWalker(top, rules, found).folder(top, '', [top])
  found.misnamed.sort()
  found.excluded.sort(byPath)
  if (include.mode !== 'merge') addIndexes(found)
  found.files.sort(byPath)
  return found
}

const NO_RULES = IgnoreRules.parse('')

function byPath(a: { path: string }, b: { path: string }): number {
  return a.path < b.path ? -1 : 1
}

/** Adds the `index.html` of folders whose index has another name. */
function addIndexes(found: FolderScan): void {
  found.indexes = findIndexAliases(found.files)
  for (const { path, file } of found.indexes) found.files.push({ ...file, path })
}

/** Why the folder cannot be published whatever the limits are, a sentence for each problem. */
export function folderProblems({ files, misnamed }: FolderScan): string[] {
  return [...misnamed.map((path) => `${path}: ${NOT_UTF8}`), ...validateFolder(files)]
}

/** Files that the system makes when they are read, such as the variables of each process. */
const SYSTEM_FOLDER = /^\/(proc|sys)(\/|$)/

/**
 * Why a single file is excluded, the target of a link included: by the rules, by default those of its folder, or as a
 * device or a pipe, which may have no end.
 */
export function fileExclusion(
  file: string,
  include: ScanOptions = {},
  slipwayignore = readIgnoreFile(dirname(file)),
): Exclusion['reason'] | undefined {
  const rules = rulesFor(slipwayignore, include)
  const target = realpathSync.native(file)
  if (!statSync(target).isFile() || SYSTEM_FOLDER.test(target)) return 'special'
  for (const path of [file, target]) {
    const reason = rules.reasonFor(basename(path), false) ?? privateReason(dirname(path), rules)
    if (reason !== undefined) return reason
  }
  return undefined
}

/**
 * Where a path leads by a link out of the folder that the link is in: both may be of another author than what the link
 * leads to. Undefined when no link does, or the first one that does leads nowhere.
 */
export function linkTarget(path: string): string | undefined {
  const { root } = parse(path)
  const names = path.slice(root.length).split(sep)
  for (const at of names.keys()) {
    const [above, link] = [at, at + 1].map((count) => join(root, ...names.slice(0, count))) as [
      string,
      string,
    ]
    if (!lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink()) continue
    const target = realPathOrUndefined(link)
    if (target === undefined) return undefined
    if (!target.startsWith(withSeparator(realpathSync.native(above))))
      return join(target, ...names.slice(at + 1))
  }
  return undefined
}

/** Whether a file is one that a pull has not finished, because it was killed: no rule includes it. */
export function isUnfinished(path: string): boolean {
  return /(^|\/)\.slipway-[\da-f-]{36}$/.test(path)
}

/**
 * Whether a folder, or what it leads to, is that of a repository or usually holds secrets, or is in one; those above
 * `top`, in which the user is, count only when they are of the system.
 */
export function isPrivateFolder(
  folder: string,
  { top = parse(folder).root, secrets }: { top?: string } & Pick<ScanOptions, 'secrets'> = {},
): boolean {
  if (!statSync(folder).isDirectory()) return false
  const real = realpathSync.native
  if (SYSTEM_FOLDER.test(real(folder))) return true
  const paths = [relative(top, folder), relative(real(top), real(folder))]
  return paths.some((path) => privateReason(path, rulesFor('', { secrets })) !== undefined)
}

function privateReason(path: string, rules: IgnoreRules): ExclusionReason | undefined {
  const reasons = path.split(sep).map((name) => rules.reasonFor(name, true))
  return reasons.find((reason) => PRIVATE_REASONS.has(reason))
}

const PRIVATE_REASONS = new Set<ExclusionReason | undefined>(['secret', 'repository'])

function rulesFor(slipwayignore: string, { secrets = false }: ScanOptions): IgnoreRules {
  return ignoreRules(slipwayignore, { secrets })
}

/** A device or a pipe, to which a link may lead, has no end; and lines of a file elsewhere would show in what is left out. */
function readIgnoreFile(folder: string): string {
  const file = join(folder, IGNORE_FILE)
  try {
    const found = statSync(file)
    if (!found.isFile() || found.size > MAX_IGNORE_BYTES || linkTarget(file) !== undefined)
      throw invalidIgnoreFile(file)
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return ''
    // Whether the folder has such a file is unknown.
    throw syscall === 'stat' ? Object.assign(error as Error, { path: folder }) : error
  }
}

function addFile(found: FolderScan, source: string, local: string): void {
  const { size } = statSync(source)
  found.files.push({ path: normalizeNfc(local), local, source, size })
}

class FolderWalker {
  readonly #top: string
  readonly #rules: IgnoreRules
  /** Of the paths by which files are in the folder, not those of links that lead to them. */
  readonly #exclusions: Exclusions
  readonly #scan: FolderScan
  #linkedEntries = 0

  constructor(top: string, rules: IgnoreRules, found: FolderScan) {
    this.#top = top
    this.#rules = rules
    this.#exclusions = new Exclusions(rules)
    this.#scan = found
  }

  /** `above` are the real paths of the folders on the way, including this one. */
  folder(source: string, prefix: string, above: string[]): void {
    this.#scan.folders.push(source)
    const entries = readdirSync(source, { withFileTypes: true })
    const isLinked = source !== join(this.#top, prefix.slice(0, -1))
    if (isLinked) this.#linkedEntries += 1 + entries.length
    if (this.#linkedEntries > MAX_LINKED_ENTRIES)
      throw new Error(
        `Links lead to more than ${formatNumber(MAX_LINKED_ENTRIES)} files and folders, as in ${prefix}`,
      )
    for (const entry of entries) {
      const inside = withSeparator(source) + entry.name
      // What is excluded by its own path is listed by that.
      if (isLinked && this.#findExclusion(inside, entry.isDirectory())) continue
      try {
        this.#entry(entry, inside, prefix + entry.name, above)
      } catch (error) {
        // It was deleted since the folder was read.
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || exists(inside)) throw error
      }
    }
  }

  #entry(entry: Dirent, source: string, path: string, above: string[]): void {
    const isFolder = entry.isDirectory()
    if (path === STATE_FOLDER || isUnfinished(path)) return
    const reason = this.#rules.reasonFor(path, isFolder)
    if (reason !== undefined) this.#exclude(isFolder ? `${path}/` : path, reason)
    else if (entry.name.includes('\uFFFD') && !exists(source)) this.#scan.misnamed.push(path)
    else if (isFolder) this.folder(source, `${path}/`, [...above, source])
    else if (entry.isFile()) addFile(this.#scan, source, path)
    else if (entry.isSymbolicLink()) this.#link(source, path, above)
    else this.#exclude(path, 'special')
  }

  /** A link counts as its target if that is in the folder and not excluded itself. */
  #link(source: string, path: string, above: string[]): void {
    const target = realPathOrUndefined(source)
    if (target === undefined || !target.startsWith(withSeparator(this.#top))) {
      this.#exclude(path, 'link')
      return
    }
    const kind = statSync(target)
    const reason =
      this.#rules.reasonFor(path, kind.isDirectory()) ??
      this.#findExclusion(target, kind.isDirectory())?.reason
    if (reason !== undefined) this.#exclude(path, reason)
    else if (kind.isDirectory()) this.#linkedFolder(target, path, above)
    else if (kind.isFile()) addFile(this.#scan, target, path)
    else this.#exclude(path, 'special')
  }

  /** A link to a folder above, or to one with nothing to publish, is left out. */
  #linkedFolder(target: string, path: string, above: string[]): void {
    const { files, excluded, misnamed } = this.#scan
    const count = () => files.length + excluded.length + misnamed.length
    const before = count()
    if (!above.includes(target)) this.folder(target, `${path}/`, [...above, target])
    if (count() === before) this.#exclude(path, 'link')
  }

  #findExclusion(source: string, isFolder: boolean): Exclusion | undefined {
    const path = relative(this.#top, source).split(sep).join('/')
    return this.#exclusions.find(isFolder ? `${path}/` : path)
  }

  #exclude(path: string, reason: Exclusion['reason']): void {
    this.#scan.excluded.push({ path, reason })
  }
}

/** Node replaces bytes of a name that are not UTF-8, by which the file is not found. */
function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

export function realPathOrUndefined(link: string): string | undefined {
  try {
    return realpathSync.native(link)
  } catch {
    return undefined
  }
}

function withSeparator(folder: string): string {
  return folder.endsWith(sep) ? folder : folder + sep
}
