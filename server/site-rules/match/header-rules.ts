import { hostName } from '../../../packages/http-server/host-name.ts'
import type { ContentCoding } from '../../blobs/content-coding.ts'
import { findHeaderProblem, isSetCookie } from '../parse/header-line.ts'
import {
  type HeaderPatterns,
  type HeaderRule,
  headerBytes,
  MAX_HEADER_BYTES,
  placeholderNames,
  readHeaderPatterns,
} from '../parse/header-rule.ts'
import {
  bytesOfNames,
  bytesOfPieces,
  type Captures,
  canonicalPath,
  encodePath,
  interpolate,
  interpolatedLength,
  NO_CAPTURES,
  type PathPattern,
  percentEncoded,
  readTemplate,
  type TemplatePart,
} from '../path-pattern.ts'

/** Measured: what rules, each of them and a line of it take in memory beside their texts. */
const BASE_BYTES = 400
const RULE_BYTES = 1000
const HEADER_BYTES = 160
const REMOVED_BYTES = 50

/** The rules of `_headers`, compiled in their order (contract, "Serving", 2). */
export class HeaderRules {
  /** Estimated memory in bytes. */
  readonly bytes: number
  /** Names, and values without placeholders. */
  readonly texts: ReadonlySet<string>
  readonly #rules: CompiledHeaderRule[]

  constructor(published: readonly HeaderRule[]) {
    const rules = published.map(withoutRefused)
    this.#rules = rules.flatMap((rule) => {
      const patterns = readHeaderPatterns(rule)
      return typeof patterns === 'string' ? [] : [compileHeaderRule(rule, patterns)]
    })
    const lines = this.#rules.flatMap(({ set }) => set)
    this.texts = new Set(
      lines.flatMap(({ name, value }) => (typeof value === 'string' ? [name, value] : name)),
    )
    this.bytes = this.#rules.reduce((sum, { bytes }) => sum + bytes, rules.length > 0 ? BASE_BYTES : 0)
  }

  /**
   * Applies the rules to header lines, name before value: the first rule that sets a name replaces the present value,
   * later ones append. Names in `protected`, lower case, stay. Returns the same array when no rule matches.
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
    const changing = new HeaderEditor(lines, kept, MAX_HEADER_BYTES - fixed)
    for (const { rule, found } of matching) {
      for (const name of rule.remove) changing.remove(name)
      for (const { name, value } of rule.set) changing.set(name, value, found)
    }
    return changing.lines
  }

  #matching(path: string, host: string): { rule: CompiledHeaderRule; found: Captures }[] {
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

/** Versions that were finalized under an earlier policy may have headers that are refused today. */
function withoutRefused(rule: HeaderRule): HeaderRule {
  return { ...rule, set: rule.set.filter(([name, value]) => findHeaderProblem(name, value) === undefined) }
}

interface CompiledHeaderRule {
  bytes: number
  patterns: HeaderPatterns
  set: CompiledHeader[]
  /** Bytes of lines without placeholders. */
  fixedBytes: number
  remove: string[]
}

interface CompiledHeader {
  name: string
  /** A string when it has no placeholders. */
  value: string | readonly TemplatePart[]
}

function compileHeaderRule(rule: HeaderRule, patterns: HeaderPatterns): CompiledHeaderRule {
  const { set, remove } = rule
  const names = placeholderNames(patterns)
  const lines = set.map(([name, value]) => compileHeader(name, value, names))
  const fixedBytes = lines.reduce(
    (sum, { name, value }) => sum + (typeof value === 'string' ? headerBytes(name, value) : 0),
    0,
  )
  const compiled = { patterns, set: lines, fixedBytes, remove: [...new Set(remove)] }
  return { ...compiled, bytes: estimateHeaderRuleBytes(rule, compiled) }
}

function compileHeader(name: string, value: string, names: ReadonlySet<string>): CompiledHeader {
  const pieces = readTemplate(value, names)
  return { name, value: pieces.every((piece) => typeof piece === 'string') ? value : pieces }
}

class HeaderEditor {
  readonly #protected: ReadonlySet<string>
  readonly #setByRules = new Set<string>()
  readonly #pairs = new Map<string, [name: string, ...values: string[]][]>()
  readonly #ownVary: string | undefined
  /** Bytes left for lines with placeholders. */
  #bytesLeft: number

  constructor(lines: readonly string[], kept: ReadonlySet<string>, room: number) {
    this.#protected = kept
    this.#bytesLeft = room
    for (let at = 0; at < lines.length; at += 2) this.#add(lines[at]!, lines[at + 1]!)
    this.#ownVary = this.#pairs.get('vary')?.[0]?.[1]
  }

  get lines(): readonly string[] {
    const lines: string[] = []
    for (const [name, ...values] of [...this.#pairs.values()].flat()) {
      // Joined in one call: a concatenation would keep each of its parts.
      lines.push(name, values.length === 1 ? values[0]! : values.join(', '))
    }
    return lines
  }

  /** What the response itself varies by stays: a cache would otherwise send it to other clients. */
  remove(name: string): void {
    if (this.#protected.has(name)) return
    const own = name === 'vary' ? this.#ownVary : undefined
    if (own === undefined) this.#pairs.delete(name)
    else this.#pairs.set(name, [['Vary', own]])
  }

  set(name: string, template: CompiledHeader['value'], found: Captures): void {
    const lower = name.toLowerCase()
    if (this.#protected.has(lower)) return
    const value = typeof template === 'string' ? template : this.#interpolate(name, template, found)
    if (value === undefined) return
    if (!this.#setByRules.has(lower) && !isSetCookie(name)) this.remove(lower)
    this.#setByRules.add(lower)
    const there = isSetCookie(name) ? undefined : this.#pairs.get(lower)?.[0]
    if (there) there.push(value)
    else this.#add(name, value)
  }

  /** Captured text may be long: such a line is omitted. */
  #interpolate(name: string, pieces: readonly TemplatePart[], found: Captures): string | undefined {
    if (headerBytes(name, '') + interpolatedLength(pieces, found, ENCODED_CHARACTER_LENGTH) > this.#bytesLeft)
      return undefined
    const value = interpolate(pieces, found, sanitizeCapture)
    this.#bytesLeft -= headerBytes(name, value)
    return value
  }

  #add(name: string, value: string): void {
    const lower = name.toLowerCase()
    const there = this.#pairs.get(lower)
    if (there) there.push([name, value])
    else this.#pairs.set(lower, [[name, value]])
  }
}

const ENCODED_CHARACTER_LENGTH = '%00'.length

/** Captured text, canonical already, without list, parameter and quote separators. */
function sanitizeCapture(found: string): string {
  return found.replace(/[;,']/g, percentEncoded)
}

function estimateHeaderRuleBytes(
  { path, host = '' }: HeaderRule,
  { patterns, set, remove }: Pick<CompiledHeaderRule, 'patterns' | 'set' | 'remove'>,
): number {
  const lines = set.reduce(
    (sum, { name, value }) => sum + HEADER_BYTES + name.length + bytesOfValue(value),
    0,
  )
  const removed = remove.reduce((sum, name) => sum + REMOVED_BYTES + name.length, 0)
  return (
    RULE_BYTES + 2 * (path.length + host.length) + bytesOfNames(placeholderNames(patterns)) + lines + removed
  )
}

function bytesOfValue(value: CompiledHeader['value']): number {
  if (typeof value === 'string') return value.length
  return bytesOfPieces(value) + interpolatedLength(value, NO_CAPTURES, 1)
}

/** The lines of `_headers` about `Content-Encoding`, which belongs to files, however they are requested. */
export class ContentCodingRules {
  readonly #rules: { rule: HeaderRule; path: PathPattern; coding: ContentCoding | null }[]

  constructor(rules: readonly HeaderRule[]) {
    this.#rules = rules.flatMap((rule) => {
      const patterns = rule.coding === undefined ? '' : readHeaderPatterns(rule)
      return typeof patterns === 'string' ? [] : [{ rule, path: patterns.path, coding: rule.coding! }]
    })
  }

  find(path: string): { rule: HeaderRule; coding: ContentCoding } | undefined {
    const canonical = canonicalPath(encodePath(`/${path}`))
    if (canonical === undefined) return undefined
    const last = this.#rules.findLast((rule) => rule.path.match(canonical))
    return last?.coding ? { rule: last.rule, coding: last.coding } : undefined
  }
}
