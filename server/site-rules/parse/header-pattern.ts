import { domainToASCII } from 'node:url'
import { sanitizePath } from '../../../protocol/manifest/paths.ts'
import { encodePath, mayOverlap, PathPattern } from '../path-pattern.ts'

/** A line of `_headers` with a path or URL. */
interface HeaderPattern {
  path: string
  host: string | undefined
  patterns: HeaderPatterns
}

/** The parsed pattern, or a description of the error. */
export function parseHeaderPattern(text: string): HeaderPattern | string {
  const [, scheme, authority, rest] = /^([^\s:/]+):\/\/([^/?#]*)(.*)/s.exec(text) ?? []
  if (scheme === undefined) return toHeaderPattern(text, undefined)
  if (!/^https?$/i.test(scheme))
    return `'${sanitizePath(text)}' is neither a path nor an address with http:// or https://`
  if (/:\d*$/.test(authority!)) return 'Headers are for a host at every port: leave the port away'
  const host = authority!.replace(/\.$/, '').split('.').map(normalizeLabel).join('.')
  // `domainToASCII` would take the host of a URL and ignore the rest.
  if (/[@\\%]/.test(authority!) || !/^[a-z0-9-]+$/.test(host.replace(/:[A-Za-z]\w*|[.*_]/g, 'x'))) {
    return `'${sanitizePath(authority!)}' is no name of a host`
  }
  return toHeaderPattern(rest === '' ? '/' : rest!, host)
}

/** Names of placeholders are case-sensitive, everything else is not. */
function normalizeLabel(label: string): string {
  return /[:*]/.test(label) ? label : domainToASCII(label)
}

function toHeaderPattern(text: string, host: string | undefined): HeaderPattern | string {
  if (/[?#]/.test(text)) return "A path has neither '?' nor '#': headers are for all queries of a path"
  if (!text.startsWith('/') || /\p{Cc}/u.test(text))
    return `The path '${sanitizePath(text)}' has control characters`
  const path = encodePath(text)
  const patterns = readHeaderPatterns({ path, host })
  return typeof patterns === 'string'
    ? `The path '${sanitizePath(text)}' ${patterns}`
    : { path, host, patterns }
}

/** The patterns of a rule's path and, if given, its host. */
export interface HeaderPatterns {
  path: PathPattern
  host: PathPattern | undefined
}

/** The patterns, or the end of a sentence that describes the error. */
export function readHeaderPatterns({
  path,
  host,
}: {
  path: string
  host?: string | undefined
}): HeaderPatterns | string {
  const ofPath = PathPattern.read(path)
  const ofHost = host === undefined ? undefined : PathPattern.read(host, '.')
  if (typeof ofPath === 'string') return ofPath
  if (typeof ofHost === 'string') return `has a host that ${ofHost}`
  const twice = ofHost && [...ofPath.names].find((name) => ofHost.names.has(name))
  if (twice === undefined) return { path: ofPath, host: ofHost }
  return twice === 'splat' ? "may have one '*' only, in its host or after it" : `has ':${twice}' twice`
}

/** The placeholders that values may use. */
export function placeholderNames({ path, host }: HeaderPatterns): ReadonlySet<string> {
  return new Set([...path.names, ...(host?.names ?? [])])
}

/** Whether both rules can apply to one response. */
export function overlap(one: HeaderPatterns, other: HeaderPatterns): boolean {
  return mayOverlap(one.path, other.path) && (!one.host || !other.host || mayOverlap(one.host, other.host))
}
