import type { ComparableResponse } from './comparable-response.ts'
import type { Plain } from './plain-requests.ts'

/** A request and the responses of both servers. */
export interface Exchange {
  request: Plain
  name: string
  nginx: ComparableResponse
  slipway: ComparableResponse
}

/** A reason why Slipway differs from nginx: every exchange selected by `of` shows all these differences. */
export interface Difference {
  why: string
  of(exchange: Exchange): boolean
  /** The values of nginx and of Slipway. */
  fields: Partial<Record<keyof ComparableResponse, [nginx: string | RegExp, slipway: string | RegExp]>>
}

const FILE = /\.(?:html|txt)$/
const TEXT = /^(?:text\/|image\/svg|application\/(?:json|wasm))/

/** GET of each of these targets, without headers. */
function targets(text: string): Difference['of'] {
  const names = new Set(text.trim().split(/\s+/))
  return ({ name }) => name.startsWith('GET ') && names.has(name.slice(4))
}

/** GET of `/letters.txt` with each of these values of a header. */
function letters(header: string, ...values: string[]): Difference['of'] {
  const names = new Set(values.map((value) => `GET /letters.txt ${header}: ${value}`))
  return ({ name }) => names.has(name)
}

const outside = targets(`
  /.. /../ /../letters.txt /%2e%2e/letters.txt /../../../../etc/passwd /..%2f..%2f..%2fetc%2fpasswd`)
const nulls = targets('/%00 /letters.txt%00')
const notUtf8 = targets('/%C0%AE%C0%AE/ /%C3 /%FF /caf%E9/')
const malformed = targets('/% /%2 /%zz /%u0041 /letters.txt%')

const NAMES: Difference[] = [
  {
    why: 'Serving 1: only names in the manifest are served, and no name has a dot segment; nginx removes them first',
    of: targets(`
      /. /./ /./letters.txt /%2e/letters.txt /docs/../letters.txt /docs/./guide.html /docs/%2e/guide.html /docs/deep/../guide.html
      /docs/.. /docs/. /docs/%2e%2e/letters.txt //evil.example/..`),
    fields: { status: ['200', '404'], body: [FILE, '404.html'] },
  },
  {
    why: 'Serving 1: a path outside of the site is not found',
    of: outside,
    fields: { status: ['400', '404'], body: ['own page', '404.html'] },
  },
  {
    why: 'Serving 1: no name has an empty segment; nginx merges slashes',
    of: targets('// /// //letters.txt /docs//guide.html /docs//deep//er//file.txt /docs// //docs/'),
    fields: { status: ['200', '404'], body: [FILE, '404.html'] },
  },
  {
    why: 'Serving 1: no redirect to a path that a browser would resolve to another host',
    of: targets('//docs'),
    fields: { status: ['301', '404'], location: ['/docs/', 'none'], body: ['own page', '404.html'] },
  },
  {
    why: 'Serving 1: no name has an encoded slash; nginx decodes it',
    of: targets('/docs%2F /docs%2fguide.html /docs/..%2fletters.txt /docs/%2E%2E%2Fletters.txt'),
    fields: { status: ['200', '404'], body: [FILE, '404.html'] },
  },
  {
    why: 'issue 3, names: a name that cannot exist is 404, also one with a NUL',
    of: nulls,
    fields: { status: ['400', '404'], body: ['own page', '404.html'] },
  },
  {
    why: 'issue 3, names: invalid UTF-8 is 400',
    of: notUtf8,
    fields: { status: ['404', '400'], body: ['404.html', 'own page'] },
  },
  {
    why: 'issue 3, names: composed and decomposed letters are the same name',
    of: targets('/cafe%CC%81/menu%CC%88.txt'),
    fields: { status: ['404', '200'], body: ['404.html', 'café/menü.txt'] },
  },
  {
    why: 'RFC 9112, 9.3: a connection persists after an unambiguous request was refused; nginx closes it',
    of: (exchange) =>
      [outside, nulls, malformed].some((of) => of(exchange)) ||
      exchange.name === 'HEAD /%zz' ||
      exchange.request.method === 'TRACE',
    fields: { connection: ['closes', 'stays'] },
  },
]

const PAGES: Difference[] = [
  {
    why: 'Serving 2: /page serves page.html',
    of: targets('/about /%61bout /docs/guide /docs/index /index'),
    fields: { status: ['404', '200'], body: ['404.html', FILE] },
  },
  {
    why: 'Serving 2: /page serves page.html to HEAD too',
    of: ({ name }) => name === 'HEAD /about',
    fields: {
      status: ['404', '200'],
      length: ['83', '69'],
      modified: ['none', 'given'],
      ranges: ['none', 'bytes'],
    },
  },
  {
    why: 'Serving 2: a page takes precedence over a folder of the same name without an index',
    of: targets('/blog /blog?x'),
    fields: { status: ['301', '200'], location: [/^\/blog\//, 'none'], body: ['own page', 'blog.html'] },
  },
  {
    why: 'Serving 1: a folder without an index is not found; nginx redirects to it',
    of: targets('/docs/deep/er /empty /.well-known /caf%C3%A9'),
    fields: { status: ['301', '404'], location: [/^\/.*\/$/, 'none'], body: ['own page', '404.html'] },
  },
  {
    why: 'Serving 1: a response does not reveal that a folder exists; nginx sends 403',
    of: targets('/docs/deep/er/ /empty/'),
    fields: { status: ['403', '404'], body: ['own page', '404.html'] },
  },
  {
    why: 'Serving 2: a redirect keeps even an empty query',
    of: targets('/docs?'),
    fields: { location: ['/docs/', '/docs/?'] },
  },
  {
    why: 'RFC 9110, 15.4.2: a redirect needs no body',
    of: ({ request, nginx, slipway }) =>
      request.method === 'GET' && nginx.status === '301' && slipway.status === '301',
    fields: { body: ['own page', 'none'] },
  },
  {
    why: 'Serving 3: the 404 of a script or style is never HTML',
    of: targets('/missing.css /missing.js'),
    fields: { body: ['404.html', 'own page'] },
  },
  {
    why: 'Serving 6: errors are never cached, so they have no etag',
    of: ({ nginx, slipway }) =>
      nginx.status === '404' && slipway.status === '404' && nginx.body === slipway.body,
    fields: { etag: ['strong', 'none'] },
  },
  {
    why: 'Serving 6: every compressible type has Vary, for caches; nginx sends it only with an encoding',
    of: ({ nginx, slipway }) =>
      nginx.body === slipway.body &&
      TEXT.test(slipway.type) &&
      nginx.vary === 'none' &&
      slipway.status !== '400',
    fields: { vary: ['none', 'Accept-Encoding'] },
  },
]

const METHODS: Difference[] = [
  {
    why: 'Serving 6: OPTIONS is supported',
    of: ({ request }) => request.method === 'OPTIONS',
    fields: { status: ['405', '204'], body: ['own page', 'none'] },
  },
  {
    why: 'RFC 9110, 15.5.6: Allow lists the methods',
    of: ({ request, slipway }) => request.method === 'OPTIONS' || slipway.status === '405',
    fields: { allow: ['none', 'GET, HEAD, OPTIONS'] },
  },
  {
    why: 'Serving 6: the method is checked before the path; nginx checks the path first',
    of: ({ name }) => name === 'POST /docs',
    fields: { status: ['301', '405'], location: ['/docs/', 'none'] },
  },
  {
    why: 'Serving 6: a method that is not allowed is refused for every path',
    of: ({ name }) => name === 'POST /missing.txt',
    fields: { status: ['404', '405'], body: ['404.html', 'own page'] },
  },
]

const CONDITIONS: Difference[] = [
  {
    why: 'RFC 9110, 14.2: Range is defined for GET only; nginx applies it to HEAD',
    of: ({ name }) => name === 'HEAD /letters.txt Range: bytes=0-1',
    fields: {
      status: ['206', '200'],
      length: ['2', '26'],
      range: ['bytes 0-1/26', 'none'],
      ranges: ['none', 'bytes'],
    },
  },
  {
    why: 'RFC 9110, 14.2: HEAD with an unsatisfiable Range is 200',
    of: ({ name }) => name === 'HEAD /letters.txt Range: bytes=30-',
    fields: {
      status: ['416', '200'],
      type: ['of its own', 'text/plain; charset=utf-8'],
      length: ['of its own', '26'],
      range: ['bytes */26', 'none'],
      ranges: ['none', 'bytes'],
      etag: ['none', 'strong'],
      modified: ['none', 'given'],
    },
  },
  {
    why: 'RFC 9110, 13.1.3: a later If-Modified-Since is 304; nginx requires the exact date',
    of: letters('If-Modified-Since', '{later}', 'Fri, 31 Dec 9999 23:59:59 GMT'),
    fields: { status: ['200', '304'], body: ['letters.txt', 'none'] },
  },
  {
    why: 'RFC 9110, 13.2.2: If-None-Match takes precedence over If-Modified-Since; nginx requires both',
    of: letters('If-None-Match', '{etag} If-Modified-Since: {earlier}'),
    fields: { status: ['200', '304'], body: ['letters.txt', 'none'] },
  },
  {
    why: 'RFC 9110, 13.2.2: If-Match takes precedence over If-Unmodified-Since',
    of: letters('If-Match', '{etag} If-Unmodified-Since: {earlier}'),
    fields: { status: ['412', '200'], body: ['own page', 'letters.txt'] },
  },
  {
    why: 'RFC 9110, 13.1.4: an invalid date is ignored',
    of: letters('If-Unmodified-Since', 'yesterday'),
    fields: { status: ['412', '200'], body: ['own page', 'letters.txt'] },
  },
]

const NOT_MODIFIED: Difference[] = [
  {
    why: 'RFC 9110, 15.4.5: 304 has the caching headers of 200, also Vary, and needs no Last-Modified beside an etag',
    of: ({ nginx, slipway }) => nginx.status === '304' && slipway.status === '304',
    fields: { modified: ['given', 'none'], vary: ['none', 'Accept-Encoding'] },
  },
]

const RANGES: Difference[] = [
  {
    why: 'RFC 9110, 14.2: a malformed Range is ignored; nginx refuses it',
    of: letters(
      'Range',
      ...[
        'bytes=5-2',
        'bytes=-',
        'bytes=a-b',
        'bytes=0-b',
        'bytes=0x0-1',
        'bytes=+0-1',
        'bytes=0-+1',
        'bytes=0-1.5',
      ],
      ...['bytes=--1', 'bytes=0--1', 'bytes=0-1-2'],
    ),
    fields: { status: ['416', '200'], range: ['bytes */26', 'none'], body: ['own page', 'letters.txt'] },
  },
  {
    why: 'RFC 9110, 14.1.1: a range has no blanks; nginx skips them',
    of: letters('Range', 'bytes=0 -1', 'bytes=0- 1'),
    fields: { status: ['206', '200'], range: ['bytes 0-1/26', 'none'], body: [/^part/, 'letters.txt'] },
  },
  {
    why: 'RFC 9110, 5.6.1.2: an empty list element is ignored; nginx refuses the list',
    of: letters('Range', 'bytes=,0-1', 'bytes=0-1,'),
    fields: { status: ['416', '206'], range: ['bytes */26', 'bytes 0-1/26'], body: ['own page', /^part/] },
  },
  {
    why: 'RFC 9110, 14.1.2: a number beyond the end, however large, means the end',
    of: letters('Range', 'bytes=0-18446744073709551616', 'bytes=-18446744073709551616'),
    fields: {
      status: ['416', '206'],
      range: ['bytes */26', 'bytes 0-25/26'],
      body: ['own page', 'letters.txt'],
    },
  },
  {
    why: 'issue 3: several ranges get the complete file; nginx sends multipart/byteranges',
    of: letters('Range', 'bytes=0-1,3-4', 'bytes=0-1, 3-4', 'bytes=0-0,-1', 'bytes=0-1,30-'),
    fields: { status: ['206', '200'], body: [/^part/, 'letters.txt'] },
  },
  {
    why: 'issue 3: several ranges of which one is satisfiable get the complete file',
    of: letters('Range', 'bytes=0-1,30-'),
    fields: { range: ['bytes 0-1/26', 'none'] },
  },
  {
    why: 'issue 3: several unsatisfiable ranges get the complete file',
    of: letters('Range', 'bytes=30-40,50-60'),
    fields: { status: ['416', '200'], range: ['bytes */26', 'none'], body: ['own page', 'letters.txt'] },
  },
  {
    why: 'RFC 9110, 14.3: 206 has Accept-Ranges too',
    of: ({ nginx, slipway }) => nginx.status === '206' && slipway.status === '206',
    fields: { ranges: ['none', 'bytes'] },
  },
  {
    why: 'RFC 9110, 14.3: a precompressed file has Accept-Ranges; nginx sends it complete only',
    of: ({ nginx, slipway }) => nginx.encoding === 'gzip' && slipway.encoding === 'gzip',
    fields: { ranges: ['none', 'bytes'] },
  },
]

const HOSTS: Difference[] = [
  {
    why: 'Serving: a host has one site or none; this nginx serves one site for all hosts',
    of: ({ name }) => /^GET \/letters\.txt at "(?:unknown|under_score|\[::1|192)/.test(name),
    fields: { status: ['200', '404'], body: ['letters.txt', 'own page'] },
  },
  {
    why: 'Serving 8: an invalid host, or one that differs from the target, is ambiguous',
    of: ({ name }) =>
      [
        'GET /letters.txt at "user@{host}"',
        'GET ftp://{host}/letters.txt',
        'GET http://other.example/letters.txt',
      ].includes(name),
    fields: { status: ['200', '400'], body: ['letters.txt', 'own page'], connection: ['stays', 'closes'] },
  },
  {
    why: 'RFC 9112, 3: an invalid request line gets no page',
    of: targets('?x letters.txt'),
    fields: { body: ['own page', 'none'] },
  },
]

export const DIFFERENCES: readonly Difference[] = [
  ...NAMES,
  ...PAGES,
  ...METHODS,
  ...CONDITIONS,
  ...NOT_MODIFIED,
  ...RANGES,
  ...HOSTS,
]
