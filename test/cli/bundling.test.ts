import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { nodeTransport } from '../../client/sdk/node-transport.ts'
import type { Progress, PublishFile, Send } from '../../client/sdk/slipway.ts'
import { fetchTransport } from '../../client/sdk/transport.ts'
import { startForEachTest } from '../support/each-test.ts'
import { file, forget, startClientFixture, stream } from './client-fixture.ts'
import { type Call, errorResponse, type Reply } from './fake-server.ts'
import { filesInTar } from './tar-files.ts'

const KIB = 2 ** 10
const MIB = 2 ** 20

/** A client of a fake server that accepts bundles. */
async function startBundlingClient(wishes: { send?: Send | undefined; tries?: number } = {}) {
  const fixture = await startClientFixture(wishes)
  fixture.server.bundleBytes = 32 * MIB
  return fixture
}

const fixture = startForEachTest(startBundlingClient)

const many = (count: number, size = 20): PublishFile[] =>
  Array.from({ length: count }, (_, number) => file(`${number}.txt`, `${number}`.padEnd(size, '.')))

/** Number of small files beside another one; only several files are sent as a bundle. */
const TOGETHER_OR_ALONE = { together: 3, alone: 0 }

const BUNDLE = /\/_upload\/[^/]+\/[^/]+\?/

/** Number of files of each bundle, in the order of the requests. */
async function bundled(calls: Call[]): Promise<number[]> {
  const tars = await Promise.all(
    calls.filter(({ path }) => BUNDLE.test(path)).map(({ body }) => filesInTar(body)),
  )
  return tars.map((files) => files.length)
}

for (const [name, send] of Object.entries({ node: undefined, fetch: fetchTransport })) {
  describe(`publishing many files over ${name}`, () => {
    it('uploads every byte in few requests, whatever the kind of contents', async () => {
      await using fixture = await startBundlingClient({ send })
      const large = randomBytes(400 * KIB)
      const small = randomBytes(100 * KIB)
      const files = [
        ...many(300),
        file('large.bin', large, () => stream(large)),
        file('stream.bin', small, () => stream(small, 1000)),
        file('blob.bin', small, () => new Blob([small])),
        file('block.bin', Buffer.alloc(512, 'b')),
        file(`${'long/'.repeat(60)}süß 日本.txt`, 'a long path'),
        file('n'.repeat(100), 'just fits'),
        file('n'.repeat(101), 'does not'),
      ]
      const { slug, uploaded, uploadedBytes } = await fixture.publish({ files })
      assert.equal(uploaded, files.length)
      assert.equal(
        uploadedBytes,
        files.reduce((sum, { size }) => sum + size, 0),
      )
      assert.equal(fixture.server.uploads.length, 3)
      const live = fixture.server.live(slug)
      assert.deepEqual(live.get('stream.bin'), small)
      assert.deepEqual(live.get('blob.bin'), small)
      assert.deepEqual(live.get('large.bin'), large)
      assert.equal(live.get('299.txt')!.toString(), '299'.padEnd(20, '.'))
      assert.equal(live.size, files.length)
    })
  })
}

describe('a bundle', () => {
  const cases: [sentence: string, files: PublishFile[], most: number, bundles: number[], alone: number][] = [
    ['is not used for one small file', many(1), MIB, [], 1],
    ['has two small files together', many(2), MIB, [2], 0],
    ['has at most 250 files', many(501), 32 * MIB, [250, 250], 1],
    ['has at most 2 MiB', many(20, 250 * KIB), 32 * MIB, [8, 8, 4], 0],
    ['has at most the bytes that the server accepts', many(10, 10 * KIB), 40 * KIB, [3, 3, 3], 1],
    ['has no file over 256 KiB', [...many(2, 256 * KIB), ...many(4, 257 * KIB).slice(2)], 32 * MIB, [2], 2],
    ['is not used where the server accepts none as large', many(3, 100 * KIB), 50 * KIB, [], 3],
  ]
  for (const [sentence, files, most, bundles, alone] of cases) {
    it(sentence, async () => {
      fixture.server.bundleBytes = most
      const { slug } = await fixture.publish({ files, concurrency: 1 })
      assert.equal(fixture.server.live(slug).size, files.length)
      assert.deepEqual((await bundled(fixture.server.calls)).sort(), bundles.toSorted())
      assert.equal(fixture.server.uploads.length, bundles.length + alone)
    })
  }

  it('is sent without the API key', async () => {
    await fixture.slipway.with({ key: fixture.server.key }).publish({ files: many(3) })
    assert.deepEqual(
      fixture.server.calls.map(({ key }) => key !== undefined),
      [true, false, true],
    )
  })

  it('excludes files that were uploaded before', async () => {
    const files = many(5)
    const { slug, claimToken, upload } = await fixture.slipway.create({
      files: files.map(({ open: _, ...entry }) => entry),
    })
    await fixture.slipway.upload(upload.uploads[2]!, Buffer.from('2'.padEnd(20, '.')))
    const published = await fixture.publish({ files, slug, claimToken, pendingVersionId: upload.versionId })
    assert.equal(published.uploaded, 4)
    assert.deepEqual(await bundled(fixture.server.calls), [4])
  })
})

describe('a failed bundle', () => {
  it('is sent again after a pause, halved after each failure', async () => {
    const replies: Reply[] = ['cut', errorResponse(503, 'UNAVAILABLE'), 'cut']
    fixture.server.reply(BUNDLE, () => replies.shift())
    const { slug } = await fixture.publish({ files: many(40) })
    assert.equal(fixture.server.live(slug).size, 40)
    assert.deepEqual(fixture.pauses, [500, 1000, 2000])
    assert.deepEqual(await bundled(fixture.server.calls), [40, 20, 10, 5, 5, 5, 5, 5, 5, 5, 5])
  })

  it('is given up after six attempts', async () => {
    fixture.server.reply(/_upload/, 'cut')
    await assert.rejects(fixture.publish({ files: many(10) }), { code: 'NETWORK' })
    assert.deepEqual(fixture.pauses, [500, 1000, 2000, 4000, 8000])
    assert.deepEqual(await bundled(fixture.server.calls), [10, 5, 3, 2, 1, 1])
  })

  for (const [how, count] of Object.entries(TOGETHER_OR_ALONE)) {
    it(`is not sent again when its bytes are refused, sent ${how}`, async () => {
      const files = [...many(count), { ...file('lying', 'one'), hash: '0'.repeat(64) }]
      await assert.rejects(fixture.publish({ files }), { code: 'HASH_MISMATCH', status: 400 })
      assert.equal(fixture.server.uploads.length, 1)
      assert.deepEqual(fixture.pauses, [])
    })
  }

  it('is replaced by single uploads where a proxy refuses a body of that size', async () => {
    const tooLarge = '<h1>413 Request Entity Too Large</h1>'
    fixture.server.reply(BUNDLE, [413, tooLarge, { 'Content-Type': 'text/html' }])
    const { slug } = await fixture.publish({ files: many(6) })
    assert.equal(fixture.server.live(slug).size, 6)
    assert.equal(fixture.server.uploads.length, 7)
    assert.deepEqual(fixture.pauses, [])
  })

  it('counts once in the progress', async () => {
    fixture.server.reply(BUNDLE, 'cut', 2)
    const seen: Progress[] = []
    await fixture.publish({ files: many(8, 100), onProgress: (progress) => seen.push(progress) })
    assert.deepEqual(seen.at(-1), { files: 8, filesDone: 8, bytes: 800, bytesDone: 800 })
    assert.ok(seen.every(({ bytesDone }) => bytesDone <= 800))
  })
})

describe('the progress', () => {
  it('includes bytes in flight where the transport reports them, and subtracts those of failed requests', async () => {
    await using plain = await startClientFixture()
    const transport = nodeTransport()
    let broken = false
    const telling: Send = async (request) => {
      const { size = 0 } = request
      if (!request.url.includes('/_upload/')) return transport.send(request)
      for (const part of [0.25, 0.5, 1]) request.onSent?.(Math.floor(size * part))
      if (broken) return transport.send(request)
      broken = true
      throw new TypeError('Failed to fetch')
    }
    const slipway = plain.slipway.with({ send: telling })
    for (const bundleBytes of [MIB, undefined]) {
      broken = false
      plain.server.bundleBytes = bundleBytes
      const seen: number[] = []
      await slipway.publish({
        files: many(2, 1000),
        concurrency: 1,
        onProgress: ({ bytesDone }) => seen.push(bytesDone),
      })
      assert.deepEqual(seen.slice(0, 4), bundleBytes ? [500, 1000, 2000, 0] : [250, 500, 1000, 0])
      assert.deepEqual([seen.at(-1), Math.max(...seen)], [2000, 2000])
    }
    transport.close()
  })
})

describe('the upload URL of bundles', () => {
  const cases = { 'is renewed': true, 'is given up': false }
  for (const [sentence, offered] of Object.entries(cases)) {
    it(`${sentence} when the server calls it expired and offers ${offered ? 'another' : 'none'}`, async () => {
      fixture.server.reply(BUNDLE, ({ path }) => {
        if (!path.endsWith('token=t1')) return undefined
        if (!offered) fixture.server.bundleBytes = undefined
        return errorResponse(410, 'UPLOAD_EXPIRED')
      })
      const { slug } = await fixture.publish({ files: many(600) })
      assert.equal(fixture.server.live(slug).size, 600)
      assert.equal(fixture.server.log.filter((line) => line.endsWith('/uploads/refresh')).length, 1)
      assert.equal(fixture.server.uploads.length, offered ? 6 : 603)
    })
  }

  it('is renewed before it expires, and files that were uploaded by then are not sent again', async () => {
    fixture.server.reply(/_upload/, () => {
      fixture.clock.now += 3_580_000
      return undefined
    })
    const { slug } = await fixture.publish({ files: many(501), concurrency: 1 })
    assert.equal(fixture.server.live(slug).size, 501)
    assert.equal(fixture.server.log[2], 'POST /api/v1/publish/site-1/uploads/refresh')
    assert.deepEqual(await bundled(fixture.server.calls), [250, 250])
  })

  it('is used again for files that finalize reports as missing', async () => {
    fixture.server.reply(/finalize$/, () => forget(fixture.server, '1.txt', '3.txt', '5.txt'), 1)
    const { slug } = await fixture.publish({ files: many(10) })
    assert.equal(fixture.server.live(slug).size, 10)
    assert.deepEqual(await bundled(fixture.server.calls), [10, 3])
  })
})

describe('a file that changes during a bundle', () => {
  const cases: Record<string, PublishFile['open']> = {
    shorter: () => Buffer.from('on'),
    'shorter as a stream': () => stream(Buffer.from('on')),
    'longer as a stream': () => stream(Buffer.from('one and more')),
    'longer as a Blob': () => new Blob(['one and more']),
  }
  for (const [how, open] of Object.entries(cases)) {
    it(`is named when it became ${how}`, async () => {
      const failed = fixture.publish({ files: [...many(3), file('a', 'one', open)] })
      await assert.rejects(failed, { code: 'FILE_CHANGED', details: { path: 'a' } })
      assert.deepEqual([fixture.server.uploads, fixture.pauses], [[], []])
    })
  }

  for (const [how, count] of Object.entries(TOGETHER_OR_ALONE)) {
    it(`is named when a browser cannot read it any more, sent ${how}`, async () => {
      const failing: Send = async (request) => {
        if (request.url.includes('/_upload/')) throw new TypeError('Failed to fetch')
        return nodeTransport().send(request)
      }
      const deleted = file('deleted', 'one', () => new DeletedFile(['one']))
      const failed = fixture.slipway.with({ send: failing }).publish({ files: [...many(count), deleted] })
      await assert.rejects(failed, { code: 'FILE_CHANGED', details: { path: 'deleted' } })
      assert.deepEqual(fixture.pauses, [])
    })
  }

  for (const [how, count] of Object.entries(TOGETHER_OR_ALONE)) {
    it(`and an unreadable one keeps its own error, sent ${how}`, async () => {
      const unreadable = file('a', 'one', () => {
        throw Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' })
      })
      await assert.rejects(fixture.publish({ files: [...many(count), unreadable] }), { code: 'EACCES' })
    })
  }
})

/** A browser's file that was changed or deleted on the disk. */
class DeletedFile extends Blob {
  override slice(): Blob {
    return this
  }

  override arrayBuffer(): Promise<ArrayBuffer> {
    return Promise.reject(new DOMException('The requested file could not be read', 'NotReadableError'))
  }
}

describe('a publish with unlimited retries', () => {
  for (const bundleBytes of [MIB, undefined]) {
    it(`continues after a long network failure, ${bundleBytes ? 'with bundles' : 'without'}`, async () => {
      await using fixture = await startClientFixture({ tries: Number.POSITIVE_INFINITY })
      fixture.server.bundleBytes = bundleBytes
      fixture.server.reply(/_upload/, 'cut', 100)
      const { slug } = await fixture.publish({ files: many(2), concurrency: 1 })
      assert.equal(fixture.server.live(slug).size, 2)
      assert.equal(fixture.pauses.length, 100)
      assert.equal(Math.max(...fixture.pauses), 8000)
    })
  }

  it('gives up at the sixth server error', async () => {
    await using fixture = await startClientFixture({ tries: Number.POSITIVE_INFINITY })
    let count = 0
    fixture.server.reply(/_upload/, () => (count++ % 2 === 0 ? errorResponse(500, 'INTERNAL') : 'cut'), 20)
    await assert.rejects(fixture.publish({ files: many(1) }), { code: 'INTERNAL' })
    assert.equal(fixture.server.uploads.length, 11)
  })

  it('does not retry requests to the API more often than any other', async () => {
    await using fixture = await startClientFixture({ tries: Number.POSITIVE_INFINITY })
    fixture.server.reply(/\/finalize$/, errorResponse(503, 'UNAVAILABLE'))
    await assert.rejects(fixture.publish({ files: many(2) }), { code: 'UNAVAILABLE' })
    assert.equal(fixture.server.log.filter((line) => line.endsWith('/finalize')).length, 6)
  })
})
