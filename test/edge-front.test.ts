import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { brotliCompressSync } from 'node:zlib'
import { EdgeFixture } from './edge-fixture.ts'

const PUBLISHED = '<title>Mine</title>'
const FRONT = '<title>Said</title>'

let edge: EdgeFixture
before(async () => {
  edge = await EdgeFixture.start()
})
after(() => edge[Symbol.asyncDispose]())

/** A site whose root document has what is said of it in its head. */
async function said(): Promise<{ slug: string; id: string }> {
  const slug = await edge.site({ title: 'Said' })
  const id = await edge.version(slug, { 'index.html': PUBLISHED, 'docs/index.html': 'docs' })
  await edge.front(slug, id, FRONT)
  return { slug, id }
}

/** What a metadata change does, a second later. */
async function say(slug: string, title: string | null): Promise<void> {
  edge.clock.now += 1000
  await edge.change(slug, { title, updated_at: edge.clock.now })
}

describe('the root document of a site of which something is said', () => {
  test('has it in its head under each of its names, and no other document has', async () => {
    const { slug } = await said()
    for (const path of ['/', '/index.html', '/index', '/?a=b']) {
      const { status, text, headers } = await edge.get(slug, path)
      assert.deepEqual([status, text, headers['content-length']], [200, FRONT, `${FRONT.length}`], path)
      assert.equal(headers['content-type'], 'text/html; charset=utf-8')
    }
    assert.equal((await edge.get(slug, '/docs/')).text, 'docs')
  })

  test('has it at the host of its version too', async () => {
    const { slug, id } = await said()
    assert.equal((await edge.get(`${id}--${slug}`)).text, FRONT)
  })

  test('has it where rules and spaMode lead to it', async () => {
    const slug = await edge.site({ title: 'Said', spa_mode: 1 })
    const id = await edge.version(slug, { 'index.html': PUBLISHED, _redirects: '/app/* /index.html 200' })
    await edge.front(slug, id, FRONT)
    assert.equal((await edge.get(slug, '/app/x')).text, FRONT)
    assert.equal((await edge.get(slug, '/route')).text, FRONT)
  })

  test('is the published one as long as another is not made', async () => {
    const { slug } = await said()
    await say(slug, 'Something else')
    assert.equal((await edge.get(slug)).text, PUBLISHED)
    await say(slug, null)
    assert.equal((await edge.get(slug)).text, PUBLISHED)
    await say(slug, 'Said')
    assert.equal((await edge.get(slug)).text, FRONT)
  })

  test('is never unchanged when its head is not', async () => {
    const { slug, id } = await said()
    const seen = [await edge.get(slug)]
    await say(slug, null)
    seen.push(await edge.get(slug))
    await say(slug, 'Another')
    await edge.front(slug, id, '<title>Another</title>')
    seen.push(await edge.get(slug))
    await say(slug, null)
    seen.push(await edge.get(slug))
    for (const [index, { headers, text }] of seen.entries()) {
      for (const condition of [
        { 'if-none-match': headers.etag! },
        { 'if-modified-since': headers['last-modified']! },
        { 'if-none-match': headers.etag!, 'if-modified-since': headers['last-modified']! },
      ]) {
        const reply = await edge.get(slug, '/', { headers: condition })
        const same = text === PUBLISHED && 'if-none-match' in condition
        const unchanged = index === seen.length - 1 || same
        assert.equal(reply.status, unchanged ? 304 : 200, `${index} ${JSON.stringify(condition)}`)
      }
    }
  })

  test('comes encoded, each form with its own entity tag', async () => {
    const { slug } = await said()
    const body = brotliCompressSync(FRONT)
    await edge.encode(slug, FRONT, { br: body })
    const reply = await edge.get(slug, '/', { headers: { 'accept-encoding': 'br' } })
    assert.ok(reply.body.equals(body))
    assert.equal(reply.headers.etag, (await edge.get(slug)).headers.etag!.replace(/"$/, '-br"'))
  })

  test('shows nothing of it before the password', async () => {
    const { slug } = await said()
    await edge.setPassword(slug, 'open sesame')
    const { status, text } = await edge.get(slug)
    assert.deepEqual([status, text.includes('Said')], [401, false])
  })
})

test('another document keeps its date when something else is said of the site', async () => {
  const { slug } = await said()
  const { headers } = await edge.get(slug, '/docs/')
  await say(slug, 'Something else')
  const since = { 'if-modified-since': headers['last-modified']! }
  assert.equal((await edge.get(slug, '/docs/', { headers: since })).status, 304)
  assert.equal((await edge.get(slug, '/', { headers: since })).status, 200)
})
