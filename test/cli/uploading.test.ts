import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import type { Progress } from '../../client/sdk/slipway.ts'
import { fetchTransport } from '../../client/sdk/transport.ts'
import { startForEachTest } from '../support/each-test.ts'
import { file, forget, startClientFixture, stream } from './client-fixture.ts'
import { errorResponse, type Reply } from './fake-server.ts'

const fixture = startForEachTest(startClientFixture)

for (const [name, send] of Object.entries({ node: undefined, fetch: fetchTransport })) {
  describe(`publishing over ${name}`, () => {
    it('uploads every byte of small, large and streamed files', async () => {
      await using fixture = await startClientFixture(send && { send })
      const large = randomBytes(1_500_000)
      const files = [
        file('index.html', '<h1>hi</h1>'),
        file('large.bin', large, () => stream(large)),
        file('blob.bin', large, () => new Blob([large])),
      ]
      const { slug, siteUrl, uploaded, uploadedBytes, claimToken } = await fixture.publish({ files })
      assert.equal(siteUrl, `http://${slug}.sites.test/`)
      assert.equal(uploaded, 3)
      assert.equal(uploadedBytes, 3_000_011)
      assert.match(claimToken!, /^[0-9a-f-]{36}$/)
      const live = fixture.server.live(slug)
      assert.equal(live.get('index.html')!.toString(), '<h1>hi</h1>')
      assert.deepEqual(live.get('large.bin'), large)
      assert.deepEqual(live.get('blob.bin'), large)
    })

    it('has a readable error when nothing responds', async () => {
      await using fixture = await startClientFixture(send && { send })
      const { url } = fixture.server
      await fixture.server[Symbol.asyncDispose]()
      await assert.rejects(fixture.slipway.me(), {
        code: 'NETWORK',
        status: 0,
        message: `Can't reach ${url} (connection refused)`,
      })
    })

    it('does not follow redirects', async () => {
      await using fixture = await startClientFixture(send && { send })
      fixture.server.reply(/./, [308, {}, { Location: 'https://elsewhere.test/' }])
      await assert.rejects(fixture.slipway.me(), {
        code: 'BAD_ANSWER',
        message: /redirects to https:\/\/elsewhere\.test/,
      })
    })
  })
}

describe('updating', () => {
  it('uploads only what changed', async () => {
    const { slug, claimToken } = await fixture.publish({ files: [file('a', 'one'), file('b', 'two')] })
    const updated = await fixture.publish({ slug, claimToken, files: [file('a', 'one'), file('b', 'three')] })
    assert.equal(updated.uploaded, 1)
    assert.equal(fixture.server.live(slug).get('b')!.toString(), 'three')
  })

  it('sends a claim token instead of the key, and never the key to an upload URL', async () => {
    const { slug, claimToken } = await fixture.publish({ files: [file('a', 'one')] })
    const keyed = fixture.slipway.with({ key: fixture.server.key })
    fixture.server.calls.length = 0
    await keyed.publish({ slug, claimToken, files: [file('a', 'two')] })
    assert.deepEqual(new Set(fixture.server.calls.map(({ key }) => key)), new Set([undefined]))
    fixture.server.calls.length = 0
    await keyed.publish({ files: [file('a', 'three')] })
    assert.deepEqual(
      fixture.server.calls.map(({ key }) => key !== undefined),
      [true, false, true],
    )
  })
})

describe('a failed upload', () => {
  const replies: Record<string, Reply> = {
    'the connection is cut': 'cut',
    'the server answers 503': errorResponse(503, 'UNAVAILABLE'),
    'the server answers 429': errorResponse(429, 'RATE_LIMITED'),
    'a proxy answers 502 with a page': [502, '<h1>Bad gateway</h1>', { 'Content-Type': 'text/html' }],
  }
  for (const [what, reply] of Object.entries(replies)) {
    it(`is retried when ${what}`, async () => {
      fixture.server.reply(/_upload/, reply, 2)
      const { slug } = await fixture.publish({ files: [file('a', 'one')] })
      assert.equal(fixture.server.live(slug).get('a')!.toString(), 'one')
      assert.equal(fixture.server.uploads.length, 3)
      assert.deepEqual(fixture.pauses, [500, 1000])
    })
  }

  it('is retried when the connection is idle', async () => {
    await using fixture = await startClientFixture({ idleMs: 250 })
    fixture.server.reply(/_upload/, 'none', 1)
    const { slug } = await fixture.publish({ files: [file('a', 'one')] })
    assert.equal(fixture.server.live(slug).get('a')!.toString(), 'one')
    assert.notEqual(fixture.pauses.length, 0)
  })

  it('is given up after six attempts, with exponential back-off', async () => {
    fixture.server.reply(/_upload/, 'cut')
    const reasons: string[] = []
    const onRetry = ({ code }: { code: string }) => reasons.push(code)
    await assert.rejects(fixture.publish({ files: [file('a', 'one')], onRetry }), { code: 'NETWORK' })
    assert.equal(fixture.server.uploads.length, 6)
    assert.deepEqual(fixture.pauses, [500, 1000, 2000, 4000, 8000])
    assert.deepEqual(reasons, Array(5).fill('NETWORK'))
  })

  it('waits for the time in Retry-After', async () => {
    fixture.server.reply(/_upload/, [...errorResponse(503, 'UNAVAILABLE'), { 'Retry-After': '7' }], 1)
    await fixture.publish({ files: [file('a', 'one')] })
    assert.deepEqual(fixture.pauses, [7000])
  })

  it('does not wait when Retry-After is more than a minute', async () => {
    fixture.server.reply(/_upload/, [...errorResponse(429, 'RATE_LIMITED'), { 'Retry-After': '3000' }])
    const failed = fixture.publish({ files: [file('a', 'one')] })
    await assert.rejects(failed, { code: 'RATE_LIMITED', retryAfterSeconds: 3000 })
    assert.deepEqual(fixture.pauses, [])
  })

  it('reports the error of a server that refuses a large body before it has read it', async () => {
    const large = Buffer.alloc(8 * 1024 * 1024)
    fixture.server.interceptBeforeBody = true
    fixture.server.reply(/_upload/, errorResponse(413, 'PAYLOAD_TOO_LARGE'))
    const failed = fixture.publish({ files: [file('a', large, () => stream(large))] })
    await assert.rejects(failed, { code: 'PAYLOAD_TOO_LARGE' })
  })

  it('counts once in the progress', async () => {
    const large = randomBytes(1_000_000)
    let broken = false
    fixture.server.interceptBeforeBody = true
    fixture.server.intercept = (call, request) => {
      if (broken || !call.path.includes('/_upload/')) return false
      broken = true
      request.once('data', () => request.destroy())
      return true
    }
    const seen: Progress[] = []
    const files = [file('a', large, () => stream(large)), file('b', 'small')]
    await fixture.publish({ files, concurrency: 1, onProgress: (progress) => seen.push(progress) })
    const bytes = large.length + 5
    assert.deepEqual(seen.at(-1), { files: 2, filesDone: 2, bytes, bytesDone: bytes })
    assert.ok(seen.every(({ bytesDone }) => bytesDone <= bytes))
  })
})

describe('upload URLs', () => {
  it('are renewed once for all uploads when the server reports them as expired', async () => {
    fixture.server.reply(/_upload.*token=t1$/, errorResponse(410, 'UPLOAD_EXPIRED'))
    const files = ['a', 'b', 'c', 'd', 'e'].map((name) => file(name, name))
    const { slug } = await fixture.publish({ files })
    assert.equal(fixture.server.live(slug).size, 5)
    assert.equal(fixture.server.log.filter((line) => line.endsWith('/uploads/refresh')).length, 1)
  })

  it('are renewed before they expire', async () => {
    fixture.server.reply(/_upload/, () => {
      fixture.clock.now += 3_580_000
      return undefined
    })
    const files = [file('a', 'one'), file('b', 'two')]
    await fixture.publish({ files, concurrency: 1 })
    assert.equal(fixture.server.log[2], 'POST /api/v1/publish/site-1/uploads/refresh')
    assert.equal(fixture.server.uploads.length, 2)
  })

  it('are requested again when finalize reports missing files', async () => {
    fixture.server.reply(/finalize$/, () => forget(fixture.server, 'b'), 1)
    const seen: Progress[] = []
    const onProgress = (progress: Progress) => seen.push(progress)
    const { slug } = await fixture.publish({ files: [file('a', 'one'), file('b', 'two')], onProgress })
    assert.equal(fixture.server.live(slug).get('b')!.toString(), 'two')
    assert.equal(fixture.server.uploads.length, 3)
    assert.deepEqual(seen.at(-1), { files: 2, filesDone: 2, bytes: 6, bytesDone: 6 })
    assert.ok(seen.every(({ filesDone, bytesDone }) => filesDone <= 2 && bytesDone <= 6))
  })

  it('that are not returned again, because the file was uploaded, count as done', async () => {
    fixture.server.reply(/_upload/, () => {
      const [version] = fixture.server.sites.get('site-1')!.versions.values()
      version!.arrived.set('a', Buffer.from('one'))
      return errorResponse(410, 'UPLOAD_EXPIRED')
    })
    const seen: Progress[] = []
    await fixture.publish({ files: [file('a', 'one')], onProgress: (progress) => seen.push(progress) })
    assert.deepEqual(seen.at(-1), { files: 1, filesDone: 1, bytes: 3, bytesDone: 3 })
  })
})

describe('an interrupted publish', () => {
  it('resumes the pending version and uploads only missing files', async () => {
    const files = [file('a', 'one'), file('b', 'two'), file('c', 'three')]
    const { slug, claimToken, upload } = await fixture.slipway.create({
      files: files.map(({ open: _open, ...entry }) => entry),
    })
    await fixture.slipway.upload(upload.uploads[0]!, Buffer.from('one'))
    const pendingVersionId = upload.versionId
    const published = await fixture.publish({ files, slug, claimToken, pendingVersionId })
    assert.equal(published.versionId, pendingVersionId)
    assert.equal(published.uploaded, 2)
  })

  it('starts a new version when the pending one is gone', async () => {
    const { slug, claimToken } = await fixture.publish({ files: [file('a', 'one')] })
    const files = [file('a', 'two')]
    await fixture.publish({ files, slug, claimToken, pendingVersionId: 'swept-long-ago' })
    assert.equal(fixture.server.live(slug).get('a')!.toString(), 'two')
  })

  it('stops at once when it is aborted, including its uploads', async () => {
    const stop = new AbortController()
    fixture.server.reply(/_upload/, () => {
      stop.abort()
      return 'none'
    })
    const files = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => file(name, name))
    await assert.rejects(fixture.publish({ files, signal: stop.signal }), { name: 'AbortError' })
    assert.ok(!fixture.server.log.some((line) => line.endsWith('/finalize')))
  })

  it('stops the other uploads when one is refused', async () => {
    fixture.server.reply(/_upload/, ({ path }) =>
      path.includes('/bad') ? errorResponse(507, 'INSUFFICIENT_STORAGE') : 'none',
    )
    const failed = fixture.publish({ files: [file('bad', 'x'), file('slow', 'y')] })
    await assert.rejects(failed, { code: 'INSUFFICIENT_STORAGE' })
  })
})

describe('a file that changes during a publish', () => {
  const cases = {
    shorter: () => stream(Buffer.from('on')),
    longer: () => stream(Buffer.from('one and more')),
    'of another length as a whole': () => Buffer.from('on'),
  }
  for (const [how, open] of Object.entries(cases)) {
    it(`is distinguished from a network failure when it became ${how}`, async () => {
      const failed = fixture.publish({ files: [file('a', 'one', open)] })
      await assert.rejects(failed, { code: 'FILE_CHANGED', details: { path: 'a' } })
      assert.deepEqual(fixture.pauses, [])
    })
  }
})

describe('finalize', () => {
  it('is repeated when its response is lost', async () => {
    fixture.server.reply(/\/finalize$/, 'cut', 1)
    const { slug } = await fixture.publish({ files: [file('a', 'one')] })
    assert.equal(fixture.server.live(slug).get('a')!.toString(), 'one')
  })

  it('creates a draft with live: false', async () => {
    const { slug, previewUrl } = await fixture.publish({ files: [file('a', 'one')], live: false })
    assert.equal(fixture.server.sites.get(slug)!.live, undefined)
    assert.match(previewUrl, /--site-1\.sites\.test/)
  })
})

describe('an error', () => {
  it('has code, status, details and the time to wait', async () => {
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

  it('is BAD_ANSWER when a success is not JSON', async () => {
    fixture.server.reply(/./, [200, '<h1>Welcome to the hotel network</h1>', { 'Content-Type': 'text/html' }])
    await assert.rejects(fixture.slipway.me(), {
      code: 'BAD_ANSWER',
      message: /is not a Slipway server/,
    })
  })
})

describe('the list of sites', () => {
  it('fetches all pages', async () => {
    const pages: Record<string, unknown> = {
      '/api/v1/publishes?limit=100': { publishes: [{ slug: 'a' }, { slug: 'b' }], nextCursor: 'x y' },
      '/api/v1/publishes?limit=100&cursor=x+y': { publishes: [{ slug: 'c' }], nextCursor: null },
    }
    fixture.server.reply(/./, ({ path }) => [200, pages[path]])
    const slugs: string[] = []
    for await (const { slug } of fixture.slipway.sites()) slugs.push(slug)
    assert.deepEqual(slugs, ['a', 'b', 'c'])
  })
})
