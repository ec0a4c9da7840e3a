import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { before, describe, test } from 'node:test'
import {
  brotliCompressSync,
  brotliDecompressSync,
  gunzipSync,
  gzipSync,
  zstdCompressSync,
  zstdDecompressSync,
} from 'node:zlib'
import { parseAcceptEncoding } from '../../server/edge/respond/negotiation.ts'
import type { Sizes } from '../../server/edge/respond/served-file.ts'
import { EdgeFixture } from './fixture.ts'
import { buildTable, getResponse, header, toStoredFile } from './responses.ts'

interface Case {
  id: string
  accept_encoding: string | null
  available?: string[]
  method?: 'encoding' | 'encodings'
  preferred?: string[]
  result: string | null | string[]
}

const { cases, generated } = JSON.parse(
  readFileSync(new URL('../cases/http-accept-encoding.json', import.meta.url), 'utf8'),
) as { cases: Case[]; generated: Case[] }

/** Deliberate differences from that library. */
const OTHERWISE: Record<string, string[]> = {
  // RFC 9110, 8.4.1.3: it is another name of gzip.
  'aeg-061': ['gzip', 'identity'],
  'aeg-062': ['gzip', 'identity'],
}

const OURS = ['br', 'zstd', 'gzip', 'identity']

/** The available and accepted encodings, best first. */
function chosen(header: string | null, available: readonly string[]): string[] {
  const codings = header === null ? ['identity'] : parseAcceptEncoding(header)
  return codings.filter((coding) => available.includes(coding))
}

describe('Accept-Encoding, cases of another implementation', () => {
  for (const { id, accept_encoding: given, available = OURS, result } of generated) {
    test(`${id}: ${JSON.stringify(given)} of ${available}`, () => {
      assert.deepEqual(chosen(given, available), OTHERWISE[id] ?? result)
    })
  }

  for (const { id, accept_encoding: given, available, result } of cases.filter(isAboutOurs)) {
    test(`${id}: ${JSON.stringify(given)} of ${available}`, () => {
      const found = chosen(given, available!)
      assert.deepEqual(Array.isArray(result) ? found : (found[0] ?? null), result)
    })
  }
})

/** Without unsupported encodings, and without servers that prefer others. */
function isAboutOurs({ available, preferred }: Case): boolean {
  return available !== undefined && preferred === undefined && available.every((name) => OURS.includes(name))
}

describe('the encodings that a client accepts, best first', () => {
  const rows: [string, string][] = [
    ['gzip, deflate, br, zstd', 'br zstd gzip identity'],
    ['gzip, deflate, br', 'br gzip identity'],
    ['gzip, deflate', 'gzip identity'],
    ['zstd', 'zstd identity'],
    ['', 'identity'],
    ['*', 'br zstd gzip identity'],
    ['identity', 'identity'],
    ['BR;Q=0.5 , GZIP', 'gzip br identity'],
    ['br;q=0.5, gzip;q=0.8, zstd;q=0.1', 'gzip br zstd identity'],
    ['gzip;q=0.5, identity', 'identity gzip'],
    ['gzip;q=0.5, identity;q=0.5', 'gzip identity'],
    ['gzip, identity;q=0', 'gzip'],
    ['identity;q=0', ''],
    ['*;q=0', ''],
    ['br, *;q=0', 'br'],
    ['br;q=0, *', 'zstd gzip identity'],
    ['*;q=0.5, gzip', 'gzip br zstd identity'],
    ['x-gzip', 'gzip identity'],
    ['br;q=0', 'identity'],
    ['br;q=0.000, gzip;q=0.001', 'gzip identity'],
    ['br;q=1.5', 'br identity'],
    ['br;q=', 'identity'],
    ['br;q=x, gzip', 'gzip identity'],
    ['br;q=-1', 'identity'],
    ['br;level=4;q=0.2, gzip;q=0.4', 'gzip br identity'],
    ['br ; q=0.2,gzip;q=0.4', 'gzip br identity'],
    [',,gzip,,', 'gzip identity'],
    ['deflate, compress, dcb', 'identity'],
    ['brotli', 'identity'],
    ['gzip;q=0, gzip', 'gzip identity'],
    ['constructor, __proto__', 'identity'],
  ]
  for (const [header, expected] of rows) {
    test(`${JSON.stringify(header)}: ${expected || 'nothing'}`, () => {
      assert.equal(parseAcceptEncoding(header).join(' '), expected)
      assert.equal(parseAcceptEncoding(header), parseAcceptEncoding(header), 'it is parsed once')
    })
  }

  test('are cached for a limited number of header values', () => {
    const first = parseAcceptEncoding('gzip;q=0.123')
    for (let other = 0; other < 1000; other++) parseAcceptEncoding(`gzip;q=0.5, x${other}`)
    assert.notEqual(parseAcceptEncoding('gzip;q=0.123'), first)
    assert.notEqual(
      parseAcceptEncoding(`gzip, ${'x'.repeat(300)}`),
      parseAcceptEncoding(`gzip, ${'x'.repeat(300)}`),
    )
  })
})

const ALL: Sizes = { br: 10, zstd: 20, gzip: 30 }

describe('a file with encodings', () => {
  const table = buildTable(['a.css', 'b.css', '404.html', 'c.png', 'bare.js'], {
    encodings: new Map([
      [toStoredFile('a.css').hash!, ALL],
      [toStoredFile('b.css').hash!, { br: null, zstd: null, gzip: 30 }],
      [toStoredFile('404.html').hash!, ALL],
      [toStoredFile('bare.js').hash!, { br: null, zstd: null, gzip: null }],
    ]),
  })
  const tag = (path: string) => toStoredFile(path).hash!.slice(0, 32)
  const rows: [string, string | undefined, string | undefined, string][] = [
    ['/a.css', undefined, undefined, `"${tag('a.css')}"`],
    ['/a.css', 'br', 'br', `"${tag('a.css')}-br"`],
    ['/a.css', 'gzip, deflate, br, zstd', 'br', `"${tag('a.css')}-br"`],
    ['/a.css', 'gzip, zstd', 'zstd', `"${tag('a.css')}-zstd"`],
    ['/a.css', 'gzip', 'gzip', `"${tag('a.css')}-gzip"`],
    ['/a.css', 'identity', undefined, `"${tag('a.css')}"`],
    ['/a.css', 'identity;q=1, *;q=0', undefined, `"${tag('a.css')}"`],
    ['/a.css', 'deflate', undefined, `"${tag('a.css')}"`],
    ['/b.css', 'gzip, deflate, br, zstd', 'gzip', `"${tag('b.css')}-gzip"`],
    ['/b.css', 'br', undefined, `"${tag('b.css')}"`],
    ['/b.css', 'br, *;q=0', undefined, `"${tag('b.css')}"`],
    ['/bare.js', 'gzip, br', undefined, `"${tag('bare.js')}"`],
    ['/c.png', 'gzip, br', undefined, `"${tag('c.png')}"`],
  ]
  for (const [path, accepts, encoding, etag] of rows) {
    test(`${path} for ${accepts ?? 'no Accept-Encoding'} is sent ${encoding ?? 'unencoded'}`, () => {
      const answer = getResponse(table, path, { 'accept-encoding': accepts })
      assert.equal(header(answer, 'content-encoding'), encoding)
      assert.equal(answer.content!.encoding, encoding)
      assert.equal(header(answer, 'etag'), etag)
      assert.equal(header(answer, 'content-length'), `${answer.content!.size}`)
      assert.equal(header(answer, 'vary'), path === '/c.png' ? undefined : 'Accept-Encoding')
    })
  }

  test('has Vary on every response', () => {
    const headers = { 'accept-encoding': 'br' }
    const etag = `"${tag('a.css')}-br"`
    const answers = [
      getResponse(table, '/a.css', { ...headers, 'if-none-match': etag }),
      getResponse(table, '/a.css', { ...headers, range: 'bytes=0-1' }),
      getResponse(table, '/nowhere', headers),
      getResponse(table, '/nowhere'),
    ]
    assert.deepEqual(
      answers.map((answer) => answer.status),
      [304, 206, 404, 404],
    )
    for (const answer of answers) assert.equal(header(answer, 'vary'), 'Accept-Encoding')
  })

  test('is unmodified only with the same encoding', () => {
    const status = (accepts: string, etag: string) =>
      getResponse(table, '/a.css', { 'accept-encoding': accepts, 'if-none-match': etag }).status
    const [plain, br] = [`"${tag('a.css')}"`, `"${tag('a.css')}-br"`]
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
    assert.equal(ifRange(`"${tag('a.css')}-br"`), 206)
    assert.equal(ifRange(`"${tag('a.css')}"`), 200)
    assert.equal(ifRange('Tue, 06 May 2031 07:08:09 GMT'), 200, 'the date is also that of the unencoded file')
    assert.equal(getResponse(table, '/a.css', { 'accept-encoding': 'br', range: 'bytes=10-' }).status, 416)
    assert.equal(getResponse(table, '/a.css', { range: 'bytes=10-' }).status, 416)
    assert.equal(getResponse(table, '/b.css', { 'accept-encoding': 'gzip', range: 'bytes=29-' }).status, 206)
  })

  test('has its 404 page encoded, without caching headers', () => {
    const answer = getResponse(table, '/nowhere', { 'accept-encoding': 'br' })
    assert.deepEqual([answer.status, header(answer, 'content-encoding')], [404, 'br'])
    assert.equal(header(answer, 'etag'), undefined)
    assert.equal(header(answer, 'cache-control'), 'no-store')
  })
})

describe('encodings over HTTP', () => {
  const text = 'A sentence that compresses well when repeated. '.repeat(500)
  const body = Buffer.from(text)
  const encoded = { br: brotliCompressSync(body), zstd: zstdCompressSync(body), gzip: gzipSync(body) }
  const decode = { br: brotliDecompressSync, zstd: zstdDecompressSync, gzip: gunzipSync }
  const edge = EdgeFixture.shared()
  let slug: string
  before(async () => {
    slug = await edge.publish({ 'a.txt': text }, {}, { encoded: { 'a.txt': encoded } })
  })

  for (const encoding of ['br', 'zstd', 'gzip'] as const) {
    test(`${encoding} decodes to the published bytes`, async () => {
      const reply = await edge.get(slug, '/a.txt', { headers: { 'accept-encoding': encoding } })
      assert.equal(reply.headers['content-encoding'], encoding)
      assert.equal(decode[encoding](reply.body).toString(), text)
    })
  }

  test('a lost encoding falls back to the unencoded file', async () => {
    const site = await edge.publish({ 'b.txt': 'b' }, {}, { encoded: { 'b.txt': { br: 'x' } } })
    const { bytes } = edge.blobs
    edge.blobs.bytes = async (hash, encoding) => (encoding ? undefined : bytes.call(edge.blobs, hash))
    const reply = await edge.get(site, '/b.txt', { headers: { 'accept-encoding': 'br' } })
    edge.blobs.bytes = bytes
    assert.deepEqual([reply.status, reply.text, reply.headers['content-encoding']], [200, 'b', undefined])
  })

  test('encodings prepared later are served from then on', async () => {
    const site = await edge.publish({ 'c.txt': text.slice(1) })
    const get = () => edge.get(site, '/c.txt', { headers: { 'accept-encoding': 'gzip' } })
    const plain = await get()
    assert.equal(plain.headers['content-encoding'], undefined)
    assert.equal(plain.headers.vary, 'Accept-Encoding')
    await edge.encode(site, text.slice(1), { gzip: gzipSync(text.slice(1)) })
    const later = await get()
    assert.equal(later.headers['content-encoding'], 'gzip')
    assert.notEqual(later.headers.etag, plain.headers.etag)
  })
})
