import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import type { Progress } from '../../client/sdk/slipway.ts'
import { fetchTransport } from '../../client/sdk/transport.ts'
import { file, startPatientClient, stream, uploads } from './patient-client.ts'
import { answer, failure } from './peer.ts'

for (const [name, send] of Object.entries({ node: undefined, fetch: fetchTransport })) {
  describe(`publishing over ${name}`, () => {
    it('brings every byte of small, large and streamed files to the site', async () => {
      await using all = await startPatientClient(send && { send })
      const large = randomBytes(1_500_000)
      const files = [
        file('index.html', '<h1>hi</h1>'),
        file('large.bin', large, () => stream(large)),
        file('blob.bin', large, () => new Blob([large])),
      ]
      const { slug, siteUrl, uploaded, uploadedBytes, claimToken } = await all.publish({ files })
      assert.equal(siteUrl, `http://${slug}.sites.test/`)
      assert.equal(uploaded, 3)
      assert.equal(uploadedBytes, 3_000_011)
      assert.match(claimToken!, /^[0-9a-f-]{36}$/)
      const live = all.peer.live(slug)
      assert.equal(live.get('index.html')!.toString(), '<h1>hi</h1>')
      assert.deepEqual(live.get('large.bin'), large)
      assert.deepEqual(live.get('blob.bin'), large)
    })

    it('says in words when nothing answers', async () => {
      await using all = await startPatientClient(send && { send })
      const { url } = all.peer
      await all.peer[Symbol.asyncDispose]()
      await assert.rejects(all.slipway.me(), {
        code: 'NETWORK',
        status: 0,
        message: `Nothing answers at ${url} (connection refused)`,
      })
    })

    it('does not follow a server that sends it elsewhere', async () => {
      await using all = await startPatientClient(send && { send })
      all.peer.misbehave = (_call, _request, response) => {
        answer(response, 308, {}, { Location: 'https://elsewhere.test/' })
        return true
      }
      await assert.rejects(all.slipway.me(), {
        code: 'BAD_ANSWER',
        message: /redirects to https:\/\/elsewhere\.test/,
      })
    })
  })
}

describe('updating', () => {
  it('uploads only what changed', async () => {
    await using all = await startPatientClient()
    const { slug, claimToken } = await all.publish({ files: [file('a', 'one'), file('b', 'two')] })
    const updated = await all.publish({ slug, claimToken, files: [file('a', 'one'), file('b', 'three')] })
    assert.equal(updated.uploaded, 1)
    assert.equal(all.peer.live(slug).get('b')!.toString(), 'three')
  })

  it('sends a claim token in place of the key, and never the key to an upload target', async () => {
    await using all = await startPatientClient()
    const { slug, claimToken } = await all.publish({ files: [file('a', 'one')] })
    const keyed = all.slipway.with({ key: all.peer.key })
    all.peer.calls.length = 0
    await keyed.publish({ slug, claimToken, files: [file('a', 'two')] })
    assert.deepEqual(new Set(all.peer.calls.map(({ key }) => key)), new Set([undefined]))
    all.peer.calls.length = 0
    await keyed.publish({ files: [file('a', 'three')] })
    assert.deepEqual(
      all.peer.calls.map(({ key }) => key !== undefined),
      [true, false, true],
    )
  })
})

describe('an upload that breaks', () => {
  const breaks = {
    'the connection is cut': (_c: unknown, _r: unknown, response: { destroy(): void }) => response.destroy(),
    'the server answers 503': (_c: unknown, _r: unknown, response: never) =>
      answer(response, ...failure(503, 'UNAVAILABLE')),
    'the server answers 429': (_c: unknown, _r: unknown, response: never) =>
      answer(response, ...failure(429, 'RATE_LIMITED')),
    'a proxy answers 502 with a page': (
      _c: unknown,
      _r: unknown,
      response: { writeHead: (s: number) => { end(t: string): void } },
    ) => response.writeHead(502).end('<h1>Bad gateway</h1>'),
  }
  for (const [what, how] of Object.entries(breaks)) {
    it(`is tried again when ${what}`, async () => {
      await using all = await startPatientClient()
      let left = 2
      all.peer.misbehave = (call, request, response) => {
        if (!call.path.includes('/_upload/') || left-- <= 0) return false
        how(call, request, response as never)
        return true
      }
      const { slug } = await all.publish({ files: [file('a', 'one')] })
      assert.equal(all.peer.live(slug).get('a')!.toString(), 'one')
      assert.equal(uploads(all.peer).length, 3)
      assert.deepEqual(all.pauses, [500, 1000])
    })
  }

  it('is tried again when the connection goes silent', async () => {
    await using all = await startPatientClient({ idleMs: 250 })
    let left = 1
    all.peer.misbehave = (call) => call.path.includes('/_upload/') && left-- > 0
    const { slug } = await all.publish({ files: [file('a', 'one')] })
    assert.equal(all.peer.live(slug).get('a')!.toString(), 'one')
    assert.notEqual(all.pauses.length, 0)
  })

  it('is given up after six tries, with pauses that double', async () => {
    await using all = await startPatientClient()
    all.peer.misbehave = (call, _request, response) => {
      if (call.path.includes('/_upload/')) response.destroy()
      return call.path.includes('/_upload/')
    }
    const reasons: string[] = []
    const onRetry = ({ code }: { code: string }) => reasons.push(code)
    await assert.rejects(all.publish({ files: [file('a', 'one')], onRetry }), { code: 'NETWORK' })
    assert.equal(uploads(all.peer).length, 6)
    assert.deepEqual(all.pauses, [500, 1000, 2000, 4000, 8000])
    assert.deepEqual(reasons, Array(5).fill('NETWORK'))
  })

  it('waits as long as the server asks', async () => {
    await using all = await startPatientClient()
    let asked = false
    all.peer.misbehave = (call, _request, response) => {
      if (asked || !call.path.includes('/_upload/')) return false
      asked = true
      answer(response, ...failure(503, 'UNAVAILABLE'), { 'Retry-After': '7' })
      return true
    }
    await all.publish({ files: [file('a', 'one')] })
    assert.deepEqual(all.pauses, [7000])
  })

  it('does not wait when the server asks for more than a minute', async () => {
    await using all = await startPatientClient()
    all.peer.misbehave = (call, _request, response) => {
      if (!call.path.includes('/_upload/')) return false
      answer(response, ...failure(429, 'RATE_LIMITED'), { 'Retry-After': '3000' })
      return true
    }
    const failed = all.publish({ files: [file('a', 'one')] })
    await assert.rejects(failed, { code: 'RATE_LIMITED', retryAfterSeconds: 3000 })
    assert.deepEqual(all.pauses, [])
  })

  it('is not tried again when the bytes are refused', async () => {
    await using all = await startPatientClient()
    const lying = { ...file('a', 'one'), hash: '0'.repeat(64) }
    await assert.rejects(all.publish({ files: [lying] }), { code: 'HASH_MISMATCH', status: 400 })
    assert.equal(uploads(all.peer).length, 1)
  })

  it('says why when a server refuses a large body before it has read it', async () => {
    await using all = await startPatientClient()
    const large = Buffer.alloc(8 * 1024 * 1024)
    all.peer.early = true
    all.peer.misbehave = (call, _request, response) => {
      if (!call.path.includes('/_upload/')) return false
      answer(response, ...failure(413, 'PAYLOAD_TOO_LARGE'))
      return true
    }
    const failed = all.publish({ files: [file('a', large, () => stream(large))] })
    await assert.rejects(failed, { code: 'PAYLOAD_TOO_LARGE' })
  })

  it('is counted once in the progress', async () => {
    await using all = await startPatientClient()
    const large = randomBytes(1_000_000)
    let broken = false
    all.peer.early = true
    all.peer.misbehave = (call, request) => {
      if (broken || !call.path.includes('/_upload/')) return false
      broken = true
      request.once('data', () => request.destroy())
      return true
    }
    const seen: Progress[] = []
    const files = [file('a', large, () => stream(large)), file('b', 'small')]
    await all.publish({ files, concurrency: 1, onProgress: (progress) => seen.push(progress) })
    const bytes = large.length + 5
    assert.deepEqual(seen.at(-1), { files: 2, filesDone: 2, bytes, bytesDone: bytes })
    assert.ok(seen.every(({ bytesDone }) => bytesDone <= bytes))
  })
})

describe('targets', () => {
  it('are renewed once for all uploads when the server calls them expired', async () => {
    await using all = await startPatientClient()
    all.peer.misbehave = (call, _request, response) => {
      if (!call.path.includes('/_upload/') || !call.path.endsWith('token=t1')) return false
      answer(response, ...failure(410, 'UPLOAD_EXPIRED'))
      return true
    }
    const files = ['a', 'b', 'c', 'd', 'e'].map((name) => file(name, name))
    const { slug } = await all.publish({ files })
    assert.equal(all.peer.live(slug).size, 5)
    assert.equal(all.peer.log.filter((line) => line.endsWith('/uploads/refresh')).length, 1)
  })

  it('are renewed before they run out', async () => {
    await using all = await startPatientClient()
    all.peer.misbehave = (call) => {
      if (call.path.includes('/_upload/')) all.clock.now += 3_580_000
      return false
    }
    const files = [file('a', 'one'), file('b', 'two')]
    await all.publish({ files, concurrency: 1 })
    assert.equal(all.peer.log[2], 'POST /api/v1/publish/site-1/uploads/refresh')
    assert.equal(uploads(all.peer).length, 2)
  })

  it('are asked for again when finalize misses files', async () => {
    await using all = await startPatientClient()
    let forgotten = false
    all.peer.misbehave = (call) => {
      if (!forgotten && call.path.endsWith('/finalize')) {
        forgotten = true
        for (const { arrived } of all.peer.sites.get('site-1')!.versions.values()) arrived.delete('b')
      }
      return false
    }
    const seen: Progress[] = []
    const onProgress = (progress: Progress) => seen.push(progress)
    const { slug } = await all.publish({ files: [file('a', 'one'), file('b', 'two')], onProgress })
    assert.equal(all.peer.live(slug).get('b')!.toString(), 'two')
    assert.equal(uploads(all.peer).length, 3)
    assert.deepEqual(seen.at(-1), { files: 2, filesDone: 2, bytes: 6, bytesDone: 6 })
    assert.ok(seen.every(({ filesDone, bytesDone }) => filesDone <= 2 && bytesDone <= 6))
  })

  it('that are not given again, since the file came meanwhile, count as done', async () => {
    await using all = await startPatientClient()
    all.peer.misbehave = (call, _request, response) => {
      if (!call.path.includes('/_upload/')) return false
      const [version] = all.peer.sites.get('site-1')!.versions.values()
      version!.arrived.set('a', Buffer.from('one'))
      answer(response, ...failure(410, 'UPLOAD_EXPIRED'))
      return true
    }
    const seen: Progress[] = []
    await all.publish({ files: [file('a', 'one')], onProgress: (progress) => seen.push(progress) })
    assert.deepEqual(seen.at(-1), { files: 1, filesDone: 1, bytes: 3, bytesDone: 3 })
  })
})

describe('an interrupted publish', () => {
  it('goes on with the pending version and uploads only what is missing', async () => {
    await using all = await startPatientClient()
    const files = [file('a', 'one'), file('b', 'two'), file('c', 'three')]
    const { slug, claimToken, upload } = await all.slipway.create({
      files: files.map(({ open: _open, ...entry }) => entry),
    })
    await all.slipway.upload(upload.uploads[0]!, Buffer.from('one'))
    const pendingVersionId = upload.versionId
    const published = await all.publish({ files, slug, claimToken, pendingVersionId })
    assert.equal(published.versionId, pendingVersionId)
    assert.equal(published.uploaded, 2)
  })

  it('starts a new version when the pending one is no longer waited for', async () => {
    await using all = await startPatientClient()
    const { slug, claimToken } = await all.publish({ files: [file('a', 'one')] })
    const files = [file('a', 'two')]
    await all.publish({ files, slug, claimToken, pendingVersionId: 'swept-long-ago' })
    assert.equal(all.peer.live(slug).get('a')!.toString(), 'two')
  })

  it('stops at once when it is aborted, uploads and all', async () => {
    await using all = await startPatientClient()
    const stop = new AbortController()
    all.peer.misbehave = (call) => {
      if (!call.path.includes('/_upload/')) return false
      stop.abort()
      return true
    }
    const files = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => file(name, name))
    await assert.rejects(all.publish({ files, signal: stop.signal }), { name: 'AbortError' })
    assert.ok(!all.peer.log.some((line) => line.endsWith('/finalize')))
  })

  it('stops the other uploads when one is refused', async () => {
    await using all = await startPatientClient()
    all.peer.misbehave = (call, _request, response) => {
      if (!call.path.includes('/_upload/')) return false
      if (call.path.includes('/bad')) answer(response, ...failure(507, 'INSUFFICIENT_STORAGE'))
      return true
    }
    const failed = all.publish({ files: [file('bad', 'x'), file('slow', 'y')] })
    await assert.rejects(failed, { code: 'INSUFFICIENT_STORAGE' })
  })
})

describe('a file that changes while it is published', () => {
  const cases = {
    shorter: () => stream(Buffer.from('on')),
    longer: () => stream(Buffer.from('one and more')),
    'of another length as a whole': () => Buffer.from('on'),
  }
  for (const [how, open] of Object.entries(cases)) {
    it(`is told apart from a broken network when it got ${how}`, async () => {
      await using all = await startPatientClient()
      const failed = all.publish({ files: [file('a', 'one', open)] })
      await assert.rejects(failed, { code: 'FILE_CHANGED', details: { path: 'a' } })
      assert.deepEqual(all.pauses, [])
    })
  }

  it('and a file that cannot be read keeps its own error', async () => {
    await using all = await startPatientClient()
    const unreadable = file('a', 'one', () => {
      throw Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' })
    })
    await assert.rejects(all.publish({ files: [unreadable] }), { code: 'EACCES' })
  })
})
