import { bodyCases } from './hygiene-bodies.ts'

/** Bytes that a client sends at the beginning of a connection. */
export interface Case {
  /** Completes the sentence "a client that sends …". */
  what: string
  /** `{host}` and `{path}` stand for an existing host and path; `{hidden}` for a request that must not be processed. */
  bytes: string
  /** Allowed response statuses. */
  statuses: readonly number[]
  /** Whether the connection must close, must stay open for the next request, or may do either. */
  connection: 'closes' | 'stays open' | 'either'
}

type Row = readonly [what: string, bytes: string]

const BAD = [400]
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

// biome-ignore format: one row per case
const HOSTS: Row[] = [
  ['no Host', 'GET {path} HTTP/1.1\r\n\r\n'],
  ['no Host before bytes that are no request', 'GET {path} HTTP/1.1\r\n\r\n\x00\x01\r\n\r\n'],
  ['no Host and Connection: close', 'GET {path} HTTP/1.1\r\nConnection: close\r\n\r\n'],
  ['no Host and a chunked body that breaks', 'POST {path} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'],
  ['a wrong Host before bytes that are no request', 'GET {path} HTTP/1.1\r\nHost: a b\r\n\r\n\x00\x01\r\n\r\n'],
  ['no Host but another header', 'GET {path} HTTP/1.1\r\nX-Host: {host}\r\n\r\n'],
  ['one Host twice', get('Host: {host}')],
  ['two Hosts', get('Host: other.example')],
  ['two Hosts in mixed case', get('hOsT: other.example')],
  ['two Hosts far apart', get(`${'X: y\r\n'.repeat(40)}Host: other.example`)],
  ['three Hosts', get('Host: {host}\r\nHost: other.example')],
  ['an empty Host beside one', get('Host:')],
  ['two Hosts in HTTP/1.0', 'GET {path} HTTP/1.0\r\nHost: {host}\r\nHost: other.example\r\n\r\n'],
  ['a second Host after two thousand headers', get(`${'a:b\r\n'.repeat(2100)}Host: other.example`)],
]

const WRONG_HOSTS = `
a b|a/b|user@{host}|{host}, {host}|{host}:port|[::1|a\\b|a?b|a#b`
  .slice(1)
  .split(/[|\n]/)

/** Unknown hosts: not found as sites, accepted by the API. */
const UNKNOWN_HOSTS = ['{host}:99999', '%7b', '', 'unknown.example', '[::1]', '{host}.']

function hosts(values: readonly string[]): Row[] {
  return values.map((host) => [`Host: ${host}`, `GET {path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`])
}

const OTHER_PLACES: Row[] = [
  ['an absolute target of another host', line('GET http://other.example{path} HTTP/1.1')],
  ['an absolute target of a longer host', line('GET http://{host}.other.example{path} HTTP/1.1')],
  ['an absolute target with a user', line('GET http://{host}@other.example{path} HTTP/1.1')],
  ['an absolute target without a host', line('GET http://{path} HTTP/1.1')],
  ['a target of an authority', line('GET {host}:80 HTTP/1.1')],
  ['an asterisk for a target', line('GET * HTTP/1.1')],
  ['a target without a slash', line('GET page.txt HTTP/1.1')],
  ['a target that begins with a question mark', line('GET ?page.txt HTTP/1.1')],
]

const LINES: Row[] = [
  ['no target', line('GET HTTP/1.1')],
  ['an empty target', line('GET  HTTP/1.1')],
  ['a space within the target', line('GET {path} {path} HTTP/1.1')],
  ['a tab before the target', line('GET\t{path} HTTP/1.1')],
  ['a tab after the target', line('GET {path}\tHTTP/1.1')],
  ['a space before the method', line(' GET {path} HTTP/1.1')],
  ['a tab within the target', line('GET {path}\t/ HTTP/1.1')],
  ['NUL in the target', line('GET {path}\0 HTTP/1.1')],
  ['DEL in the target', line('GET {path}\x7f HTTP/1.1')],
  ['a bare CR in the target', line('GET {path}\r/ HTTP/1.1')],
  ['a bare CR after the version', 'GET {path} HTTP/1.1\rHost: {host}\r\n\r\n'],
  ['a request line that a bare LF ends', 'GET {path} HTTP/1.1\nHost: {host}\r\n\r\n'],
  ['bare LF alone', 'GET {path} HTTP/1.1\nHost: {host}\n\n'],
  ['a space after the version', line('GET {path} HTTP/1.1 ')],
  ['more after the version', line('GET {path} HTTP/1.1 Host: {host}')],
  ['a request of HTTP/0.9', 'GET {path}\r\n'],
]

const VERSIONS = `
HTTP/2.0|HTTP/3.0|HTTP/0.9|HTTP/9.9|HTTP/1.10|HTTP/1|HTTP/1.|HTTP/.1|HTTP/01.1|HTTP/1.01|http/1.1|Http/1.1
HTTP /1.1|HTTP/ 1.1|HTTP/1 .1|HTTP/1,1|HTTP/-1.1|HTTP/1.1.1|HTTP/1.1x|HTTP|XTTP/1.1|HTTPS/1.1|ICE/1.0
RTSPS/1.0`
  .slice(1)
  .split(/[|\n]/)
  .map((version): Row => [`the version ${version}`, line(`GET {path} ${version}`)])

const NO_VERSION: Row[] = [['no version', line('GET {path}')]]

const UNKNOWN_METHODS = `
get|Get|gET|GETT|GE|G|FOO|SMUGGLE|GET,|"GET"|GET(|G\0T|G\xc9T|GET:|/`
  .slice(1)
  .split(/[|\n]/)

const METHODS: Row[] = [
  ...UNKNOWN_METHODS.map(
    (method): Row => [`the method ${JSON.stringify(method)}`, line(`${method} {path} HTTP/1.1`)],
  ),
  ['a method of ten thousand letters', line(`${'G'.repeat(10_000)} {path} HTTP/1.1`)],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['CONNECT', 'CONNECT {host}:443 HTTP/1.1\r\nHost: {host}\r\n\r\n'],
  ['CONNECT to somewhere else', 'CONNECT other.example:443 HTTP/1.1\r\nHost: {host}\r\n\r\n{hidden}'],
]

// biome-ignore format: one row per case
const HEADERS: Row[] = [
  ['a header line that a bare LF ends', get('X: y\nZ: y')],
  ['a bare LF for the empty line', 'GET {path} HTTP/1.1\r\nHost: {host}\r\nX: y\r\n\n'],
  ['a bare LF before the empty line', 'GET {path} HTTP/1.1\r\nHost: {host}\n\r\n'],
  ['a bare CR in a value', get('X: y\rZ: y')],
  ['a bare CR before a line end', get('X: y\r')],
  ['a space before a colon', get('X : y')],
  ['a tab before a colon', get('X\t: y')],
  ['a space before the colon of Host', 'GET {path} HTTP/1.1\r\nHost : {host}\r\n\r\n'],
  ['a space within a name', get('X y: z')],
  ['a name of nothing', get(': y')],
  ['a line without a colon', get('X')],
  ['a line of blanks', get('  ')],
  ['a first header line that is folded', 'GET {path} HTTP/1.1\r\n Host: {host}\r\n\r\n'],
  ['a first header line that begins with a tab', 'GET {path} HTTP/1.1\r\n\tX: y\r\nHost: {host}\r\n\r\n'],
  ['a folded Host', 'GET {path} HTTP/1.1\r\nHost:\r\n {host}\r\n\r\n'],
  ['a Host continued in the next line', get(' .other.example')],
  ...['\0', '\x01', '\x0b', '\x1f', '\x7f'].map((control): Row => {
    const name = `0x${control.charCodeAt(0).toString(16).padStart(2, '0')}`
    return [`${name} in a value`, get(`X: a${control}b`)]
  }),
  ...['X\0', 'X(y)', 'X@', '"X"', 'X/y', 'X[', 'X=', 'X,', 'X;', 'X\xe9', '{X}', 'X\\'].map((name): Row => [`the name ${JSON.stringify(name)}`, get(`${name}: y`)]),
]

const TOO_LONG: Row[] = [
  ['a target of 20,000 characters', line(`GET {path}?${'x'.repeat(20_000)} HTTP/1.1`)],
  ['a target of 200,000 characters', line(`GET /${'x'.repeat(200_000)} HTTP/1.1`)],
  ['a request line without an end', `GET /${'x'.repeat(100_000)}`],
  ['a value of 20,000 characters', get(`X: ${'y'.repeat(20_000)}`)],
  ['a value without an end', `GET {path} HTTP/1.1\r\nHost: {host}\r\nX: ${'y'.repeat(100_000)}`],
  ['a name of 20,000 characters', get(`${'X'.repeat(20_000)}: y`)],
  ['a name without an end', `GET {path} HTTP/1.1\r\nHost: {host}\r\n${'X'.repeat(100_000)}`],
  ['4,000 headers', get(`${'a: b\r\n'.repeat(3999)}a: b`)],
  ['headers without an end', `GET {path} HTTP/1.1\r\nHost: {host}\r\n${'a: b\r\n'.repeat(20_000)}`],
  ['a Host of 20,000 characters', `GET {path} HTTP/1.1\r\nHost: ${'h'.repeat(20_000)}\r\n\r\n`],
  ['blanks without an end', `GET {path} HTTP/1.1\r\nHost: {host}\r\nX:${' '.repeat(100_000)}`],
]

const NO_HTTP: Row[] = [
  ['the hello of TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'.padEnd(517, '\x42')],
  ['a banner of SSH', 'SSH-2.0-OpenSSH_9.2\r\n'],
  ['a line of the PROXY protocol', 'PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n'],
  ['zeros', '\0'.repeat(64)],
  ['a response instead of a request', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'],
  ['greetings of mail', 'EHLO mail.example\r\n'],
]

/** Valid requests. */
const FINE: Row[] = [
  ['an ordinary request', get('X: y')],
  ['an absolute target of its own host', line('GET http://{host}{path} HTTP/1.1')],
  ['an empty line first', `\r\n${get('X: y')}`],
  ['a header without a value', get('X:')],
  ['blanks around a value', get('X: \t y \t ')],
  ['no blank before a value', get('X:y')],
  ['bytes above ASCII in a value', get('X: \xe9\xff')],
  ['every mark in a name', get("!#$%&'*+-.^_`|~1a: y")],
  ['a hundred headers', get(`${'X: y\r\n'.repeat(99)}X: y`)],
  ['a value of 4,000 characters', get(`Cookie: a=${'y'.repeat(4000)}`)],
  ['Connection with names of its headers', get('Connection: host, x, keep-alive\r\nX: y')],
]

/** Requests after which the client expects the connection to close. */
const LAST: Row[] = [
  ['Connection: close', get('Connection: close')],
  ['Connection: Close', get('Connection: Close')],
  ['close among others', get('Connection: keep-alive, close')],
  ['close in a second line', get('Connection: x\r\nConnection: close')],
  ['a request of HTTP/1.0', 'GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n'],
]

/** Requests whose handling the RFC leaves to the server. */
// biome-ignore format: one row per case
const LEFT_OPEN: { row: Row; statuses: readonly number[] }[] = [
  { row: ['a value that is folded', get('X: y\r\n z')], statuses: [200, 400] },
  { row: ['a value that is folded by a tab', get('X: y\r\n\tz')], statuses: [200, 400] },
  { row: ['an upgrade to a web socket', get('Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13')], statuses: [200] },
  { row: ['an upgrade to HTTP/2', get('Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__')], statuses: [200] },
  { row: ['an upgrade to TLS', get('Connection: Upgrade\r\nUpgrade: TLS/1.2')], statuses: [200] },
  { row: ['what only a proxy reads', get('Proxy-Connection: close\r\nMax-Forwards: 0\r\nTE: trailers')], statuses: [200] },
  { row: ['two spaces before the target', line('GET  {path} HTTP/1.1')], statuses: [200, 400] },
  { row: ['two spaces after the target', line('GET {path}  HTTP/1.1')], statuses: [200, 400] },
  { row: ['an absolute target of another scheme', line('GET ftp://{host}{path} HTTP/1.1')], statuses: NOT_HERE },
  { row: ['a target with a fragment', line('GET {path}#part HTTP/1.1')], statuses: [200, 400] },
  { row: ['RTSP', line('GET {path} RTSP/1.0')], statuses: [200, 400, 505] },
  { row: ['HTTP/1.2', line('GET {path} HTTP/1.2')], statuses: [200, 400, 505] },
  { row: ['bytes above ASCII in the target', line('GET /caf\xc3\xa9 HTTP/1.1')], statuses: NOT_HERE },
  { row: ['a backslash in the target', line('GET /..\\{path} HTTP/1.1')], statuses: NOT_HERE },
  { row: ['marks that no target has', line('GET /<"^`{|}> HTTP/1.1')], statuses: NOT_HERE },
  { row: ['HTTP/1.0 without a Host', 'GET {path} HTTP/1.0\r\n\r\n'], statuses: [200, 400, 404] },
  { row: ['HTTP/1.0 that stays', 'GET {path} HTTP/1.0\r\nHost: {host}\r\nConnection: keep-alive\r\n\r\n'], statuses: [200] },
  { row: ['a thousand headers', get(`${'a:b\r\n'.repeat(999)}a:b`)], statuses: [200, 400, 431] },
  { row: ['a target of 9,000 characters', line(`GET {path}?${'x'.repeat(9000)} HTTP/1.1`)], statuses: [200, ...LONG] },
  { row: ['OPTIONS of everything', line('OPTIONS * HTTP/1.1')], statuses: [200, 204, 400, 404, 405] },
  { row: ['TRACE', line('TRACE {path} HTTP/1.1')], statuses: [404, 405, 501] },
  { row: ['an unknown expectation', get('Expect: a-miracle')], statuses: [200, 417] },
  { row: ['an expectation without a body', get('Expect: 100-continue')], statuses: [200, 417] },
]

function cases(rows: Row[], statuses: readonly number[], connection: Case['connection']): Case[] {
  return rows.map(([what, bytes]) => ({ what, bytes, statuses, connection }))
}

export const CASES: readonly Case[] = [
  ...cases(HOSTS, [400, 431], 'either'),
  ...cases(hosts(WRONG_HOSTS), [...NOT_HERE, 421], 'either'),
  ...cases(hosts(UNKNOWN_HOSTS), [200, ...NOT_HERE, 421], 'either'),
  ...cases(OTHER_PLACES, BAD, 'either'),
  ...cases(LINES, BAD, 'closes'),
  ...cases([...VERSIONS, ...NO_VERSION], [400, 505], 'closes'),
  ...cases(METHODS, [...LONG, 405, 501, 505], 'closes'),
  ...cases(HEADERS, BAD, 'closes'),
  ...cases(TOO_LONG, LONG, 'closes'),
  ...cases(NO_HTTP, BAD, 'closes'),
  ...cases(FINE, [200], 'stays open'),
  ...cases(LAST, [200], 'closes'),
  ...LEFT_OPEN.flatMap(({ row, statuses }) => cases([row], statuses, 'either')),
  ...bodyCases(),
]
