import type { Plain } from './plain-requests.ts'
import type { Seen } from './seen.ts'

/** A request and what both servers said to it. */
export interface Exchange {
  asked: Plain
  name: string
  nginx: Seen
  slipway: Seen
}

/** Why Slipway answers otherwise than nginx: each exchange that it is of shows each of these differences. */
export interface Difference {
  why: string
  of(exchange: Exchange): boolean
  /** What nginx and what Slipway says. */
  fields: Partial<Record<keyof Seen, [nginx: string | RegExp, slipway: string | RegExp]>>
}

const FILE = /\.(?:html|txt)$/
const TEXT = /^(?:text\/|image\/svg|application\/(?:json|wasm))/

/** GET of each of these targets, without anything else. */
function targets(text: string): Difference['of'] {
  const names = new Set(text.trim().split(/\s+/))
  return ({ name }) => name.startsWith('GET ') && names.has(name.slice(4))
}

/** `/letters.txt` with each of these values of a header. */
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
    why: 'Serving 1: only names in the manifest are served, and no name has a dot segment; nginx takes them out first',
    of: targets(`
      /. /./ /./letters.txt /%2e/letters.txt /docs/../letters.txt /docs/./guide.html /docs/%2e/guide.html /docs/deep/../guide.html
      /docs/.. /docs/. /docs/%2e%2e/letters.txt //evil.example/..`),
    fields: { status: ['200', '404'], body: [FILE, '404.html'] },
  },
  {
    why: 'Serving 1: and none is outside of the site, which is nothing worse than not being there',
    of: outside,
    fields: { status: ['400', '404'], body: ['own page', '404.html'] },
  },
  {
    why: 'Serving 1: no name has an empty segment; nginx makes one slash of two',
    of: targets('// /// //letters.txt /docs//guide.html /docs//deep//er//file.txt /docs// //docs/'),
    fields: { status: ['200', '404'], body: [FILE, '404.html'] },
  },
  {
    why: 'Serving 1: nor does it redirect, least of all to what a browser takes for another host',
    of: targets('//docs'),
    fields: { status: ['301', '404'], location: ['/docs/', 'none'], body: ['own page', '404.html'] },
  },
  {
    why: 'Serving 1: an encoded slash is in no name; nginx takes it for a slash',
    of: targets('/docs%2F /docs%2fguide.html /docs/..%2fletters.txt /docs/%2E%2E%2Fletters.txt'),
    fields: { status: ['200', '404'], body: [FILE, '404.html'] },
  },
  {
    why: 'issue 3, names: one that cannot exist is 404, and so is one with a zero in it',
    of: nulls,
    fields: { status: ['400', '404'], body: ['own page', '404.html'] },
  },
  {
    why: 'issue 3, names: what is not UTF-8 is malformed, and that is 400',
    of: notUtf8,
    fields: { status: ['404', '400'], body: ['404.html', 'own page'] },
  },
  {
    why: 'issue 3, names: composed and decomposed letters are the same name',
    of: targets('/cafe%CC%81/menu%CC%88.txt'),
    fields: { status: ['404', '200'], body: ['404.html', 'café/menü.txt'] },
  },
  {
    why: 'RFC 9112, 9.3: a connection goes on after a refusal where nothing could be misread; nginx ends it',
    of: (exchange) =>
      [outside, nulls, malformed].some((of) => of(exchange)) ||
      exchange.name === 'HEAD /%zz' ||
      exchange.asked.method === 'TRACE',
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
    why: 'Serving 2: also to HEAD',
    of: ({ name }) => name === 'HEAD /about',
    fields: {
      status: ['404', '200'],
      length: ['83', '69'],
      modified: ['none', 'given'],
      ranges: ['none', 'bytes'],
    },
  },
  {
    why: 'Serving 2: and a page is nearer than a folder of the same name without an index',
    of: targets('/blog /blog?x'),
    fields: { status: ['301', '200'], location: [/^\/blog\//, 'none'], body: ['own page', 'blog.html'] },
  },
  {
    why: 'Serving 1: a folder without an index is not there; nginx redirects to it',
    of: targets('/docs/deep/er /empty /.well-known /caf%C3%A9'),
    fields: { status: ['301', '404'], location: [/^\/.*\/$/, 'none'], body: ['own page', '404.html'] },
  },
  {
    why: 'Serving 1: and nothing says that it exists after all; nginx says that it may not be seen',
    of: targets('/docs/deep/er/ /empty/'),
    fields: { status: ['403', '404'], body: ['own page', '404.html'] },
  },
  {
    why: 'Serving 2: a redirect keeps the query, as empty as it is',
    of: targets('/docs?'),
    fields: { location: ['/docs/', '/docs/?'] },
  },
  {
    why: 'RFC 9110, 15.4.2: a redirect may have a page; here it has none',
    of: ({ asked, nginx, slipway }) =>
      asked.method === 'GET' && nginx.status === '301' && slipway.status === '301',
    fields: { body: ['own page', 'none'] },
  },
  {
    why: 'Serving 3: a missing script or style is never answered with HTML',
    of: targets('/missing.css /missing.js'),
    fields: { body: ['404.html', 'own page'] },
  },
  {
    why: 'Serving 6: errors are never cached, so that nothing in them is of use to a cache, or for a range',
    of: ({ nginx, slipway }) =>
      nginx.status === '404' && slipway.status === '404' && nginx.body === slipway.body,
    fields: { etag: ['strong', 'none'] },
  },
  {
    why: 'Serving 6: Vary is said of whatever could be encoded, so that a cache keeps it right; nginx says it of what it has encoded',
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
    why: 'Serving 6: OPTIONS is answered',
    of: ({ asked }) => asked.method === 'OPTIONS',
    fields: { status: ['405', '204'], body: ['own page', 'none'] },
  },
  {
    why: 'RFC 9110, 15.5.6: what is allowed is said',
    of: ({ asked, slipway }) => asked.method === 'OPTIONS' || slipway.status === '405',
    fields: { allow: ['none', 'GET, HEAD, OPTIONS'] },
  },
  {
    why: 'Serving 6: the method is looked at before the path; nginx looks for the file first',
    of: ({ name }) => name === 'POST /docs',
    fields: { status: ['301', '405'], location: ['/docs/', 'none'] },
  },
  {
    why: 'Serving 6: so a method that is not allowed is so for every path',
    of: ({ name }) => name === 'POST /missing.txt',
    fields: { status: ['404', '405'], body: ['404.html', 'own page'] },
  },
]

const CONDITIONS: Difference[] = [
  {
    why: 'RFC 9110, 14.2: Range is defined for GET only; nginx heeds it for HEAD',
    of: ({ name }) => name === 'HEAD /letters.txt Range: bytes=0-1',
    fields: {
      status: ['206', '200'],
      length: ['2', '26'],
      range: ['bytes 0-1/26', 'none'],
      ranges: ['none', 'bytes'],
    },
  },
  {
    why: 'RFC 9110, 14.2: nor is a HEAD refused for a Range that cannot be had',
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
    why: 'RFC 9110, 13.1.3: not modified since a later moment; nginx wants the very moment',
    of: letters('If-Modified-Since', '{later}', 'Fri, 31 Dec 9999 23:59:59 GMT'),
    fields: { status: ['200', '304'], body: ['letters.txt', 'none'] },
  },
  {
    why: 'RFC 9110, 13.2.2: a name goes before a moment; nginx wants both',
    of: letters('If-None-Match', '{etag} If-Modified-Since: {earlier}'),
    fields: { status: ['200', '304'], body: ['letters.txt', 'none'] },
  },
  {
    why: 'RFC 9110, 13.2.2: a name goes before a moment here too',
    of: letters('If-Match', '{etag} If-Unmodified-Since: {earlier}'),
    fields: { status: ['412', '200'], body: ['own page', 'letters.txt'] },
  },
  {
    why: 'RFC 9110, 13.1.4: a moment that is none is no condition',
    of: letters('If-Unmodified-Since', 'yesterday'),
    fields: { status: ['412', '200'], body: ['own page', 'letters.txt'] },
  },
]

const NOT_MODIFIED: Difference[] = [
  {
    why: 'RFC 9110, 15.4.5: 304 says what a 200 would say of caches, Vary too, and needs no moment beside a name',
    of: ({ nginx, slipway }) => nginx.status === '304' && slipway.status === '304',
    fields: { modified: ['given', 'none'], vary: ['none', 'Accept-Encoding'] },
  },
]

const RANGES: Difference[] = [
  {
    why: 'RFC 9110, 14.2: a Range that is malformed is ignored; nginx refuses it',
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
    why: 'RFC 9110, 14.1.1: no blanks within a range; nginx skips them',
    of: letters('Range', 'bytes=0 -1', 'bytes=0- 1'),
    fields: { status: ['206', '200'], range: ['bytes 0-1/26', 'none'], body: [/^part/, 'letters.txt'] },
  },
  {
    why: 'RFC 9110, 5.6.1.2: an empty element of a list is nothing; nginx refuses the list',
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
    why: 'issue 3: several ranges get the whole; nginx sends them in parts',
    of: letters('Range', 'bytes=0-1,3-4', 'bytes=0-1, 3-4', 'bytes=0-0,-1', 'bytes=0-1,30-'),
    fields: { status: ['206', '200'], body: [/^part/, 'letters.txt'] },
  },
  {
    why: 'issue 3: and so several of which only one can be had',
    of: letters('Range', 'bytes=0-1,30-'),
    fields: { range: ['bytes 0-1/26', 'none'] },
  },
  {
    why: 'issue 3: and several of which none can be had',
    of: letters('Range', 'bytes=30-40,50-60'),
    fields: { status: ['416', '200'], range: ['bytes */26', 'none'], body: ['own page', 'letters.txt'] },
  },
  {
    why: 'RFC 9110, 14.3: a part, too, is of something that has parts',
    of: ({ nginx, slipway }) => nginx.status === '206' && slipway.status === '206',
    fields: { ranges: ['none', 'bytes'] },
  },
  {
    why: 'RFC 9110, 14.3: so has what is encoded ahead; nginx gives it whole only',
    of: ({ nginx, slipway }) => nginx.encoding === 'gzip' && slipway.encoding === 'gzip',
    fields: { ranges: ['none', 'bytes'] },
  },
]

const HOSTS: Difference[] = [
  {
    why: 'Serving: a host has one site or none; this nginx has one site for all',
    of: ({ name }) => /^GET \/letters\.txt at "(?:unknown|under_score|\[::1|192)/.test(name),
    fields: { status: ['200', '404'], body: ['letters.txt', 'own page'] },
  },
  {
    why: 'Serving 8: a host that is none, or not that of the target, could be read in two ways',
    of: ({ name }) =>
      [
        'GET /letters.txt at "user@{host}"',
        'GET ftp://{host}/letters.txt',
        'GET http://other.example/letters.txt',
      ].includes(name),
    fields: { status: ['200', '400'], body: ['letters.txt', 'own page'], connection: ['stays', 'closes'] },
  },
  {
    why: 'RFC 9112, 3: what is no request has no page either',
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
