import { domainToASCII } from 'node:url'
import { shown } from '../file.ts'
import { encodePath, mayOverlap, PathPattern } from './path-pattern.ts'

/** A line of `_headers` that says where the headers below it belong. */
interface Place {
  path: string
  host: string | undefined
  patterns: HeaderPatterns
}

/** The place, or a sentence that says what is wrong. */
export function readPlace(text: string): Place | string {
  const [, scheme, authority, rest] = /^([^\s:/]+):\/\/([^/?#]*)(.*)$/.exec(text) ?? []
  if (scheme === undefined) return placeOf(text, undefined)
  if (!/^https?$/i.test(scheme))
    return `'${shown(text)}' is neither a path nor an address with http:// or https://`
  if (/:\d*$/.test(authority!)) return 'Headers are for a host at every port: leave the port away'
  const host = authority!.replace(/\.$/, '').split('.').map(readLabel).join('.')
  // Of an address, `domainToASCII` would take the host and drop the rest.
  if (/[@\\%]/.test(authority!) || !/^[a-z0-9-]+$/.test(host.replace(/:[A-Za-z]\w*|[.*_]/g, 'x'))) {
    return `'${shown(authority!)}' is no name of a host`
  }
  return placeOf(rest === '' ? '/' : rest!, host)
}

/** Names of placeholders keep their case, everything else has none. */
function readLabel(label: string): string {
  return /[:*]/.test(label) ? label : domainToASCII(label)
}

function placeOf(text: string, host: string | undefined): Place | string {
  if (/[?#]/.test(text)) return "A path has neither '?' nor '#': headers are for all queries of a path"
  if (!text.startsWith('/') || /\p{Cc}/u.test(text)) return `The path '${shown(text)}' has control characters`
  const path = encodePath(text)
  const patterns = readHeaderPatterns({ path, host })
  return typeof patterns === 'string' ? `The path '${shown(text)}' ${patterns}` : { path, host, patterns }
}

/** A rule's path, and its host if it is for one only. */
export interface HeaderPatterns {
  path: PathPattern
  host: PathPattern | undefined
}

/** The patterns, or what is wrong with them as the end of a sentence about the path. */
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

/** The names that values may take from an address. */
export function namesOf({ path, host }: HeaderPatterns): ReadonlySet<string> {
  return new Set([...path.names, ...(host?.names ?? [])])
}

/** Whether there may be an answer that gets the headers of both. */
export function meet(one: HeaderPatterns, other: HeaderPatterns): boolean {
  return mayOverlap(one.path, other.path) && (!one.host || !other.host || mayOverlap(one.host, other.host))
}
