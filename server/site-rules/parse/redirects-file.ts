import type { PublishWarning } from '../../../protocol/api/publish.schema.ts'
import { formatAlternatives, formatNumber } from '../../../protocol/format.ts'
import { sanitizePath } from '../../../protocol/manifest/paths.ts'
import { canonicalPath, encodePath, MAX_PLACEHOLDERS, PathPattern } from '../path-pattern.ts'
import type { RedirectRule } from '../redirect-rule.ts'
import { RuleReader } from './rule-reader.ts'

/** Rules of one kind that are kept: with `*` or `:name`, in the path or in the query, and without. */
const MAX_REDIRECT_RULES = { fixed: 2000, varying: 100 }

/** A line in each step, in Netlify's syntax (contract, "Serving", 2). A wrong line becomes a warning; never throws. */
export function* redirectSteps(
  text: string,
): Generator<void, { rules: RedirectRule[]; warnings: PublishWarning[] }> {
  const file = new RuleReader({ name: '_redirects', text })
  const rules: RedirectRule[] = []
  const counts = { fixed: 0, varying: 0 }
  for (const { line, text: words } of file.lines()) {
    yield
    const rule = readRedirect(line, words)
    if (typeof rule === 'string') {
      file.warn(line, rule)
      continue
    }
    const kind = hasWildcards(rule) ? 'varying' : 'fixed'
    counts[kind]++
    if (counts[kind] <= MAX_REDIRECT_RULES[kind]) rules.push(rule)
    else if (counts[kind] === MAX_REDIRECT_RULES[kind] + 1) file.warn(line, tooManyRules(kind))
  }
  return { rules, warnings: file.warnings }
}

function hasWildcards({ from, query = [] }: RedirectRule): boolean {
  return /\*$|\/:[A-Za-z]/.test(from) || query.some(([, value]) => /^:[A-Za-z]/.test(value))
}

function tooManyRules(kind: keyof typeof MAX_REDIRECT_RULES): string {
  const which = kind === 'fixed' ? "without '*' and ':name'" : "with '*' or ':name'"
  return `this rule and later ones are ignored. The limit is ${formatNumber(MAX_REDIRECT_RULES[kind])} redirect rules ${which}.`
}

const STATUSES: readonly number[] = [200, 301, 302, 303, 307, 308, 404] satisfies RedirectRule['status'][]

/** Reserved paths: the service's, and Netlify's. */
const RESERVED_FOLDERS = ['/_slipway', '/.netlify']

const FULL_ADDRESS = /^https?:\/\//i

type RedirectSource = Pick<RedirectRule, 'from'> & { host?: string; pattern: PathPattern }
type RedirectCode = Pick<RedirectRule, 'status' | 'force'>

export function isFullAddress(target: string): boolean {
  return FULL_ADDRESS.test(target)
}

/** Parses a trimmed line, or returns a description of the error. */
function readRedirect(line: number, text: string): RedirectRule | string {
  const words = withoutComment(text.split(/\s+/))
  const at = words.findIndex((word, index) => index > 0 && (word.startsWith('/') || isFullAddress(word)))
  const source = readSource(words[0]!)
  if (typeof source === 'string') return source
  if (at < 0) return readForward(line, source, words.slice(1))
  const query = readQuery(words.slice(1, at))
  if (typeof query === 'string') return query
  const code = readCode(words.slice(at + 1))
  if (typeof code === 'string') return code
  const names = new Set([...source.pattern.names, ...placeholderNames(query)])
  const target = readTarget(words[at]!, names)
  if ('problem' in target) return target.problem
  const rule = toRule(line, source, query, { to: target.to, ...code })
  return validateRule(rule, source.pattern) ?? rule
}

function withoutComment(words: string[]): string[] {
  const at = words.findIndex((word) => word.startsWith('#'))
  return at < 0 ? words : words.slice(0, at)
}

/** `/a/* 200` is short for `/a/* /a/:splat 200`. */
function readForward(line: number, source: RedirectSource, words: readonly string[]): RedirectRule | string {
  const [first] = words
  if (first === undefined) return 'the rule has no target. Add the target after a space.'
  const code = readCode(words)
  if (typeof code !== 'string' && code.status === 200 && source.from.endsWith('/*')) {
    return toRule(line, source, [], { to: source.from.replace(/\*$/, ':splat'), ...code })
  }
  const wrong = words.find((word) => word.indexOf('=') < 1) ?? first
  return `invalid target '${sanitizePath(wrong)}'. A target starts with '/', 'http://' or 'https://'.`
}

function toRule(
  line: number,
  { from, host }: RedirectSource,
  query: [string, string][],
  { to, status, force }: RedirectCode & { to: string },
): RedirectRule {
  return {
    line,
    from,
    ...(host !== undefined && { host }),
    ...(query.length > 0 && { query }),
    to,
    status,
    force,
  }
}

function readSource(word: string): RedirectSource | string {
  const [, authority, rest] = /^https?:\/\/([^/?#]*)(.*)/is.exec(word) ?? []
  if (authority === undefined || rest === undefined) return readPath(word)
  const path = readPath(rest === '' ? '/' : rest)
  if (typeof path === 'string') return path
  const host = readHost(authority)
  return 'problem' in host ? host.problem : { ...path, host: host.name }
}

function readHost(authority: string): { name: string } | { problem: string } {
  if (authority.includes('*')) return { problem: "the host cannot contain '*'" }
  if (/:\d*$/.test(authority)) return { problem: 'ports are not supported: remove the port' }
  const address = /[@\\%]/.test(authority) ? null : URL.parse(`http://${authority}/`)
  if (!address) return { problem: `invalid host name '${sanitizePath(authority)}'` }
  return { name: address.hostname.replace(/\.$/, '') }
}

function readPath(text: string): RedirectSource | string {
  if (!text.startsWith('/')) return `the path '${sanitizePath(text)}' must start with '/'`
  if (text.includes('?'))
    return "a path cannot contain '?'. Write query parameters after the path: '/a id=1 /b'."
  if (text.includes('#')) return "a path cannot contain '#': browsers do not send fragments"
  const star = text.indexOf('*')
  if (star >= 0 && star < text.length - 1) return "'*' is only allowed at the end of a path"
  const from = encodePath(text)
  const pattern = PathPattern.read(from)
  if (typeof pattern === 'string') return `the path '${sanitizePath(text)}' ${pattern}`
  const reserved = RESERVED_FOLDERS.find(
    (folder) => pattern.lead === folder || pattern.lead.startsWith(`${folder}/`),
  )
  if (reserved) return `rules for paths below '${reserved}/' are not allowed`
  return { from, pattern }
}

function readQuery(words: readonly string[]): [string, string][] | string {
  const wrong = words.find((word) => word.indexOf('=') < 1)
  if (wrong !== undefined) {
    return `invalid target or query parameter '${sanitizePath(wrong)}'. Use a target that starts with '/', 'http://' or 'https://', or 'name=value'.`
  }
  return words.flatMap((word) => [...new URLSearchParams(word)])
}

function placeholderNames(query: readonly [string, string][]): string[] {
  return query.flatMap(([, value]) => (/^:[A-Za-z]\w*$/.test(value) ? [value.slice(1)] : []))
}

function readCode(words: readonly string[]): RedirectCode | string {
  const condition = words.find((word) => word.includes('='))
  if (condition !== undefined) {
    return `unsupported condition '${sanitizePath(condition)}'. Conditions by country, language, role or cookie are not available.`
  }
  const [word = '301', more] = words
  if (more !== undefined) return `unexpected '${sanitizePath(more)}' after the status`
  const [, status, force] = /^(\d+)(!?)$/.exec(word) ?? []
  if (!STATUSES.includes(Number(status))) {
    return `invalid status ${sanitizePath(word)}. Use ${formatAlternatives(STATUSES.map(String))}.`
  }
  return { status: Number(status) as RedirectRule['status'], force: force === '!' }
}

function readTarget(word: string, names: ReadonlySet<string>): { to: string } | { problem: string } {
  if (/[\\\p{Cc}]/u.test(word))
    return { problem: 'a target cannot contain backslashes or control characters' }
  if (word.startsWith('//')) {
    return { problem: "a target cannot start with '//'. Use a full URL for another host." }
  }
  if (/%(?![0-9a-f]{2})/i.test(word)) return { problem: "write '%' in a target as '%25'" }
  const authority = /^https?:\/\/([^/?#]*)/i.exec(word)?.[1] ?? ''
  if (/[@*]|:[A-Za-z]/.test(authority)) {
    return { problem: 'the host of a target cannot contain placeholders, a user or a password' }
  }
  const address = URL.parse(word, 'http://the.site')
  if (!address) return { problem: `invalid URL '${sanitizePath(word)}'` }
  const problem = validatePlaceholders(word.slice(authority.length), names)
  if (problem !== undefined) return { problem }
  const { href, pathname, search, hash } = address
  // The rest of '/.//x' would be another host.
  return { to: isFullAddress(word) ? href : pathname.replace(/^\/+/, '/') + search + hash }
}

/** Within a word a colon before an unknown name is literal, as in `Talk:Home`. */
function validatePlaceholders(text: string, names: ReadonlySet<string>): string | undefined {
  let count = 0
  for (const [, before, name] of text.matchAll(/(?<=(\w?)):([A-Za-z]\w*)/g)) {
    if (names.has(name!)) count++
    else if (before === '')
      return `the placeholder ':${sanitizePath(name!)}' does not occur in the path or query of the rule`
  }
  if (count <= MAX_PLACEHOLDERS) return undefined
  return `the target has ${count} placeholders. The limit is ${MAX_PLACEHOLDERS}.`
}

function validateRule(rule: RedirectRule, pattern: PathPattern): string | undefined {
  if (rule.status !== 200 && rule.status !== 404) {
    return isSelfRedirect(rule, pattern) ? 'the rule redirects to itself' : undefined
  }
  if (!isFullAddress(rule.to)) return undefined
  return `status ${rule.status} needs a path of this site as its target: pages of other servers are not fetched. Use 301, 302, 303, 307 or 308.`
}

/** From any path: it is its own target, or extends a path before files are looked up. Others show when requested. */
function isSelfRedirect({ from, host, query, to, force }: RedirectRule, pattern: PathPattern): boolean {
  const target = new URL(to, 'http://the.site')
  if (query || target.search) return false
  if (isFullAddress(to) && (target.hostname !== host || target.port !== '')) return false
  if (comparable(target.pathname) === comparable(from.replace(/\*$/, ':splat'))) return true
  return (
    force && pattern.names.size > 0 && /:[A-Za-z]/.test(target.pathname) && !!pattern.match(target.pathname)
  )
}

function comparable(path: string): string | undefined {
  return canonicalPath(path.length > 1 ? path.replace(/\/$/, '') : path)
}
