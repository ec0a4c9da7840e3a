import { domainToASCII } from 'node:url'
import type { PublishWarning } from '../../../protocol/api/publish.schema.ts'
import { formatNumber } from '../../../protocol/format.ts'
import { sanitizePath } from '../../../protocol/manifest/paths.ts'
import type { ContentCoding } from '../../blobs/content-coding.ts'
import { encodePath, mayOverlap, PathPattern, readTemplate } from '../path-pattern.ts'
import { isSetCookie, readHeaderLine } from './header-line.ts'
import { RuleReader } from './rule-reader.ts'

/** A validated path of `_headers` with its lines: serving it cannot fail. */
export interface HeaderRule {
  line: number
  /** A path that begins with a slash; `*` matches anything, `:name` one segment. */
  path: string
  /** For a full URL, in lower case, without port; may contain `*` and `:name` too. */
  host?: string
  /** In the order of the file; a name may occur several times. */
  set: [name: string, value: string][]
  /** Names to remove, lower case. */
  remove: string[]
  /** The content coding of the files, whose bytes have it already; null for none. */
  coding?: ContentCoding | null
}

interface ParsedHeaders {
  rules: HeaderRule[]
  warnings: PublishWarning[]
}

const MAX_HEADER_RULES = 100

/** Lines with a path, whether they become a rule or not: each is compared with all rules before it. */
const MAX_PATH_LINES = 1000

export const MAX_HEADER_BYTES = 16 * 1024

/**
 * Reads `_headers`, a line in each step: Cloudflare's syntax (contract, "Serving", 2). A line that is wrong is left out
 * and becomes a warning, and a path that is wrong with the lines below it; never throws.
 */
export function headerSteps(text: string): Generator<void, ParsedHeaders> {
  return new HeaderFileParser(text).steps()
}

export function headerBytes(name: string, value: string): number {
  return name.length + value.length + ': \r\n'.length
}

interface OpenRule {
  rule: HeaderRule
  patterns: HeaderPatterns
  bytesLeft: number
  weight: number
  warned: boolean
}

class HeaderFileParser {
  readonly #file: RuleReader
  readonly #read: OpenRule[] = []
  /** The current path; 'refused' when it was rejected. */
  #open: OpenRule | 'refused' | undefined
  #pathLines = 0

  constructor(text: string) {
    this.#file = new RuleReader({ name: '_headers', text })
  }

  *steps(): Generator<void, ParsedHeaders> {
    for (const { line, text } of this.#file.lines()) {
      yield
      if (!/^(\/|[^\s:]+:\/\/)/.test(text)) {
        this.#addLine(line, text)
        continue
      }
      this.#close()
      const limit = this.#findLimit()
      if (limit !== undefined) {
        this.#file.warn(line, `paths from here on are ignored. The limit is ${limit}.`)
        break
      }
      this.#openPath(line, text)
    }
    this.#close()
    return { rules: this.#read.map(({ rule }) => rule), warnings: this.#file.warnings }
  }

  #findLimit(): string | undefined {
    if (this.#read.length === MAX_HEADER_RULES) return `${formatNumber(MAX_HEADER_RULES)} paths with headers`
    return ++this.#pathLines > MAX_PATH_LINES
      ? `${formatNumber(MAX_PATH_LINES)} lines with a path`
      : undefined
  }

  #openPath(line: number, text: string): void {
    const place = parseHeaderPattern(text)
    if (typeof place === 'string') {
      this.#file.warn(line, place)
      this.#open = 'refused'
      return
    }
    const { patterns } = place
    const others = this.#read.filter((other) => overlap(patterns, other.patterns))
    const used = others.reduce((sum, { weight }) => sum + weight, 0)
    const rule = { line, path: place.path, ...(place.host !== undefined && { host: place.host }) }
    this.#open = {
      rule: { ...rule, set: [], remove: [] },
      patterns,
      bytesLeft: MAX_HEADER_BYTES - used,
      weight: 0,
      warned: false,
    }
  }

  #addLine(line: number, text: string): void {
    const open = this.#open
    if (open === 'refused') return
    const problem = open ? addHeader(open, text) : `'${sanitizePath(text)}' is not below a path`
    if (problem === undefined) return
    this.#file.warn(line, problem)
    if (open) open.warned = true
  }

  #close(): void {
    const open = this.#open
    this.#open = undefined
    if (open === undefined || open === 'refused') return
    const { rule, warned } = open
    if (rule.set.length + rule.remove.length > 0 || rule.coding !== undefined) this.#read.push(open)
    else if (!warned) this.#file.warn(rule.line, 'the path has no headers')
  }
}

function addHeader(open: OpenRule, text: string): string | undefined {
  const line = readHeaderLine(text)
  if (typeof line === 'string') return line
  if ('remove' in line) {
    open.rule.remove.push(line.remove)
    return undefined
  }
  if ('coding' in line) {
    if (open.rule.host !== undefined) return 'Content-Encoding cannot depend on the host: name a path only'
    open.rule.coding = line.coding
    return undefined
  }
  const [name, value] = line.set
  if (isSetCookie(name) && takesFromAddress(value, open.patterns)) {
    return 'placeholders are not allowed in Set-Cookie'
  }
  const weight = headerBytes(name, value)
  if (weight > open.bytesLeft) {
    return `too many headers for one response. The limit is ${formatNumber(MAX_HEADER_BYTES)} bytes, including headers of other matching paths.`
  }
  open.bytesLeft -= weight
  open.weight += weight
  open.rule.set.push(line.set)
  return undefined
}

function takesFromAddress(value: string, patterns: HeaderPatterns): boolean {
  return readTemplate(value, placeholderNames(patterns)).some((piece) => typeof piece !== 'string')
}

interface HeaderPattern {
  path: string
  host: string | undefined
  patterns: HeaderPatterns
}

/** Returns a description of the error when it is invalid. */
function parseHeaderPattern(text: string): HeaderPattern | string {
  const [, scheme, authority, rest] = /^([^\s:/]+):\/\/([^/?#]*)(.*)/s.exec(text) ?? []
  if (scheme === undefined) return toHeaderPattern(text, undefined, `the path '${sanitizePath(text)}'`)
  if (!/^https?$/i.test(scheme))
    return `invalid URL '${sanitizePath(text)}'. Use a path, or a URL that starts with http:// or https://.`
  if (/:\d*$/.test(authority!)) return 'ports are not supported: remove the port'
  const host = authority!.replace(/\.$/, '').split('.').map(normalizeLabel).join('.')
  // `domainToASCII` would take the host of a URL and ignore the rest.
  if (/[@\\%]/.test(authority!) || !/^[a-z0-9-]+$/.test(host.replace(/:[A-Za-z]\w*|[.*_]/g, 'x'))) {
    return `invalid host name '${sanitizePath(authority!)}'`
  }
  return toHeaderPattern(rest === '' ? '/' : rest!, host, `the URL '${sanitizePath(text)}'`)
}

/** Names of placeholders are case-sensitive, everything else is not. */
function normalizeLabel(label: string): string {
  return /[:*]/.test(label) ? label : domainToASCII(label)
}

/** `subject` names the pattern in the description of an error. */
function toHeaderPattern(text: string, host: string | undefined, subject: string): HeaderPattern | string {
  if (/[?#]/.test(text)) return "a path cannot contain '?' or '#': headers apply to all queries of a path"
  if (!text.startsWith('/') || /\p{Cc}/u.test(text)) return `${subject} contains control characters`
  const path = encodePath(text)
  const patterns = readHeaderPatterns({ path, host })
  return typeof patterns === 'string' ? `${subject} ${patterns}` : { path, host, patterns }
}

export interface HeaderPatterns {
  path: PathPattern
  host: PathPattern | undefined
}

/** The patterns, or the end of a sentence that describes the error. */
export function readHeaderPatterns(rule: {
  path: string
  host?: string | undefined
}): HeaderPatterns | string {
  const { path, host } = rule
  const ofPath = PathPattern.read(path)
  const ofHost = host === undefined ? undefined : PathPattern.read(host, '.')
  if (typeof ofPath === 'string') return ofPath
  if (typeof ofHost === 'string') return `has a host that ${ofHost}`
  const twice = ofHost && [...ofPath.names].find((name) => ofHost.names.has(name))
  if (twice === undefined) return { path: ofPath, host: ofHost }
  return twice === 'splat'
    ? "has more than one '*' in its host and path: write :name in place of that of the host"
    : `has ':${twice}' twice`
}

export function placeholderNames({ path, host }: HeaderPatterns): ReadonlySet<string> {
  return new Set([...path.names, ...(host?.names ?? [])])
}

function overlap(one: HeaderPatterns, other: HeaderPatterns): boolean {
  return mayOverlap(one.path, other.path) && (!one.host || !other.host || mayOverlap(one.host, other.host))
}
