import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { before, describe, test } from 'node:test'
import { evaluatePreconditions } from '../../server/edge/respond/conditional.ts'
import { readHttpDate } from '../../server/edge/respond/http-date.ts'
import { EdgeFixture } from './fixture.ts'

interface Fresh {
  id: string
  request: Record<string, string>
  response: { etag?: string; 'last-modified'?: string }
  not_modified: boolean
}

const { cases } = JSON.parse(
  readFileSync(new URL('../cases/http-conditional-fresh.json', import.meta.url), 'utf8'),
) as { cases: Fresh[] }

/** Reloads: that library responds with 200, which RFC 9110 does not require of an origin server; nginx does not either. */
const isReload = (row: Fresh) => row.request['cache-control']?.includes('no-cache')

describe('conditional requests, cases of another implementation', () => {
  for (const row of cases.filter((row) => !isReload(row))) {
    test(row.id, () => {
      // Every file here has both validators; for a case without one, a validator that never matches is used.
      const { etag = '"of nothing else"', 'last-modified': date = '' } = row.response
      const modified = readHttpDate(date) ?? Number.POSITIVE_INFINITY
      const status = evaluatePreconditions(row.request, { etag: etag.replace(/^W\//, ''), modified })
      assert.equal(status, row.not_modified ? 304 : 200)
    })
  }
})

const ETAG = '"0123456789abcdef"'
const MODIFIED = 'Tue, 06 May 2031 07:08:09 GMT'
const BEFORE = 'Tue, 06 May 2031 07:08:08 GMT'
const LATER = 'Tue, 06 May 2031 07:08:10 GMT'

describe('conditional requests, in the order of RFC 9110, 13.2.2', () => {
  const rows: [Record<string, string>, 200 | 304 | 412][] = [
    [{}, 200],
    [{ 'if-match': ETAG }, 200],
    [{ 'if-match': '*' }, 200],
    [{ 'if-match': ' * ' }, 200],
    [{ 'if-match': '"other"' }, 412],
    [{ 'if-match': `"other", ${ETAG}` }, 200],
    [{ 'if-match': `W/${ETAG}` }, 412],
    [{ 'if-match': ETAG.slice(1, -1) }, 412],
    [{ 'if-match': '' }, 412],
    [{ 'if-unmodified-since': MODIFIED }, 200],
    [{ 'if-unmodified-since': LATER }, 200],
    [{ 'if-unmodified-since': BEFORE }, 412],
    [{ 'if-unmodified-since': 'yesterday' }, 200],
    [{ 'if-match': ETAG, 'if-unmodified-since': BEFORE }, 200],
    [{ 'if-match': '"other"', 'if-unmodified-since': LATER }, 412],
    [{ 'if-none-match': ETAG }, 304],
    [{ 'if-none-match': `W/${ETAG}` }, 304],
    [{ 'if-none-match': '*' }, 304],
    [{ 'if-none-match': '"other"' }, 200],
    [{ 'if-none-match': '"a,b", "other"' }, 200],
    [{ 'if-none-match': `"a,${ETAG.slice(1)}` }, 200],
    [{ 'if-none-match': `"other",,${ETAG}` }, 304],
    [{ 'if-none-match': '' }, 200],
    [{ 'if-modified-since': MODIFIED }, 304],
    [{ 'if-modified-since': LATER }, 304],
    [{ 'if-modified-since': BEFORE }, 200],
    [{ 'if-modified-since': '2031-05-06T07:08:10Z' }, 200],
    [{ 'if-modified-since': `${LATER}, ${LATER}` }, 200],
    [{ 'if-none-match': '"other"', 'if-modified-since': LATER }, 200],
    [{ 'if-none-match': ETAG, 'if-modified-since': BEFORE }, 304],
    [{ 'if-match': ETAG, 'if-none-match': ETAG }, 304],
    [{ 'if-match': '"other"', 'if-none-match': ETAG }, 412],
    [{ 'if-unmodified-since': BEFORE, 'if-none-match': ETAG }, 412],
    [{ 'if-unmodified-since': BEFORE, 'if-modified-since': LATER }, 412],
    [{ 'if-unmodified-since': LATER, 'if-modified-since': LATER }, 304],
  ]
  for (const [headers, expected] of rows) {
    test(`${JSON.stringify(headers)} gets ${expected}`, () => {
      assert.equal(evaluatePreconditions(headers, { etag: ETAG, modified: Date.parse(MODIFIED) }), expected)
    })
  }

  test('a list of ten thousand tags is parsed fast', () => {
    const list = Array.from({ length: 10_000 }, (_, index) => `W/"${index}"`).join(',')
    const start = performance.now()
    assert.equal(evaluatePreconditions({ 'if-none-match': list }, { etag: ETAG, modified: 0 }), 200)
    assert.equal(
      evaluatePreconditions({ 'if-none-match': '"'.repeat(60_000) }, { etag: ETAG, modified: 0 }),
      200,
    )
    assert.ok(performance.now() - start < 200)
  })
})

describe('HTTP dates', () => {
  const rows: [string, string | undefined][] = [
    ['Sun, 06 Nov 1994 08:49:37 GMT', '1994-11-06T08:49:37.000Z'],
    ['Sunday, 06-Nov-94 08:49:37 GMT', '1994-11-06T08:49:37.000Z'],
    ['Sun Nov  6 08:49:37 1994', '1994-11-06T08:49:37.000Z'],
    ['Sun Nov 16 08:49:37 1994', '1994-11-16T08:49:37.000Z'],
    ['Thu, 29 Feb 2024 23:59:60 GMT', '2024-03-01T00:00:00.000Z'],
    ['Wednesday, 01-Jan-31 00:00:00 GMT', '2031-01-01T00:00:00.000Z'],
    ['Sun, 06 Nov 1994 08:49:37 UTC', undefined],
    ['Sun, 06 Nov 1994 08:49:37', undefined],
    ['Sun, 6 Nov 1994 08:49:37 GMT', undefined],
    ['sun, 06 nov 1994 08:49:37 gmt', undefined],
    ['Sun, 31 Feb 1994 08:49:37 GMT', undefined],
    ['Sun, 00 Nov 1994 08:49:37 GMT', undefined],
    ['Sun, 06 Nov 1994 24:00:00 GMT', undefined],
    [' Sun, 06 Nov 1994 08:49:37 GMT', undefined],
    ['1994-11-06T08:49:37Z', undefined],
    ['784111777', undefined],
    ['', undefined],
  ]
  for (const [text, expected] of rows) {
    test(`${JSON.stringify(text)} is ${expected ?? 'none'}`, () => {
      const time = readHttpDate(text)
      assert.equal(time === undefined ? undefined : new Date(time).toISOString(), expected)
    })
  }
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
    assert.equal(status, 304)
    assert.equal(body.length, 0)
    assert.equal(headers.etag, full.headers.etag)
    assert.equal(headers['cache-control'], full.headers['cache-control'])
    assert.ok(headers.date)
    assert.equal(headers['content-type'], undefined)
    assert.equal(headers['content-length'], undefined)
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
    const headers = { 'if-match': '"other"' }
    assert.equal((await edge.get(slug, '/', { headers })).status, 412)
    assert.equal((await edge.get(slug, '/nowhere', { headers })).status, 404)
    assert.equal((await edge.get(slug, '/sub', { headers })).status, 301)
    assert.equal((await edge.get(slug, '/nowhere', { headers: { 'if-none-match': '*' } })).status, 404)
  })

  test('equal bytes keep their entity tag across versions, other bytes have another', async () => {
    const site = await edge.publish({ 'a.txt': 'same', 'b.txt': 'one' })
    const tags = async () => [
      (await edge.get(site, '/a.txt')).headers.etag,
      (await edge.get(site, '/b.txt')).headers.etag,
    ]
    const [a, b] = await tags()
    await edge.createVersion(site, { 'a.txt': 'same', 'b.txt': 'two' })
    const [again, other] = await tags()
    assert.match(a!, /^"[0-9a-f]{32}"$/)
    assert.equal(again, a)
    assert.notEqual(other, b)
  })
})
