import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { ArchiveResponse } from '../../protocol/api/publish.schema.ts'
import { BlobReader } from '../../server/blobs/blob-reader.ts'
import { findContentCodings } from '../../server/publish/content-codings.ts'
import type { ManifestFile } from '../../server/store/tables/versions.ts'
import { toEntry } from '../api/content.ts'
import { parseHeaders } from '../support/parse-rules.ts'
import { pluck } from '../support/pluck.ts'
import { issuer, type Reply, SecureService } from '../tls/secure-service.ts'

// Files whose published bytes have a content coding, as `_headers` says (RFC 9110, 8.4 and 12.5.3).

const SCRIPT = 'document.title = "started"\n'
/** More than the service holds in memory, and than a connection takes at a time. */
const DATA = Buffer.concat(
  [randomBytes(700_000).toString('hex'), 'x'.repeat(600_000)].map((part) => Buffer.from(part)),
)
const GZIP = gzipSync(DATA)
const BROTLI = brotliCompressSync(DATA, { params: { [constants.BROTLI_PARAM_QUALITY]: 3 } })

const SITE = {
  'index.html': '<script src="Build/game.framework.js.gz"></script>',
  'Build/game.framework.js.gz': gzipSync(SCRIPT),
  'Build/game.data.gz': GZIP,
  'Build/game.data.br': BROTLI,
  'Build/game.wasm.br': brotliCompressSync('\0asm'),
  'Build/empty.txt.gz': gzipSync(''),
  'Build/members.txt.gz': Buffer.concat([gzipSync('one '), gzipSync('two')]),
  'Build/not.js.gz': SCRIPT,
  'Build/cut.js.gz': gzipSync(DATA).subarray(0, 1000),
  'download/game.tar.gz': gzipSync('a tar'),
  _headers: `
/Build/*.gz
  Content-Encoding: gzip
/Build/*.framework.js.gz
  Content-Type: text/javascript
/Build/*.br
  content-encoding: BR
/download/*.gz
  Content-Encoding: gzip
/download/game.tar.gz
  ! Content-Encoding
`,
}

const HOST = 'game.example.test'

let service: SecureService
let published: ArchiveResponse
before(async () => {
  service = await SecureService.start()
  published = (await service.publish(SITE)) as ArchiveResponse
  await service.addSecureDomain(HOST, published.slug)
})
after(() => service[Symbol.asyncDispose]())

type Send = (path: string, headers?: Record<string, string>, method?: string) => Promise<Reply>

const PROTOCOLS: Record<string, Send> = {
  'HTTP/1.1': (path, headers = {}, method = 'GET') => service.secure(HOST, path, { headers, method }),
  'HTTP/2': async (path, headers = {}, method = 'GET') => {
    const client = connectHttp2(`https://127.0.0.1:${service.port}`, { ca: issuer.root, servername: HOST })
    try {
      const stream = client.request({ ':method': method, ':path': path, ':authority': HOST, ...headers })
      const [received] = await once(stream, 'response')
      return { status: Number(received[':status']), headers: received, body: await buffer(stream) }
    } finally {
      client.close()
    }
  },
}

for (const [protocol, send] of Object.entries(PROTOCOLS)) {
  describe(`a file whose bytes have the content coding of its rule, over ${protocol}`, () => {
    const rows: [path: string, coding: 'gzip' | 'br', type: string, content: string | Buffer][] = [
      ['/Build/game.framework.js.gz', 'gzip', 'text/javascript', SCRIPT],
      ['/Build/game.data.gz', 'gzip', 'application/octet-stream', DATA],
      ['/Build/game.data.br', 'br', 'application/octet-stream', DATA],
      ['/Build/game.wasm.br', 'br', 'application/wasm', '\0asm'],
      ['/Build/empty.txt.gz', 'gzip', 'text/plain; charset=utf-8', ''],
      ['/Build/members.txt.gz', 'gzip', 'text/plain; charset=utf-8', 'one two'],
    ]
    for (const [path, coding, type, content] of rows) {
      test(`${path} is sent as it is to a client that accepts ${coding}, and decoded to others`, async () => {
        const stored = Buffer.from(SITE[path.slice(1) as keyof typeof SITE])
        const other = coding === 'gzip' ? 'br' : 'gzip'
        const cases: [accepts: string | undefined, isDecoded: boolean][] = [
          ['gzip, deflate, br, zstd', false],
          [`${coding};q=0.2, *;q=0.1`, false],
          [other, true],
          [`${coding};q=0`, true],
          [`${coding};q=0.5, identity`, true],
          ['identity', true],
          [undefined, true],
        ]
        const tags = new Map<boolean, string>()
        for (const [accepts, isDecoded] of cases) {
          const headers = { ...(accepts !== undefined && { 'accept-encoding': accepts }) }
          const answer = await send(path, headers)
          const bytes = isDecoded ? Buffer.from(content) : stored
          assert.ok(answer.body.equals(bytes), `${accepts}: ${answer.body.length} bytes`)
          const found = ['content-encoding', 'content-type', 'content-length', 'vary', 'accept-ranges']
          assert.deepEqual(
            [answer.status, ...found.map((name) => answer.headers[name])],
            [
              200,
              isDecoded ? undefined : coding,
              type,
              `${bytes.length}`,
              'Accept-Encoding',
              isDecoded ? undefined : 'bytes',
            ],
            `${accepts}`,
          )
          const tag = answer.headers.etag!
          assert.equal(tags.get(isDecoded) ?? tag, tag, `${accepts}`)
          tags.set(isDecoded, tag)
        }
        assert.notEqual(tags.get(true), tags.get(false))
        for (const [isDecoded, tag] of tags) {
          const headers = { 'accept-encoding': isDecoded ? 'identity' : coding }
          const length = isDecoded ? Buffer.byteLength(content) : stored.length
          const head = await send(path, headers, 'HEAD')
          assert.deepEqual(
            [head.headers['content-length'], head.headers.etag, head.body.length],
            [`${length}`, tag, 0],
          )
          const same = await send(path, { ...headers, 'if-none-match': tag })
          assert.deepEqual([same.status, same.headers.etag, same.headers.vary], [304, tag, 'Accept-Encoding'])
          const part = await send(path, { ...headers, range: 'bytes=1-3' })
          assert.equal(part.status, isDecoded ? 200 : 206)
        }
      })
    }

    test('has ranges of the bytes as they are, and not by its date', async () => {
      const headers = { 'accept-encoding': 'gzip', range: 'bytes=100000-299999' }
      const answer = await send('/Build/game.data.gz', headers)
      assert.equal(answer.headers['content-range'], `bytes 100000-299999/${GZIP.length}`)
      assert.ok(answer.body.equals(GZIP.subarray(100_000, 300_000)))
      const dated = await send('/Build/game.data.gz', {
        ...headers,
        'if-range': answer.headers['last-modified']!,
      })
      assert.equal(dated.status, 200)
    })

    test('is sent without a coding where the bytes are not that, and where a later rule removes it', async () => {
      for (const path of ['/Build/not.js.gz', '/Build/cut.js.gz', '/download/game.tar.gz']) {
        const answer = await send(path, { 'accept-encoding': 'gzip, br' })
        assert.equal(answer.headers['content-encoding'], undefined, path)
        assert.ok(answer.body.equals(Buffer.from(SITE[path.slice(1) as keyof typeof SITE])), path)
      }
    })
  })
}

describe('a publish with Content-Encoding in its _headers', () => {
  const warningsFor = async (files: Record<string, string | Buffer>) =>
    ((await service.publish({ 'index.html': '-', ...files })) as ArchiveResponse).warnings

  test('warns of files whose bytes are not that, once for each rule', () => {
    assert.deepEqual(published.warnings, [
      {
        file: '_headers',
        line: 2,
        message: 'Content-Encoding is not sent for Build/not.js.gz and 1 other file: the bytes are not gzip',
      },
    ])
  })

  test('warns of other codings, and of a rule for one host', async () => {
    const warnings = await warningsFor({
      _headers: '/a\n  Content-Encoding: zstd\nhttps://a.test/*\n  Content-Encoding: gzip\n',
    })
    assert.deepEqual(
      warnings?.map(({ line, message }) => [line, message]),
      [
        [2, 'Content-Encoding must be gzip or br, for files whose bytes are that'],
        [4, 'Content-Encoding cannot depend on the host: name a path only'],
      ],
    )
  })

  test('decodes no more than its limit in all, each content once, and nothing that the version before had', async () => {
    const { rules } = parseHeaders('/*\n  Content-Encoding: gzip\n')
    let pieces = 0
    const bodies: Record<string, () => Iterable<Buffer>> = {
      small: () => [gzipSync('a'.repeat(300))],
      damaged: () => [gzipSync(randomBytes(300)).subarray(0, -8)],
      *large() {
        for (let piece = 0; piece < 100; piece++, pieces++) yield gzipSync(randomBytes(60_000))
      },
    }
    const read: string[] = []
    const reader = new BlobReader(
      {
        bytes: async () => undefined,
        read: async ({ hash }) => {
          read.push(hash)
          return Readable.from(bodies[hash]!())
        },
      },
      { find: async (hash) => ({ hash, size: 1, object: hash, offset: 0, piecesHash: null }) },
    )
    const sizes: Record<string, number> = { small: 1, damaged: 2, large: 3, larger: 4 }
    const toFiles = (hashes: string[]): ManifestFile[] =>
      hashes.map((hash, index) => ({ ...toEntry(`${index}`, ''), hash, size: sizes[hash]! }))
    const find = (hashes: string[], present: ManifestFile[]) =>
      findContentCodings({ reader, publisher: 'account' }, toFiles(hashes), {
        rules,
        present: async () => present,
        maxDecodedBytes: 1000,
      })
    const first = await find(['large', 'damaged', 'damaged', 'small', 'large', 'small'], [])
    const coded = { coding: 'gzip', decodedSize: 300 } as const
    const none = undefined
    assert.deepEqual(pluck(first.files, 'coded'), [none, none, none, coded, none, coded])
    const message =
      'Content-Encoding is not sent for 0 and 3 other files: with the smaller files, the bytes decode to more than 1 kB'
    assert.deepEqual(first.warnings, [{ file: '_headers', line: 1, message }])
    await find(['larger', 'large', 'small'], first.files)
    assert.deepEqual(read, ['small', 'damaged', 'large', 'large'])
    assert.ok(pieces < 100, `${pieces} pieces were read`)
  })
})
