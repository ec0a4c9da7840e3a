import { hostName } from '../../../packages/http-server/host-name.ts'
import { readParameters } from '../../lib/parameters.ts'
import { isFullAddress } from '../parse/redirects-file.ts'
import {
  bytesOfNames,
  bytesOfPieces,
  type Captures,
  canonicalPath,
  interpolate,
  interpolatedLength,
  PathPattern,
  percentEncoded,
  readTemplate,
  SentPath,
  type TemplatePart,
} from '../path-pattern.ts'
import type { RedirectRule } from '../redirect-rule.ts'

/** The parts of a request that rules match: `path` and `query` as received, `query` with its question mark or empty. */
export interface RedirectRequest {
  path: string
  query: string
  host: string
}

export interface RedirectMatch {
  status: RedirectRule['status']
  /** The value of `Location`; with 200 and 404 the path of a file. Percent-encoded. */
  to: string
  /** Whether `to` is a full URL: only then does it leave the site. */
  external: boolean
  rule: RedirectRule
}

/** Maximum length of a `Location`: an ordinary server accepts no longer request target. */
const MAX_LOCATION_LENGTH = 8192

/** Measured: memory of a rule beside its texts, without and with something that varies, and of a parameter. */
const EXACT_RULE_BYTES = 850
const PATTERN_RULE_BYTES = 1250
const PARAMETER_BYTES = 220

const NO_RULES: readonly CompiledRedirect[] = []
const NO_QUERY: CompiledRedirect['query'] = []

/** The rules of `_redirects`, compiled: the first match wins (contract, "Serving", 2). */
export class RedirectMatcher {
  /** Estimated memory in bytes. */
  readonly bytes: number
  readonly #exact = new Map<string, CompiledRedirect[]>()
  readonly #patterns: CompiledRedirect[] = []

  constructor(rules: readonly RedirectRule[]) {
    let bytes = 0
    for (const [order, rule] of rules.entries()) {
      const pattern = PathPattern.read(trimTrailingSlash(rule.from))
      if (typeof pattern === 'string') continue
      const compiled = compileRedirect(rule, order, pattern)
      bytes += estimateRedirectBytes(compiled)
      this.#listFor(pattern).push(compiled)
    }
    this.bytes = bytes
  }

  /** The result of the first matching rule. A redirect of a URL to itself does not count, as at Netlify. */
  match(asked: RedirectRequest): RedirectMatch | undefined {
    const path = canonicalPath(asked.path)
    if (path === undefined) return undefined
    const visit = new MatchContext(path, asked)
    const fixed = findFirst(this.#exact.get(visit.trimmed) ?? NO_RULES, visit)
    return findFirst(this.#patterns, visit, fixed?.order)?.redirected ?? fixed?.redirected
  }

  #listFor({ fixed }: PathPattern): CompiledRedirect[] {
    if (fixed === undefined) return this.#patterns
    const list = this.#exact.get(fixed) ?? []
    this.#exact.set(fixed, list)
    return list
  }
}

interface CompiledRedirect {
  rule: RedirectRule
  order: number
  pattern: PathPattern
  query: readonly { name: string; value: TemplatePart }[]
  path: readonly TemplatePart[]
  /** `path`, its literal parts canonical: decoding them for each request and rule would take too long. */
  canonical: readonly TemplatePart[]
  /** The target's own query, with its question mark. */
  search: readonly TemplatePart[]
  /** With its `#`. */
  hash: readonly TemplatePart[]
  /** With its port, unless that is the default of its scheme. */
  externalHost: string | undefined
}

function compileRedirect(rule: RedirectRule, order: number, pattern: PathPattern): CompiledRedirect {
  const query = rule.query?.map(([name, value]) => ({ name, value: toTemplatePart(value) })) ?? NO_QUERY
  const found = query.flatMap(({ value }) => (typeof value === 'string' ? [] : [value.name]))
  const names = new Set([...pattern.names, ...found])
  const [, target = '', search = '', hash = ''] = /^([^?#]*)(\?[^#]*)?(#.*)?$/.exec(rule.to) ?? []
  const path = readTemplate(target, names)
  const parts = path.map((part) => (typeof part === 'string' ? (canonicalPath(part) ?? part) : part))
  return {
    rule,
    order,
    pattern,
    query,
    path,
    canonical: parts.every((part, index) => part === path[index]) ? path : parts,
    search: readTemplate(search, names),
    hash: readTemplate(hash, names),
    externalHost: isFullAddress(rule.to) ? new URL(rule.to).host.replace(/\.(?=:|$)/, '') : undefined,
  }
}

function estimateRedirectBytes(compiled: CompiledRedirect): number {
  const { rule, pattern, query, path, canonical, search, hash } = compiled
  const fixed = pattern.fixed !== undefined && query.length === 0
  const pieces =
    bytesOfNames(pattern.names) + bytesOfPieces(path) + bytesOfPieces(search) + bytesOfPieces(hash)
  const spelling = canonical === path ? 0 : bytesOfPieces(canonical) + rule.to.length
  const parameters = (rule.query ?? []).reduce(
    (sum, [name, value]) => sum + PARAMETER_BYTES + name.length + value.length,
    0,
  )
  return (
    (fixed ? EXACT_RULE_BYTES : PATTERN_RULE_BYTES) +
    (rule.from.length + rule.to.length + pieces + spelling + parameters)
  )
}

function toTemplatePart(text: string): TemplatePart {
  return /^:[A-Za-z]\w*$/.test(text) ? { name: text.slice(1) } : text
}

/** A request with what rules match, computed once. */
class MatchContext {
  readonly path: string
  /** Without a trailing slash, which rules ignore. */
  readonly trimmed: string
  readonly query: string
  /** When that is another spelling. */
  readonly sent: SentPath | undefined
  readonly #header: string
  #host: string | undefined
  #params: ReturnType<typeof parseParams> | undefined

  constructor(path: string, asked: RedirectRequest) {
    const { query, host } = asked
    this.path = path
    this.trimmed = trimTrailingSlash(path)
    this.sent = SentPath.read(asked.path, path)
    this.query = query
    this.#header = host
  }

  get host(): string {
    this.#host ??= hostName(this.#header)
    return this.#host
  }

  /** `host` has its port, unless that is the default of its scheme. */
  isAt(host: string): boolean {
    return host === this.host + (/:(?!80$|443$)\d+$/.exec(this.#header)?.[0] ?? '')
  }

  param(name: string): Param | undefined {
    this.#params ??= parseParams(this.query)
    return this.#params.get(name)
  }
}

/** A parameter of the request as it is, as a capture, and as one of a canonical path, once that is needed. */
interface Param {
  given: string
  found: string
  canonical?: string
}

/** There may be thousands of rules. Of several parameters of a name, the first counts. */
function parseParams(query: string): Map<string, Param> {
  const params = [...readParameters(query)].reverse()
  return new Map(params.map(([name, given]) => [name, { given, found: encodeURIComponent(given) }]))
}

/** The first match among rules in their order, before `end`. */
function findFirst(
  rules: readonly CompiledRedirect[],
  visit: MatchContext,
  end = Number.POSITIVE_INFINITY,
): { order: number; redirected: RedirectMatch } | undefined {
  for (const rule of rules) {
    if (rule.order >= end) return undefined
    const redirected = applyRedirect(rule, visit)
    if (redirected) return { order: rule.order, redirected }
  }
  return undefined
}

function applyRedirect(compiled: CompiledRedirect, visit: MatchContext): RedirectMatch | undefined {
  const { rule } = compiled
  if (rule.host !== undefined && rule.host !== visit.host) return undefined
  if (!hasParams(compiled, visit)) return undefined
  const inPath = matchPath(compiled.pattern, visit, visit.sent)
  if (!inPath) return undefined
  const found = withParams(compiled, inPath, (name) => visit.param(name)!.found)
  if (isTooLong(compiled, found)) return undefined
  const path = targetPath(compiled, found)
  const external = compiled.externalHost !== undefined
  if (rule.status === 200 || rule.status === 404) return { status: rule.status, to: path, external, rule }
  const search = targetQuery(compiled, visit, found)
  if (search === visit.query && isSelfRedirect(compiled, visit)) return undefined
  const to = path + search + interpolate(compiled.hash, found, encodeValue)
  return to.length > MAX_LOCATION_LENGTH ? undefined : { status: rule.status, to, external, rule }
}

/** Ignores a trailing slash, so `/a/*` matches `/a` too. */
function matchPath(pattern: PathPattern, visit: MatchContext, sent?: SentPath): Captures | undefined {
  const { path, trimmed } = visit
  if (!pattern.names.has('splat')) return pattern.match(trimmed, sent)
  return pattern.match(path, sent) ?? (path.endsWith('/') ? undefined : pattern.match(`${path}/`, sent))
}

/** Before the path, whose captures cost more. */
function hasParams({ query }: CompiledRedirect, visit: MatchContext): boolean {
  return query.every(({ name, value }) => {
    const param = visit.param(name)
    return param !== undefined && (typeof value !== 'string' || param.given === value)
  })
}

function withParams({ query }: CompiledRedirect, inPath: Captures, find: (name: string) => string): Captures {
  if (query.length === 0) return inPath
  const found = new Map(inPath)
  for (const { name, value } of query) if (typeof value !== 'string') found.set(value.name, find(name))
  return found
}

/** Two slashes at the beginning would be another host. */
function targetPath({ path, externalHost }: CompiledRedirect, found: Captures): string {
  const filled = interpolate(path, found, (value) => value)
  return externalHost === undefined ? filled.replace(/^\/{2,}/, '/') : filled
}

/** Whether a target would exceed the maximum length even if no capture had to be encoded. */
function isTooLong({ path, search, hash }: CompiledRedirect, found: Captures): boolean {
  const parts = [path, search, hash]
  return parts.reduce((sum, part) => sum + interpolatedLength(part, found, 1), 0) > MAX_LOCATION_LENGTH
}

/** The target's own query; otherwise the request's, unless the rule consumed it. */
function targetQuery({ search, query }: CompiledRedirect, visit: MatchContext, found: Captures): string {
  if (search.length > 0) return interpolate(search, found, encodeValue)
  return query.length > 0 ? '' : visit.query.replace(/[^!-~]|#/g, percentEncoded)
}

/** Within a query or a fragment no capture may end it or begin another parameter. */
function encodeValue(found: string): string {
  return encodeURIComponent(decodeURIComponent(found))
}

/** Whether it leads to the requested path in any spelling; the queries are equal. */
function isSelfRedirect(compiled: CompiledRedirect, visit: MatchContext): boolean {
  const { pattern, canonical: path, externalHost } = compiled
  if (externalHost !== undefined && !visit.isAt(externalHost)) return false
  const found = withParams(compiled, matchPath(pattern, visit)!, (name) => {
    const param = visit.param(name)!
    param.canonical ??= canonicalPath(param.found) ?? param.found
    return param.canonical
  })
  const target = targetPath({ ...compiled, path }, found)
  const local = externalHost === undefined ? target : new URL(target).pathname
  return trimTrailingSlash(local) === visit.trimmed
}

function trimTrailingSlash(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
}
