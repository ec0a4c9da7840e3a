import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { EdgeFixture, noise } from './fixture.ts'

const PUBLISHED = '<title>Mine</title>'

const edge = EdgeFixture.shared()

/** The published document with this title in its head. */
function titled(title: string): string {
  return `\n<title>${title}</title>\n<meta property="og:title" content="${title}">`
}
const FRONT = titled('A title')

/** Publishes a site with a title, which is injected into its root document. */
async function publishWithTitle(document: string | Buffer = PUBLISHED) {
  const slug = await edge.createSite({ title: 'A title' })
  const id = await edge.createVersion(slug, { 'index.html': document, 'docs/index.html': 'docs' })
  return { slug, id }
}

/** Changes the title of a site, a second later. */
async function setTitle(slug: string, title: string | null): Promise<void> {
  edge.clock.now += 1000
  await edge.updateSite(slug, { title, updatedAt: edge.clock.now })
}

describe('the root document of a site with metadata', () => {
  test('has it in its head at each of its paths, and no other document has', async () => {
    const { slug } = await publishWithTitle()
    for (const path of ['/', '/index.html', '/index', '/?a=b']) {
      const { status, text, headers } = await edge.get(slug, path)
      assert.deepEqual([status, text, headers['content-length']], [200, FRONT, `${FRONT.length}`], path)
      assert.equal(headers['content-type'], 'text/html; charset=utf-8')
    }
    assert.equal((await edge.get(slug, '/docs/')).text, 'docs')
  })

  test('has it at every host, and when served by rules and spaMode', async () => {
    const contents = { 'index.html': PUBLISHED, _redirects: '/app/* /index.html 200' }
    const slug = await edge.createSite({ title: 'A title', spaMode: true })
    const id = await edge.createVersion(slug, contents)
    await edge.addDomain('custom.example', slug)
    for (const host of [edge.host(slug), edge.host(`${id}--${slug}`), 'custom.example'])
      for (const path of ['/', '/app/x', '/route'])
        assert.equal((await edge.request(host, path)).text, FRONT, host + path)
  })

  test('is never 304 when its head has changed', async () => {
    const { slug } = await publishWithTitle()
    const replies = [await edge.get(slug)]
    for (const title of [null, 'Another', null]) {
      await setTitle(slug, title)
      const reply = await edge.get(slug)
      assert.equal(reply.text, title === null ? PUBLISHED : titled(title))
      replies.push(reply)
    }
    for (const [index, { headers, text }] of replies.entries()) {
      for (const condition of [
        { 'if-none-match': headers.etag! },
        { 'if-modified-since': headers['last-modified']! },
        { 'if-none-match': headers.etag!, 'if-modified-since': headers['last-modified']! },
      ]) {
        const reply = await edge.get(slug, '/', { headers: condition })
        const same = text === PUBLISHED && 'if-none-match' in condition
        const unchanged = index === replies.length - 1 || same
        assert.equal(reply.status, unchanged ? 304 : 200, `${index} ${JSON.stringify(condition)}`)
      }
    }
  })

  test('is sent encoded, with the entity tag of its bytes per encoding', async () => {
    const { slug } = await publishWithTitle()
    const { etag } = (await edge.get(slug)).headers
    assert.equal((await edge.get(await edge.publish({ 'index.html': FRONT }))).headers.etag, etag)
    await edge.encode(slug, FRONT, { br: 'encoded' })
    const { text, headers } = await edge.get(slug, '/', { headers: { 'accept-encoding': 'br' } })
    assert.deepEqual([text, headers.etag], ['encoded', etag!.replace(/"$/, '-br"')])
  })
})

describe('a root document of more than 256 KiB, which is streamed', () => {
  const rest = noise(600_000)
  const whole = Buffer.concat([Buffer.from(FRONT), rest])
  let slug: string
  before(async () => {
    slug = (await publishWithTitle(Buffer.concat([Buffer.from(PUBLISHED), rest]))).slug
  })

  test('is complete on every request, with a length without a body for HEAD', async () => {
    for (let time = 0; time < 3; time++) assert.ok((await edge.get(slug)).body.equals(whole))
    const { headers, body } = await edge.get(slug, '/', { method: 'HEAD' })
    assert.deepEqual([headers['content-length'], body.length], [`${whole.length}`, 0])
  })

  test('supports ranges within, across and behind the injected head', async () => {
    const { length } = FRONT
    for (const [start, end] of [
      [1, 5],
      [length - 3, length + 3],
      [length, length + 10],
      [0, length - 1],
      [300_000, 500_000],
      [0, whole.length - 1],
    ] as const) {
      const headers = { range: `bytes=${start}-${end}` }
      const reply = await edge.get(slug, '/', { headers })
      assert.equal(reply.headers['content-range'], `bytes ${start}-${end}/${whole.length}`)
      assert.ok(reply.body.equals(whole.subarray(start, end + 1)), headers.range)
    }
  })
})
