import { domainToASCII } from 'node:url'
import { sanitizePath } from '../../../protocol/manifest/paths.ts'
import { encodePath, mayOverlap, PathPattern } from '../path-pattern.ts'

interface HeaderPattern {
  path: string
  host: string | undefined
  patterns: HeaderPatterns
}

/** Returns a description of the error when it is invalid. */
export function parseHeaderPattern(text: string): HeaderPattern | string {
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

/** Whether both rules can apply to one response. */
export function overlap(one: HeaderPatterns, other: HeaderPatterns): boolean {
  return mayOverlap(one.path, other.path) && (!one.host || !other.host || mayOverlap(one.host, other.host))
}
