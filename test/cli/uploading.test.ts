import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { beforeEach, describe, it } from 'node:test'
import { askLimits } from '../../client/sdk/limits.ts'
import { nodeTransport } from '../../client/sdk/node-transport.ts'
import type { Progress, PublishFile, Send } from '../../client/sdk/slipway.ts'
import { fetchTransport } from '../../client/sdk/transport.ts'
import { sha256 } from '../api/content.ts'
import { pluck } from '../support/pluck.ts'
import { startForEachTest } from '../support/started-fixture.ts'
import { KIB, MIB } from '../support/units.ts'
import { file, forget, startClientFixture, stream } from './client-fixture.ts'
import { type Call, errorResponse, filesInTar, type Reply } from './fake-server.ts'

const ONE = [file('a', 'one')]
const EXPIRED = errorResponse(410, 'UPLOAD_EXPIRED')
const BUNDLE = /\/_upload\/[^/]+\/[^/]+\?/

const many = (count: number, size = 20): PublishFile[] =>
  Array.from({ length: count }, (_, number) => file(`${number}.txt`, `${number}`.padEnd(size, '.')))

/** Number of small files beside another one; only several files are sent as a bundle. */
const TOGETHER_OR_ALONE = { together: 9, alone: 0 }

/** The largest bundle that the server accepts. */
const BUNDLED_OR_NOT = { 'in bundles': 32 * MIB, 'one by one': undefined }

/** Number of files of each bundle, in the order of the requests. */
async function bundled(calls: Call[]): Promise<number[]> {
  const tars = await Promise.all(
    calls.filter(({ path }) => BUNDLE.test(path)).map(({ body }) => filesInTar(body)),
  )
  return tars.map((files) => files.length)
}

for (const [name, send] of Object.entries({ node: undefined, fetch: fetchTransport })) {
  describe(`publishing over ${name}`, () => {
    const fixture = startForEachTest(() => startClientFixture({ send }))

    for (const [how, bundleBytes] of Object.entries(BUNDLED_OR_NOT)) {
      it(`uploads every byte ${how}, whatever the kind of contents`, async () => {
        fixture.server.bundleBytes = bundleBytes
        const [large, small] = [randomBytes(400 * KIB), randomBytes(100 * KIB)]
        const files = [
          ...many(20),
          file('large.bin', large, () => stream(large)),
          file('large-blob.bin', large, () => new Blob([large])),
          file('stream.bin', small, () => stream(small, 1000)),
          file('blob.bin', small, () => new Blob([small])),
          file('block.bin', Buffer.alloc(512, 'b')),
          file(`${'long/'.repeat(60)}süß 日本.txt`, 'a long path'),
          file('n'.repeat(100), 'just fits'),
          file('n'.repeat(101), 'does not'),
        ]
        const { slug, siteUrl, uploaded, uploadedBytes, claimToken } = await fixture.publish({ files })
        const bytes = files.reduce((sum, { size }) => sum + size, 0)
        assert.deepEqual([uploaded, uploadedBytes], [files.length, bytes])
        assert.equal(siteUrl, `http://${slug}.sites.test/`)
        assert.match(claimToken!, /^[0-9a-f-]{36}$/)
        assert.equal(fixture.server.uploads.length, bundleBytes ? 3 : files.length)
        const live = fixture.server.live(slug)
        for (const { path, hash } of files) assert.equal(sha256(live.get(path)!), hash, path)
      })
    }

    it('has a readable error when nothing responds', async () => {
      const { url } = fixture.server
      await fixture.server[Symbol.asyncDispose]()
      const message = `Can't reach ${url} (connection refused)`
      await assert.rejects(fixture.slipway.me(), { code: 'NETWORK', status: 0, message })
    })

    it('does not follow redirects', async () => {
      fixture.server.reply(/./, [308, {}, { Location: 'https://elsewhere.test/' }])
      const message = /redirects to https:\/\/elsewhere\.test/
      await assert.rejects(fixture.slipway.me(), { code: 'BAD_ANSWER', message })
    })
  })
}

describe('a bundle', () => {
  const fixture = startForEachTest(startClientFixture)
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
})

for (const [how, bundleBytes] of Object.entries(BUNDLED_OR_NOT)) {
  describe(`several files that are sent ${how}`, () => {
    const fixture = startForEachTest(startClientFixture)
    beforeEach(() => {
      fixture.server.bundleBytes = bundleBytes
    })
    const refreshes = () => fixture.server.log.filter((line) => line.endsWith('/uploads/refresh')).length

    it('are sent without the API key', async () => {
      await fixture.slipway.with({ key: fixture.server.key }).publish({ files: many(2) })
      const keyed = fixture.server.calls.map(({ key }) => key !== undefined)
      assert.deepEqual([keyed.at(0), keyed.slice(1, -1).includes(true), keyed.at(-1)], [true, false, true])
    })

    it('are all of them, or what is missing of a pending version', async () => {
      const files = many(5)
      const { slug, claimToken, upload } = await fixture.slipway.create({
        files: files.map(({ open: _, ...entry }) => entry),
      })
      await fixture.slipway.upload(upload.uploads[2]!, Buffer.from('2'.padEnd(20, '.')))
      const { versionId: pendingVersionId } = upload
      const published = await fixture.publish({ files, slug, claimToken, pendingVersionId })
      assert.deepEqual([published.uploaded, published.versionId], [4, pendingVersionId])
      assert.deepEqual(await bundled(fixture.server.calls), bundleBytes ? [4] : [])
    })

    it('get new upload URLs once for all requests when the server reports them as expired', async () => {
      fixture.server.reply(/_upload.*token=t1$/, EXPIRED)
      const { slug } = await fixture.publish({ files: many(600) })
      assert.equal(fixture.server.live(slug).size, 600)
      assert.equal(refreshes(), 1)
    })

    it('get new upload URLs before they expire, and what was uploaded is not sent again', async () => {
      fixture.server.reply(/_upload/, () => {
        fixture.clock.now += 3_580_000
        return undefined
      })
      const count = bundleBytes ? 501 : 2
      const { slug } = await fixture.publish({ files: many(count), concurrency: 1 })
      assert.equal(fixture.server.live(slug).size, count)
      assert.equal(fixture.server.log[2], 'POST /api/v1/publish/site-1/uploads/refresh')
      assert.deepEqual(await bundled(fixture.server.calls), bundleBytes ? [250, 250] : [])
    })

    it('are sent again when finalize reports them as missing, and count once', async () => {
      fixture.server.reply(/finalize$/, () => forget(fixture.server, '1.txt', '3.txt', '5.txt'), 1)
      const seen: Progress[] = []
      const { slug } = await fixture.publish({ files: many(10), onProgress: (one) => seen.push(one) })
      assert.equal(fixture.server.live(slug).size, 10)
      assert.deepEqual(await bundled(fixture.server.calls), bundleBytes ? [10, 3] : [])
      assert.deepEqual(seen.at(-1), { files: 10, filesDone: 10, bytes: 200, bytesDone: 200 })
      assert.ok(seen.every(({ filesDone, bytesDone }) => filesDone <= 10 && bytesDone <= 200))
    })

    it('count with their bytes in flight where the transport reports them, and not after a failure', async () => {
      const transport = nodeTransport()
      let broken = false
      const send: Send = async (request) => {
        const { size = 0 } = request
        if (!request.url.includes('/_upload/')) return transport.send(request)
        for (const part of [0.25, 0.5, 1]) request.onSent?.(Math.floor(size * part))
        if (broken) return transport.send(request)
        broken = true
        throw new TypeError('Failed to fetch')
      }
      const seen: number[] = []
      const onProgress = ({ bytesDone }: Progress) => seen.push(bytesDone)
      await fixture.slipway.with({ send }).publish({ files: many(2, 1000), concurrency: 1, onProgress })
      assert.deepEqual(seen.slice(0, 4), bundleBytes ? [500, 1000, 2000, 0] : [250, 500, 1000, 0])
      assert.deepEqual([seen.at(-1), Math.max(...seen)], [2000, 2000])
      transport.close()
    })

    it('continue after a long network failure with unlimited retries', async () => {
      await using fixture = await startClientFixture({ tries: Number.POSITIVE_INFINITY })
      fixture.server.bundleBytes = bundleBytes
      fixture.server.reply(/_upload/, 'cut', 100)
      const { slug } = await fixture.publish({ files: many(2), concurrency: 1 })
      assert.equal(fixture.server.live(slug).size, 2)
      assert.deepEqual([fixture.pauses.length, Math.max(...fixture.pauses)], [100, 8000])
    })
  })
}

describe('a failed upload', () => {
  const fixture = startForEachTest(startClientFixture)
  beforeEach(() => {
    fixture.server.bundleBytes = 32 * MIB
  })

  const replies: Record<string, Reply> = {
    'the connection is cut': 'cut',
    'the server answers 503': errorResponse(503, 'UNAVAILABLE'),
    'the server answers 429': errorResponse(429, 'RATE_LIMITED'),
    'a proxy answers 502 with a page': [502, '<h1>Bad gateway</h1>', { 'Content-Type': 'text/html' }],
  }
  for (const [what, reply] of Object.entries(replies)) {
    it(`is retried when ${what}`, async () => {
      fixture.server.reply(/_upload/, reply, 2)
      const { slug } = await fixture.publish({ files: ONE })
      assert.equal(fixture.server.live(slug).get('a')!.toString(), 'one')
      assert.equal(fixture.server.uploads.length, 3)
      assert.deepEqual(fixture.pauses, [500, 1000])
    })
  }

  it('is retried like the requests before it: the manifest of an update, and what a pending version lacks', async () => {
    const { slug, claimToken } = await fixture.publish({ files: many(2) })
    const overloaded = errorResponse(503, 'UNAVAILABLE')
    fixture.server.reply(/\/publish\/[^/]+$/, overloaded, 1)
    const updated = await fixture.publish({ files: ONE, slug, claimToken })
    const { upload } = await fixture.slipway.update(slug, {
      files: [{ ...ONE[0]! }],
      claimToken: claimToken!,
    })
    fixture.server.reply(/refresh$/, overloaded, 1)
    await fixture.publish({ files: ONE, slug, claimToken, pendingVersionId: upload.versionId })
    assert.deepEqual([updated.slug, fixture.pauses], [slug, [500, 500]])
  })

  it('is retried when the connection is idle', async () => {
    // The first request is not repeated, so that it has no deadline.
    const [impatient, patient] = [nodeTransport({ idleMs: 250 }), nodeTransport()]
    const send: Send = (request) => (request.url.includes('/_upload') ? impatient : patient).send(request)
    await using fixture = await startClientFixture({ send })
    fixture.server.reply(/_upload/, 'none', 1)
    const { slug } = await fixture.publish({ files: ONE })
    assert.equal(fixture.server.live(slug).get('a')!.toString(), 'one')
    assert.notEqual(fixture.pauses.length, 0)
    for (const transport of [impatient, patient]) transport.close()
  })

  it('is retried with half of the files after each failure', async () => {
    const replies: Reply[] = ['cut', errorResponse(503, 'UNAVAILABLE'), 'cut']
    fixture.server.reply(BUNDLE, () => replies.shift())
    const { slug } = await fixture.publish({ files: many(40) })
    assert.equal(fixture.server.live(slug).size, 40)
    assert.deepEqual(fixture.pauses, [500, 1000, 2000])
    assert.deepEqual(await bundled(fixture.server.calls), [40, 20, 10, 5, 5, 5, 5, 5, 5, 5, 5])
  })

  it('is replaced by single uploads where a proxy refuses a body of that size', async () => {
    const tooLarge = '<h1>413 Request Entity Too Large</h1>'
    fixture.server.reply(BUNDLE, [413, tooLarge, { 'Content-Type': 'text/html' }])
    const { slug } = await fixture.publish({ files: many(6) })
    assert.equal(fixture.server.live(slug).size, 6)
    assert.deepEqual([fixture.server.uploads.length, fixture.pauses], [7, []])
  })

  it('is replaced by single uploads where the server offers no other URL for bundles', async () => {
    fixture.server.reply(BUNDLE, () => {
      fixture.server.bundleBytes = undefined
      return EXPIRED
    })
    const { slug } = await fixture.publish({ files: many(20) })
    assert.equal(fixture.server.live(slug).size, 20)
    assert.equal(fixture.server.uploads.length, 21)
  })

  for (const [how, count] of Object.entries(TOGETHER_OR_ALONE)) {
    it(`is given up after six attempts with exponential back-off, sent ${how}`, async () => {
      fixture.server.reply(/_upload/, 'cut')
      const reasons: string[] = []
      const onRetry = ({ code }: { code: string }) => reasons.push(code)
      await assert.rejects(fixture.publish({ files: [...many(count), ...ONE], onRetry }), { code: 'NETWORK' })
      assert.equal(fixture.server.uploads.length, 6)
      assert.deepEqual(fixture.pauses, [500, 1000, 2000, 4000, 8000])
      assert.deepEqual(reasons, Array(5).fill('NETWORK'))
      assert.deepEqual(await bundled(fixture.server.calls), count ? [10, 5, 3, 2, 1, 1] : [])
    })

    it(`waits while another program sends the same files, and succeeds when that has sent or finalized them, sent ${how}`, async () => {
      for (const isFinalized of [false, true]) {
        let attempts = 0
        fixture.server.reply(/_upload/, () => {
          const site = [...fixture.server.sites.values()].at(-1)!
          const [versionId] = site.versions.keys()
          const { files, arrived } = site.versions.get(versionId!)!
          if (++attempts < 3) return EXPIRED
          for (const { path } of files) arrived.set(path, Buffer.from(''))
          if (isFinalized) site.live = versionId
          return EXPIRED
        })
        const { slug, versionId } = await fixture.publish({ files: [...many(count), ...ONE] })
        assert.equal(fixture.server.sites.get(slug)!.live, versionId)
      }
      assert.deepEqual(fixture.pauses, [500, 500])
    })

    it(`is not sent again when its bytes are refused, sent ${how}`, async () => {
      const files = [...many(count), { ...file('lying', 'one'), hash: '0'.repeat(64) }]
      await assert.rejects(fixture.publish({ files }), { code: 'HASH_MISMATCH', status: 400 })
      assert.deepEqual([fixture.server.uploads.length, fixture.pauses], [1, []])
    })

    it(`counts once in the progress, sent ${how}`, async () => {
      const large = randomBytes(200_000)
      let broken = false
      fixture.server.interceptBeforeBody = true
      fixture.server.intercept = (call, request) => {
        if (broken || !call.path.includes('/_upload/')) return false
        broken = true
        request.once('data', () => request.destroy())
        return true
      }
      const seen: Progress[] = []
      const files = [...many(count), file('a', large, () => stream(large))]
      await fixture.publish({ files, concurrency: 1, onProgress: (progress) => seen.push(progress) })
      const all = { files: count + 1, bytes: 20 * count + large.length }
      assert.deepEqual(seen.at(-1), { ...all, filesDone: all.files, bytesDone: all.bytes })
      assert.ok(seen.every(({ bytesDone }) => bytesDone <= all.bytes))
    })

    it(`names a file that a browser cannot read any more, sent ${how}`, async () => {
      const send: Send = async (request) => {
        if (request.url.includes('/_upload/')) throw new TypeError('Failed to fetch')
        return nodeTransport().send(request)
      }
      const files = [...many(count), file('deleted', 'one', () => new DeletedFile(['one']))]
      const failed = fixture.slipway.with({ send }).publish({ files })
      await assert.rejects(failed, { code: 'FILE_CHANGED', details: { path: 'deleted' } })
      assert.deepEqual(fixture.pauses, [])
    })

    it(`keeps the error of a file that cannot be read, sent ${how}`, async () => {
      const unreadable = file('a', 'one', () => {
        throw Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' })
      })
      await assert.rejects(fixture.publish({ files: [...many(count), unreadable] }), { code: 'EACCES' })
    })

    const changes: Record<string, PublishFile['open']> = {
      shorter: () => Buffer.from('on'),
      'shorter as a stream': () => stream(Buffer.from('on')),
      'longer as a stream': () => stream(Buffer.from('one and more')),
      'longer as a Blob': () => new Blob(['one and more']),
    }
    for (const [what, open] of Object.entries(changes)) {
      it(`is distinguished from a file that became ${what}, sent ${how}`, async () => {
        const failed = fixture.publish({ files: [...many(count), file('a', 'one', open)] })
        await assert.rejects(failed, { code: 'FILE_CHANGED', details: { path: 'a' } })
        assert.deepEqual(fixture.pauses, [])
      })
    }
  }

  it('waits for the time in Retry-After, unless that is more than a minute', async () => {
    const limited = errorResponse(429, 'RATE_LIMITED')
    for (const time of ['7', new Date(fixture.clock.now + 7000).toUTCString()]) {
      fixture.server.reply(/_upload/, [...limited, { 'Retry-After': time }], 1)
      await fixture.publish({ files: ONE })
      assert.deepEqual(fixture.pauses.splice(0), [7000], time)
    }
    fixture.server.reply(/_upload/, [...limited, { 'Retry-After': '3000' }])
    const failed = fixture.publish({ files: ONE })
    await assert.rejects(failed, { code: 'RATE_LIMITED', retryAfterSeconds: 3000 })
    assert.deepEqual(fixture.pauses, [])
  })

  it('is repeated soon after a 500, whatever the time of the rate limit', async () => {
    const reset = String(fixture.clock.now / 1000 + 3000)
    fixture.server.reply(/_upload/, [...errorResponse(500, 'INTERNAL'), { 'X-RateLimit-Reset': reset }], 1)
    await fixture.publish({ files: ONE })
    assert.ok(fixture.pauses[0]! <= 500)
  })

  it('reports the error of a server that refuses a large body before it has read it', async () => {
    const large = Buffer.alloc(8 * MIB)
    fixture.server.interceptBeforeBody = true
    fixture.server.reply(/_upload/, errorResponse(413, 'PAYLOAD_TOO_LARGE'))
    const failed = fixture.publish({ files: [file('a', large, () => stream(large))] })
    await assert.rejects(failed, { code: 'PAYLOAD_TOO_LARGE' })
  })

  it('counts as done when the server has the file', async () => {
    fixture.server.reply(/_upload/, () => {
      const [version] = fixture.server.sites.get('site-1')!.versions.values()
      version!.arrived.set('a', Buffer.from('one'))
      return EXPIRED
    })
    const seen: Progress[] = []
    await fixture.publish({ files: ONE, onProgress: (progress) => seen.push(progress) })
    assert.deepEqual(seen.at(-1), { files: 1, filesDone: 1, bytes: 3, bytesDone: 3 })
  })

  it('stops the other uploads when it is refused', async () => {
    fixture.server.bundleBytes = undefined
    fixture.server.reply(/_upload/, ({ path }) =>
      path.includes('/bad') ? errorResponse(507, 'INSUFFICIENT_STORAGE') : 'none',
    )
    const failed = fixture.publish({ files: [file('bad', 'x'), file('slow', 'y')] })
    await assert.rejects(failed, { code: 'INSUFFICIENT_STORAGE' })
  })

  it('with unlimited retries is given up at the sixth server error, and other requests as ever', async () => {
    await using fixture = await startClientFixture({ tries: Number.POSITIVE_INFINITY })
    let count = 0
    fixture.server.reply(/_upload/, () => (count++ % 2 === 0 ? errorResponse(500, 'INTERNAL') : 'cut'), 20)
    await assert.rejects(fixture.publish({ files: ONE }), { code: 'INTERNAL' })
    assert.equal(fixture.server.uploads.length, 11)
    fixture.server.reply(/\/finalize$/, errorResponse(503, 'UNAVAILABLE'))
    await assert.rejects(fixture.publish({ files: ONE }), { code: 'UNAVAILABLE' })
    assert.equal(fixture.server.log.filter((line) => line.endsWith('/finalize')).length, 6)
  })
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

describe('the client', () => {
  const fixture = startForEachTest(startClientFixture)

  it('is anonymous with an empty key, as from an unset variable', async () => {
    const { claimToken } = await fixture.slipway.with({ key: '' }).publish({ files: ONE })
    assert.ok(claimToken)
    assert.ok(fixture.server.calls.every(({ key }) => key === undefined))
  })

  it('sends a claim token instead of the key', async () => {
    const { slug, claimToken } = await fixture.publish({ files: ONE })
    fixture.server.calls.length = 0
    const keyed = fixture.slipway.with({ key: fixture.server.key })
    await keyed.publish({ slug, claimToken, files: [file('a', 'two')] })
    assert.deepEqual(new Set(fixture.server.calls.map(({ key }) => key)), new Set([undefined]))
  })

  it('starts a new version when the pending one no longer exists', async () => {
    const { slug, claimToken } = await fixture.publish({ files: ONE })
    await fixture.publish({ files: [file('a', 'two')], slug, claimToken, pendingVersionId: 'swept-long-ago' })
    assert.equal(fixture.server.live(slug).get('a')!.toString(), 'two')
  })

  it('stops immediately when it is aborted, including its uploads', async () => {
    for (const owner of ['publish', 'client']) {
      const stop = new AbortController()
      const { signal } = stop
      fixture.server.reply(/_upload/, () => {
        stop.abort()
        return 'none'
      })
      const published =
        owner === 'client'
          ? fixture.slipway.with({ signal }).publish({ files: many(6) })
          : fixture.publish({ files: many(6), signal })
      await assert.rejects(published, { name: 'AbortError' }, `by the signal of the ${owner}`)
      assert.ok(!fixture.server.log.some((line) => line.endsWith('/finalize')))
    }
  })

  it('does not end because the server cannot tell its limits for a time', async () => {
    fixture.server.reply(/\/limits$/, errorResponse(503, 'UNAVAILABLE'))
    assert.equal(await askLimits(fixture.slipway, [{ size: 1e9 }]), undefined)
  })

  for (const [code, reply] of [
    ['NETWORK', 'cut'],
    ['BAD_ANSWER', [200, 'Welcome']],
  ] as const)
    it(`ends with ${code} before a large folder is read`, async () => {
      fixture.server.reply(/\/limits$/, reply === 'cut' ? reply : [...reply])
      await assert.rejects(askLimits(fixture.slipway, [{ size: 1e9 }]), { code })
    })

  it('repeats a finalize whose response is lost', async () => {
    fixture.server.reply(/\/finalize$/, 'cut', 1)
    const { slug } = await fixture.publish({ files: ONE })
    assert.equal(fixture.server.live(slug).get('a')!.toString(), 'one')
  })

  it('does not repeat the publish of a new site whose response is lost, which could make two sites', async () => {
    fixture.server.reply(/\/publish$/, 'cut', 1)
    await assert.rejects(fixture.publish({ files: ONE }), { code: 'NETWORK' })
    assert.deepEqual(pluck(fixture.server.calls, 'path'), ['/api/v1/publish'])
  })

  it('throws errors with code, status, details and the time to wait', async () => {
    const reset = String(fixture.clock.now / 1000 + 90)
    const limited = errorResponse(429, 'RATE_LIMITED', { more: 1 })
    fixture.server.reply(/./, [...limited, { 'X-RateLimit-Reset': reset }])
    await assert.rejects(fixture.slipway.me(), {
      name: 'SlipwayError',
      message: 'The server says RATE_LIMITED',
      code: 'RATE_LIMITED',
      status: 429,
      details: { more: 1 },
      retryAfterSeconds: 90,
    })
  })

  it('throws BAD_ANSWER when a success is not JSON', async () => {
    fixture.server.reply(/./, [200, '<h1>Welcome to the hotel network</h1>', { 'Content-Type': 'text/html' }])
    const message = /is not a Slipway server/
    await assert.rejects(fixture.slipway.me(), { code: 'BAD_ANSWER', message })
  })

  it('fetches all pages of the list of sites', async () => {
    const pages: Record<string, unknown> = {
      '/api/v1/publishes?limit=100': { publishes: [{ slug: 'a' }, { slug: 'b' }], nextCursor: 'x y' },
      '/api/v1/publishes?limit=100&cursor=x+y': { publishes: [{ slug: 'c' }], nextCursor: null },
    }
    fixture.server.reply(/./, ({ path }) => [200, pages[path]])
    const sites = await Array.fromAsync(fixture.slipway.sites())
    assert.deepEqual(pluck(sites, 'slug'), ['a', 'b', 'c'])
  })
})
