/** A valid request. */
export interface Plain {
  method: string
  target: string
  /** The placeholders `{etag}`, `{modified}`, `{earlier}` and `{later}` stand for values from the server's response. */
  headers: Record<string, string>
  /** `{host}` stands for the host of the server's site. */
  host: string
  version: '1.1' | '1.0'
}

/** The name of a request in the table of differences. */
export function describeRequest({ method, target, headers, host, version }: Plain): string {
  const more = Object.entries(headers).map(([name, value]) => ` ${name}: ${value}`)
  const where = host === '{host}' ? '' : ` at ${JSON.stringify(host)}`
  return `${method} ${target}${version === '1.0' ? ' HTTP/1.0' : ''}${where}${more.join('')}`
}

function plain(target: string, { headers = {}, ...given }: Partial<Omit<Plain, 'target'>> = {}): Plain {
  return { method: 'GET', target, headers, host: '{host}', version: '1.1', ...given }
}

/** One request for each value of a header. */
function withHeader(target: string, name: string, values: readonly string[]): Plain[] {
  return values.map((value) => plain(target, { headers: { [name]: value } }))
}

const FILES = `
/ /index.html /404.html /about.html /page.html /page /style.css /app.js /data.json /icon.svg /photo.png /font.woff2
/program.wasm /letters.txt /one.txt /big.bin /noending /docs/ /docs/index.html /docs/guide.html /docs/a%20b.txt
/docs/deep/ /docs/deep/index.html /docs/deep/er/file.txt /blog/post.html /blog.html /empty/only.txt /lower.txt /Case.txt
/.well-known/security.txt /.hidden /dots...txt /...`

const MISSING = `
/missing /missing/ /missing.html /missing.css /missing.js /docs/missing /docs/missing/ /docs/deep/missing.txt /missing/deeper/still
/LETTERS.TXT /Letters.txt /case.txt /Docs/ /ABOUT.HTML /index.htm /index /index.html/ /about.html/ /letters.txt/
/letters.txt/more /one.txt/. /letters /about /docs/guide /docs/index /.git/config /.htaccess /favicon.ico /robots.txt
/docs/a+b.txt /docs/a%2Bb.txt /docs/index.html/index.html /%61bout`

const FOLDERS = `
/docs /docs/deep /blog /empty /empty/ /docs/deep/er /docs/deep/er/ /.well-known /docs?x=1 /docs?next=/a/b&c=d%20e
/docs? /blog?x /docs/deep?y=%2F /caf%C3%A9 /%64ocs /docs%2F /docs%2fguide.html`

const QUERIES = `
/?x=1 /letters.txt? /letters.txt?x /letters.txt?x=1&y=2 /letters.txt?a/b?c /letters.txt?%00 /letters.txt?%zz
/letters.txt?a=%2e%2e/%2e%2e /about.html?q=caf%C3%A9 /missing?x=1 /docs/?x=1 /letters.txt?../about.html /letters.txt?a;b,c:d@e`

const PERCENT = `
/%6cetters.txt /%6Cetters.txt /letters%2Etxt /letters%2etxt /%61%62%6f%75%74.html /caf%C3%A9/men%C3%BC.txt
/caf%c3%a9/men%c3%bc.txt /cafe%CC%81/menu%CC%88.txt /%E6%97%A5%E6%9C%AC/%E8%AA%9E.txt /docs/a%20b.txt /docs/a%2520b.txt
/mark+.txt /mark%2B.txt /mark;.txt /mark%3B.txt /mark~.txt /mark%7E.txt /mark'.txt /mark%27.txt /mark(.txt /mark%28.txt
/mark,.txt /mark%2C.txt /mark@.txt /mark%40.txt /mark&.txt /mark%26.txt /mark=.txt /mark%3D.txt /mark$.txt /mark%24.txt
/mark:.txt /mark%3A.txt /mark!.txt /mark%21.txt /mark*.txt /mark%2A.txt /mark-.txt /mark%2D.txt /mark_.txt /mark%5F.txt
/percent%2525.txt /percent%25.txt /question%3F.txt /number%23.txt /letters.txt%20 /%20letters.txt /letters.txt%00
/%00 /letters.txt%0A /%0d%0aX:%20y /%zz /%2 /% /letters.txt% /%C3 /%FF /%C0%AE%C0%AE/ /caf%E9/ /%u0041`

const SEGMENTS = `
/. /./ /.. /../ /../letters.txt /./letters.txt /docs/../letters.txt /docs/./guide.html /docs/deep/../guide.html /docs/..
/docs/. /%2e%2e/letters.txt /docs/%2e%2e/letters.txt /docs/%2E%2E%2Fletters.txt /docs/..%2fletters.txt
/%2e/letters.txt /docs/%2e/guide.html /../../../../etc/passwd /..%2f..%2f..%2fetc%2fpasswd /docs/.../ // //letters.txt ///
/docs//guide.html /docs//deep//er//file.txt //docs /docs// //docs/ //evil.example //evil.example/ //evil.example/..
/\\letters.txt /docs\\guide.html /..%5cletters.txt /docs%5Cguide.html`

const METHODS: Plain[] = [
  ...['HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND', 'MKCOL', 'SEARCH'].flatMap(
    (method) => ['/letters.txt', '/missing.txt', '/docs'].map((target) => plain(target, { method })),
  ),
  ...['/', '/docs/', '/big.bin', '/photo.png', '/style.css', '/404.html', '/%zz', '/about'].map((target) =>
    plain(target, { method: 'HEAD' }),
  ),
  plain('/letters.txt', { method: 'POST', headers: { 'Content-Length': '0' } }),
]

const RANGES = `
bytes=0-0|bytes=0-25|bytes=0-26|bytes=0-|bytes=1-|bytes=25-|bytes=25-25|bytes=26-|bytes=26-30|bytes=5-2|bytes=-1|bytes=-26
bytes=-27|bytes=-0|bytes=0-99999999999|bytes=99999999999-|bytes=0-18446744073709551616|bytes=18446744073709551616-
bytes=-18446744073709551616|bytes=|bytes|bytes=-|bytes=a-b|bytes=0-b|bytes=0x0-1|bytes= 0-1|bytes=0 -1|bytes=0- 1|bytes=0-1
bytes =0-1|Bytes=0-1|BYTES=0-1|bits=0-1|items=0-5|bytes=+0-1|bytes=0-+1|bytes=0-1.5|bytes=--1|bytes=0--1|bytes=0-1-2
bytes=0-1,3-4|bytes=0-1, 3-4|bytes=0-1,|bytes=,0-1|bytes=30-40,50-60|bytes=0-0,-1|bytes=0-1,30-|none=0-1|0-1|bytes:0-1`

const CONDITIONS: Plain[] = [
  ...withHeader('/letters.txt', 'If-None-Match', [
    ...[
      '{etag}',
      'W/{etag}',
      '"other"',
      '"other", {etag}',
      '{etag}, "other"',
      '"other",{etag}',
      '*',
      '"x" , W/{etag}',
    ],
    ...['other', '"', '"a,b"', '""'],
  ]),
  ...withHeader('/letters.txt', 'If-Match', [
    ...['{etag}', 'W/{etag}', '"other"', '"other", {etag}', '*', '""'],
  ]),
  ...withHeader('/letters.txt', 'If-Modified-Since', [
    ...['{modified}', '{earlier}', '{later}', 'yesterday', 'Thu, 01 Jan 1970 00:00:00 GMT', '0'],
    ...['Fri, 31 Dec 9999 23:59:59 GMT', 'Sunday, 06-Nov-94 08:49:37 GMT', 'Sun Nov  6 08:49:37 1994'],
  ]),
  ...withHeader('/letters.txt', 'If-Unmodified-Since', [
    ...['{modified}', '{earlier}', '{later}', 'yesterday', 'Thu, 01 Jan 1970 00:00:00 GMT'],
  ]),
  ...[
    { 'If-None-Match': '{etag}', 'If-Modified-Since': '{earlier}' },
    { 'If-None-Match': '"other"', 'If-Modified-Since': '{later}' },
    { 'If-Match': '{etag}', 'If-Unmodified-Since': '{earlier}' },
    { 'If-Match': '"other"', 'If-None-Match': '{etag}' },
    { 'If-Match': '{etag}', 'If-None-Match': '{etag}' },
    { 'If-Unmodified-Since': '{earlier}', 'If-Modified-Since': '{later}' },
    { 'If-None-Match': '{etag}', Range: 'bytes=0-1' },
    { 'If-None-Match': '"other"', Range: 'bytes=0-1' },
    { 'If-Match': '"other"', Range: 'bytes=0-1' },
    { 'If-Range': '{etag}', Range: 'bytes=0-1' },
    { 'If-Range': 'W/{etag}', Range: 'bytes=0-1' },
    { 'If-Range': '"other"', Range: 'bytes=0-1' },
    { 'If-Range': '{modified}', Range: 'bytes=0-1' },
    { 'If-Range': '{earlier}', Range: 'bytes=0-1' },
    { 'If-Range': '{later}', Range: 'bytes=0-1' },
    { 'If-Range': 'nonsense', Range: 'bytes=0-1' },
    { 'If-Range': '{etag}' },
    { 'If-Range': '{etag}', Range: 'bytes=30-' },
    { 'If-Range': '"other"', Range: 'bytes=30-' },
  ].map((headers) => plain('/letters.txt', { headers: headers as Record<string, string> })),
  plain('/letters.txt', { method: 'HEAD', headers: { 'If-None-Match': '{etag}' } }),
  plain('/letters.txt', { method: 'HEAD', headers: { 'If-Match': '"other"' } }),
  plain('/letters.txt', { method: 'HEAD', headers: { Range: 'bytes=0-1' } }),
  plain('/letters.txt', { method: 'HEAD', headers: { Range: 'bytes=30-' } }),
  plain('/missing.txt', { headers: { 'If-None-Match': '*' } }),
  plain('/missing.txt', { headers: { 'If-Match': '*' } }),
  plain('/missing.txt', { headers: { Range: 'bytes=0-1' } }),
  plain('/docs', { headers: { Range: 'bytes=0-1' } }),
  plain('/docs', { headers: { 'If-None-Match': '*' } }),
  plain('/docs/', { headers: { 'If-None-Match': '{etag}' } }),
]

/** nginx supports only gzip, so no request accepts another encoding that Slipway has. */
const ENCODINGS = [
  'gzip',
  'gzip;q=0',
  'gzip;q=0.5',
  'identity',
  'gzip, identity;q=0',
  '*;q=0, gzip',
  'deflate',
  'GZIP',
  '',
]

const HOSTS: Plain[] = [
  ...['{HOST}', '{host}:80', '{host}:65535', '{host}:', '{host}.'].map((host) =>
    plain('/letters.txt', { host }),
  ),
  ...[
    '',
    'unknown.example',
    'under_score.example',
    '[::1]',
    '192.0.2.1',
    'a b',
    'a/b',
    '{host}/',
    'user@{host}',
  ].map((host) => plain('/letters.txt', { host })),
  ...[
    'http://{host}/letters.txt',
    'HTTP://{host}/letters.txt',
    'http://{host}',
    'http://{host}?x',
    'https://{host}/',
  ].map((target) => plain(target)),
  ...['http://other.example/letters.txt', 'ftp://{host}/letters.txt', '*', 'letters.txt', '?x'].map(
    (target) => plain(target),
  ),
]

const OLD: Plain[] = ['/letters.txt', '/missing', '/docs', '/big.bin'].map((target) =>
  plain(target, { version: '1.0' }),
)

function words(text: string): string[] {
  return text.trim().split(/\s+/)
}

const TARGETS = [FILES, MISSING, FOLDERS, QUERIES, PERCENT, SEGMENTS].flatMap(words)
const RANGE_VALUES = RANGES.trim().split(/[|\n]/)

/** Each is sent on its own connection. */
export const REQUESTS: readonly Plain[] = [
  ...[...new Set(TARGETS)].map((target) => plain(target)),
  ...METHODS,
  ...withHeader('/letters.txt', 'Range', [...new Set(RANGE_VALUES)]),
  ...withHeader('/big.bin', 'Range', [
    'bytes=0-0',
    'bytes=1000-200999',
    'bytes=-1000',
    'bytes=299999-',
    'bytes=300000-',
  ]),
  ...CONDITIONS,
  ...['/style.css', '/photo.png', '/missing.txt'].flatMap((target) =>
    withHeader(target, 'Accept-Encoding', ENCODINGS),
  ),
  ...HOSTS,
  ...OLD,
]

/** Sent in one piece on one connection. */
export const PIPELINES: readonly (readonly Plain[])[] = [
  Array.from({ length: 50 }, () => plain('/letters.txt')),
  ['/', '/big.bin', '/missing', '/docs', '/photo.png', '/letters.txt'].map((target) => plain(target)),
  ['HEAD', 'GET', 'HEAD', 'GET'].map((method) => plain('/letters.txt', { method })),
  ['bytes=0-4', 'bytes=30-', 'bytes=5-'].map((range) => plain('/letters.txt', { headers: { Range: range } })),
  [plain('/letters.txt', { headers: { 'If-None-Match': '{etag}' } }), plain('/letters.txt')],
  [plain('/letters.txt', { headers: { Connection: 'close' } }), plain('/never')],
]
