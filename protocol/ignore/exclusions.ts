import { formatNumber } from '../format.ts'
import { EXCLUSION_REASONS, type IgnoreRules } from './ignore-rules.ts'

/** Why a path is not published: a rule, or what it is. */
export const SKIP_REASONS = [
  ...EXCLUSION_REASONS,
  /** A link that leads outside, in a loop or nowhere. */
  'link',
  /** Neither file nor folder, such as a socket, or made by the system, below `/proc` or `/sys`. */
  'special',
] as const
export type SkipReason = (typeof SKIP_REASONS)[number]

/** A file, or a folder with a final `/`, that is not published. */
export interface Exclusion {
  path: string
  reason: SkipReason
}

/** Of the folders of an archive, which may name any number of them. */
const MAX_REMEMBERED_FOLDERS = 10_000

/** Applies rules to the files of a list. Folders are checked once, however many files they hold, when these follow each other. */
export class Exclusions {
  readonly #rules: IgnoreRules
  readonly #folders = new Map<string, Exclusion | undefined>()

  constructor(rules: IgnoreRules) {
    this.#rules = rules
  }

  /**
   * The exclusion of a file, or of a folder with a final `/`: its outermost excluded folder, or itself. Paths have `/`
   * between names.
   */
  find(path: string): Exclusion | undefined {
    const folder = path.slice(0, path.lastIndexOf('/') + 1)
    return this.#findFolder(folder) ?? (folder === path ? undefined : this.#check(path, false))
  }

  /** Whether the folders of this path were checked before. */
  knowsFolderOf(path: string): boolean {
    return this.#folders.has(path.slice(0, path.lastIndexOf('/') + 1))
  }

  #findFolder(folder: string): Exclusion | undefined {
    if (folder === '' || folder === '/') return undefined
    if (this.#folders.has(folder)) return this.#folders.get(folder)
    const parent = folder.slice(0, folder.lastIndexOf('/', folder.length - 2) + 1)
    const found = this.#findFolder(parent) ?? this.#check(folder, true)
    if (this.#folders.size === MAX_REMEMBERED_FOLDERS) this.#folders.clear()
    this.#folders.set(folder, found)
    return found
  }

  #check(path: string, isFolder: boolean): Exclusion | undefined {
    const reason = this.#rules.reasonFor(isFolder ? path.slice(0, -1) : path, isFolder)
    return reason && { path, reason }
  }
}

/** The top folder that all of these paths share, with its `/`; empty when there is none. */
export function commonFolder(paths: readonly string[]): string {
  const first = paths[0] ?? ''
  const folder = first.slice(0, first.indexOf('/') + 1)
  const isName = folder !== '/' && folder !== './' && folder !== '../'
  return isName && paths.every((path) => path.startsWith(folder)) ? folder : ''
}

/** Maximum number of listed paths. */
const MAX_LISTED_PATHS = 8

/** The paths, or without `all` the first ones and the number of the others. */
export function listPaths(paths: readonly string[], all: boolean): string {
  const shown = (all ? paths : paths.slice(0, MAX_LISTED_PATHS)).join(', ')
  const more = all ? 0 : paths.length - MAX_LISTED_PATHS
  return more > 0 ? `${shown} and ${formatNumber(more)} more` : shown
}
