import { type Dirent, lstatSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, parse, relative, sep } from 'node:path'
import { formatLimit, formatNumber } from '../../../protocol/format.ts'
import { ignoreRules } from '../../../protocol/ignore/default-rules.ts'
import type { Exclusion } from '../../../protocol/ignore/exclusions.ts'
import type { ExclusionReason, IgnoreRules } from '../../../protocol/ignore/ignore-rules.ts'
import { type NamedFile, validateFolder } from '../../../protocol/manifest/folder.ts'
import { findIndexAliases } from '../../../protocol/manifest/root-document.ts'
import { normalizeNfc } from '../../../protocol/manifest/unicode.ts'

/** The command's own folder, which no list needs to name. */
const STATE_FOLDER = '.slipway'

/** Maximum size of `.slipwayignore`. */
const MAX_IGNORE_BYTES = 32 * 1024
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
  /** OS metadata, secrets and matches of `.slipwayignore`. */
  ignored: string[]
  /** Of each path in `ignored`. */
  reasons: Map<string, ExclusionReason>
  /** Links that lead outside the folder, in a loop or nowhere. */
  links: string[]
  /** Neither file nor folder, such as sockets. */
  unsupported: string[]
  /** Files and folders whose names are not UTF-8, and cannot be opened therefore. */
  misnamed: string[]
  /** Files that are published as the `index.html` of their folder as well, by the path of that. */
  indexes: Map<string, string>
}

/** What a scan includes beside what a folder publishes by default. */
export interface ScanOptions {
  /** Private keys and other known secrets, which `.slipwayignore` cannot include. */
  secrets?: boolean | undefined
  /** Files that are merged with a site, which may have the `index.html` that the folder does not have, get none. */
  mode?: 'merge' | 'replace' | undefined
}

/** Scans a folder or a single file. Reads names and sizes only. Results are sorted by path. */
export function scan(root: string, include: ScanOptions = {}): FolderScan {
  const found: FolderScan = {
    files: [],
    folders: [],
    ignored: [],
    reasons: new Map(),
    links: [],
    unsupported: [],
    misnamed: [],
    indexes: new Map(),
  }
  const isFolder = statSync(root).isDirectory()
  const top = realpathSync.native(isFolder ? root : dirname(root))
  if (!isFolder) {
    found.folders.push(top)
    if (isExcludedFile(root, include)) found.ignored.push(basename(root))
    else addFile(found, realpathSync.native(root), basename(root))
    return found
  }
  const rules = rulesFor(readIgnoreFile(top), include)
  new FolderWalker(top, rules, found).folder(top, '', [top])
  for (const list of [found.ignored, found.links, found.unsupported, found.misnamed]) list.sort()
  if (include.mode !== 'merge') addIndexes(found)
  found.files.sort((a, b) => (a.path < b.path ? -1 : 1))
  return found
}

/** Adds the `index.html` of folders whose index has another name. */
function addIndexes(found: FolderScan): void {
  for (const { path, file } of findIndexAliases(found.files)) {
    found.files.push({ ...file, path })
    found.indexes.set(path, file.path)
  }
}

/** Why the folder cannot be published whatever the limits are, a sentence for each problem. */
export function folderProblems({ files, misnamed }: FolderScan): string[] {
  return [...misnamed.map((path) => `${path}: the name is not UTF-8; rename it`), ...validateFolder(files)]
}

/** A path that is not in the site, and why. */
export type SkippedPath = Exclusion

/** The files of the folder that will not be in the site, for programs. */
export function skippedPaths({ ignored, reasons, links, unsupported }: FolderScan): SkippedPath[] {
  const withReason = (paths: string[], reason: SkippedPath['reason']) =>
    paths.map((path): SkippedPath => ({ path, reason }))
  return [
    ...ignored.map((path): SkippedPath => ({ path, reason: reasons.get(path) ?? 'ignored' })),
    ...withReason(links, 'link'),
    ...withReason(unsupported, 'special'),
  ]
}

/** Whether the rules exclude a single file, the target of a link included. By default with the rules of its folder. */
export function isExcludedFile(
  file: string,
  include: ScanOptions = {},
  slipwayignore = readIgnoreFile(dirname(file)),
): boolean {
  const rules = rulesFor(slipwayignore, include)
  return [file, realpathSync.native(file)].some(
    (path) => rules.ignores(basename(path), false) || isPrivateFolder(dirname(path), rules),
  )
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

/** Whether a folder of this path is that of a repository, or usually holds secrets. */
export function isPrivateFolder(path: string, rules: IgnoreRules = ignoreRules('')): boolean {
  return path.split(sep).some((name) => PRIVATE_REASONS.has(rules.reasonFor(name, true)))
}

const PRIVATE_REASONS = new Set<ExclusionReason | undefined>(['secret', 'repository'])

function rulesFor(slipwayignore: string, { secrets = false }: ScanOptions): IgnoreRules {
  return ignoreRules(slipwayignore, { secrets })
}

/** A device or a pipe, to which a link may lead, has no end; and lines of a file elsewhere would show in what is left out. */
function readIgnoreFile(folder: string): string {
  const file = join(folder, '.slipwayignore')
  try {
    const found = statSync(file)
    if (!found.isFile() || found.size > MAX_IGNORE_BYTES || linkTarget(file) !== undefined)
      throw new Error(`${file} is not a file in this folder of at most ${formatLimit(MAX_IGNORE_BYTES)}`)
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}

function addFile(found: FolderScan, source: string, local: string): void {
  const { size } = statSync(source)
  found.files.push({ path: normalizeNfc(local), local, source, size })
}

class FolderWalker {
  readonly #top: string
  readonly #rules: IgnoreRules
  readonly #scan: FolderScan
  #linkedEntries = 0

  constructor(top: string, rules: IgnoreRules, found: FolderScan) {
    this.#top = top
    this.#rules = rules
    this.#scan = found
  }

  /** `above` are the real paths of the folders on the way, including this one. */
  folder(source: string, prefix: string, above: string[]): void {
    this.#scan.folders.push(source)
    const entries = readdirSync(source, { withFileTypes: true })
    if (source !== join(this.#top, prefix.slice(0, -1))) this.#linkedEntries += 1 + entries.length
    if (this.#linkedEntries > MAX_LINKED_ENTRIES)
      throw new Error(
        `Links lead to more than ${formatNumber(MAX_LINKED_ENTRIES)} files and folders, as in ${prefix}`,
      )
    for (const entry of entries) this.#entry(entry, join(source, entry.name), prefix + entry.name, above)
  }

  #entry(entry: Dirent, source: string, path: string, above: string[]): void {
    const isFolder = entry.isDirectory()
    if (path === STATE_FOLDER) return
    const reason = this.#rules.reasonFor(path, isFolder)
    if (reason !== undefined) this.#ignore(isFolder ? `${path}/` : path, reason)
    else if (entry.name.includes('\uFFFD') && !exists(source)) this.#scan.misnamed.push(path)
    else if (isFolder) this.folder(source, `${path}/`, [...above, source])
    else if (entry.isFile()) addFile(this.#scan, source, path)
    else if (entry.isSymbolicLink()) this.#link(source, path, above)
    else this.#scan.unsupported.push(path)
  }

  /** A link counts as its target if that is in the folder and not excluded itself. */
  #link(source: string, path: string, above: string[]): void {
    const target = realPathOrUndefined(source)
    if (target === undefined || !target.startsWith(withSeparator(this.#top))) {
      this.#scan.links.push(path)
      return
    }
    const kind = statSync(target)
    const inside = relative(this.#top, target).split(sep).join('/')
    const reason = this.#rules.reasonFor(path, kind.isDirectory())
    if (reason !== undefined || this.#rules.ignoresWithin(inside, kind.isDirectory())) {
      this.#ignore(path, reason ?? 'ignored')
    } else if (kind.isDirectory()) {
      if (above.some((folder) => folder === target)) this.#scan.links.push(path)
      else this.folder(target, `${path}/`, [...above, target])
    } else if (kind.isFile()) addFile(this.#scan, target, path)
    else this.#scan.unsupported.push(path)
  }

  #ignore(path: string, reason: ExclusionReason): void {
    this.#scan.ignored.push(path)
    this.#scan.reasons.set(path, reason)
  }
}

/** Node replaces bytes of a name that are not UTF-8, by which the file is not found. */
function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

function realPathOrUndefined(link: string): string | undefined {
  try {
    return realpathSync.native(link)
  } catch {
    return undefined
  }
}

function withSeparator(folder: string): string {
  return folder.endsWith(sep) ? folder : folder + sep
}
