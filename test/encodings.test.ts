import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { ENCODINGS, type Encoding } from '../server/encoding.ts'
import { Api } from './api/api.ts'
import { type Contents, sha256 } from './api/content.ts'
import { bytesOf } from './blobs/bytes.ts'

const decoded: Record<Encoding, (bytes: Buffer) => Buffer> = {
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
  gzip: gunzipSync,
}

/** Text that shrinks, different for every name. */
function textOf(name: string, size: number): string {
  const words = bytesOf(name, 64).toString('hex')
  return `${name} ${words} `.repeat(size).slice(0, size)
}

/** Starts a service whose background work a test can wait for. */
async function start(t: TestContext) {
  const api = await Api.start()
  t.after(() => api[Symbol.asyncDispose]())
  const house = await api.inside()
  const { encodings } = api.running.service
  return {
    api,
    house,
    encodings,
    async publish(contents: Contents) {
      const published = await api.publish(api.anonymous, contents)
      await encodings.idle()
      return published
    },
    /** The names of files beside a blob. */
    async beside(content: string | Buffer): Promise<string[]> {
      const hash = sha256(content)
      const names = await readdir(join(api.data, 'blobs', hash.slice(0, 2)))
      return names.filter((name) => name.startsWith(`${hash}.`)).sort()
    },
  }
}

test('soon after a publish every file that shrinks has encodings of just its bytes', async (t) => {
  const { house, publish } = await start(t)
  const contents: Contents = {
    'index.html': textOf('page', 5000),
    'style.css': textOf('style', 300),
    'app.js': textOf('script', 700_000),
    'data.json': textOf('data', 20_000),
    'drawing.svg': textOf('drawing', 2000),
  }
  const { slug, versionId } = await publish(contents)
  const rows = new Map((await house.store.read.encodings.ofSite(slug)).map((row) => [row.hash, row]))
  for (const [path, content] of Object.entries(contents)) {
    for (const encoding of ENCODINGS) {
      const bytes = await house.blobs.bytes(sha256(content), encoding)
      assert.ok(bytes && bytes.length < content.length, `${path} is smaller as ${encoding}`)
      assert.ok(decoded[encoding](bytes).equals(Buffer.from(content)), `${path} is itself as ${encoding}`)
      assert.equal(rows.get(sha256(content))?.[encoding], bytes.length)
    }
  }
  assert.equal((await house.store.read.versions.head(versionId))?.encoded, 1)
})
