import {
  canonicalPath,
  type Found,
  fill,
  filledLength,
  PathPattern,
  type Piece,
  percentEncoded,
  readTemplate,
} from '../../rules/path-pattern.ts'
import { isFullAddress } from '../../rules/redirect-line.ts'
import type { RedirectRule } from '../../rules/redirect-rule.ts'
import { hostName } from '../host.ts'

/** A request as far as rules look at it: `path` and `query` as they came, `query` with its question mark or empty. */
export interface RedirectAsked {
  path: string
  query: string
  host: string
}

/** What a rule says about a request. */
export interface Redirected {
  status: RedirectRule['status']
  /** For a `Location` header; with 200 and 404 the path of a file. Percent-encoded. */
  to: string
  /** Whether `to` is a full address: only then does it leave the site. */
  external: boolean
  rule: RedirectRule
}

/** A longer `Location` is none: the longest that an ordinary server takes in a request. */
const MOST_LOCATION_CHARACTERS = 8192

/** Measured: what a rule takes in memory beside its texts, without and with something that varies. */
const FIXED_BYTES = 850
const VARYING_BYTES = 1250

const NO_RULES: readonly Compiled[] = []
const NO_QUERY: Compiled['query'] = []

/** The rules of `_redirects`, ready to be asked: the first one that fits wins (contract, "Serving", 2). */
export class Redirects {
  /** About what it holds in memory. */
  readonly bytes: number
  readonly #fixed = new Map<string, Compiled[]>()
  readonly #varying: Compiled[] = []

  constructor(rules: readonly RedirectRule[]) {
    let bytes = 0
    for (const [order, rule] of rules.entries()) {
      const pattern = PathPattern.read(withoutSlash(rule.from))
      if (typeof pattern === 'string') continue
      const compiled = compile(rule, order, pattern)
      bytes += weigh(compiled)
      this.#listFor(pattern).push(compiled)
    }
    this.bytes = bytes
  }

  /** What the first rule that fits says. A redirect of an address to itself is none, as at Netlify. */
  match(asked: RedirectAsked): Redirected | undefined {
    const path = canonicalPath(asked.path)
    if (path === undefined) return undefined
    const visit = new Visit(path, asked)
    const fixed = firstOf(this.#fixed.get(visit.trimmed) ?? NO_RULES, visit)
    return firstOf(this.#varying, visit, fixed?.order)?.redirected ?? fixed?.redirected
  }

  #listFor({ fixed }: PathPattern): Compiled[] {
    if (fixed === undefined) return this.#varying
    const list = this.#fixed.get(fixed) ?? []
    this.#fixed.set(fixed, list)
    return list
  }
}

interface Compiled {
  rule: RedirectRule
  /** Among all rules. */
  order: number
  pattern: PathPattern
  query: readonly { name: string; value: Piece }[]
  path: readonly Piece[]
  /** The target's own query, with its question mark. */
  search: readonly Piece[]
  /** With its `#`. */
  hash: readonly Piece[]
  /** Of a full address, as `hostName` gives it. */
  externalHost: string | undefined
}

function compile(rule: RedirectRule, order: number, pattern: PathPattern): Compiled {
  const query = rule.query?.map(([name, value]) => ({ name, value: pieceOf(value) })) ?? NO_QUERY
  const found = query.flatMap(({ value }) => (typeof value === 'string' ? [] : [value.name]))
  const names = new Set([...pattern.names, ...found])
  const [, path = '', search = '', hash = ''] = /^([^?#]*)(\?[^#]*)?(#.*)?$/.exec(rule.to) ?? []
  return {
    rule,
    order,
    pattern,
    query,
    path: readTemplate(path, names),
    search: readTemplate(search, names),
    hash: readTemplate(hash, names),
    externalHost: isFullAddress(rule.to) ? hostName(new URL(rule.to).host) : undefined,
  }
}

function weigh({ rule, pattern, query }: Compiled): number {
  const fixed = pattern.fixed !== undefined && query.length === 0
  return (fixed ? FIXED_BYTES : VARYING_BYTES) + rule.from.length + rule.to.length
}

function pieceOf(text: string): Piece {
  return /^:[A-Za-z]\w*$/.test(text) ? { name: text.slice(1) } : text
}

/** One request, with what rules may ask about it worked out once. */
class Visit {
  /** Canonical. */
  readonly path: string
  /** Without the slash at its end, which no rule looks at. */
  readonly trimmed: string
  readonly query: string
  readonly #header: string
  #host: string | undefined
  #params: ReadonlyMap<string, Param> | undefined

  constructor(path: string, { query, host }: RedirectAsked) {
    this.path = path
    this.trimmed = withoutSlash(path)
    this.query = query
    this.#header = host
  }

  get host(): string {
    this.#host ??= hostName(this.#header)
    return this.#host
  }

  param(name: string): Param | undefined {
    this.#params ??= paramsOf(this.query)
    return this.#params.get(name)
  }
}

/** A query parameter, in plain text and as `Found` has it. */
interface Param {
  given: string
  found: string
}

/** The first of each name. Rules may ask for thousands, of thousands that there are. */
function paramsOf(query: string): ReadonlyMap<string, Param> {
  const params = new Map<string, Param>()
  for (const [name, given] of new URLSearchParams(query)) {
    if (!params.has(name)) params.set(name, { given, found: encodeURIComponent(given) })
  }
  return params
}

/** Of rules in their order, those before `end`. */
function firstOf(
  rules: readonly Compiled[],
  visit: Visit,
  end = Number.POSITIVE_INFINITY,
): { order: number; redirected: Redirected } | undefined {
  for (const rule of rules) {
    if (rule.order >= end) return undefined
    const redirected = redirectBy(rule, visit)
    if (redirected) return { order: rule.order, redirected }
  }
  return undefined
}

function redirectBy(compiled: Compiled, visit: Visit): Redirected | undefined {
  const { rule } = compiled
  if (rule.host !== undefined && rule.host !== visit.host) return undefined
  const inPath = matchPath(compiled.pattern, visit)
  const found = inPath && matchQuery(compiled, visit, inPath)
  if (!found) return undefined
  if (isTooLong(compiled, found)) return undefined
  const path = targetPath(compiled, found)
  const external = compiled.externalHost !== undefined
  if (rule.status === 200 || rule.status === 404) return { status: rule.status, to: path, external, rule }
  const search = targetQuery(compiled, visit, found)
  if (leadsNowhere(compiled, visit, path, search)) return undefined
  const to = path + search + fill(compiled.hash, found, asValue)
  return to.length > MOST_LOCATION_CHARACTERS ? undefined : { status: rule.status, to, external, rule }
}

/** Without regard to a slash at the end, so `/a/*` is for `/a` too. */
function matchPath(pattern: PathPattern, { path, trimmed }: Visit): Found | undefined {
  if (!pattern.names.has('splat')) return pattern.match(trimmed)
  return pattern.match(path) ?? (path.endsWith('/') ? undefined : pattern.match(`${path}/`))
}

/** What path and query give together; undefined when a parameter is missing or another. */
function matchQuery({ query }: Compiled, visit: Visit, inPath: Found): Found | undefined {
  if (query.length === 0) return inPath
  const found = new Map(inPath)
  for (const { name, value } of query) {
    const param = visit.param(name)
    if (param === undefined) return undefined
    if (typeof value !== 'string') found.set(value.name, param.found)
    else if (param.given !== value) return undefined
  }
  return found
}

/** Two slashes at the beginning would be another host. */
function targetPath({ path, externalHost }: Compiled, found: Found): string {
  const filled = fill(path, found, (value) => value)
  return externalHost === undefined ? filled.replace(/^\/{2,}/, '/') : filled
}

/** Whether a target would be longer than any may be, even if nothing that is filled in had to be encoded. */
function isTooLong({ path, search, hash }: Compiled, found: Found): boolean {
  const parts = [path, search, hash]
  return parts.reduce((sum, part) => sum + filledLength(part, found, 1), 0) > MOST_LOCATION_CHARACTERS
}

/** The target's own query; else the request's, unless the rule took it up. */
function targetQuery({ search, query }: Compiled, visit: Visit, found: Found): string {
  if (search.length > 0) return fill(search, found, asValue)
  return query.length > 0 ? '' : visit.query.replace(/[^!-~]|#/g, percentEncoded)
}

/** Within a query or a fragment nothing that was found may end it or begin another parameter. */
function asValue(found: string): string {
  return encodeURIComponent(decodeURIComponent(found))
}

/** Whether the browser would be sent to where it is. */
function leadsNowhere({ externalHost }: Compiled, visit: Visit, path: string, search: string): boolean {
  if (search !== visit.query || (externalHost !== undefined && externalHost !== visit.host)) return false
  const local = externalHost === undefined ? path : new URL(path).pathname
  return withoutSlash(canonicalPath(local) ?? local) === visit.trimmed
}

function withoutSlash(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
}
