import type { TestHost } from './fast-path-sites.ts'
import { CASES, fillBytes } from './hygiene-cases.ts'

export type Pick = (bound: number) => number

/** The bytes of one connection. */
export interface Batch {
  /** Methods of the requests whose responses are read, in order. */
  methods: string[]
  texts: string[]
  pieces: Buffer[]
  /** Sent separately after all previous responses, because a malformed request may close the connection immediately. */
  last: { after: number; bytes: Buffer }
}

/** Strong etags by host, as a client could have cached them. */
export type Tags = ReadonlyMap<string, readonly string[]>

interface Generator {
  pick: Pick
  hosts: readonly TestHost[]
  tags: Tags
}

function table(text: string, separator: RegExp): string[] {
  return text.trim().split(separator)
}

const HOSTILE = table(
  `/ // \\ . .. ../ ..%2f %2e%2e/ %2e %2f %5c %00 %0d%0a %09 %20 + % %2 %zz %ff %c0%ae %25 %252e %A0 %EF%BB%BF %cc%81
  %F0%9F%98%80 ? & = ; : @ * ~ ! ' ( $ , docs docs/ index.html .html index 404 etc/passwd __proto__ constructor
  evil.example http:// C: a`,
  /\s+/,
)

const RANGES = table(
  `bytes=0-0 bytes=0- bytes=1-5 bytes=-1 bytes=-5 bytes=-0 bytes=5-2 bytes=99999- bytes=0-99999999999 bytes=0-1,3-4
  bytes= bytes=- bytes=a-b bytes=0-18446744073709551616 items=0-1 bytes=10-19 bytes=-100000 Bytes=0-3 bytes=7-7
  bytes=100-2000 bytes=0-0,-1`,
  /\s+/,
)

const ENCODINGS = table(
  `br|gzip|zstd|gzip, deflate, br, zstd|identity|*|*;q=0|br;q=0|gzip;q=0.5, br;q=0.1||identity;q=0|identity;q=0, gzip
x-gzip|GZIP|br;q=1.5|br; q=0.9 ,gzip|compress|,,br|gzip;q=abc`,
  /[|\n]/,
)

const DATES = table(
  `Thu, 01 Jan 1970 00:00:00 GMT|Fri, 31 Dec 9999 23:59:59 GMT|Sun Nov  6 08:49:37 1994|yesterday||0
Sunday, 06-Nov-94 08:49:37 GMT|Mon, 32 Foo 2020 00:00:00 GMT`,
  /[|\n]/,
)

const BROWSER = `Connection: keep-alive
sec-ch-ua: "Chromium";v="140", "Not=A?Brand";v="24"
User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36
Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8
Sec-Fetch-Mode: navigate
Accept-Encoding: gzip, deflate, br, zstd
Accept-Language: en-US,en;q=0.9`.split('\n')

/**
 * Unusual headers that a server may not refuse. No expectations and no upgrades: on those a server may close the
 * connection, and previous responses may be lost.
 */
const UNUSUAL_LINES = [
  ...['X:', 'X:y', 'X: \t y \t ', 'x-LONG: '.padEnd(3000, 'y'), 'X: \xe9\xff', "!#$%&'*+-.^_`|~: y"],
  ...[
    'TE: trailers',
    'Proxy-Connection: keep-alive',
    'Connection: keep-alive',
    'Connection: x',
    'Max-Forwards: 0',
  ],
  ...['Keep-Alive: timeout=5', 'Content-Length: 0', 'Trailer: X', 'Referer: http://a/b?c', 'Via: 1.1 proxy'],
  ...['X-Forwarded-For: 192.0.2.1', 'Authorization: Bearer x', 'Cache-Control: no-cache', 'Pragma: no-cache'],
]

const METHODS = ['OPTIONS', 'POST', 'PUT', 'DELETE', 'PATCH', 'TRACE', 'PROPFIND', 'PURGE']

/** Requests on one connection, split anywhere. The last closes it; in one of fifty batches a malformed one precedes it. */
export function randomBatch(generator: Generator, size: number): Batch {
  const { pick } = generator
  const requests = Array.from({ length: size }, () => randomRequest(generator))
  const methods = requests.map((text) => text.slice(0, text.indexOf(' ')))
  const { host } = generator.hosts[0]!
  const pieces = split(pick, Buffer.from(requests.join(''), 'latin1'))
  const malformed = pick(50) === 0 ? of(pick, of(pick, CASES).requests) : ''
  if (malformed !== '') methods.push(/^[A-Z]*/.exec(malformed)![0])
  methods.push('GET')
  const end = `GET /letters.txt HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`
  const bytes = fillBytes(malformed + end, { host, path: '/letters.txt', site: host, hidden: '/one.txt' })
  return { methods, texts: requests, pieces, last: { after: size, bytes } }
}

function of<T>(pick: Pick, values: readonly T[]): T {
  return values[pick(values.length)]!
}

/** One piece, a few pieces, or many small ones. */
function split(pick: Pick, bytes: Buffer): Buffer[] {
  const kind = pick(10)
  if (kind < 5) return [bytes]
  const maxPiece = kind < 9 ? Math.ceil(bytes.length / 3) : 60
  const pieces: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = at + 1 + pick(maxPiece)
    pieces.push(bytes.subarray(at, end))
    at = end
  }
  return pieces
}

function randomRequest(generator: Generator): string {
  const { pick, hosts } = generator
  const where = pick(3) === 0 ? of(pick, hosts) : hosts[0]!
  const lines = headerLines(generator, where)
  const host = pick(40) === 0 ? unusualHost(pick, where.host) : where.host
  lines.splice(pick(lines.length + 1), 0, `${pick(20) === 0 ? 'hOST' : 'Host'}: ${host}`)
  const roll = pick(100)
  const [method, body] = roll < 80 ? ['GET', ''] : roll < 94 ? ['HEAD', ''] : otherMethod(pick, lines)
  const target = (pick(60) === 0 ? `http://${host}` : '') + randomTarget(pick, where)
  return `${method} ${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`
}

function otherMethod(pick: Pick, lines: string[]): [method: string, body: string] {
  const method = of(pick, METHODS)
  if (pick(2) === 0 || lines.some((line) => line.startsWith('Content-Length'))) return [method, '']
  const body = 'GET /one.txt HTTP/1.1\r\n\r\n'.slice(pick(10))
  lines.push(`Content-Length: ${body.length}`)
  return [method, body]
}

function unusualHost(pick: Pick, host: string): string {
  return of(pick, [host.toUpperCase(), `${host}:80`, `${host}.`, `${host}:`, `x${host}`])
}

function randomTarget(pick: Pick, { paths, others }: TestHost): string {
  const query = pick(6) === 0 ? `?${of(pick, ['', 'x', 'x=1&y=%2F', 'q=a', '%00', '/../', '?'])}` : ''
  const roll = pick(100)
  if (roll < 12 && others.length > 0) return of(pick, others) + query
  if (roll < 15) return `/${query}`
  if (roll < 30 || paths.length === 0) return hostileTarget(pick) + query
  const path = `/${of(pick, paths).split('/').map(encodeURIComponent).join('/')}`
  if (roll < 75) return path + query
  return (roll < 85 ? respell(pick, path) : nearMiss(pick, path)) + query
}

function hostileTarget(pick: Pick): string {
  let target = '/'
  for (let count = pick(5); count >= 0; count--) {
    target += of(pick, HOSTILE)
    if (pick(3) === 0) target += '/'
  }
  return target
}

/** The same path in another spelling: unneeded percent-encoding, unencoded marks, decomposed letters. */
function respell(pick: Pick, path: string): string {
  if (pick(4) === 0)
    return path.replace(/%(21|24|26|27|28|29|2A|2B|2C|3A|3B|3D|40|7E)/g, (code) => decodeURIComponent(code))
  if (pick(3) === 0) return encodeURI(decodeURI(path).normalize('NFD'))
  const at = 1 + pick(path.length - 1)
  if (/[%\dA-F]/.test(path[at]!)) return path.toLowerCase()
  const code = path.charCodeAt(at).toString(16)
  return `${path.slice(0, at)}%${pick(2) === 0 ? code : code.toUpperCase()}${path.slice(at + 1)}`
}

function nearMiss(pick: Pick, path: string): string {
  const at = 1 + pick(path.length)
  return of(pick, [
    ...[path.slice(0, -1), `${path}/`, `${path}x`, `${path}.gz`, `${path}%00`, path.toUpperCase()],
    ...[path.replace(/\.\w+$/, ''), path.replace(/[^/]*$/, ''), path.replace(/\/[^/]*$/, '') || '/'],
    ...[`${path.slice(0, at)}/${path.slice(at)}`, `${path.slice(0, at)}/./${path.slice(at)}`, `/x/..${path}`],
    ...[`/${path}`, path.replaceAll('/', '//'), `/${path.slice(1).replaceAll('/', '%2F')}`],
  ])
}

function headerLines({ pick, tags }: Generator, { host, cookie }: TestHost): string[] {
  const lines = pick(4) === 0 ? [...BROWSER] : []
  const add = (chance: number, name: string, value: () => string) => {
    if (pick(chance) === 0)
      lines.splice(pick(lines.length + 1), 0, `${pick(10) === 0 ? name.toLowerCase() : name}: ${value()}`)
  }
  const tag = () => randomTag(pick, tags.get(host) ?? [])
  if (cookie)
    add(2, 'Cookie', () => of(pick, [cookie, `a=b; ${cookie}`, `${cookie}x`, `${cookie}; ${cookie}`]))
  add(40, 'Cookie', () => of(pick, ['a=b', 'slipway_password=x', 'a', ';;', '=']))
  add(3, 'Accept-Encoding', () => of(pick, ENCODINGS))
  add(30, 'Accept-Encoding', () => of(pick, ENCODINGS))
  add(8, 'Range', () => of(pick, RANGES))
  add(60, 'Range', () => of(pick, RANGES))
  add(12, 'If-None-Match', tag)
  add(25, 'If-Match', tag)
  add(20, 'If-Modified-Since', () => of(pick, DATES))
  add(40, 'If-Unmodified-Since', () => of(pick, DATES))
  add(20, 'If-Range', () => (pick(2) === 0 ? tag() : of(pick, DATES)))
  add(12, 'Accept', () => of(pick, ['*/*', 'text/html', 'image/*', 'application/json', '', 'text/html;q=0']))
  add(15, 'Sec-Fetch-Mode', () => of(pick, ['navigate', 'cors', 'no-cors']))
  if (pick(6) === 0) lines.splice(pick(lines.length + 1), 0, of(pick, UNUSUAL_LINES))
  return lines
}

function randomTag(pick: Pick, known: readonly string[]): string {
  const tag = known.length > 0 ? of(pick, known) : '"x"'
  const variants = [tag, tag, `W/${tag}`, `"other", ${tag}`, `${tag},"other"`, tag.slice(1), `${tag}x`]
  return of(pick, [...variants, '*', '"other"', '', 'W/*'])
}
