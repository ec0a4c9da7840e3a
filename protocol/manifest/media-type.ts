import { MEDIA_TYPE_TABLE } from './media-type-table.ts'

/** Number of first bytes that decide whether a file of unknown type is text. */
export const SNIFFED_BYTES = 8192

const TEXT = 'text/plain; charset=utf-8'
const BINARY = 'application/octet-stream'
const JSON_TYPE = 'application/json'

/**
 * Types that differ from mime-db: it has unregistered names for them, or such that browsers do not execute as scripts, or
 * download although people read them.
 */
export const EXCEPTIONS: Readonly<Record<string, string>> = {
  aif: 'audio/aiff',
  aiff: 'audio/aiff',
  cjs: 'text/javascript',
  flac: 'audio/flac',
  jfif: 'image/jpeg',
  jsx: 'text/javascript',
  m4v: 'video/mp4',
  sh: 'text/plain',
  toml: 'text/plain',
  vcf: 'text/vcard',
  yaml: 'application/yaml',
  yml: 'application/yaml',
}

/** Extensions that mime-db does not have. */
const ADDITIONS: Readonly<Record<string, string>> = {
  br: 'application/x-brotli',
  cur: 'image/x-icon',
  mobileconfig: 'application/x-apple-aspen-config',
  topojson: JSON_TYPE,
  zst: 'application/zstd',
}

/** Markup that browsers parse with the charset of the response, for which mime-db has none. */
const UTF8_MARKUP = new Set(['application/xhtml+xml', 'image/svg+xml'])

/** Files without an extension by their whole name, in lower case. */
const NAMES: Readonly<Record<string, string>> = {
  'apple-app-site-association': JSON_TYPE,
  cname: TEXT,
  license: TEXT,
  readme: TEXT,
  _headers: TEXT,
  _redirects: TEXT,
}

/** Well-known URIs (RFC 8615) without an extension whose specifications demand a type, with those below them. */
const WELL_KNOWN: Readonly<Record<string, string>> = {
  'api-catalog': 'application/linkset+json',
  browserid: JSON_TYPE,
  core: 'application/link-format',
  'gnap-as-rs': JSON_TYPE,
  'host-meta': 'application/xrd+xml',
  'http-opportunistic': JSON_TYPE,
  jmap: JSON_TYPE,
  jwks: 'application/jwk-set+json',
  'jwt-vc-issuer': JSON_TYPE,
  lnurlp: JSON_TYPE,
  matrix: JSON_TYPE,
  'microsoft-identity-association': JSON_TYPE,
  nodeinfo: JSON_TYPE,
  'oauth-authorization-server': JSON_TYPE,
  'oauth-protected-resource': JSON_TYPE,
  'open-resource-discovery': JSON_TYPE,
  'openid-configuration': JSON_TYPE,
  'openid-credential-issuer': JSON_TYPE,
  'openid-federation': 'application/entity-statement+jwt',
  'passkey-endpoints': JSON_TYPE,
  'private-token-issuer-directory': 'application/private-token-issuer-directory',
  'smart-configuration': JSON_TYPE,
  'ssf-configuration': JSON_TYPE,
  'traffic-advice': 'application/trafficadvice+json',
  'uma2-configuration': JSON_TYPE,
  vct: JSON_TYPE,
  void: 'text/turtle; charset=utf-8',
  'web-identity': JSON_TYPE,
  webauthn: JSON_TYPE,
  webfinger: 'application/jrd+json',
}

let table: ReadonlyMap<string, string> | undefined

/**
 * The content type of a file by its name. Where that is unknown, by its first bytes: text when they are UTF-8 without a
 * NUL, otherwise binary, also without bytes. Text declares UTF-8.
 */
export function mediaType(path: string, start?: Uint8Array): string {
  const known = findMediaType(path)
  if (known !== undefined) return known
  return start !== undefined && isText(start) ? TEXT : BINARY
}

function findMediaType(path: string): string | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase()
  table ??= readTable()
  const dot = name.lastIndexOf('.')
  const byExtension = dot < 0 ? undefined : table.get(name.slice(dot + 1))
  return byExtension ?? own(NAMES, name) ?? findWellKnown(path)
}

/** Also below a folder, which may be the top folder of an archive. */
function findWellKnown(path: string): string | undefined {
  const [, name] = /(?:^|\/)\.well-known\/([^/]+)/.exec(path) ?? []
  return name === undefined ? undefined : own(WELL_KNOWN, name)
}

function own(types: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(types, name) ? types[name] : undefined
}

/** By extension. A process that publishes starts with this, so it avoids slower forms of the loops. */
function readTable(): Map<string, string> {
  const types = new Map<string, string>()
  let group = ''
  for (const line of MEDIA_TYPE_TABLE.split('\n')) {
    const words = line.split(' ')
    if (words.length === 1) group = line
    else {
      const [, subtype = ''] = words
      const isUtf8 = subtype.endsWith('*')
      const type = withCharset(`${group}/${isUtf8 ? subtype.slice(0, -1) : subtype}`, isUtf8)
      for (let at = 2; at < words.length; at++) types.set(words[at]!, type)
    }
  }
  for (const [extension, type] of Object.entries({ ...ADDITIONS, ...EXCEPTIONS }))
    types.set(extension, withCharset(type))
  return types
}

function withCharset(type: string, isUtf8 = type === JSON_TYPE): string {
  return isUtf8 || type.startsWith('text/') || UTF8_MARKUP.has(type) ? `${type}; charset=utf-8` : type
}

/** Whether a file that begins with these bytes is text: UTF-8 without a NUL. */
function isText(start: Uint8Array): boolean {
  const sniffed = start.subarray(0, SNIFFED_BYTES)
  if (sniffed.includes(0)) return false
  try {
    // The last character may continue after the sniffed bytes.
    new TextDecoder('utf-8', { fatal: true }).decode(sniffed, { stream: sniffed.length === SNIFFED_BYTES })
    return true
  } catch {
    return false
  }
}
