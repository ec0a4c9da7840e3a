import assert from 'node:assert/strict'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { brotliCompressSync } from 'node:zlib'
import { EdgeFixture, noise, sha256 } from './edge-fixture.ts'

const PUBLISHED = '<title>Mine</title>'

let edge: EdgeFixture
before(async () => {
  edge = await EdgeFixture.start()
})
after(() => edge[Symbol.asyncDispose]())

/** The published document with this title in its head. */
function titled(title: string): string {
  return `\n<title>${title}</title>\n<meta property="og:title" content="${title}">`
}
const FRONT = titled('Said')

/** A site whose root document has what is said of it in its head. */
async function said(document: string | Buffer = PUBLISHED): Promise<{ slug: string; id: string }> {
  const slug = await edge.site({ title: 'Said' })
  const id = await edge.version(slug, { 'index.html': document, 'docs/index.html': 'docs' })
  return { slug, id }
}

/** What a metadata change does, a second later. */
async function say(slug: string, title: string | null): Promise<void> {
  edge.clock.now += 1000
  await edge.change(slug, { title, updatedAt: edge.clock.now })
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

  test('has it at a custom domain', async () => {
    const { slug } = await said()
    await edge.domain('said.example', slug, 'active')
    assert.equal((await edge.ask('said.example', '/')).text, FRONT)
  })

  test('has it where rules and spaMode lead to it', async () => {
    const slug = await edge.site({ title: 'Said', spaMode: true })
    await edge.version(slug, { 'index.html': PUBLISHED, _redirects: '/app/* /index.html 200' })
    assert.equal((await edge.get(slug, '/app/x')).text, FRONT)
    assert.equal((await edge.get(slug, '/route')).text, FRONT)
  })

  test('has from the next visit on what is said of it by then', async () => {
    const { slug } = await said()
    await say(slug, 'Something else')
    assert.equal((await edge.get(slug)).text, titled('Something else'))
    await say(slug, null)
    assert.equal((await edge.get(slug)).text, PUBLISHED)
    await say(slug, 'Said')
    assert.equal((await edge.get(slug)).text, FRONT)
  })

  test('is never unchanged when its head is not', async () => {
    const { slug } = await said()
    const seen = [await edge.get(slug)]
    for (const title of [null, 'Another', null]) {
      await say(slug, title)
      seen.push(await edge.get(slug))
    }
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

  test('has the entity tag of its bytes', async () => {
    const { slug } = await said()
    assert.equal((await edge.get(slug)).headers.etag, `"${sha256(FRONT).slice(0, 32)}"`)
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

  test('is read once, however often the site is loaded', async () => {
    const { slug, id } = await said(`${PUBLISHED}read once`)
    await edge.get(slug)
    await using _lost = await lose(`${PUBLISHED}read once`)
    await edge.change(slug, { spaMode: true })
    for (const host of [slug, `${id}--${slug}`])
      assert.equal((await edge.get(host)).text, `${FRONT}read once`)
  })

  test('costs no other file when it is lost', async () => {
    const { slug } = await said(`${PUBLISHED}lost`)
    await using _lost = await lose(`${PUBLISHED}lost`)
    assert.equal((await edge.get(slug)).status, 500)
    assert.equal((await edge.get(slug, '/docs/')).text, 'docs')
  })
})

/** The blob of some content is gone until this is disposed. */
async function lose(content: string): Promise<AsyncDisposable> {
  const hash = sha256(content)
  const path = join(edge.folder, 'blobs', hash.slice(0, 2), hash)
  await rename(path, `${path}.lost`)
  return { [Symbol.asyncDispose]: () => rename(`${path}.lost`, path) }
}

describe('a root document of more than 256 KiB, which is sent in pieces', () => {
  const rest = noise(600_000)
  const whole = Buffer.concat([Buffer.from(FRONT), rest])
  let slug: string
  before(async () => {
    slug = (await said(Buffer.concat([Buffer.from(PUBLISHED), rest]))).slug
  })

  test('is all there, however often it is asked for', async () => {
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
    test(`comes in parts: ${what}`, async () => {
      const { status, headers, body } = await edge.get(slug, '/', {
        headers: { range: `bytes=${start}-${end}` },
      })
      assert.deepEqual([status, headers['content-range']], [206, `bytes ${start}-${end}/${whole.length}`])
      assert.ok(body.equals(whole.subarray(start, end + 1)))
    })
  }
})

test('another document keeps its date when something else is said of the site', async () => {
  const { slug } = await said()
  const { headers } = await edge.get(slug, '/docs/')
  await say(slug, 'Something else')
  const since = { 'if-modified-since': headers['last-modified']! }
  assert.equal((await edge.get(slug, '/docs/', { headers: since })).status, 304)
  assert.equal((await edge.get(slug, '/', { headers: since })).status, 200)
})
