import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Site } from '../../server/store/contract/sites.ts'
import type { Content } from './contents.ts'
import { EdgeFixture, readCookie } from './fixture.ts'

const PASSWORD = 'open sesame'
const SECRET = 'secret'

/** Sites with every kind of response; a locked site must not reveal anything, not even a name. */
const SITES: Record<
  string,
  { row?: Partial<Site>; old?: Record<string, Content>; files: Record<string, Content> }
> = {
  'with rules': {
    files: {
      'index.html': SECRET,
      'docs/index.html': SECRET,
      '404.html': SECRET,
      _redirects:
        '/moved /secret 301\n/forced /secret 302!\n/docs/ /secret 307!\n/rewritten /index.html 200\n/lost /404.html 404\n',
      _headers: '/*\n  X-Secret: yes\n  Cache-Control: public, max-age=600\n',
    },
  },
  'with spaMode': { row: { spaMode: true }, files: { 'index.html': SECRET, 'app.js': SECRET } },
  'with a version before': { old: { 'old.txt': SECRET }, files: { 'index.html': SECRET } },
  'of one file': { files: { 'secret.txt': SECRET } },
  'of a list': { files: { 'secret.txt': SECRET, 'b.txt': SECRET } },
  'with its first index below': { files: { 'secret/index.html': SECRET, 'b.txt': SECRET } },
}

const PATHS = [
  '/',
  '/index.html',
  '/moved',
  '/forced?a=b',
  '/rewritten',
  '/lost',
  '/docs',
  '/docs/',
  '/app.js',
  '/route',
  '/old.txt',
  '/_slipway/text',
  '/_slipway/password',
  '/_headers',
  '/nowhere',
  '/nowhere.js',
  '/%',
  '//',
]

const HEADERS: Record<string, string>[] = [
  {},
  { 'if-none-match': '*' },
  { 'if-match': '"x"' },
  { range: 'bytes=0-1' },
  { range: 'bytes=1000-' },
  { 'accept-encoding': 'br', accept: 'text/html', 'sec-fetch-mode': 'navigate' },
]

let edge: EdgeFixture
before(async () => {
  edge = await EdgeFixture.start()
})
after(() => edge[Symbol.asyncDispose]())

for (const [name, { row = {}, old, files }] of Object.entries(SITES)) {
  describe(`a locked site ${name}`, () => {
    let hosts: string[]
    let slug: string
    before(async () => {
      slug = await edge.createSite(row)
      if (old) await edge.createVersion(slug, old)
      const live = await edge.createVersion(slug, files)
      await edge.setPassword(slug, PASSWORD)
      await edge.addDomain(`${slug}.example`, slug, 'active')
      hosts = [edge.host(slug), edge.host(`${live}--${slug}`), `${slug}.example`]
    })

    test('sends the same response for every path at every host before the password', async () => {
      for (const host of hosts) {
        for (const path of PATHS) {
          for (const headers of HEADERS) {
            const reply = await edge.request(host, path, { headers })
            const of = `${host}${path} ${JSON.stringify(headers)}`
            assert.equal(reply.status, 401, of)
            assert.doesNotMatch(reply.text.replace(/value="[^"]*"/, ''), /secret/i, of)
            for (const header of ['location', 'etag', 'last-modified', 'x-secret', 'content-range', 'vary']) {
              assert.equal(reply.headers[header], undefined, `${header} of ${of}`)
            }
            assert.equal(reply.headers['cache-control'], 'no-store')
          }
        }
      }
    })

    test('sends nothing cacheable after the password', async () => {
      const cookie = readCookie(await edge.submitPassword(slug, PASSWORD))
      const seen = new Set<number>()
      for (const path of PATHS) {
        for (const headers of HEADERS) {
          const reply = await edge.get(slug, path, { headers: { ...headers, cookie } })
          const caching = reply.status < 400 ? 'private, no-store' : 'no-store'
          assert.equal(reply.headers['cache-control'], caching, `${reply.status} ${path}`)
          seen.add(reply.status)
        }
      }
      assert.ok((seen.has(200) || seen.has(302)) && seen.has(404) && !seen.has(401), [...seen].join())
    })
  })
}
