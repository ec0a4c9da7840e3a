import assert from 'node:assert/strict'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { brotliCompressSync } from 'node:zlib'
import { sha256 } from '../api/content.ts'
import { EdgeFixture, noise } from './fixture.ts'

const PUBLISHED = '<title>Mine</title>'

const edge = EdgeFixture.shared()

/** The published document with this title in its head. */
function titled(title: string): string {
  return `\n<title>${title}</title>\n<meta property="og:title" content="${title}">`
}
const FRONT = titled('Said')

/** Publishes a site with a title, which is injected into its root document. */
async function publishWithTitle(
  document: string | Buffer = PUBLISHED,
): Promise<{ slug: string; id: string }> {
  const slug = await edge.createSite({ title: 'Said' })
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

  test('has it at the host of its version and at a custom domain too', async () => {
    const { slug, id } = await publishWithTitle()
    assert.equal((await edge.get(`${id}--${slug}`)).text, FRONT)
    await edge.addDomain('custom.example', slug, 'active')
    assert.equal((await edge.request('custom.example', '/')).text, FRONT)
  })

  test('has it when served by rules and spaMode', async () => {
    const slug = await edge.createSite({ title: 'Said', spaMode: true })
    await edge.createVersion(slug, { 'index.html': PUBLISHED, _redirects: '/app/* /index.html 200' })
    assert.equal((await edge.get(slug, '/app/x')).text, FRONT)
    assert.equal((await edge.get(slug, '/route')).text, FRONT)
  })

  test('has changed metadata from the next visit on', async () => {
    const { slug } = await publishWithTitle()
    await setTitle(slug, 'Another title')
    assert.equal((await edge.get(slug)).text, titled('Another title'))
    await setTitle(slug, null)
    assert.equal((await edge.get(slug)).text, PUBLISHED)
    await setTitle(slug, 'Said')
    assert.equal((await edge.get(slug)).text, FRONT)
  })

  test('is never 304 when its head has changed', async () => {
    const { slug } = await publishWithTitle()
    const replies = [await edge.get(slug)]
    for (const title of [null, 'Another', null]) {
      await setTitle(slug, title)
      replies.push(await edge.get(slug))
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

  test('has the entity tag of its bytes', async () => {
    const { slug } = await publishWithTitle()
    assert.equal((await edge.get(slug)).headers.etag, `"${sha256(FRONT).slice(0, 32)}"`)
  })

  test('is sent encoded, with an entity tag per encoding', async () => {
    const { slug } = await publishWithTitle()
    const body = brotliCompressSync(FRONT)
    await edge.encode(slug, FRONT, { br: body })
    const reply = await edge.get(slug, '/', { headers: { 'accept-encoding': 'br' } })
    assert.ok(reply.body.equals(body))
    assert.equal(reply.headers.etag, (await edge.get(slug)).headers.etag!.replace(/"$/, '-br"'))
  })

  test('is read once, however often the site is loaded', async () => {
    const { slug, id } = await publishWithTitle(`${PUBLISHED}read once`)
    await edge.get(slug)
    await using _lost = await lose(`${PUBLISHED}read once`)
    await edge.updateSite(slug, { spaMode: true })
    for (const host of [slug, `${id}--${slug}`])
      assert.equal((await edge.get(host)).text, `${FRONT}read once`)
  })

  test('does not affect other files when it is lost', async () => {
    const { slug } = await publishWithTitle(`${PUBLISHED}lost`)
    await using _lost = await lose(`${PUBLISHED}lost`)
    assert.equal((await edge.get(slug)).status, 500)
    assert.equal((await edge.get(slug, '/docs/')).text, 'docs')
  })
})

/** Removes the blob of some content until disposal. */
async function lose(content: string): Promise<AsyncDisposable> {
  const hash = sha256(content)
  const path = join(edge.folder, 'blobs', hash.slice(0, 2), hash)
  await rename(path, `${path}.lost`)
  return { [Symbol.asyncDispose]: () => rename(`${path}.lost`, path) }
}

describe('a root document of more than 256 KiB, which is streamed', () => {
  const rest = noise(600_000)
  const whole = Buffer.concat([Buffer.from(FRONT), rest])
  let slug: string
  before(async () => {
    slug = (await publishWithTitle(Buffer.concat([Buffer.from(PUBLISHED), rest]))).slug
  })

  test('is complete on every request', async () => {
    for (let time = 0; time < 3; time++) assert.ok((await edge.get(slug)).body.equals(whole))
  })

  test('has a length without a body for HEAD', async () => {
    const { headers, body } = await edge.get(slug, '/', { method: 'HEAD' })
    assert.deepEqual([headers['content-length'], body.length], [`${whole.length}`, 0])
  })

  const { length } = FRONT
  const ranges: [what: string, start: number, end: number][] = [
    ['in the head that was put in', 1, 5],
    ['across its end', length - 3, length + 3],
    ['from its end on', length, length + 10],
    ['up to its end', 0, length - 1],
    ['behind it', 300_000, 500_000],
    ['of all', 0, whole.length - 1],
  ]
  for (const [what, start, end] of ranges) {
    test(`supports ranges: ${what}`, async () => {
      const { status, headers, body } = await edge.get(slug, '/', {
        headers: { range: `bytes=${start}-${end}` },
      })
      assert.deepEqual([status, headers['content-range']], [206, `bytes ${start}-${end}/${whole.length}`])
      assert.ok(body.equals(whole.subarray(start, end + 1)))
    })
  }
})

test('other documents keep their date when metadata changes', async () => {
  const { slug } = await publishWithTitle()
  const { headers } = await edge.get(slug, '/docs/')
  await setTitle(slug, 'Something else')
  const since = { 'if-modified-since': headers['last-modified']! }
  assert.equal((await edge.get(slug, '/docs/', { headers: since })).status, 304)
  assert.equal((await edge.get(slug, '/', { headers: since })).status, 200)
})
