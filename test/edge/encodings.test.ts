import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseAcceptEncoding } from '../../server/edge/respond/negotiation.ts'
import { EdgeFixture } from './fixture.ts'
import { buildTable, type EncodedSizes, getResponse, header, toStoredFile } from './responses.ts'

/** Values of Accept-Encoding by the encodings that they accept, best first. */
const ACCEPTED: Record<string, string[]> = {
  'br zstd gzip identity': ['gzip, deflate, br, zstd', '*', 'zstd;q=0.9, br;q=0.9, gzip;q=0.9'],
  'br gzip identity': ['gzip, deflate, br', 'gzip,br'],
  'gzip identity': [
    ...['gzip, deflate', 'gzip;q=0.5, identity;q=0.5', 'x-gzip', 'br;q=0.000, gzip;q=0.001', 'br;q=x, gzip'],
    ...[',,gzip,,', 'gzip;q=0, gzip', 'GZIP', 'gzip, compress;q=0', 'gzip;foo="bar,baz", deflate'],
  ],
  'zstd identity': ['zstd'],
  identity: [
    ...['', 'identity', 'br;q=0', 'br;q=', 'br;q=-1', 'deflate, compress, dcb', 'brotli', 'gzip;Q=0'],
    ...['constructor, __proto__', '*;q=0, identity;q=1'],
  ],
  'gzip br identity': ['BR;Q=0.5 , GZIP', 'br;level=4;q=0.2, gzip;q=0.4', 'br ; q=0.2,gzip;q=0.4'],
  'gzip br zstd identity': ['br;q=0.5, gzip;q=0.8, zstd;q=0.1', '*;q=0.5, gzip'],
  'identity gzip': ['gzip;q=0.5, identity'],
  gzip: ['gzip, identity;q=0'],
  '': ['identity;q=0', '*;q=0', 'identity;q=0, *;q=0', 'identity;q=0, br;q=0'],
  br: ['br, *;q=0'],
  'zstd gzip identity': ['br;q=0, *'],
  'br identity': ['br;q=1.5'],
}

for (const [expected, values] of Object.entries(ACCEPTED)) {
  test(`Accept-Encoding accepts ${expected || 'nothing'}, best first`, () => {
    for (const value of values) {
      assert.equal(parseAcceptEncoding(value).join(' '), expected, value)
      assert.equal(parseAcceptEncoding(value), parseAcceptEncoding(value), 'it is parsed once')
    }
  })
}

const ALL: EncodedSizes = { br: 10, zstd: 20, gzip: 30 }

describe('a file with encodings', () => {
  const table = buildTable(['a.css', 'b.css', '404.html', 'c.zip', 'bare.js'], {
    encodings: new Map([
      [toStoredFile('a.css').hash!, ALL],
      [toStoredFile('b.css').hash!, { br: null, zstd: null, gzip: 30 }],
      [toStoredFile('404.html').hash!, ALL],
      // Another site has the same bytes as text.
      [toStoredFile('c.zip').hash!, ALL],
      [toStoredFile('bare.js').hash!, { br: null, zstd: null, gzip: null }],
    ]),
  })
  const tag = (path: string, encoding = '') =>
    header(getResponse(table, `/${path}`), 'etag')!.replace(/"$/, `${encoding && `-${encoding}`}"`)

  test('is sent in the best one that the client accepts, with an entity tag of its own', () => {
    const rows: [path: string, accepts: string | undefined, encoding: string | undefined][] = [
      ['a.css', undefined, undefined],
      ['a.css', 'br', 'br'],
      ['a.css', 'gzip, deflate, br, zstd', 'br'],
      ['a.css', 'gzip, zstd', 'zstd'],
      ['a.css', 'gzip', 'gzip'],
      ['a.css', 'identity;q=1, *;q=0', undefined],
      ['a.css', 'deflate', undefined],
      ['b.css', 'gzip, deflate, br, zstd', 'gzip'],
      ['b.css', 'br, *;q=0', undefined],
      ['bare.js', 'gzip, br', undefined],
      ['c.zip', 'gzip, br', undefined],
    ]
    for (const [path, accepts, encoding] of rows) {
      const answer = getResponse(table, `/${path}`, { 'accept-encoding': accepts })
      const vary = path === 'c.zip' ? undefined : 'Accept-Encoding'
      assert.equal(answer.content!.encoding, encoding)
      assert.deepEqual(
        ['content-encoding', 'etag', 'content-length', 'vary'].map((name) => header(answer, name)),
        [encoding, tag(path, encoding), `${answer.content!.size}`, vary],
        `${path} for ${accepts}`,
      )
    }
  })

  test('has Vary on every response', () => {
    const headers = { 'accept-encoding': 'br' }
    for (const [status, answer] of [
      [304, getResponse(table, '/a.css', { ...headers, 'if-none-match': tag('a.css', 'br') })],
      [206, getResponse(table, '/a.css', { ...headers, range: 'bytes=0-1' })],
      [404, getResponse(table, '/nowhere', headers)],
      [404, getResponse(table, '/nowhere')],
    ] as const)
      assert.deepEqual([answer.status, header(answer, 'vary')], [status, 'Accept-Encoding'])
  })

  test('is unmodified only with the same encoding', () => {
    const status = (accepts: string, etag: string) =>
      getResponse(table, '/a.css', { 'accept-encoding': accepts, 'if-none-match': etag }).status
    const [plain, br] = [tag('a.css'), tag('a.css', 'br')]
    assert.deepEqual([status('br', br), status('br', `W/${br}`), status('identity', plain)], [304, 304, 304])
    assert.deepEqual([status('br', plain), status('gzip', br), status('identity', br)], [200, 200, 200])
    assert.equal(status('br', `${plain}, ${br}`), 304)
  })

  test('sends ranges of the selected encoding only', () => {
    const part = getResponse(table, '/a.css', { 'accept-encoding': 'br', range: 'bytes=2-' })
    assert.equal(header(part, 'content-range'), 'bytes 2-9/10')
    assert.deepEqual([part.content!.encoding, part.content!.range], ['br', { start: 2, end: 9 }])
    const ifRange = (value: string) =>
      getResponse(table, '/a.css', { 'accept-encoding': 'br', range: 'bytes=2-', 'if-range': value }).status
    assert.equal(ifRange(tag('a.css', 'br')), 206)
    assert.equal(ifRange(tag('a.css')), 200)
    assert.equal(ifRange('Tue, 06 May 2031 07:08:09 GMT'), 200, 'a date is no strong validator')
    const beyond = (accepts: string | undefined) =>
      getResponse(table, '/a.css', { 'accept-encoding': accepts, range: 'bytes=10-' }).status
    assert.deepEqual([beyond('br'), beyond(undefined), beyond('gzip')], [416, 416, 206])
  })

  test('has its 404 page encoded, without caching headers', () => {
    const answer = getResponse(table, '/nowhere', { 'accept-encoding': 'br' })
    assert.deepEqual([answer.status, header(answer, 'content-encoding')], [404, 'br'])
    assert.equal(header(answer, 'etag'), undefined)
    assert.equal(header(answer, 'cache-control'), 'no-store')
  })
})

describe('encodings over HTTP', () => {
  const edge = EdgeFixture.shared()

  test('fall back to the unencoded file when one is lost', async () => {
    const site = await edge.publish({ 'b.txt': 'b' }, {}, { encoded: { 'b.txt': { br: 'x' } } })
    const { bytes } = edge.blobs
    const { object } = await edge.locate('b')
    edge.blobs.bytes = async (location) =>
      location.object === object ? bytes.call(edge.blobs, location) : undefined
    const reply = await edge.get(site, '/b.txt', { headers: { 'accept-encoding': 'br' } })
    edge.blobs.bytes = bytes
    assert.deepEqual([reply.status, reply.text, reply.headers['content-encoding']], [200, 'b', undefined])
  })

  test('prepared later are served from then on', async () => {
    const site = await edge.publish({ 'c.txt': 'published' })
    const get = () => edge.get(site, '/c.txt', { headers: { 'accept-encoding': 'gzip' } })
    const plain = await get()
    assert.equal(plain.headers['content-encoding'], undefined)
    await edge.encode(site, 'published', { gzip: 'encoded' })
    const later = await get()
    assert.deepEqual([later.text, later.headers['content-encoding']], ['encoded', 'gzip'])
  })
})
