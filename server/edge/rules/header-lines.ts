import { isSetCookie } from '../../rules/header-line.ts'
import { type HeaderPatterns, namesOf, readHeaderPatterns } from '../../rules/header-place.ts'
import { type HeaderRule, MOST_HEADER_BYTES, weightOf } from '../../rules/header-rule.ts'
import {
  canonicalPath,
  type Found,
  fill,
  filledLength,
  type Piece,
  percentEncoded,
  readTemplate,
} from '../../rules/path-pattern.ts'
import { hostName } from '../host.ts'

/** Measured: what a rule and a line of it take in memory beside their texts. */
const RULE_BYTES = 700
const LINE_BYTES = 240

/** The rules of `_headers`, ready to be applied in their order (contract, "Serving", 2). */
export class HeaderLines {
  /** About what it holds in memory. */
  readonly bytes: number
  readonly #rules: Compiled[]

  constructor(rules: readonly HeaderRule[]) {
    this.#rules = rules.flatMap((rule) => {
      const patterns = readHeaderPatterns(rule)
      return typeof patterns === 'string' ? [] : [compile(rule, patterns)]
    })
    this.bytes = rules.reduce((sum, rule) => sum + weigh(rule), 0)
  }

  /** Whether any rule is for this path, percent-encoded as it came. */
  matches(path: string, host: string): boolean {
    return this.#matching(path, host).length > 0
  }

  /**
   * Header lines, name before value, as the rules want them: the first that sets a name replaces what is there, later
   * ones append. Names in `kept`, lower case, stay as they are. The same array when no rule is for the path.
   */
  apply(
    path: string,
    host: string,
    lines: readonly string[],
    { kept }: { kept: ReadonlySet<string> },
  ): readonly string[] {
    const matching = this.#matching(path, host)
    if (matching.length === 0) return lines
    const fixed = matching.reduce((sum, { rule }) => sum + rule.fixedBytes, 0)
    const changing = new Changing(lines, kept, MOST_HEADER_BYTES - fixed)
    for (const { rule, found } of matching) {
      for (const name of rule.remove) changing.remove(name)
      for (const { name, value } of rule.set) changing.set(name, value, found)
    }
    return changing.lines
  }

  #matching(path: string, host: string): { rule: Compiled; found: Found }[] {
    const canonical = canonicalPath(path)
    if (canonical === undefined) return []
    let name: string | undefined
    return this.#rules.flatMap((rule) => {
      const inPath = rule.patterns.path.match(canonical)
      if (!inPath || !rule.patterns.host) return inPath ? [{ rule, found: inPath }] : []
      name ??= canonicalPath(hostName(host)) ?? ''
      const inHost = rule.patterns.host.match(name)
      return inHost ? [{ rule, found: new Map([...inHost, ...inPath]) }] : []
    })
  }
}

interface Compiled {
  patterns: HeaderPatterns
  set: Line[]
  /** Of the lines that take nothing from the address. */
  fixedBytes: number
  remove: string[]
}

interface Line {
  name: string
  /** A text alone, when nothing is taken from the address. */
  value: string | readonly Piece[]
}

function compile({ set, remove }: HeaderRule, patterns: HeaderPatterns): Compiled {
  const names = namesOf(patterns)
  const lines = set.map(([name, value]) => lineOf(name, value, names))
  const fixedBytes = lines.reduce(
    (sum, { name, value }) => sum + (typeof value === 'string' ? weightOf(name, value) : 0),
    0,
  )
  return { patterns, set: lines, fixedBytes, remove }
}

function lineOf(name: string, value: string, names: ReadonlySet<string>): Line {
  const pieces = readTemplate(value, names)
  return { name, value: pieces.every((piece) => typeof piece === 'string') ? value : pieces }
}

/** Header lines while rules are applied to them. */
class Changing {
  readonly #kept: ReadonlySet<string>
  /** Names that a rule has set, lower case. */
  readonly #ours = new Set<string>()
  /** By name, lower case. */
  readonly #pairs = new Map<string, [name: string, value: string][]>()
  /** Bytes for lines that take something from the address. */
  #room: number

  constructor(lines: readonly string[], kept: ReadonlySet<string>, room: number) {
    this.#kept = kept
    this.#room = room
    for (let at = 0; at < lines.length; at += 2) this.#add(lines[at]!, lines[at + 1]!)
  }

  get lines(): readonly string[] {
    return [...this.#pairs.values()].flat(2)
  }

  remove(name: string): void {
    if (!this.#kept.has(name)) this.#pairs.delete(name)
  }

  set(name: string, template: Line['value'], found: Found): void {
    const lower = name.toLowerCase()
    if (this.#kept.has(lower)) return
    const value = typeof template === 'string' ? template : this.#filled(name, template, found)
    if (value === undefined) return
    if (!this.#ours.has(lower) && !isSetCookie(name) && lower !== 'vary') this.remove(lower)
    this.#ours.add(lower)
    const there = isSetCookie(name) ? undefined : this.#pairs.get(lower)?.[0]
    if (there) there[1] += `, ${value}`
    else this.#add(name, value)
  }

  /** What was taken from the address may be long: then the line is left out, and no other in its place. */
  #filled(name: string, pieces: readonly Piece[], found: Found): string | undefined {
    if (weightOf(name, '') + filledLength(pieces, found, GROWTH) > this.#room) return undefined
    const value = fill(pieces, found, harmless)
    this.#room -= weightOf(name, value)
    return value
  }

  #add(name: string, value: string): void {
    const lower = name.toLowerCase()
    const there = this.#pairs.get(lower)
    if (there) there.push([name, value])
    else this.#pairs.set(lower, [[name, value]])
  }
}

/** What a character becomes at most. */
const GROWTH = '%00'.length

/** What was found, canonical already, without what parts members of a list, parameters and quotes. */
function harmless(found: string): string {
  return found.replace(/[;,']/g, percentEncoded)
}

function weigh({ path, host = '', set, remove }: HeaderRule): number {
  const texts = set.reduce((sum, [name, value]) => sum + LINE_BYTES + name.length + value.length, 0)
  return RULE_BYTES + path.length + host.length + texts + 100 * remove.length
}
