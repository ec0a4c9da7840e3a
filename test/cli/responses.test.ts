import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { file, startClientFixture } from './client-fixture.ts'
import { errorResponse, sendJson } from './fake-server.ts'

describe('finalize', () => {
  it('is repeated when its response is lost', async () => {
    await using fixture = await startClientFixture()
    let lost = false
    fixture.server.intercept = (call, _request, response) => {
      if (lost || !call.path.endsWith('/finalize')) return false
      lost = true
      response.destroy()
      return true
    }
    const { slug } = await fixture.publish({ files: [file('a', 'one')] })
    assert.equal(fixture.server.live(slug).get('a')!.toString(), 'one')
  })

  it('creates a draft with live: false', async () => {
    await using fixture = await startClientFixture()
    const { slug, previewUrl } = await fixture.publish({ files: [file('a', 'one')], live: false })
    assert.equal(fixture.server.sites.get(slug)!.live, undefined)
    assert.match(previewUrl, /--site-1\.sites\.test/)
  })
})

describe('an error', () => {
  it('has code, status, details and the time to wait', async () => {
    await using fixture = await startClientFixture()
    fixture.server.intercept = (_call, _request, response) => {
      const reset = String(fixture.clock.now / 1000 + 90)
      sendJson(response, ...errorResponse(429, 'RATE_LIMITED', { more: 1 }), { 'X-RateLimit-Reset': reset })
      return true
    }
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
    await using fixture = await startClientFixture()
    fixture.server.intercept = (_call, _request, response) => {
      response.end('<h1>Welcome to the hotel network</h1>')
      return true
    }
    await assert.rejects(fixture.slipway.me(), {
      code: 'BAD_ANSWER',
      message: /did not answer like a Slipway server/,
    })
  })
})

describe('the list of sites', () => {
  it('fetches all pages', async () => {
    await using fixture = await startClientFixture()
    const pages: Record<string, unknown> = {
      '/api/v1/publishes?limit=100': { publishes: [{ slug: 'a' }, { slug: 'b' }], nextCursor: 'x y' },
      '/api/v1/publishes?limit=100&cursor=x+y': { publishes: [{ slug: 'c' }], nextCursor: null },
    }
    fixture.server.intercept = ({ path }, _request, response) => {
      sendJson(response, 200, pages[path])
      return true
    }
    const slugs: string[] = []
    for await (const { slug } of fixture.slipway.sites()) slugs.push(slug)
    assert.deepEqual(slugs, ['a', 'b', 'c'])
  })
})
