/** Requests that must have the same outcome, as bytes at the beginning of a connection. */
export interface Cases {
  /** Completes the sentence "a client that sends …". */
  what: string
  /** Allowed response statuses. */
  statuses: readonly number[]
  /** Whether the connection must close, must stay open for the next request, or may do either. */
  connection: 'closes' | 'stays open' | 'either'
  /** `{host}` and `{path}` stand for an existing host and path; `{hidden}` for a request that must not be processed. */
  requests: readonly string[]
}

const LONG = [400, 414, 431]
const NOT_HERE = [400, 404]

/** A GET with these header lines beside Host. */
function get(lines: string): string {
  return `GET {path} HTTP/1.1\r\nHost: {host}\r\n${lines}\r\n\r\n`
}

/** A GET with this request line. */
function line(text: string): string {
  return `${text}\r\nHost: {host}\r\n\r\n`
}

/** A GET for this host. */
function host(name: string): string {
  return `GET {path} HTTP/1.1\r\nHost: ${name}\r\n\r\n`
}

function post(lines: string, body: string, version = '1.1'): string {
  return `POST {path} HTTP/${version}\r\nHost: {host}\r\n${lines}\r\n\r\n${body}`
}

/** Splits a table at `|` and line ends. */
function split(table: string): string[] {
  return table.slice(1).split(/[|\n]/)
}

const NO_HOST = 'GET {path} HTTP/1.1\r\n'

const HOSTS = [
  `${NO_HOST}\r\n`,
  `${NO_HOST}\r\n\x00\x01\r\n\r\n`,
  `${NO_HOST}Connection: close\r\n\r\n`,
  'POST {path} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
  `${host('a b')}\x00\x01\r\n\r\n`,
  `${NO_HOST}X-Host: {host}\r\n\r\n`,
  ...['Host: {host}', 'Host: other.example', 'hOsT: other.example', 'Host:'].map(get),
  get(`${'X: y\r\n'.repeat(40)}Host: other.example`),
  get('Host: {host}\r\nHost: other.example'),
  'GET {path} HTTP/1.0\r\nHost: {host}\r\nHost: other.example\r\n\r\n',
  get(`${'a:b\r\n'.repeat(2100)}Host: other.example`),
]

const WRONG_HOSTS = split(
  '\na b|a/b|user@{host}|{host}, {host}|{host}:port|[::1|a\\b|a?b|a#b|localhost:65536|localhost:99999|[::1]:70000',
)

/** Not found as sites, accepted by the API. */
const UNKNOWN_HOSTS = ['{host}:99999', '%7b', '', 'unknown.example', '[::1]', '{host}.']

const OTHER_PLACES = split(`
http://other.example{path}|http://{host}.other.example{path}|http://{host}@other.example{path}|http://{path}|{host}:80|*
page.txt|?page.txt`)

// biome-ignore format: several values per row
const LINES = [
  ...['GET HTTP/1.1', 'GET  HTTP/1.1', 'GET {path} {path} HTTP/1.1', 'GET\t{path} HTTP/1.1'].map(line),
  ...['GET {path}\tHTTP/1.1', ' GET {path} HTTP/1.1', 'GET {path}\t/ HTTP/1.1', 'GET {path}\0 HTTP/1.1'].map(line),
  ...['GET {path}\x7f HTTP/1.1', 'GET {path}\r/ HTTP/1.1', 'GET {path} HTTP/1.1 '].map(line),
  line('GET {path} HTTP/1.1 Host: {host}'),
  'GET {path} HTTP/1.1\rHost: {host}\r\n\r\n',
  'GET {path} HTTP/1.1\nHost: {host}\r\n\r\n',
  'GET {path} HTTP/1.1\nHost: {host}\n\n',
  'GET {path}\r\n',
]

const VERSIONS = split(`
HTTP/2.0|HTTP/3.0|HTTP/0.9|HTTP/9.9|HTTP/1.10|HTTP/1|HTTP/1.|HTTP/.1|HTTP/01.1|HTTP/1.01|http/1.1|Http/1.1
HTTP /1.1|HTTP/ 1.1|HTTP/1 .1|HTTP/1,1|HTTP/-1.1|HTTP/1.1.1|HTTP/1.1x|HTTP|XTTP/1.1|HTTPS/1.1|ICE/1.0
RTSPS/1.0`)
  .map((version) => ` ${version}`)
  .concat('')

const METHODS = split(`
get|Get|gET|GETT|GE|G|FOO|SMUGGLE|GET,|"GET"|GET(|G\0T|G\xc9T|GET:|/|${'G'.repeat(10_000)}`)

// biome-ignore format: several values per row
const HEADERS = [
  ...['X: y\nZ: y', 'X: y\rZ: y', 'X: y\r', 'X : y', 'X\t: y', 'X y: z', ': y', 'X', '  ', ' .other.example'].map(get),
  'GET {path} HTTP/1.1\r\nHost: {host}\r\nX: y\r\n\n',
  'GET {path} HTTP/1.1\r\nHost: {host}\n\r\n',
  'GET {path} HTTP/1.1\r\nHost : {host}\r\n\r\n',
  'GET {path} HTTP/1.1\r\n Host: {host}\r\n\r\n',
  'GET {path} HTTP/1.1\r\n\tX: y\r\nHost: {host}\r\n\r\n',
  'GET {path} HTTP/1.1\r\nHost:\r\n {host}\r\n\r\n',
  ...['\0', '\x01', '\x0b', '\x1f', '\x7f'].map((control) => get(`X: a${control}b`)),
  ...['X\0', 'X(y)', 'X@', '"X"', 'X/y', 'X[', 'X=', 'X,', 'X;', 'X\xe9', '{X}', 'X\\'].map((name) => get(`${name}: y`)),
]

const TOO_LONG = [
  line(`GET {path}?${'x'.repeat(20_000)} HTTP/1.1`),
  line(`GET /${'x'.repeat(200_000)} HTTP/1.1`),
  `GET /${'x'.repeat(100_000)}`,
  get(`X: ${'y'.repeat(20_000)}`),
  `${NO_HOST}Host: {host}\r\nX: ${'y'.repeat(100_000)}`,
  get(`${'X'.repeat(20_000)}: y`),
  `${NO_HOST}Host: {host}\r\n${'X'.repeat(100_000)}`,
  get(`${'a: b\r\n'.repeat(3999)}a: b`),
  `${NO_HOST}Host: {host}\r\n${'a: b\r\n'.repeat(20_000)}`,
  host('h'.repeat(20_000)),
  `${NO_HOST}Host: {host}\r\nX:${' '.repeat(100_000)}`,
]

const OTHER_PROTOCOLS = [
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'.padEnd(517, '\x42'),
  'SSH-2.0-OpenSSH_9.2\r\n',
  'PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n',
  '\0'.repeat(64),
  'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
  'EHLO mail.example\r\n',
]

const VALID = [
  line('GET http://{host}{path} HTTP/1.1'),
  line('GET HTTP://{host}{path}?x HTTP/1.1'),
  `\r\n${get('X: y')}`,
  ...['X: y', 'X:', 'X: \t y \t ', 'X:y', 'X: \xe9\xff', "!#$%&'*+-.^_`|~1a: y"].map(get),
  get(`${'X: y\r\n'.repeat(99)}X: y`),
  get(`Cookie: a=${'y'.repeat(4000)}`),
  get('Connection: host, x, keep-alive\r\nX: y'),
]

const LAST = [
  ...['Connection: close', 'Connection: Close', 'Connection: keep-alive, close'].map(get),
  get('Connection: x\r\nConnection: close'),
  'GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n',
]

const UPGRADES = [
  get('Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13'),
  get('Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__'),
  get('Connection: Upgrade\r\nUpgrade: TLS/1.2'),
  get('Proxy-Connection: close\r\nMax-Forwards: 0\r\nTE: trailers'),
  'GET {path} HTTP/1.0\r\nHost: {host}\r\nConnection: keep-alive\r\n\r\n',
]

// Bodies with ambiguous length, each with a request hidden where one interpretation would find it (request smuggling).

const REFUSED = [400, 404, 405, 411, 413, 431, 501]

/** Empty when read as chunks; hides a request when read by Content-Length. */
const HIDING = '0\r\n\r\n{hidden}'

/** The length is ambiguous: nothing after the head may be read. */
// biome-ignore format: several values per row
const CODINGS = [
  'Transfer-Encoding: chunked\r\nContent-Length: 4',
  'Content-Length: 4\r\nTransfer-Encoding: chunked',
  'Transfer-Encoding: chunked\r\nContent-Length: 0',
  'Transfer-Encoding: chunked, chunked',
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked',
  'Transfer-Encoding: unknown',
  'Transfer-Encoding: unknown\r\nContent-Length: 4',
  'Transfer-Encoding: chunkedx',
  ...['xchunked', 'chunk', 'chun ked', 'identity', 'chunked, identity', 'chunked, gzip', 'chunked;q=1', '"chunked"'].map(
    (coding) => `Transfer-Encoding: ${coding}`,
  ),
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: unknown',
  'Transfer-Encoding:',
  'Transfer-Encoding:\r\nContent-Length: 4',
  'Transfer-Encoding:\x0bchunked',
  'Transfer-Encoding: chunked\0',
  'Transfer-Encoding : chunked',
  'Transfer-Encoding\t: chunked',
  'X: y\r\n Transfer-Encoding: chunked\r\nContent-Length : 4',
  'X: y\nTransfer-Encoding: chunked',
  'X: y\rTransfer-Encoding: chunked',
  'Transfer-Encoding: chunked\nX: y',
  'Transfer-Encoding: chunked\r\nContent-Length:\r\n 4',
]

// biome-ignore format: several values per row
const LENGTHS = [
  'Content-Length: 4\r\nContent-Length: 5',
  ...['4, 5', '+4', '-4', '0x4', '4.0', '4e0', '4a', '4 4', '"4"', '', '9'.repeat(40), '18446744073709551620'].map(
    (value) => `Content-Length: ${value}`,
  ),
  ...['Content-Length : 4', 'X: y\nContent-Length: 4', 'Content-Length: 4\0', 'Content-Length: 4\n'],
]

// biome-ignore format: several values per row
const CHUNKS = [
  ...['g', '-4', '+4', '0x4', ' 4', '', '10000000000000004', 'f'.repeat(60), '4x'].map(
    (size) => `${size}\r\nabcd\r\n0\r\n\r\n`,
  ),
  ...['4\nabcd\r\n', '4\rabcd\r\n', '4\r\nabcdefgh\r\n', '4\r\nabcd', '4\r\nabcd\n', '4\r\nabcd\r'].map(
    (chunk) => `${chunk}0\r\n\r\n`,
  ),
  ...['a\nb', 'a\rb', 'a=\0'].map((extension) => `4;${extension}\r\nabcd\r\n0\r\n\r\n`),
  `4;a=${'b'.repeat(100_000)}`,
  '0\n\n',
  '0\r\nX : y\r\n\r\n',
  '0\r\nX: y\nZ: y\r\n\r\n',
  `0\r\n${'X: y\r\n'.repeat(20_000)}`,
]

const CHUNKED = '{size}\r\n{hidden}\r\n0\r\n\r\n'

/** Bodies with an unambiguous end. */
// biome-ignore format: several values per row
const WHOLE = [
  ...['{length}', '000{length}', '{length}, {length}'].map((length) => post(`Content-Length: ${length}`, '{hidden}')),
  ...['GET', 'HEAD', 'OPTIONS', 'DELETE'].map(
    (method) => `${method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n{hidden}`,
  ),
  ...[CHUNKED, `0000${CHUNKED}`, '{size};a=b;c="d e"\r\n{hidden}\r\n0;last\r\n\r\n'].map((body) =>
    post('Transfer-Encoding: chunked', body),
  ),
  post('Transfer-Encoding: chunked', '{size}\r\n{hidden}\r\n0\r\nX: y\r\nHost: other\r\n\r\n'),
  ...['cHuNkEd', 'gzip, chunked'].map((coding) => post(`Transfer-Encoding: ${coding}`, CHUNKED)),
  post('Transfer-Encoding: chunked', CHUNKED).replace('POST', 'GET'),
  post('Expect: 100-continue\r\nContent-Length: {length}', '{hidden}'),
  post('Expect: 100-continue\r\nContent-Length: {length}', '{hidden}').replace('POST', 'GET'),
  post('Content-Length: {length}\r\nContent-Length: {length}', '{hidden}'),
]

function cases(
  what: string,
  statuses: readonly number[],
  connection: Cases['connection'],
  requests: readonly string[],
): Cases {
  return { what, statuses, connection, requests }
}

const codings = [
  ...CODINGS.map((lines) => post(lines, HIDING)),
  ...CODINGS.slice(0, 8).map((lines) => post(lines, HIDING).replace('POST', 'GET')),
  ...['Transfer-Encoding: chunked', ...CODINGS.slice(0, 4)].map((lines) => post(lines, HIDING, '1.0')),
  post('Connection: keep-alive\r\nTransfer-Encoding: chunked', '0\r\n\r\n{hidden}', '1.0'),
]

const methods = [
  ...METHODS.map((method) => line(`${method} {path} HTTP/1.1`)),
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'CONNECT {host}:443 HTTP/1.1\r\nHost: {host}\r\n\r\n',
  'CONNECT other.example:443 HTTP/1.1\r\nHost: {host}\r\n\r\n{hidden}',
]

// biome-ignore format: one row per case
export const CASES: readonly Cases[] = [
  cases('no Host or several', [400, 431], 'either', HOSTS),
  cases('an invalid Host', [...NOT_HERE, 421], 'either', WRONG_HOSTS.map(host)),
  cases('an unknown Host', [200, ...NOT_HERE, 421], 'either', UNKNOWN_HOSTS.map(host)),
  cases('a target of another place', [400], 'either', OTHER_PLACES.map((target) => line(`GET ${target} HTTP/1.1`))),
  cases('a malformed request line', [400], 'closes', LINES),
  cases('an invalid version', [400, 505], 'closes', VERSIONS.map((version) => line(`GET {path}${version}`))),
  cases('an invalid method', [...LONG, 405, 501, 505], 'closes', methods),
  cases('a malformed header line', [400], 'closes', HEADERS),
  cases('lines that are too long', LONG, 'closes', TOO_LONG),
  cases('another protocol', [400], 'closes', OTHER_PROTOCOLS),
  cases('a valid request', [200], 'stays open', VALID),
  cases('the last request of the connection', [200], 'closes', LAST),
  cases('an upgrade or another request of a hop', [200], 'either', UPGRADES),
  cases('an ambiguous coding', REFUSED, 'closes', codings),
  cases('an ambiguous length', REFUSED, 'closes', LENGTHS.map((lines) => post(lines, '{hidden}'))),
  cases('malformed chunks', REFUSED, 'closes', CHUNKS.map((body) => post('Transfer-Encoding: chunked', `${body}{hidden}`))),
  // Sites and most API paths refuse a body, perhaps before reading it.
  cases('a body', [200, 204, 400, 404, 405, 413, 415, 417, 501], 'either', WHOLE),
]

/** The bytes of a request to an existing host and path; the hidden request is for `hidden` at `site`. */
export function fillBytes(
  request: string,
  to: { host: string; path: string; site: string; hidden: string },
): Buffer {
  const hidden = `GET ${to.hidden} HTTP/1.1\r\nHost: ${to.site}\r\n\r\n`
  const text = request
    .replaceAll('{host}', to.host)
    .replaceAll('{path}', to.path)
    .replaceAll('{hidden}', hidden)
    .replaceAll('{length}', String(hidden.length))
    .replaceAll('{size}', hidden.length.toString(16))
  return Buffer.from(text, 'latin1')
}
