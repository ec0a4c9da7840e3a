import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { RouteTable } from '../../server/edge/resolve/route-table.ts'
import { evaluatePreconditions, readHttpDate } from '../../server/edge/respond/file-response.ts'
import { EdgeFixture } from './fixture.ts'
import { buildTable, getResponse, header, toStoredFile } from './responses.ts'

const ETAG = '"0123456789abcdef"'
const MODIFIED = 'Tue, 06 May 2031 07:08:09 GMT'
const BEFORE = 'Tue, 06 May 2031 07:08:08 GMT'
const LATER = 'Tue, 06 May 2031 07:08:10 GMT'

const ifMatch = (value: string) => ({ 'if-match': value })
const ifNoneMatch = (value: string) => ({ 'if-none-match': value })
const since = (value: string) => ({ 'if-modified-since': value })
const unmodifiedSince = (value: string) => ({ 'if-unmodified-since': value })

/** By status, in the order of RFC 9110, 13.2.2. */
const CONDITIONS: Record<number, Record<string, string>[]> = {
  200: [
    {},
    ...[ETAG, '*', ' * ', `"other", ${ETAG}`].map(ifMatch),
    ...[MODIFIED, LATER, 'yesterday'].map(unmodifiedSince),
    { ...ifMatch(ETAG), ...unmodifiedSince(BEFORE) },
    ...['"other"', '"a,b", "other"', `"a,${ETAG.slice(1)}`, '*, "other"', ''].map(ifNoneMatch),
    ...[BEFORE, '2031-05-06T07:08:10Z', `${LATER}, ${LATER}`].map(since),
    { ...ifNoneMatch('"other"'), ...since(LATER) },
  ],
  304: [
    ...[ETAG, `W/${ETAG}`, '*', `"other",,${ETAG}`, ` "other" ,\t${ETAG}`].map(ifNoneMatch),
    ...[MODIFIED, LATER].map(since),
    { ...ifNoneMatch(ETAG), ...since(BEFORE) },
    { ...ifMatch(ETAG), ...ifNoneMatch(ETAG) },
    { ...unmodifiedSince(LATER), ...since(LATER) },
  ],
  412: [
    ...['"other"', `W/${ETAG}`, ETAG.slice(1, -1), ''].map(ifMatch),
    unmodifiedSince(BEFORE),
    { ...ifMatch('"other"'), ...unmodifiedSince(LATER) },
    { ...ifMatch('"other"'), ...ifNoneMatch(ETAG) },
    { ...unmodifiedSince(BEFORE), ...ifNoneMatch(ETAG) },
    { ...unmodifiedSince(BEFORE), ...since(LATER) },
  ],
}

describe('a conditional request', () => {
  for (const [status, rows] of Object.entries(CONDITIONS)) {
    test(`gets ${status} by the rules of RFC 9110`, () => {
      const file = { etag: ETAG, modified: Date.parse(MODIFIED) }
      for (const headers of rows)
        assert.equal(evaluatePreconditions(headers, file), Number(status), JSON.stringify(headers))
    })
  }

  test('with a list of 300,000 tags is parsed in linear time', () => {
    const list = Array.from({ length: 300_000 }, (_, index) => `W/"${index}"`).join(',')
    for (const tags of [list, '"'.repeat(1_000_000)])
      assert.equal(evaluatePreconditions({ 'if-none-match': tags }, { etag: ETAG, modified: 0 }), 200)
  })
})

test('a 304 confirms the cached headers too: a publish that changes them is answered with 200', () => {
  const site = (headers: string, contentType = 'text/html', path = 'page.html') =>
    buildTable([], {
      files: [{ ...toStoredFile('page.html'), path, contentType }, toStoredFile('b.zip')],
      headers,
    })
  const rule = '/*\n  X-Frame-Options: DENY\n'
  const rows: [name: string, cached: RouteTable, live: RouteTable, statuses: Record<string, number>][] = [
    ['equal rules', site(rule), site(rule), { '/page': 304, '/': 304 }],
    ['removed rules', site(rule), site(''), { '/page': 200, '/': 200 }],
    ['new rules', site(''), site(rule), { '/page': 200, '/': 200 }],
    ['another rule', site(rule), site(rule.replace('DENY', 'SAMEORIGIN')), { '/page': 200, '/': 200 }],
    ['another type', site('', 'text/plain'), site(''), { '/page': 200, '/b.zip': 304 }],
    ['the type of another name', site('', 'text/plain', 'page'), site(''), { '/page': 200 }],
  ]
  for (const [name, cached, live, statuses] of rows) {
    for (const [path, status] of Object.entries(statuses)) {
      const etag = header(getResponse(cached, path), 'etag')!
      assert.equal(getResponse(live, path, { 'if-none-match': etag }).status, status, `${name}: ${path}`)
    }
  }
})

describe('an HTTP date', () => {
  test('is read in the three formats of RFC 9110', () => {
    for (const [text, expected] of [
      ['Sun, 06 Nov 1994 08:49:37 GMT', '1994-11-06T08:49:37.000Z'],
      ['Sunday, 06-Nov-94 08:49:37 GMT', '1994-11-06T08:49:37.000Z'],
      ['Sun Nov  6 08:49:37 1994', '1994-11-06T08:49:37.000Z'],
      ['Sun Nov 16 08:49:37 1994', '1994-11-16T08:49:37.000Z'],
      ['Thu, 29 Feb 2024 23:59:60 GMT', '2024-03-01T00:00:00.000Z'],
      ['Wednesday, 01-Jan-31 00:00:00 GMT', '2031-01-01T00:00:00.000Z'],
    ] as const)
      assert.equal(readHttpDate(text), Date.parse(expected), text)
  })

  test('is ignored in any other format', () => {
    const invalid = `
Sun, 06 Nov 1994 08:49:37 UTC|Sun, 06 Nov 1994 08:49:37|Sun, 6 Nov 1994 08:49:37 GMT|sun, 06 nov 1994 08:49:37 gmt
Sun, 31 Feb 1994 08:49:37 GMT|Sun, 00 Nov 1994 08:49:37 GMT|Sun, 06 Nov 1994 24:00:00 GMT| Sun, 06 Nov 1994 08:49:37 GMT
1994-11-06T08:49:37Z|784111777|`
    for (const text of invalid.slice(1).split(/[|\n]/)) assert.equal(readHttpDate(text), undefined, text)
  })
})

describe('conditional requests over HTTP', () => {
  const edge = EdgeFixture.shared()
  let slug: string
  before(async () => {
    slug = await edge.publish({ 'index.html': 'hello', '404.html': 'nothing', 'sub/index.html': 'sub' })
  })

  test('a 304 has the caching headers and no body', async () => {
    const full = await edge.get(slug)
    const { status, headers, body } = await edge.get(slug, '/', {
      headers: { 'if-none-match': full.headers.etag! },
    })
    assert.deepEqual([status, body.length], [304, 0])
    for (const name of ['etag', 'cache-control', 'vary']) assert.equal(headers[name], full.headers[name])
    assert.ok(headers.date)
    assert.deepEqual([headers['content-type'], headers['content-length']], [undefined, undefined])
  })

  test('a restored version has a new date', async () => {
    const site = await edge.createSite()
    const first = await edge.createVersion(site, { 'index.html': 'first' })
    edge.clock.now += 10_000
    await edge.createVersion(site, { 'index.html': 'second' })
    const seen = (await edge.get(site)).headers['last-modified']!
    edge.clock.now += 10_000
    await edge.restore(site, first)
    const again = await edge.get(site, '/', { headers: { 'if-modified-since': seen } })
    assert.deepEqual([again.status, again.text], [200, 'first'])
  })

  test('a failed condition gets 412, and only for existing files', async () => {
    const statusOf = async (path: string, headers: Record<string, string>) =>
      (await edge.get(slug, path, { headers })).status
    for (const [path, status] of Object.entries({ '/': 412, '/nowhere': 404, '/sub': 301 }))
      assert.equal(await statusOf(path, { 'if-match': '"other"' }), status, path)
    assert.equal(await statusOf('/nowhere', { 'if-none-match': '*' }), 404)
  })
})
