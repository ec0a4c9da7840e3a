import { IGNORE_FILE, type IncludeOptions, ignoreRules, STATE_FOLDER } from '../ignore/default-rules.ts'
import { commonFolder, type Exclusion, Exclusions, listPaths } from '../ignore/exclusions.ts'
import type { IgnoreRules } from '../ignore/ignore-rules.ts'
import { describeIndexAlias, findIndexAliases } from '../manifest/root-document.ts'
import { type ArchiveLink, type LinkedFile, resolveLinks } from './archive-links.ts'

/** The path of a name in an archive: archivers write `./index.html` and `a//b`, which other programs extract as these. */
export function toArchivePath(name: string): string {
  if (!/(^|\/)\.?\//.test(name)) return name
  const path = name.replace(/\/(\.?\/)+/g, '/').replace(/^\.\/(?=.)/s, '')
  return name.startsWith('/') && !path.startsWith('/') ? `/${path}` : path
}

/** What an archive has. Paths are those of the archive, without a leading `./`. */
interface ArchiveContents {
  /** Files with their bytes. */
  files: readonly string[]
  /** By path. A file of the same path is not in `files`. */
  links: ReadonlyMap<string, ArchiveLink>
}

interface SelectionOptions {
  include?: IncludeOptions
  /** Keeps a top folder that all files share; otherwise its contents are the site. */
  keepsTopFolder?: boolean
  /** Adds no `index.html` to folders whose index has another name: the site that is updated may have one. */
  isMerged?: boolean
  /** Lets other work run: rules of a stranger may take long. */
  pause?: () => Promise<void>
}

/** What is published of an archive. */
interface SelectedFiles {
  /** The files of the archive that are in the site. */
  kept: ReadonlySet<string>
  /** Files of the site with the bytes of others: what links stand for, and the index of folders that have another one. */
  copies: LinkedFile[]
  /** Those of `copies` that are an `index.html` in place of another name. */
  indexes: string[]
  excluded: Exclusion[]
  /** What was guessed, as sentences. */
  notes: string[]
  /** The top folder that is no part of the paths in the site, with its `/`; empty when there is none. */
  removedFolder: string
  /** Hard links to files that were left out by default, whose bytes were not read. */
  missing: ArchiveLink[]
}

/** Comparisons of characters between two pauses: about 10 ms. */
const COMPARISONS_PER_TURN = 2 ** 19
/** What it costs to find a folder that was checked before. */
const COMPARISONS_PER_LOOKUP = 16
/** Maximum number of comparisons that the rules of an archive may take: seconds of CPU time. */
const MAX_COMPARISONS = 2 ** 28

/** The rules for an archive need too much time for its names. */
export class TooManyRulesError extends Error {
  constructor(hasOwnRules: boolean) {
    super(
      hasOwnRules
        ? `The patterns of ${IGNORE_FILE} are too many for the names in the archive`
        : 'The names in the archive have too many folders',
    )
  }
}

/**
 * Selects the files of an archive, or of a list of files, that are published: those of the folder that the client would
 * publish, by the same rules.
 */
export class FolderSelection {
  readonly #options: SelectionOptions
  readonly #byDefault: Rules
  /** The texts of `.slipwayignore` by their folders: the top of the archive, and the top folder that may be removed. */
  readonly #ignoreFiles = new Map<string, string>()
  #lifting: Rules | undefined
  /** All that were made for this archive, whose work is limited together. */
  readonly #made: IgnoreRules[] = []
  #lookups = 0
  #comparisonsAtPause = 0

  constructor(options: SelectionOptions = {}) {
    this.#options = options
    this.#byDefault = new Rules('', this.#make(''))
  }

  /** Whether this path may be that of the folder's `.slipwayignore`: its text is then needed. */
  isIgnoreFile(path: string): boolean {
    const folder = path.slice(0, -IGNORE_FILE.length)
    if (path !== folder + IGNORE_FILE || this.#ignoreFiles.has(folder)) return false
    const isTopFolder =
      /^[^/]+\/$/.test(folder) && !this.#options.keepsTopFolder && this.#ignoreFiles.size === 0
    return folder === '' || isTopFolder
  }

  /** Adds a `.slipwayignore`. Throws an IgnoreFileError. */
  addIgnoreFile(path: string, text: string): void {
    const folder = path.slice(0, -IGNORE_FILE.length)
    this.#ignoreFiles.set(folder, text)
    if (folder === '' || this.#lifting === undefined) this.#lifting = this.#rules(folder)
  }

  /**
   * The exclusion by default of a file, or of a folder with a final `/`, that the rules known so far do not lift. Files
   * that are left out so are not read. Throws a TooManyRulesError.
   */
  async findEarly(path: string): Promise<Exclusion | undefined> {
    const exclusion = await this.#find(this.#byDefault, path)
    return exclusion && (!this.#lifting || (await this.#find(this.#lifting, path))) ? exclusion : undefined
  }

  /** Throws a TooManyLinksError or a TooManyRulesError. `early` are the exclusions of files that were not read. */
  async select({ files, links }: ArchiveContents, early: readonly Exclusion[]): Promise<SelectedFiles> {
    const { keepsTopFolder = false } = this.#options
    const rules = this.#rules(keepsTopFolder ? '' : commonFolder([...files, ...links.keys()]))
    const excluded = new Map<string, Exclusion>()
    const lifted: string[] = []
    for (const exclusion of early) {
      const found = await this.#find(rules, exclusion.path)
      if (!found && exclusion.reason !== 'special') lifted.push(exclusion.path)
      const { path, reason } = found ?? exclusion
      excluded.set(path, { path, reason })
    }
    const admit = async (path: string) => {
      const exclusion = await this.#find(rules, path)
      if (exclusion) excluded.set(exclusion.path, exclusion)
      return exclusion === undefined
    }
    // Without a `.slipwayignore` the rules are those by which the files were read.
    const isFinal = this.#ignoreFiles.size === 0
    const kept = new Set<string>(isFinal ? files : [])
    const named = new Map(isFinal ? links : [])
    if (!isFinal) {
      for (const path of files) if (await admit(path)) kept.add(path)
      for (const link of links.values()) if (await admit(link.path)) named.set(link.path, link)
    }
    const { files: linked, broken } = resolveLinks(named, [...kept], files)
    const copies: LinkedFile[] = []
    for (const copy of linked) if (await admit(copy.path)) copies.push(copy)
    const missing: ArchiveLink[] = []
    for (const { leadsTo, ...link } of broken) {
      if (!(await admit(link.path))) continue
      const target = leadsTo === undefined ? undefined : await this.#findTarget(rules, leadsTo)
      if (!link.isSymbolic && target && target.reason !== 'secret') missing.push(link)
      excluded.set(link.path, { path: link.path, reason: target?.reason ?? 'link' })
    }
    const removedFolder = keepsTopFolder ? '' : commonFolder([...kept, ...copies.map(({ path }) => path)])
    const notes = lifted.length === 0 ? [] : [describeLate(lifted)]
    const site = { kept, copies, notes, removedFolder, missing, indexes: [] }
    this.#addIndexes(site)
    return { ...site, excluded: inSite([...excluded.values()], removedFolder) }
  }

  /** Adds the index of folders that have another one. */
  #addIndexes({ kept, copies, indexes, notes, removedFolder }: Omit<SelectedFiles, 'excluded'>): void {
    if (this.#options.isMerged) return
    const sources = new Map<string, string>()
    for (const path of kept) sources.set(path, path)
    for (const { path, source } of copies) sources.set(path, source)
    const inFolder = [...sources.keys()].map((path) => ({ path: path.slice(removedFolder.length) }))
    for (const alias of findIndexAliases(inFolder)) {
      const path = removedFolder + alias.path
      copies.push({ path, source: sources.get(removedFolder + alias.file.path)! })
      indexes.push(path)
      notes.push(describeIndexAlias(alias))
    }
  }

  #findTarget(rules: Rules, path: string): Promise<Exclusion | undefined> {
    return this.#find(rules, path).then((found) => found ?? this.#find(rules, `${path}/`))
  }

  /** Checks one folder after another, so that it can pause between them. */
  async #find(rules: Rules, path: string): Promise<Exclusion | undefined> {
    const first = this.#options.pause && !rules.knowsFolderOf(path) ? path.indexOf('/') : -1
    for (let end = first; end >= 0; end = path.indexOf('/', end + 1)) {
      if (this.#isPauseDue()) await this.#pause()
      this.#lookups += COMPARISONS_PER_LOOKUP + end / 8
      const found = rules.find(path.slice(0, end + 1))
      if (found) return found
    }
    if (this.#isPauseDue()) await this.#pause()
    return rules.find(path)
  }

  #isPauseDue(): boolean {
    return this.#countComparisons() - this.#comparisonsAtPause > COMPARISONS_PER_TURN
  }

  async #pause(): Promise<void> {
    const { pause } = this.#options
    this.#comparisonsAtPause = this.#countComparisons()
    if (pause && this.#comparisonsAtPause > MAX_COMPARISONS)
      throw new TooManyRulesError(this.#ignoreFiles.size > 0)
    await pause?.()
  }

  #countComparisons(): number {
    return this.#made.reduce((sum, { comparisons }) => sum + comparisons, this.#lookups)
  }

  #make(text: string): IgnoreRules {
    const rules = ignoreRules(text, this.#options.include)
    this.#made.push(rules)
    return rules
  }

  /** The rules for an archive whose files share this top folder. */
  #rules(topFolder: string): Rules {
    const folder = this.#ignoreFiles.has('') ? '' : topFolder
    const text = this.#ignoreFiles.get(folder)
    return new Rules(text === undefined ? '' : folder, this.#make(text ?? ''), this.#byDefault)
  }
}

/** Rules of a folder of an archive, for paths of the archive. */
class Rules {
  readonly #folder: string
  readonly #exclusions: Exclusions
  readonly #outside: Rules | undefined

  constructor(folder: string, rules: IgnoreRules, outside?: Rules) {
    this.#folder = folder
    this.#exclusions = new Exclusions(rules)
    this.#outside = outside
  }

  /** Whether the folders of this path were checked before. */
  knowsFolderOf(path: string): boolean {
    const folder = this.#folder
    return path.startsWith(folder)
      ? this.#exclusions.knowsFolderOf(path.slice(folder.length))
      : this.#outside!.knowsFolderOf(path)
  }

  find(path: string): Exclusion | undefined {
    const folder = this.#folder
    if (!path.startsWith(folder)) return this.#outside!.find(path)
    if (path === folder) return undefined
    const found = this.#exclusions.find(path.slice(folder.length))
    return found && { ...found, path: folder + found.path }
  }
}

/** Exclusions with their paths in the site, without that of the command's state. */
function inSite(excluded: readonly Exclusion[], removedFolder: string): Exclusion[] {
  return excluded
    .map(({ path, reason }) => ({
      path: path.startsWith(removedFolder) ? path.slice(removedFolder.length) : path,
      reason,
    }))
    .filter(({ path }) => path !== `${STATE_FOLDER}/` && path !== '')
    .sort((a, b) => (a.path < b.path ? -1 : 1))
}

function describeLate(paths: readonly string[]): string {
  return `${listPaths(paths, false)}: left out, because ${IGNORE_FILE} comes after it. Put ${IGNORE_FILE} first into the archive.`
}
