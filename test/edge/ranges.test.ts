import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { before, describe, test } from 'node:test'
import { parseRange } from '../../server/edge/respond/ranges.ts'
import type { RequestHeaders } from '../../server/net/http-handler.ts'
import { EdgeFixture, noise } from './fixture.ts'
import { buildTable, getResponse, header, toStoredFile } from './responses.ts'

interface Case {
  id: string
  size: number
  range: string
  result: 'malformed' | 'unsatisfiable' | { unit: string; ranges: [number, number][] }
}

const { cases } = JSON.parse(
  readFileSync(new URL('../cases/http-range-parse.json', import.meta.url), 'utf8'),
) as { cases: Case[] }

/** Deliberate differences from that library. */
const OTHERWISE: Record<string, string> = {
  'range-022': 'several ranges get the whole, whatever they ask for (RFC 9110, 14.2 leaves it to the server)',
  'range-023': 'a last byte before the first makes the header invalid (RFC 9110, 14.1.1)',
  'range-025': 'several ranges',
  'range-026': 'an invalid element makes the whole header invalid',
  'range-027': 'an invalid element',
  'range-028': 'an invalid element',
  'range-037': 'an invalid element',
  'range-038': 'an invalid element',
  'range-039': 'an invalid element',
  'range-040': 'several ranges',
  'range-041': 'several ranges, although only one is there',
  'range-042': 'several ranges',
  'range-043': 'the only unit that we know is bytes',
  'range-044': 'several ranges',
  'range-045': 'several ranges',
}

describe('ranges, cases of other implementations', () => {
  for (const { id, size, range, result } of cases) {
    const reason = OTHERWISE[id]
    test(`${id}: ${JSON.stringify(range)} of ${size} bytes${reason ? ` (otherwise: ${reason})` : ''}`, () => {
      const found = parseRange(range, size)
      if (reason) assert.equal(found, 'whole')
      else if (result === 'malformed') assert.equal(found, 'whole')
      else if (result === 'unsatisfiable') assert.equal(found, 'none')
      else assert.deepEqual([[(found as Part).start, (found as Part).end]], result.ranges)
    })
  }

  type Part = { start: number; end: number }
})

describe('a range of ten bytes', () => {
  const rows: [string, [number, number] | 'whole' | 'none'][] = [
    ['bytes=0-9', [0, 9]],
    ['bytes=0-', [0, 9]],
    ['bytes=9-', [9, 9]],
    ['bytes=9-9', [9, 9]],
    ['bytes=3-3', [3, 3]],
    ['bytes=5-100', [5, 9]],
    ['bytes=00-07', [0, 7]],
    ['bytes=-1', [9, 9]],
    ['bytes=-10', [0, 9]],
    ['bytes=-11', [0, 9]],
    ['bytes=-99999999999999999999999', [0, 9]],
    ['bytes=0-99999999999999999999999', [0, 9]],
    [`bytes=0-${'9'.repeat(400)}`, [0, 9]],
    ['Bytes=1-2', [1, 2]],
    ['BYTES=1-2', [1, 2]],
    ['bytes= 1-2', [1, 2]],
    ['bytes=1-2 ', [1, 2]],
    ['bytes=\t1-2', [1, 2]],
    ['bytes=,1-2', [1, 2]],
    ['bytes=1-2,', [1, 2]],
    ['bytes= ,, 1-2 , ,', [1, 2]],
    ['bytes=10-', 'none'],
    ['bytes=10-10', 'none'],
    ['bytes=99999999999999999999999-', 'none'],
    [`bytes=${'9'.repeat(400)}-`, 'none'],
    ['bytes=-0', 'none'],
    ['bytes=-000', 'none'],
    ['bytes=5-4', 'whole'],
    ['bytes=20-10', 'whole'],
    ['bytes=0-1,2-3', 'whole'],
    ['bytes=0-1,0-1', 'whole'],
    ['bytes=-1,-2', 'whole'],
    ['bytes=20-,30-', 'whole'],
    ['bytes', 'whole'],
    ['bytes=', 'whole'],
    ['bytes=-', 'whole'],
    ['bytes=,', 'whole'],
    ['bytes:0-1', 'whole'],
    ['bytes =0-1', 'whole'],
    [' bytes=0-1', 'whole'],
    ['bytes=0 -1', 'whole'],
    ['bytes=0- 1', 'whole'],
    ['bytes=+1-2', 'whole'],
    ['bytes=1.5-2', 'whole'],
    ['bytes=1e1-', 'whole'],
    ['bytes=0x1-', 'whole'],
    ['bytes=\u0661-', 'whole'],
    ['bytes=0-1;q=1', 'whole'],
    ['bytes=0-1-2', 'whole'],
    ['bytes=--1', 'whole'],
    ['byte=0-1', 'whole'],
    ['bytess=0-1', 'whole'],
    ['lines=0-1', 'whole'],
    ['0-1', 'whole'],
    ['', 'whole'],
  ]
  for (const [range, expected] of rows) {
    test(`${JSON.stringify(range.slice(0, 60))} is ${expected}`, () => {
      const found = parseRange(range, 10)
      assert.deepEqual(typeof found === 'string' ? found : [found.start, found.end], expected)
    })
  }

  test('is parsed in linear time from a header of any length', () => {
    for (const part of [' ', ',', '0', '-', '0-1,', ', ']) {
      assert.equal(typeof parseRange(`bytes=${part.repeat(100_000)}x`, 10), 'string')
    }
  })
})

const PATH = 'some text, of which parts are asked for.txt'
const TARGET = `/${encodeURI(PATH)}`
const SIZE = PATH.length
const ETAG = `"${toStoredFile(PATH).hash!.slice(0, 32)}"`
const MODIFIED = 'Tue, 06 May 2031 07:08:09 GMT'
const LATER = 'Tue, 06 May 2031 07:08:10 GMT'
const EARLIER = 'Tue, 06 May 2031 07:08:08 GMT'

describe('a range request', () => {
  const range = 'bytes=5-8'
  const rows: [RequestHeaders, number][] = [
    [{ range }, 206],
    [{ range: 'bytes=1-2,4-5' }, 200],
    [{ range: 'bytes=1000-' }, 416],
    [{ range, 'if-range': ETAG }, 206],
    [{ range, 'if-range': `W/${ETAG}` }, 200],
    [{ range, 'if-range': '"other"' }, 200],
    [{ range, 'if-range': `${ETAG}, ${ETAG}` }, 200],
    [{ range, 'if-range': '*' }, 200],
    [{ range, 'if-range': '' }, 200],
    [{ range, 'if-range': MODIFIED }, 206],
    [{ range, 'if-range': 'Tuesday, 06-May-31 07:08:09 GMT' }, 206],
    [{ range, 'if-range': LATER }, 200],
    [{ range, 'if-range': EARLIER }, 200],
    [{ range, 'if-range': 'yesterday' }, 200],
    [{ range: 'bytes=1000-', 'if-range': '"other"' }, 200],
    [{ range: 'bytes=1000-', 'if-range': ETAG }, 416],
    [{ 'if-range': ETAG }, 200],
    [{ 'if-range': '"other"' }, 200],
    [{ range, 'if-none-match': ETAG }, 304],
    [{ range, 'if-none-match': '"other"' }, 206],
    [{ range, 'if-modified-since': MODIFIED }, 304],
    [{ range, 'if-modified-since': EARLIER }, 206],
    [{ range, 'if-match': ETAG }, 206],
    [{ range, 'if-match': '"other"' }, 412],
    [{ range, 'if-unmodified-since': EARLIER }, 412],
    [{ range: 'bytes=1000-', 'if-match': '"other"' }, 412],
    [{ range: 'bytes=1000-', 'if-none-match': ETAG }, 304],
    [{ range, 'if-match': ETAG, 'if-range': '"other"' }, 200],
    [{ range, 'if-none-match': ETAG, 'if-range': '"other"' }, 304],
  ]
  const table = buildTable([PATH, 'docs/index.html', '404.html'])
  for (const [headers, status] of rows) {
    test(`${JSON.stringify(headers)} gets ${status}`, () => {
      assert.equal(getResponse(table, TARGET, headers).status, status)
    })
  }

  test('gets Content-Range, and all headers of the complete file but Content-Length', () => {
    const whole = getResponse(table, TARGET)
    const part = getResponse(table, TARGET, { range })
    assert.equal(header(part, 'content-range'), `bytes 5-8/${SIZE}`)
    assert.equal(header(part, 'content-length'), '4')
    const { hash, size } = toStoredFile(PATH)
    assert.deepEqual(part.content, { path: PATH, hash, size, range: { start: 5, end: 8 } })
    for (let at = 0; at < whole.headers.length; at += 2) {
      const name = whole.headers[at]!.toLowerCase()
      if (name !== 'content-length') assert.equal(header(part, name), whole.headers[at + 1])
    }
  })

  test('beyond the end gets 416 with the size, uncacheable', () => {
    const answer = getResponse(table, TARGET, { range: 'bytes=1000-' })
    assert.equal(header(answer, 'content-range'), `bytes */${SIZE}`)
    assert.equal(header(answer, 'cache-control'), 'no-store')
    assert.equal(header(answer, 'etag'), undefined)
    assert.equal(answer.content, undefined)
    assert.equal(header(answer, 'content-length'), `${answer.body!.length}`)
  })

  test('is ignored without a file', () => {
    assert.equal(getResponse(table, '/docs', { range }).status, 301)
    assert.equal(getResponse(table, '/nowhere', { range }).status, 404)
    assert.equal(getResponse(table, '/nowhere', { range: 'bytes=1000-' }).status, 404)
    assert.equal(getResponse(table, '/%', { range }).status, 400)
  })
})

describe('ranges over HTTP', () => {
  const bytes = noise(700_000)
  const edge = EdgeFixture.shared()
  let slug: string
  before(async () => {
    slug = await edge.publish({ 'big.bin': bytes, 'small.bin': bytes.subarray(0, 1000) })
  })

  const rows: [string, string, number, number][] = [
    ['/small.bin', 'bytes=0-0', 0, 1],
    ['/small.bin', 'bytes=999-', 999, 1000],
    ['/small.bin', 'bytes=-300', 700, 1000],
    ['/big.bin', 'bytes=0-0', 0, 1],
    ['/big.bin', 'bytes=65536-131071', 65536, 131072],
    ['/big.bin', 'bytes=-1', 699_999, 700_000],
    ['/big.bin', 'bytes=600000-', 600_000, 700_000],
    ['/big.bin', 'bytes=0-9999999', 0, 700_000],
  ]
  for (const [path, range, start, end] of rows) {
    test(`${range} of ${path} returns exactly those bytes, cold and warm`, async () => {
      for (let round = 0; round < 2; round++) {
        const reply = await edge.get(slug, path, { headers: { range } })
        assert.equal(reply.status, 206)
        assert.ok(reply.body.equals(bytes.subarray(start, end)))
      }
    })
  }

  test('HEAD ignores Range (RFC 9110, 14.2)', async () => {
    for (const range of ['bytes=10-19', 'bytes=99999999-']) {
      const { status, headers, body } = await edge.get(slug, '/big.bin', {
        method: 'HEAD',
        headers: { range },
      })
      assert.deepEqual([status, headers['content-range']], [200, undefined])
      assert.deepEqual([headers['content-length'], body.length], [`${bytes.length}`, 0])
    }
  })

  test('an interrupted download can be resumed', async () => {
    const first = await edge.get(slug, '/big.bin', { headers: { range: 'bytes=0-99999' } })
    const rest = await edge.get(slug, '/big.bin', {
      headers: { range: 'bytes=100000-', 'if-range': first.headers.etag! },
    })
    assert.equal(rest.status, 206)
    assert.ok(Buffer.concat([first.body, rest.body]).equals(bytes))
  })

  test('a download resumed after a new version restarts', async () => {
    const site = await edge.publish({ 'a.txt': 'the first version' })
    const { headers } = await edge.get(site, '/a.txt', { headers: { range: 'bytes=0-3' } })
    edge.clock.now += 5000
    await edge.createVersion(site, { 'a.txt': 'the other version' })
    for (const ifRange of [headers.etag!, headers['last-modified']!]) {
      const reply = await edge.get(site, '/a.txt', { headers: { range: 'bytes=4-', 'if-range': ifRange } })
      assert.deepEqual([reply.status, reply.text], [200, 'the other version'])
    }
  })
})
