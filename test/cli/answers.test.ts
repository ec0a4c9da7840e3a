import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { file, startPatientClient } from './patient-client.ts'
import { answer, failure } from './peer.ts'

describe('finalize', () => {
  it('is repeated when its answer is lost', async () => {
    await using all = await startPatientClient()
    let lost = false
    all.peer.misbehave = (call, _request, response) => {
      if (lost || !call.path.endsWith('/finalize')) return false
      lost = true
      response.destroy()
      return true
    }
    const { slug } = await all.publish({ files: [file('a', 'one')] })
    assert.equal(all.peer.live(slug).get('a')!.toString(), 'one')
  })

  it('keeps a draft when asked to', async () => {
    await using all = await startPatientClient()
    const { slug, previewUrl } = await all.publish({ files: [file('a', 'one')], live: false })
    assert.equal(all.peer.sites.get(slug)!.live, undefined)
    assert.match(previewUrl, /--site-1\.sites\.test/)
  })
})

describe('a failure', () => {
  it('carries code, status, details and how long to wait', async () => {
    await using all = await startPatientClient()
    all.peer.misbehave = (_call, _request, response) => {
      const reset = String(all.clock.now / 1000 + 90)
      answer(response, ...failure(429, 'RATE_LIMITED', { more: 1 }), { 'X-RateLimit-Reset': reset })
      return true
    }
    await assert.rejects(all.slipway.me(), {
      name: 'SlipwayError',
      message: 'The peer says RATE_LIMITED',
      code: 'RATE_LIMITED',
      status: 429,
      details: { more: 1 },
      retryAfterSeconds: 90,
    })
  })

  it('is BAD_ANSWER when a success is not JSON', async () => {
    await using all = await startPatientClient()
    all.peer.misbehave = (_call, _request, response) => {
      response.end('<h1>Welcome to the hotel network</h1>')
      return true
    }
    await assert.rejects(all.slipway.me(), {
      code: 'BAD_ANSWER',
      message: /did not answer like a Slipway server/,
    })
  })
})

describe('the list of sites', () => {
  it('goes through all pages', async () => {
    await using all = await startPatientClient()
    const pages: Record<string, unknown> = {
      '/api/v1/publishes?limit=100': { publishes: [{ slug: 'a' }, { slug: 'b' }], nextCursor: 'x y' },
      '/api/v1/publishes?limit=100&cursor=x+y': { publishes: [{ slug: 'c' }], nextCursor: null },
    }
    all.peer.misbehave = ({ path }, _request, response) => {
      answer(response, 200, pages[path])
      return true
    }
    const slugs: string[] = []
    for await (const { slug } of all.slipway.sites()) slugs.push(slug)
    assert.deepEqual(slugs, ['a', 'b', 'c'])
  })
})
