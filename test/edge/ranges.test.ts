import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { RequestHeaders } from '../../packages/http-server/http-handler.ts'
import { parseRange } from '../../server/edge/respond/file-response.ts'
import { EdgeFixture, noise } from './fixture.ts'
import { buildTable, getResponse, header, toStoredFile } from './responses.ts'

/** Values of Range by what they mean for a file of ten bytes. */
const RANGES: Record<string, string[]> = {
  '0-9': [
    ...['bytes=0-9', 'bytes=0-', 'bytes=-10', 'bytes=-11', 'bytes=-99999999999999999999999'],
    ...['bytes=0-99999999999999999999999', `bytes=0-${'9'.repeat(400)}`],
  ],
  '9-9': ['bytes=9-', 'bytes=9-9', 'bytes=-1'],
  '3-3': ['bytes=3-3'],
  '5-9': ['bytes=5-100'],
  '0-7': ['bytes=00-07'],
  '1-2': [
    ...['Bytes=1-2', 'BYTES=1-2', 'bytes= 1-2', 'bytes=1-2 ', 'bytes=\t1-2', 'bytes=,1-2', 'bytes=1-2,'],
    'bytes= ,, 1-2 , ,',
  ],
  none: [
    ...['bytes=10-', 'bytes=10-10', 'bytes=99999999999999999999999-', `bytes=${'9'.repeat(400)}-`],
    ...['bytes=-0', 'bytes=-000'],
  ],
  // Several ranges get the complete file (RFC 9110, 14.2 leaves it to the server), as do invalid ones.
  whole: [
    ...[
      'bytes=5-4',
      'bytes=20-10',
      'bytes=0-1,2-3',
      'bytes=0-1,0-1',
      'bytes=-1,-2',
      'bytes=20-,30-',
      'bytes',
    ],
    ...[
      'bytes=0-1,x-',
      'bytes=x-,0-1',
      'bytes=',
      'bytes=-',
      'bytes=,',
      'bytes= , , ',
      'bytes:0-1',
      'bytes =0-1',
    ],
    ...[' bytes=0-1', 'bytes=0 -1', 'bytes=0- 1', 'bytes=+1-2', 'bytes=1.5-2', 'bytes=1e1-', 'bytes=0x1-'],
    ...[
      'bytes=\u0661-',
      'bytes=01a-5',
      'bytes=x-5',
      'bytes=0-1;q=1',
      'bytes=0-1-2',
      'bytes=--1',
      'bytes=1--2',
    ],
    ...['byte=0-1', 'bytess=0-1', 'lines=0-1', '0-1', ''],
  ],
}

describe('a Range header of a file of ten bytes', () => {
  for (const [expected, values] of Object.entries(RANGES)) {
    test(`means ${expected}`, () => {
      for (const value of values) {
        const found = parseRange(value, 10)
        assert.equal(typeof found === 'string' ? found : `${found.start}-${found.end}`, expected, value)
      }
    })
  }

  test('of an empty file has no byte of it, and a suffix is the whole file', () => {
    const expected = { 'bytes=0-': 'none', 'bytes=0-0': 'none', 'bytes=-0': 'none', 'bytes=-1': 'whole' }
    for (const [value, part] of Object.entries(expected)) assert.equal(parseRange(value, 0), part, value)
  })

  test('is parsed in linear time at any length', () => {
    for (const part of [' ', ',', '0', '-', '0-1,', ', ']) {
      assert.equal(typeof parseRange(`bytes=${part.repeat(100_000)}x`, 10), 'string')
    }
  })
})

const PATH = 'some text, of which parts are asked for.txt'
const TARGET = `/${encodeURI(PATH)}`
const SIZE = PATH.length
const ETAG = header(getResponse(buildTable([PATH]), TARGET), 'etag')!
const MODIFIED = 'Tue, 06 May 2031 07:08:09 GMT'
const LATER = 'Tue, 06 May 2031 07:08:10 GMT'
const EARLIER = 'Tue, 06 May 2031 07:08:08 GMT'

describe('a range request', () => {
  const range = 'bytes=5-8'
  const beyond = 'bytes=1000-'
  const rows: Record<number, RequestHeaders[]> = {
    200: [
      { range: 'bytes=1-2,4-5' },
      ...[`W/${ETAG}`, '"other"', `${ETAG}, ${ETAG}`, '*', '', MODIFIED, LATER, EARLIER, 'yesterday'].map(
        (value) => ({
          range,
          'if-range': value,
        }),
      ),
      { range: beyond, 'if-range': '"other"' },
      { 'if-range': ETAG },
      { 'if-range': '"other"' },
      { range, 'if-match': ETAG, 'if-range': '"other"' },
    ],
    206: [
      { range },
      { range, 'if-range': ETAG },
      { range, 'if-none-match': '"other"' },
      { range, 'if-modified-since': EARLIER },
      { range, 'if-match': ETAG },
    ],
    304: [
      { range, 'if-none-match': ETAG },
      { range, 'if-modified-since': MODIFIED },
      { range: beyond, 'if-none-match': ETAG },
      { range, 'if-none-match': ETAG, 'if-range': '"other"' },
    ],
    412: [
      { range, 'if-match': '"other"' },
      { range, 'if-unmodified-since': EARLIER },
      { range: beyond, 'if-match': '"other"' },
    ],
    416: [{ range: beyond }, { range: beyond, 'if-range': ETAG }],
  }
  const table = buildTable([PATH, 'docs/index.html', '404.html'])
  for (const [status, requests] of Object.entries(rows)) {
    test(`gets ${status} depending on its conditions`, () => {
      for (const headers of requests)
        assert.equal(getResponse(table, TARGET, headers).status, Number(status), JSON.stringify(headers))
    })
  }

  test('gets Content-Range, and all headers of the complete file but Content-Length', () => {
    const whole = getResponse(table, TARGET)
    const part = getResponse(table, TARGET, { range })
    assert.equal(header(part, 'content-range'), `bytes 5-8/${SIZE}`)
    assert.equal(header(part, 'content-length'), '4')
    const { hash, size } = toStoredFile(PATH)
    const { location } = whole.content!
    assert.deepEqual(part.content, { path: PATH, hash, size, location, range: { start: 5, end: 8 } })
    for (let at = 0; at < whole.headers.length; at += 2) {
      const name = whole.headers[at]!.toLowerCase()
      if (name !== 'content-length') assert.equal(header(part, name), whole.headers[at + 1])
    }
  })

  test('beyond the end gets 416 with the size, uncacheable', () => {
    const answer = getResponse(table, TARGET, { range: beyond })
    assert.deepEqual(
      ['content-range', 'cache-control', 'etag', 'content-length'].map((name) => header(answer, name)),
      [`bytes */${SIZE}`, 'no-store', undefined, `${answer.body!.length}`],
    )
    assert.equal(answer.content, undefined)
  })

  test('is ignored without a file', () => {
    for (const [target, status] of Object.entries({ '/docs': 301, '/nowhere': 404, '/%': 400 }))
      for (const value of [range, beyond])
        assert.equal(getResponse(table, target, { range: value }).status, status, target)
  })
})

describe('ranges over HTTP', () => {
  const bytes = noise(700_000)
  const edge = EdgeFixture.shared()
  let slug: string
  before(async () => {
    slug = await edge.publish({ 'big.bin': bytes, 'small.bin': bytes.subarray(0, 1000) })
  })

  test('return exactly those bytes, cold and warm', async () => {
    for (const [path, range, start, end] of [
      ['/small.bin', 'bytes=0-0', 0, 1],
      ['/small.bin', 'bytes=999-', 999, 1000],
      ['/small.bin', 'bytes=-300', 700, 1000],
      ['/big.bin', 'bytes=0-0', 0, 1],
      ['/big.bin', 'bytes=65536-131071', 65536, 131072],
      ['/big.bin', 'bytes=-1', 699_999, 700_000],
      ['/big.bin', 'bytes=600000-', 600_000, 700_000],
      ['/big.bin', 'bytes=0-9999999', 0, 700_000],
    ] as const) {
      for (let round = 0; round < 2; round++) {
        const reply = await edge.get(slug, path, { headers: { range } })
        assert.equal(reply.status, 206)
        assert.ok(reply.body.equals(bytes.subarray(start, end)), `${range} of ${path}`)
      }
    }
  })

  test('are ignored for HEAD (RFC 9110, 14.2)', async () => {
    for (const range of ['bytes=10-19', 'bytes=99999999-']) {
      const { status, headers, body } = await edge.get(slug, '/big.bin', {
        method: 'HEAD',
        headers: { range },
      })
      assert.deepEqual([status, headers['content-range']], [200, undefined])
      assert.deepEqual([headers['content-length'], body.length], [`${bytes.length}`, 0])
    }
  })
})
