import { formatAlternatives } from '../../../protocol/format.ts'

/** Headers of the connection, the body or the service. */
const OWN = new Set(
  `connection keep-alive te trailer transfer-encoding upgrade http2-settings host
  content-length content-encoding content-range accept-ranges date etag last-modified location`.split(/\s+/),
)

/** Parts of names, between hyphens, that proxies, caches and CDNs give to the instructions they take from responses. */
const PROXY_PARTS = new Set(
  `accel sendfile sendfile2 reproxy lighttpd litespeed varnish envoy surrogate cdn edge akamai fastly`.split(
    ' ',
  ),
)

const PROXY_PREFIXES =
  `cf- arr- netlify- x-nf- x-vercel- x-amz- x-azure- x-appengine- x-goog- x-bunny-`.split(' ')

const PROXY_NAMES = new Set(
  `x-send-file cache-tag cache-tags x-cache-tags xkey pagespeed x-page-speed`.split(' '),
)

/** What a site may make browsers forget. Cookies of a host are those of other sites too: they may share a domain. */
const CLEARABLE = new Set(['"cache"', '"storage"', '"executionContexts"', '"clientHints"'])

/** `name` is a token; undefined when a site can set or remove the header. */
export function findNameProblem(name: string): string | undefined {
  const lower = name.toLowerCase()
  if (lower === 'basic-auth') return 'Basic-Auth is not supported. Set a password for the site instead.'
  if (lower === 'alt-svc') return 'Alt-Svc is not allowed: it would send browsers to other servers'
  if (OWN.has(lower) || lower.startsWith('proxy-')) return `${name} is not allowed: the server sets it`
  if (!instructsProxies(lower)) return undefined
  return `${name} is not allowed: it controls proxies and CDNs in front of the server`
}

/** Undefined when a site can set the header to this value. */
export function findHeaderProblem(name: string, value: string): string | undefined {
  return (
    findNameProblem(name) ?? (name.toLowerCase() === 'clear-site-data' ? clearingProblem(value) : undefined)
  )
}

function instructsProxies(name: string): boolean {
  return (
    PROXY_NAMES.has(name) ||
    PROXY_PREFIXES.some((prefix) => name.startsWith(prefix)) ||
    name.split('-').some((part) => PROXY_PARTS.has(part))
  )
}

function clearingProblem(value: string): string | undefined {
  if (value.split(',').every((type) => CLEARABLE.has(type.trim()))) return undefined
  return `invalid Clear-Site-Data. Use ${formatAlternatives([...CLEARABLE])}: cookies can belong to other sites.`
}
