import { normalizeNfc } from '../manifest/unicode.ts'
import { Glob, GlobPath } from './glob.ts'

/** Why a file is not published. */
export const EXCLUSION_REASONS = [
  /** A name that begins with a dot, other than `.well-known`. */
  'dotfile',
  /** A key, or another file that usually holds secrets. */
  'secret',
  /** An installed package, such as in `node_modules`. */
  'dependencies',
  /** Metadata of an operating system, or a temporary file of an editor. */
  'system',
  /** The data of a version control system. */
  'repository',
  /** A pattern in the folder's `.slipwayignore`. */
  'ignored',
] as const
export type ExclusionReason = (typeof EXCLUSION_REASONS)[number]

/** Maximum length of a name on a disk, in UTF-16 units. An archive of a stranger may have longer ones, which take long. */
const MAX_NAME_LENGTH = 255

/** What a rule costs whose pattern has other ends than the path, and what each character of a name costs, as comparisons. */
const COMPARISONS_PER_RULE = 8
const COMPARISONS_PER_CHARACTER = 8

interface IgnoreRule {
  reason: ExclusionReason
  glob: Glob
  /** The pattern holds no slash: it is matched against the last name of a path, whatever its folder. */
  isName: boolean
  /** `!pattern` includes what an earlier rule excluded. */
  negated: boolean
  foldersOnly: boolean
}

/** Patterns in gitignore syntax, for names in any Unicode form; the last match decides. */
export class IgnoreRules {
  readonly #rules: IgnoreRule[]
  /** The work of these rules so far, at most: characters of paths times those of patterns. */
  comparisons = 0

  private constructor(rules: IgnoreRule[]) {
    this.#rules = rules
  }

  /** Parses one pattern per line; blank lines and `#` comments are ignored. */
  static parse(
    text: string,
    { ignoreCase = false, reason = 'ignored' }: { ignoreCase?: boolean; reason?: ExclusionReason } = {},
  ): IgnoreRules {
    const lines = normalizeNfc(text.replace(/^\uFEFF/, '')).split(/\r?\n/)
    return new IgnoreRules(lines.flatMap((line) => parseRule(line, { ignoreCase, reason }) ?? []))
  }

  /** All of these rules; later ones take precedence. */
  static concatenate(parts: readonly IgnoreRules[]): IgnoreRules {
    return new IgnoreRules(parts.flatMap((part) => part.#rules))
  }

  /** The characters and wildcards of all patterns. */
  get patternLength(): number {
    return this.#rules.reduce((sum, { glob }) => sum + glob.length, 0)
  }

  /** Whether this entry itself is excluded. `path` is relative, with `/` between names. */
  ignores(path: string, isFolder: boolean): boolean {
    return this.reasonFor(path, isFolder) !== undefined
  }

  /** Why this entry itself is excluded. `.` and `..` are not names, and never are. */
  reasonFor(path: string, isFolder: boolean): ExclusionReason | undefined {
    const given = path.slice(path.lastIndexOf('/') + 1)
    const name = given.length > MAX_NAME_LENGTH ? given : normalizeNfc(given)
    if (name === '.' || name === '..') return undefined
    this.comparisons += this.#rules.length * COMPARISONS_PER_RULE + given.length * COMPARISONS_PER_CHARACTER
    const last = new GlobPath(name)
    let whole: GlobPath | undefined
    const getWhole = () => {
      whole ??= this.#normalize(path)
      return whole
    }
    for (let at = this.#rules.length - 1; at >= 0; at--) {
      const { glob, isName, negated, foldersOnly, reason } = this.#rules[at]!
      if (foldersOnly && !isFolder) continue
      const compared = isName ? last : getWhole()
      if (!glob.acceptsEnds(compared)) continue
      this.comparisons += compared.text.length * glob.length
      if (glob.test(compared)) return negated ? undefined : reason
    }
    return undefined
  }

  #normalize(path: string): GlobPath {
    this.comparisons += path.length * COMPARISONS_PER_CHARACTER
    return new GlobPath(normalizeNfc(path))
  }
}

function parseRule(
  line: string,
  { ignoreCase, reason }: { ignoreCase: boolean; reason: ExclusionReason },
): IgnoreRule | undefined {
  let pattern = withoutTrailingSpaces(line)
  if (pattern === '' || pattern.startsWith('#')) return undefined
  const negated = pattern.startsWith('!')
  if (negated) pattern = pattern.slice(1)
  const foldersOnly = pattern.endsWith('/')
  if (foldersOnly) pattern = pattern.slice(0, -1)
  const isName = !pattern.includes('/')
  pattern = pattern.replace(/^\//, '')
  if (pattern === '') return undefined
  const glob = Glob.parse(pattern, ignoreCase)
  return glob && { glob, isName, negated, foldersOnly, reason }
}

/** Trailing spaces are ignored, except after a backslash. */
function withoutTrailingSpaces(line: string): string {
  let end = line.length
  while (line[end - 1] === ' ') end--
  return line.slice(0, end < line.length && line[end - 1] === '\\' ? end + 1 : end)
}
