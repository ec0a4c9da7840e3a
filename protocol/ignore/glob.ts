/** One part of a pattern. */
type Part =
  /** Exactly one character. */
  | { kind: 'one'; accepts(character: string): boolean }
  /** Any number of characters, none of them a slash unless `crosses`. */
  | { kind: 'star'; crosses: boolean }
  /** Nothing, or anything that ends in a slash. */
  | { kind: 'folders' }

const FIRST_CHARACTER = /^./su
const LAST_CHARACTER = /.$/su

/** A path, whose first and last character alone decide most patterns. */
export class GlobPath {
  readonly text: string
  readonly first: string
  readonly last: string

  constructor(text: string) {
    this.text = text
    this.first = FIRST_CHARACTER.exec(text)?.[0] ?? ''
    this.last = LAST_CHARACTER.exec(text.slice(-2))?.[0] ?? ''
  }
}

const TOKEN = /\*\*\/|\/\*\*$|\*+|\?|\[(?:[!^]?\](?:\\.|[^\]\\])*|(?:\\.|[^\]\\])*)\]|\\.|./gsu

/**
 * A pattern in the syntax of gitignore, matched against a whole path. It follows all alternatives in parallel,
 * so a match takes time proportional to the length of the path times the length of the pattern, whatever they hold.
 */
export class Glob {
  readonly #parts: readonly Part[]

  private constructor(parts: readonly Part[]) {
    this.#parts = parts
  }

  /** The length of the pattern: its characters and wildcards. */
  get length(): number {
    return this.#parts.length
  }

  /** Undefined when the pattern has a malformed bracket expression: such a pattern matches nothing. */
  static parse(pattern: string, ignoreCase: boolean): Glob | undefined {
    const parts: Part[] = []
    for (const { 0: token, index } of pattern.matchAll(TOKEN)) {
      const startsName = index === 0 || pattern[index - 1] === '/'
      const read = readToken(token, { startsName, ignoreCase })
      if (read === undefined) return undefined
      parts.push(...read)
    }
    return new Glob(parts)
  }

  /** Whether the first and the last character are possible. */
  acceptsEnds({ first: start, last: end }: GlobPath): boolean {
    const [first, last] = [this.#parts[0], this.#parts.at(-1)]
    if (first?.kind === 'one' && !first.accepts(start)) return false
    return last?.kind !== 'one' || last.accepts(end)
  }

  test({ text }: GlobPath): boolean {
    let current = new States(this.#parts)
    let next = new States(this.#parts)
    current.enter(0)
    for (const character of text) {
      next.clear()
      for (const state of current.list) this.#step(state, character, next)
      if (next.list.length === 0) return false
      ;[current, next] = [next, current]
    }
    return current.has(this.length)
  }

  /** Adds the states that follow `state` after a character. */
  #step(state: number, character: string, next: States): void {
    const part = this.#parts[state]
    if (part === undefined) return
    if (part.kind === 'one') {
      if (part.accepts(character)) next.enter(state + 1)
    } else if (part.kind === 'star') {
      if (part.crosses || character !== '/') next.enter(state)
    } else {
      next.add(state)
      if (character === '/') next.enter(state + 1)
    }
  }
}

/** Positions in a pattern that the characters so far can lead to, each once. */
class States {
  readonly list: number[] = []
  readonly #parts: readonly Part[]
  /** By position: 1 when it is in the list, 2 when those that it leads to without a character are as well. */
  readonly #marks: Uint8Array

  constructor(parts: readonly Part[]) {
    this.#parts = parts
    this.#marks = new Uint8Array(parts.length + 1)
  }

  has(state: number): boolean {
    return this.#marks[state] !== 0
  }

  add(state: number): void {
    if (this.has(state)) return
    this.#marks[state] = 1
    this.list.push(state)
  }

  /** Adds a state, and those behind it that need no character. */
  enter(state: number): void {
    for (let at = state; this.#marks[at] !== 2; at++) {
      this.add(at)
      this.#marks[at] = 2
      if (at === this.#parts.length || this.#parts[at]!.kind === 'one') return
    }
  }

  clear(): void {
    for (const state of this.list) this.#marks[state] = 0
    this.list.length = 0
  }
}

const SLASH: Part = { kind: 'one', accepts: (character) => character === '/' }
const NO_SLASH: Part = { kind: 'one', accepts: (character) => character !== '/' }
const ANY: Part = { kind: 'one', accepts: () => true }
const STAR: Part = { kind: 'star', crosses: false }

function readToken(
  token: string,
  { startsName, ignoreCase }: { startsName: boolean; ignoreCase: boolean },
): Part[] | undefined {
  if (token === '**/') return startsName ? [{ kind: 'folders' }] : [STAR, SLASH]
  if (token === '/**') return [SLASH, ANY, { kind: 'star', crosses: true }]
  if (token.startsWith('*')) return [STAR]
  if (token === '?') return [NO_SLASH]
  if (token.startsWith('[')) return readBracket(token, ignoreCase)
  return [readLiteral(token.startsWith('\\') && token.length > 1 ? token.slice(1) : token, ignoreCase)]
}

/** `[a-z]` and `[!a-z]`, which never match a slash. */
function readBracket(token: string, ignoreCase: boolean): Part[] | undefined {
  if (token === '[') return undefined
  const negated = token[1] === '!' || token[1] === '^'
  const inside = token.slice(negated ? 2 : 1, -1).replace(/\\(.)|[\][\\^]/gsu, (found, escaped) => {
    const character: string = escaped ?? found
    return /[\][\\^-]/.test(character) ? `\\${character}` : character
  })
  try {
    const set = new RegExp(`^[${negated ? '^' : ''}${inside}]$`, ignoreCase ? 'isu' : 'su')
    return [{ kind: 'one', accepts: (character) => character !== '/' && set.test(character) }]
  } catch {
    return undefined
  }
}

function readLiteral(literal: string, ignoreCase: boolean): Part {
  if (!ignoreCase) return { kind: 'one', accepts: (character) => character === literal }
  const same = new RegExp(`^${literal.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}$`, 'isu')
  return { kind: 'one', accepts: (character) => same.test(character) }
}
