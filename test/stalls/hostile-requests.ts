import { OAUTH_ROUTES } from '../../server/accounts/oauth/authorization-server.ts'

/** A request that is expensive for parsers of quadratic cost. */
export interface HostileRequest {
  title: string
  method?: string
  /** `site` stands for the host of a published site. */
  host?: 'site' | 'service' | string
  path?: string
  headers?: Record<string, string>
  body?: string | Buffer
  /** Whether it has the key of an account. */
  signedIn?: true
}

const MAX_HEAD = 15_000
const BODY_BYTES = 2_000_000

/** The largest JSON of a caller without an account. */
const LARGEST_BODY = 5_200_000

/** The largest message of a program with an account. */
const LARGEST_MESSAGE = 8_380_000

/** Repeats `piece` up to `length` bytes. */
function fill(piece: string, length: number): string {
  return piece.repeat(Math.floor(length / Buffer.byteLength(piece)))
}

const spaces = ' '.repeat(MAX_HEAD)

const HEADER_VALUES: Record<string, string[]> = {
  accept: [`a${spaces}b`, fill('text/x,', MAX_HEAD), fill('*/*;q=0.1,', MAX_HEAD)],
  'accept-encoding': [`a${spaces}b`, `a;${spaces}q=1`, fill('br;q=0.5,', MAX_HEAD), fill(';', MAX_HEAD)],
  authorization: [`Bearer ${'a'.repeat(MAX_HEAD)}`, `Bearer${spaces}x`, spaces],
  'content-type': [`a${spaces}b`, fill('a;', MAX_HEAD), `application/json;${spaces}charset=x`],
  cookie: [fill('; ', MAX_HEAD), `a${spaces}=b`, fill('a=b; ', MAX_HEAD), fill('slipway_session=', MAX_HEAD)],
  'if-match': [fill('"a",', MAX_HEAD), `"${spaces}`],
  'if-modified-since': [`Mon, ${spaces}`, 'M'.repeat(MAX_HEAD)],
  'if-none-match': [fill('"a",', MAX_HEAD), fill('W/"a" , ', MAX_HEAD), `W/${spaces}"`, '"'.repeat(MAX_HEAD)],
  'if-range': [`"a${spaces}`, 'Mon, '.repeat(3000)],
  origin: [`http://${'a.'.repeat(7000)}`, `a${spaces}b`],
  range: [fill('bytes=0-0,', MAX_HEAD), `bytes=${fill('0-0,', MAX_HEAD)}`, `bytes=${'9'.repeat(MAX_HEAD)}-`],
  referer: [`http://a/${'a/'.repeat(7000)}`, fill('%cc%81', MAX_HEAD), `http://${'é.'.repeat(3000)}`],
  'user-agent': [fill('Mozilla/5.0 ', MAX_HEAD), fill('(', MAX_HEAD), `Chrome/${'1.'.repeat(7000)}`],
  'x-forwarded-for': [fill('1.1.1.1,', MAX_HEAD), fill(' , ', MAX_HEAD), fill('::', MAX_HEAD)],
}

const PATHS: [title: string, path: string][] = [
  ['segments', fill('/a', MAX_HEAD)],
  ['slashes', fill('/', MAX_HEAD)],
  ['dots', fill('/..', MAX_HEAD)],
  ['encoded dots', fill('/%2e%2e', MAX_HEAD)],
  ['encoded slashes', `/${fill('%2f', MAX_HEAD)}`],
  ['marks', `/e${fill('%CC%81', MAX_HEAD)}`],
  ['letters with marks', `/${fill('e%CC%81', MAX_HEAD)}`],
  ['jamo', `/${fill('%E1%84%80%E1%85%A1', MAX_HEAD)}`],
  ['broken encoding', `/${fill('%', MAX_HEAD)}`],
  ['a long extension', `/a.${'b'.repeat(MAX_HEAD)}`],
  ['extensions', `/${fill('.html', MAX_HEAD)}`],
  ['a query', `/?${fill('a=b&', MAX_HEAD)}`],
  ['an empty query', `/?${fill('&', MAX_HEAD)}`],
  ['an encoded query', `/?${fill('%25', MAX_HEAD)}`],
  ['a query of broken encoding', `/?${fill('%CC&', MAX_HEAD)}`],
]

/** Longer than the service accepts, and as long. */
export const HOSTILE_QUERIES = ['a&', 'a=b&', 'a[b]=c&', '%CC%81', '+='].flatMap((piece) => [
  fill(piece, MAX_HEAD),
  piece.includes('&') ? piece.repeat(40).slice(0, -1) : fill(piece, 4096),
])

/** JSON of about two million bytes. */
// biome-ignore format: one row per case
const BODIES: [title: string, body: string][] = [
  ['brackets', `${fill('[', BODY_BYTES / 2)}${fill(']', BODY_BYTES / 2)}`],
  ['brackets that do not end', fill('[', BODY_BYTES)],
  ['objects in one another', fill('{"a":', BODY_BYTES)],
  ['whole objects in one another', `${fill('{"a":', BODY_BYTES / 2)}1${fill('}', BODY_BYTES / 6)}`],
  ['keys', `{${Array.from({ length: 150_000 }, (_, index) => `"k${index}":1`).join()}}`],
  ['files that are numbers', `{"files":[${fill('1,', BODY_BYTES)}1]}`],
  ['empty files', `{"files":[${fill('{},', BODY_BYTES)}{}]}`],
  ['files with other keys', `{"files":[${fill('{"a":1,"b":2,"c":3},', BODY_BYTES)}{}]}`],
  ['files with wrong values', `{"files":[${fill('{"path":1,"size":"x","contentType":2},', BODY_BYTES)}{}]}`],
  ['names that are too long', JSON.stringify({ files: [{ path: 'a/'.repeat(BODY_BYTES / 2), size: 1 }] })],
  ['a name of marks', JSON.stringify({ files: [{ path: '\u0301\u0323'.repeat(BODY_BYTES / 4), size: 1 }] })],
  ['a title of marks', manifest(10, (n) => `${n}`, { title: '\u0301\u0323'.repeat(BODY_BYTES / 4) })],
  ['a title of spaces', manifest(10, (n) => `${n}`, { title: `a${' '.repeat(BODY_BYTES)}b` })],
  ['a type of spaces', typedManifest(`text/html;${' '.repeat(250)}`)],
  ['a type of parameters', typedManifest(`text/html${';a="\\\\"'.repeat(35)}`)],
  ['a type of spaces and no end', typedManifest(`a/b${' ; a=b'.repeat(40)} ;`)],
  ['long names in folders of their own', manifest(1000, (n) => `${n}/${'a/'.repeat(245)}b`)],
  ['a text of quotes', `{"a":"${fill('\\"', LARGEST_BODY)}"}`],
  ['a name of escapes', `{"${fill('\\u3042', LARGEST_BODY)}":1}`],
  ['texts of quotes', `[${fill(`"${'\\"'.repeat(80)}",`, LARGEST_BODY)}1]`],
  ['names of quotes', `{${Array.from({ length: 20_000 }, (_, n) => `"${'\\"'.repeat(110)}${n}":1`).join()}}`],
  ['a number', `{"a":${fill('9', LARGEST_BODY)}}`],
  ['spaces', `{${fill(' ', LARGEST_BODY)}}`],
  ['long names', manifest(1000, (n) => `${'a/'.repeat(245)}${n}`)],
  ['names with marks', manifest(1000, (n) => `${'e\u0301\u0323'.repeat(160)}${n}`)],
  ['names of marks', manifest(1000, (n) => `${n}${'\u0301\u0323'.repeat(15)}x`.repeat(10).slice(0, 490))],
  ['names that differ in their form', manifest(1000, (n) => `${'é'.repeat(200)}${n >> 1}${n % 2 ? 'é' : 'e\u0301'}`)],
  ['names with spaces', manifest(1000, (n) => `a${' '.repeat(480)}${n}`)],
  ['names with dots', manifest(1000, (n) => `a${'.'.repeat(480)}${n}`)],
  ['folders and files of one name', manifest(1000, (n) => (n < 500 ? 'a/'.repeat(n % 240) + n : 'a/'.repeat(n % 240)))],
]

function manifest(count: number, name: (number: number) => string, viewer = {}): string {
  const contentType = 'text/plain'
  const files = Array.from({ length: count }, (_, index) => ({ path: name(index), size: 1, contentType }))
  return JSON.stringify({ files, viewer })
}

function typedManifest(contentType: string): string {
  const files = Array.from({ length: 1000 }, (_, index) => ({ path: `${index}`, size: 1, contentType }))
  return JSON.stringify({ files })
}

const message = (method: string, params: string) =>
  `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`
const call = (args: string, name = 'publish_site') =>
  message('tools/call', `{"name":"${name}","arguments":${args}}`)
const members = (count: number) => Array.from({ length: count }, (_, index) => `"k${index}":1`).join()
const initialize = (meta: string) =>
  message(
    'initialize',
    `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"},"_meta":{${meta}}}`,
  )

// biome-ignore format: one row per case
const MESSAGES: [title: string, body: string][] = [
  ['a text of quotes', `{"a":"${fill('\\"', LARGEST_MESSAGE)}"}`],
  ['the name of a tool', call('{}', 'x'.repeat(LARGEST_MESSAGE))],
  ['the name of a tool in quotes', call('{}', fill('\\"', LARGEST_MESSAGE))],
  ['a method', message('x'.repeat(LARGEST_MESSAGE), '{}')],
  ['members of _meta', initialize(members(12_000))],
  ['as many members of _meta as are accepted', initialize(members(2500))],
  ['members of _meta of a call', message('tools/call', `{"name":"list_sites","_meta":{${members(24_000)}}}`)],
  ['arguments that no tool has', call(`{${members(24_000)}}`)],
  ['arguments that are a text', call(`"${fill('a', LARGEST_BODY - 1000)}"`)],
  ['arguments that are a list', call(`[${fill('1,', 90_000)}1]`)],
  ['arguments of files that no tool has', call(`{"files":[{${members(24_000)}}]}`)],
  ['an argument of a wrong type', call(`{"slug":[${fill('1,', 90_000)}1]}`)],
  ['a slug', call(`{"slug":"${fill('https://', LARGEST_MESSAGE)}"}`, 'get_site')],
  ['a slug of quotes', call(`{"slug":"${fill('\\"', LARGEST_MESSAGE)}"}`, 'get_site')],
  ['the path of a file', call(`{"slug":"a","path":"${fill('a/', LARGEST_MESSAGE)}"}`, 'read_file')],
  ['a note', call(`{"message":"${fill('\\"', LARGEST_MESSAGE)}","files":[]}`)],
  ['a query', call(`{"q":"${fill('%', LARGEST_MESSAGE)}"}`, 'list_sites')],
  ['a file', call(`{"files":[{"path":"index.html","content":"${fill('\\"', LARGEST_MESSAGE)}"}]}`)],
  ['a file with a long path', call(`{"files":[{"path":"${fill('a', LARGEST_BODY - 1000)}","content":"x"}]}`)],
  ['1,000 files', call(`{"files":${JSON.stringify((JSON.parse(manifest(1000, (n) => `${n}/${'a/'.repeat(240)}`)) as { files: object[] }).files)}}`)],
  ['a batch', `[${fill(`${message('ping', '{}')},`, 2_400_000)}1]`],
]

/** As long as the authorization server accepts. */
const FORMS: [title: string, body: string][] = [
  ...['a&', 'a=b&', '%CC%81', '%CC&', '+=', 'scope=a+', 'resource=a&'].map((piece): [string, string] => [
    `a form of ${piece}`,
    fill(piece, 16_000),
  ]),
  ['a form with a long scope', `grant_type=refresh_token&scope=${fill('read+', 15_000)}`],
  ['brackets', fill('[', 16_000)],
  ['redirect URIs', `{"redirect_uris":[${fill('"https://a.example/",', 15_000)}"a:b"]}`],
  ['members', `{${members(1300)}}`],
]

function json(title: string, path: string, body: string): HostileRequest {
  const headers = { 'content-type': 'application/json', accept: 'application/json' }
  return { title, method: 'POST', path, headers, body }
}

const HOST_NAMES = [
  'a.'.repeat(7000),
  '-'.repeat(14_000),
  `${'a'.repeat(14_000)}:80`,
  `[${':'.repeat(14_000)}]`,
]

const ADDRESSES = [
  'a@'.repeat(8000),
  `${'a.'.repeat(8000)}@b`,
  `a@${'a.'.repeat(8000)}`,
  `a${' '.repeat(16_000)}@b.c`,
  `a${'\u0301'.repeat(8000)}${'\u0323'.repeat(8000)}@b.c`,
]

export const HOSTILE_REQUESTS: HostileRequest[] = [
  ...(['site', 'service'] as const).flatMap((host): HostileRequest[] => [
    ...Object.entries(HEADER_VALUES).flatMap(([name, values]) =>
      values.map((value, index) => ({
        title: `${name} ${index + 1} at the ${host}`,
        host,
        headers: { [name]: value },
      })),
    ),
    ...PATHS.map(([title, path]) => ({ title: `a path of ${title} at the ${host}`, host, path })),
  ]),
  ...PATHS.map(([title, path]) => ({
    title: `an upload to ${title}`,
    method: 'PUT',
    path: `/_slipway/upload${path}`,
  })),
  ...HOST_NAMES.map((host, index) => ({ title: `host name ${index + 1}`, host })),
  ...BODIES.map(([title, body]) => json(`a manifest of ${title}`, '/api/v1/publish', body)),
  ...MESSAGES.map(([title, body]): HostileRequest => {
    return { ...json(`a message of ${title}`, '/mcp', body), signedIn: true }
  }),
  json('a message of quotes without an account', '/mcp', `{"a":"${fill('\\"', LARGEST_BODY)}"}`),
  ...[...Object.values(OAUTH_ROUTES), '/report'].flatMap((path) =>
    FORMS.map(([title, body]): HostileRequest => {
      const type =
        path === OAUTH_ROUTES.registration ? 'application/json' : 'application/x-www-form-urlencoded'
      return { title: `${title} to ${path}`, method: 'POST', path, headers: { 'content-type': type }, body }
    }),
  ),
  ...ADDRESSES.map((email, index) =>
    json(`email address ${index + 1}`, '/api/auth/agent/request-code', JSON.stringify({ email })),
  ),
]
