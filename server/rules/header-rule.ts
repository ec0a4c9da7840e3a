import type { PublishWarning } from '../../client/wire.ts'
import { shown } from '../file.ts'
import { isSetCookie, readHeaderLine } from './header-line.ts'
import { type HeaderPatterns, meet, namesOf, readPlace } from './header-place.ts'
import { readTemplate } from './path-pattern.ts'
import { RuleFile } from './rule-file.ts'

/** One path of `_headers` with its lines, checked: serving it can no longer fail. */
export interface HeaderRule {
  /** Of the file, from 1. */
  line: number
  /** A path that begins with a slash; `*` matches anything, `:name` one segment. */
  path: string
  /** The host that a rule with a full address is for, lower case, without port; it may have `*` and `:name` too. */
  host?: string
  /** In the order of the file; a name may come several times. */
  set: [name: string, value: string][]
  /** Names to take away, lower case. */
  remove: string[]
}

export interface ParsedHeaders {
  rules: HeaderRule[]
  warnings: PublishWarning[]
}

/** Paths with headers. */
const MOST_RULES = 100

/** Of names and values together, for one answer. */
export const MOST_HEADER_BYTES = 16 * 1024

/**
 * Reads `_headers`: Cloudflare's syntax (contract, "Serving", 2). A line that is wrong is left out and told of, and a
 * path that is wrong with the lines below it; never throws.
 */
export function parseHeaders(text: string): ParsedHeaders {
  return new HeadersReader(text).read()
}

/** What one line adds to an answer, in bytes. */
export function weightOf(name: string, value: string): number {
  return name.length + value.length + ': \r\n'.length
}

/** A rule that is being read: what it may still add to an answer. */
interface Open {
  rule: HeaderRule
  patterns: HeaderPatterns
  room: number
  /** Whether a line below it was refused. */
  warned: boolean
}

class HeadersReader {
  readonly #file: RuleFile
  readonly #read: Open[] = []
  /** The path that lines belong to; 'refused' when they belong to one that is left out. */
  #open: Open | 'refused' | undefined

  constructor(text: string) {
    this.#file = new RuleFile('_headers', text)
  }

  read(): ParsedHeaders {
    for (const { line, text } of this.#file.lines()) {
      if (!/^(\/|[^\s:]+:\/\/)/.test(text)) {
        this.#addLine(line, text)
        continue
      }
      this.#close()
      if (this.#read.length === MOST_RULES) {
        this.#file.warn(
          line,
          `A site can have headers for ${MOST_RULES} paths; those from here on are left out`,
        )
        break
      }
      this.#openPath(line, text)
    }
    this.#close()
    return { rules: this.#read.map(({ rule }) => rule), warnings: this.#file.warnings }
  }

  #openPath(line: number, text: string): void {
    const place = readPlace(text)
    if (typeof place === 'string') {
      this.#file.warn(line, place)
      this.#open = 'refused'
      return
    }
    const { patterns } = place
    const others = this.#read.filter((other) => meet(patterns, other.patterns))
    const used = others.reduce((sum, { rule }) => sum + weigh(rule), 0)
    const rule = { line, path: place.path, ...(place.host !== undefined && { host: place.host }) }
    this.#open = {
      rule: { ...rule, set: [], remove: [] },
      patterns,
      room: MOST_HEADER_BYTES - used,
      warned: false,
    }
  }

  #addLine(line: number, text: string): void {
    const open = this.#open
    if (open === 'refused') return
    const problem = open ? addTo(open, text) : `'${shown(text)}' comes before the first path`
    if (problem === undefined) return
    this.#file.warn(line, problem)
    if (open) open.warned = true
  }

  #close(): void {
    const open = this.#open
    this.#open = undefined
    if (open === undefined || open === 'refused') return
    const { rule, warned } = open
    if (rule.set.length + rule.remove.length > 0) this.#read.push(open)
    else if (!warned) this.#file.warn(rule.line, 'The path has no headers below it')
  }
}

/** What is wrong with the line, if anything is. */
function addTo(open: Open, text: string): string | undefined {
  const line = readHeaderLine(text)
  if (typeof line === 'string') return line
  if ('remove' in line) {
    open.rule.remove.push(line.remove)
    return undefined
  }
  const [name, value] = line.set
  if (isSetCookie(name) && takesFromAddress(value, open.patterns)) {
    return 'A cookie cannot take its text from the address'
  }
  const weight = weightOf(name, value)
  if (weight > open.room) {
    return `The headers that one answer can get would have more than ${MOST_HEADER_BYTES} bytes, counting other paths' that may apply to it too`
  }
  open.room -= weight
  open.rule.set.push(line.set)
  return undefined
}

function takesFromAddress(value: string, patterns: HeaderPatterns): boolean {
  return readTemplate(value, namesOf(patterns)).some((piece) => typeof piece !== 'string')
}

function weigh({ set }: HeaderRule): number {
  return set.reduce((sum, [name, value]) => sum + weightOf(name, value), 0)
}
