import { isSetCookie } from '../../rules/header-line.ts'
import { type HeaderPatterns, namesOf, readHeaderPatterns } from '../../rules/header-place.ts'
import { type HeaderRule, MOST_HEADER_BYTES, weightOf } from '../../rules/header-rule.ts'
import {
  canonicalPath,
  type Found,
  fill,
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
    const changing = new Changing(lines, kept)
    for (const { rule, found } of matching) {
      for (const name of rule.remove) changing.remove(name)
      for (const { name, value } of rule.set) changing.set(name, fill(value, found, harmless))
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
  set: { name: string; value: readonly Piece[] }[]
  remove: string[]
}

function compile({ set, remove }: HeaderRule, patterns: HeaderPatterns): Compiled {
  const names = namesOf(patterns)
  return {
    patterns,
    set: set.map(([name, value]) => ({ name, value: readTemplate(value, names) })),
    remove,
  }
}

/** Header lines while rules are applied to them. */
class Changing {
  readonly #kept: ReadonlySet<string>
  /** Names that a rule has set, lower case. */
  readonly #ours = new Set<string>()
  #pairs: [name: string, value: string][] = []
  #room = MOST_HEADER_BYTES

  constructor(lines: readonly string[], kept: ReadonlySet<string>) {
    this.#kept = kept
    for (let at = 0; at < lines.length; at += 2) this.#pairs.push([lines[at]!, lines[at + 1]!])
  }

  get lines(): readonly string[] {
    return this.#pairs.flat()
  }

  remove(name: string): void {
    if (!this.#kept.has(name)) this.#pairs = this.#pairs.filter(([other]) => other.toLowerCase() !== name)
  }

  /** What was taken from the address may be long; what then has no room is left out. */
  set(name: string, value: string): void {
    const lower = name.toLowerCase()
    if (this.#kept.has(lower)) return
    const weight = weightOf(name, value)
    if (weight > this.#room) return
    this.#room -= weight
    if (!this.#ours.has(lower) && !isSetCookie(name) && lower !== 'vary') this.remove(lower)
    this.#ours.add(lower)
    const there = isSetCookie(name) ? undefined : this.#pairs.find(([other]) => other.toLowerCase() === lower)
    if (there) there[1] += `, ${value}`
    else this.#pairs.push([name, value])
  }
}

/** What was found, canonical already, without what parts members of a list, parameters and quotes. */
function harmless(found: string): string {
  return found.replace(/[;,']/g, percentEncoded)
}

function weigh({ path, host = '', set, remove }: HeaderRule): number {
  const texts = set.reduce((sum, [name, value]) => sum + LINE_BYTES + name.length + value.length, 0)
  return RULE_BYTES + path.length + host.length + texts + 100 * remove.length
}
