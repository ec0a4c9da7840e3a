import { Glob } from './glob.ts'

interface IgnoreRule {
  glob: Glob
  /** The pattern holds no slash: it is matched against the last name of a path, whatever its folder. */
  isName: boolean
  /** `!pattern` includes what an earlier rule excluded. */
  negated: boolean
  foldersOnly: boolean
}

/** Patterns in gitignore syntax; the last match decides. */
export class IgnoreRules {
  readonly #rules: IgnoreRule[]

  private constructor(rules: IgnoreRule[]) {
    this.#rules = rules
  }

  /** Parses one pattern per line; blank lines and `#` comments are ignored. */
  static parse(text: string, { ignoreCase = false } = {}): IgnoreRules {
    const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/)
    return new IgnoreRules(lines.flatMap((line) => parseRule(line, ignoreCase) ?? []))
  }

  /** These rules followed by those, which take precedence. */
  followedBy(later: IgnoreRules): IgnoreRules {
    return new IgnoreRules([...this.#rules, ...later.#rules])
  }

  /** Whether this entry itself is excluded. `path` is relative, with `/` between names. */
  ignores(path: string, isFolder: boolean): boolean {
    const name = path.slice(path.lastIndexOf('/') + 1)
    for (let at = this.#rules.length - 1; at >= 0; at--) {
      const { glob, isName, negated, foldersOnly } = this.#rules[at]!
      if ((isFolder || !foldersOnly) && glob.test(isName ? name : path)) return !negated
    }
    return false
  }

  /** Whether this entry or any folder above it is excluded. */
  ignoresWithin(path: string, isFolder: boolean): boolean {
    const names = path.split('/')
    const above = names.slice(1).map((_, at) => names.slice(0, at + 1).join('/'))
    return above.some((folder) => this.ignores(folder, true)) || this.ignores(path, isFolder)
  }
}

function parseRule(line: string, ignoreCase: boolean): IgnoreRule | undefined {
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
  return glob && { glob, isName, negated, foldersOnly }
}

/** Trailing spaces are ignored, except after a backslash. */
function withoutTrailingSpaces(line: string): string {
  let end = line.length
  while (line[end - 1] === ' ') end--
  return line.slice(0, end < line.length && line[end - 1] === '\\' ? end + 1 : end)
}
