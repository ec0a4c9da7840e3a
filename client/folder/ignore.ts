interface Rule {
  matches: RegExp
  /** `!pattern` brings back what an earlier rule left out. */
  negated: boolean
  foldersOnly: boolean
}

/** Patterns in the syntax of gitignore, of which the last that matches decides. */
export class IgnoreRules {
  readonly #rules: Rule[]

  private constructor(rules: Rule[]) {
    this.#rules = rules
  }

  /** Reads one pattern a line; blank lines and `#` comments say nothing. */
  static parse(text: string, { ignoreCase = false } = {}): IgnoreRules {
    const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/)
    return new IgnoreRules(lines.flatMap((line) => ruleOf(line, ignoreCase) ?? []))
  }

  /** These rules, then those, which have the last word. */
  followedBy(later: IgnoreRules): IgnoreRules {
    return new IgnoreRules([...this.#rules, ...later.#rules])
  }

  /** Whether this entry is left out, its folders apart. `path` is relative, with `/` between names. */
  ignores(path: string, isFolder: boolean): boolean {
    for (let at = this.#rules.length - 1; at >= 0; at--) {
      const rule = this.#rules[at]!
      if ((isFolder || !rule.foldersOnly) && rule.matches.test(path)) return !rule.negated
    }
    return false
  }

  /** Whether this entry or any folder above it is left out. */
  ignoresWithin(path: string, isFolder: boolean): boolean {
    const names = path.split('/')
    const above = names.slice(1).map((_, at) => names.slice(0, at + 1).join('/'))
    return above.some((folder) => this.ignores(folder, true)) || this.ignores(path, isFolder)
  }
}

function ruleOf(line: string, ignoreCase: boolean): Rule | undefined {
  let pattern = withoutTrailingSpaces(line)
  if (pattern === '' || pattern.startsWith('#')) return undefined
  const negated = pattern.startsWith('!')
  if (negated) pattern = pattern.slice(1)
  const foldersOnly = pattern.endsWith('/')
  if (foldersOnly) pattern = pattern.slice(0, -1)
  const anchored = pattern.includes('/')
  pattern = pattern.replace(/^\//, '')
  if (pattern === '') return undefined
  const body = expressionOf(pattern)
  if (body === undefined) return undefined
  const matches = new RegExp(`^${anchored ? '' : '(?:.*/)?'}${body}$`, ignoreCase ? 'isu' : 'su')
  return { matches, negated, foldersOnly }
}

/** Trailing spaces do not count, unless a backslash keeps them. */
function withoutTrailingSpaces(line: string): string {
  return line.replace(/((?:\\ )?) *$/, '$1')
}

const TOKEN = /\*\*\/|\/\*\*$|\*+|\?|\[(?:[!^]?\](?:\\.|[^\]\\])*|(?:\\.|[^\]\\])*)\]|\\.|./gsu

/** The regular expression for a glob, or undefined when it has a bracket that does not end and so matches nothing. */
function expressionOf(pattern: string): string | undefined {
  let expression = ''
  for (const { 0: token, index } of pattern.matchAll(TOKEN)) {
    if (token === '[') return undefined
    expression += piece(token, index === 0 || pattern[index - 1] === '/')
  }
  return isExpression(expression) ? expression : undefined
}

function piece(token: string, startsName: boolean): string {
  if (token === '**/') return startsName ? '(?:.*/)?' : '[^/]*/'
  if (token === '/**') return '/.+'
  if (token.startsWith('*')) return '[^/]*'
  if (token === '?') return '[^/]'
  if (token.startsWith('[')) return bracket(token)
  return literal(token.startsWith('\\') && token.length > 1 ? token.slice(1) : token)
}

function bracket(token: string): string {
  const negated = token[1] === '!' || token[1] === '^'
  const inside = token.slice(negated ? 2 : 1, -1).replace(/\\(.)|[\][\\^]/gsu, (found, escaped) => {
    const character: string = escaped ?? found
    return /[\][\\^-]/.test(character) ? `\\${character}` : character
  })
  return `(?!/)[${negated ? '^' : ''}${inside}]`
}

function literal(character: string): string {
  return character.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}

function isExpression(source: string): boolean {
  try {
    new RegExp(source, 'su')
    return true
  } catch {
    return false
  }
}
