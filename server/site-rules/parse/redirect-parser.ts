import { sanitizePath } from '../../../protocol/manifest/paths.ts'
import { canonicalPath, encodePath, MAX_PLACEHOLDERS, PathPattern } from '../path-pattern.ts'
import type { RedirectRule } from '../redirect-rule.ts'

const STATUSES: readonly number[] = [200, 301, 302, 303, 307, 308, 404] satisfies RedirectRule['status'][]

/** Reserved paths: the service's, and Netlify's. */
const RESERVED_FOLDERS = ['/_slipway', '/.netlify']

const FULL_ADDRESS = /^https?:\/\//i

type RedirectSource = Pick<RedirectRule, 'from'> & { host?: string; pattern: PathPattern }
type RedirectCode = Pick<RedirectRule, 'status' | 'force'>

/** Whether a target is a full URL. */
export function isFullAddress(target: string): boolean {
  return FULL_ADDRESS.test(target)
}

/** Parses a trimmed line of `_redirects`, or returns a description of the error. */
export function readRedirect(line: number, text: string): RedirectRule | string {
  const words = withoutComment(text.split(/\s+/))
  const at = words.findIndex((word, index) => index > 0 && isTarget(word))
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

function isTarget(word: string): boolean {
  return word.startsWith('/') || isFullAddress(word)
}

/** `/a/* 200` is short for `/a/* /a/:splat 200`. */
function readForward(line: number, source: RedirectSource, words: readonly string[]): RedirectRule | string {
  const [first] = words
  if (first === undefined) return 'The rule has no target: write where the path leads to, after a space'
  const code = readCode(words)
  if (typeof code !== 'string' && code.status === 200 && source.from.endsWith('/*')) {
    return toRule(line, source, [], { to: source.from.replace(/\*$/, ':splat'), ...code })
  }
  return `'${sanitizePath(words.at(-1)!)}' is no target: a target begins with '/', 'http://' or 'https://'`
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

/** The host name of a full URL, lower case. */
function readHost(authority: string): { name: string } | { problem: string } {
  if (authority.includes('*')) return { problem: "The host of a rule cannot have a '*'" }
  if (/:\d*$/.test(authority)) return { problem: 'A rule is for a host at every port: leave the port away' }
  const address = /[@\\%]/.test(authority) ? null : URL.parse(`http://${authority}/`)
  if (!address) return { problem: `'${sanitizePath(authority)}' is no name of a host` }
  return { name: address.hostname.replace(/\.$/, '') }
}

function readPath(text: string): RedirectSource | string {
  if (!text.startsWith('/')) return `The path '${sanitizePath(text)}' does not begin with a slash`
  if (text.includes('?')) return "A path has no '?': write query parameters after it, as in '/a id=1 /b'"
  if (text.includes('#')) return "A path has no '#': browsers keep what follows it to themselves"
  const star = text.indexOf('*')
  if (star >= 0 && star < text.length - 1) return "A '*' can only be the end of a path"
  const from = encodePath(text)
  const pattern = PathPattern.read(from)
  if (typeof pattern === 'string') return `The path '${sanitizePath(text)}' ${pattern}`
  const reserved = RESERVED_FOLDERS.find(
    (folder) => pattern.lead === folder || pattern.lead.startsWith(`${folder}/`),
  )
  if (reserved) return `Paths below '${reserved}/' cannot have rules`
  return { from, pattern }
}

/** Names and values, decoded. */
function readQuery(words: readonly string[]): [string, string][] | string {
  const wrong = words.find((word) => word.indexOf('=') < 1)
  if (wrong !== undefined) {
    return `'${sanitizePath(wrong)}' is neither a target, which begins with '/', 'http://' or 'https://', nor a query parameter, which is 'name=value' or 'name=:value'`
  }
  return words.flatMap((word) => [...new URLSearchParams(word)])
}

/** The capture names of query parameters. */
function placeholderNames(query: readonly [string, string][]): string[] {
  return query.flatMap(([, value]) => (/^:[A-Za-z]\w*$/.test(value) ? [value.slice(1)] : []))
}

/** Parses what follows the target. */
function readCode(words: readonly string[]): RedirectCode | string {
  const condition = words.find((word) => word.includes('='))
  if (condition !== undefined) {
    return `'${sanitizePath(condition)}' is a condition; conditions by country, language, role or cookie are not supported`
  }
  const [word = '301', more] = words
  if (more !== undefined) return `'${sanitizePath(more)}' after the status says nothing`
  const [, status, force] = /^(\d+)(!?)$/.exec(word) ?? []
  if (!STATUSES.includes(Number(status))) {
    return `The status can be ${STATUSES.slice(0, -1).join(', ')} or 404, each with or without '!', and not '${sanitizePath(word)}'`
  }
  return { status: Number(status) as RedirectRule['status'], force: force === '!' }
}

function readTarget(word: string, names: ReadonlySet<string>): { to: string } | { problem: string } {
  if (/[\\\p{Cc}]/u.test(word)) return { problem: 'A target has no backslash and no control characters' }
  if (word.startsWith('//')) {
    return { problem: "A target that begins with '//' could be another host: write its full address" }
  }
  if (/%(?![0-9a-f]{2})/i.test(word)) return { problem: "A '%' in a target is written '%25'" }
  const authority = /^https?:\/\/([^/?#]*)/i.exec(word)?.[1] ?? ''
  if (/[@*]|:[A-Za-z]/.test(authority)) {
    return { problem: 'The host of a target is a fixed name: no placeholder, no user and no password' }
  }
  const address = URL.parse(word, 'http://the.site')
  if (!address) return { problem: `'${sanitizePath(word)}' is no address` }
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
      return `':${sanitizePath(name!)}' in the target is nowhere in the path or the query of the rule`
  }
  if (count <= MAX_PLACEHOLDERS) return undefined
  return `A target can have at most ${MAX_PLACEHOLDERS} placeholders, not ${count}`
}

/** An error in the combination of valid parts. */
function validateRule(rule: RedirectRule, pattern: PathPattern): string | undefined {
  if (rule.status !== 200 && rule.status !== 404) {
    return isSelfRedirect(rule, pattern) ? 'The rule would lead visitors back to itself for ever' : undefined
  }
  if (!isFullAddress(rule.to)) return undefined
  return `With ${rule.status} a target is a path of this site: other servers' pages are not fetched; 301, 302, 303, 307 or 308 lead there`
}

/**
 * Whether a redirect loops from any path: it is its own target, or extends a path before any file is looked
 * up. Other loops show only when requested.
 */
function isSelfRedirect({ from, host, query, to, force }: RedirectRule, pattern: PathPattern): boolean {
  const target = new URL(to, 'http://the.site')
  if (query || target.search || (isFullAddress(to) && target.hostname !== host)) return false
  if (comparable(target.pathname) === comparable(from.replace(/\*$/, ':splat'))) return true
  return (
    force && pattern.names.size > 0 && /:[A-Za-z]/.test(target.pathname) && !!pattern.match(target.pathname)
  )
}

function comparable(path: string): string | undefined {
  return canonicalPath(path.length > 1 ? path.replace(/\/$/, '') : path)
}
