import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startForEachTest } from '../support/each-test.ts'
import { file, startClientFixture } from './client-fixture.ts'
import { errorResponse } from './fake-server.ts'

const fixture = startForEachTest(startClientFixture)

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
      message: /did not answer like a Slipway server/,
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
