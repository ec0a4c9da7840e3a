import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { connect } from 'node:tls'
import type { Slipway } from '../../client/sdk/slipway.ts'
import { toFiles } from '../api/content.ts'
import { sendRequest } from '../support/http-client.ts'
import { type RunningService, startTestService } from '../support/service.ts'
import { memoryFolder } from '../tools/memory-folder.ts'

// A data folder that the service of commit 4ed3342 made through its own SDK. One account published two versions of a
// site, set its title and had three visits; one visitor without an account published the other site. The domain and its
// certificate, sealed with the secret of the folder, were written through the store of that commit.

const ARCHIVE = join(import.meta.dirname, '..', 'cases', 'data-4ed3342.tar.gz')
const MADE_AT = 1_795_346_037_538
const API_KEY = 'sl_live_631439597d7f14db292df6a7588c0cc6'
const SITE = 'coral-ferry-g3pkep'
const FIRST_VERSION = '01m81fcxstdnefc065f6vjr5px'
const SECOND_VERSION = '01m81fcys2yp5tq6h9hx63dp6v'
const ANONYMOUS_SITE = 'autumn-river-5z3zh5'
const CLAIM_TOKEN = '49de90fc-fbcd-44f2-965d-327f4d24c36b'
const DOMAIN = 'www.example.test'

describe('a data folder of an earlier release', () => {
  const stack = new AsyncDisposableStack()
  let service: RunningService
  let owner: Slipway

  before(async () => {
    const folder = stack.use(await memoryFolder())
    execFileSync('tar', ['-xzf', ARCHIVE, '-C', folder.path])
    const settings = {
      DATA: folder.path,
      SITE_DOMAIN: 'pages.slipway.test',
      HTTPS_PORT: '0',
      // No CA listens there.
      ACME_URL: 'https://127.0.0.1:1/directory',
    }
    service = stack.use(await startTestService(settings, MADE_AT + 60_000))
    owner = service.client(API_KEY)
  })

  after(() => stack.disposeAsync())

  test('the key still signs in to its account, and its sites and versions are listed', async () => {
    const { email, plan } = await owner.me()
    assert.deepEqual({ email, plan }, { email: 'owner@example.test', plan: 'hobby' })
    const { publishes } = await owner.list()
    assert.deepEqual(
      publishes.map(({ slug, title }) => ({ slug, title })),
      [{ slug: SITE, title: 'A title' }],
    )
    const { versions } = await owner.versions(SITE)
    assert.deepEqual(
      versions.map(({ versionId, current, fileCount }) => ({ versionId, current, fileCount })),
      [
        { versionId: SECOND_VERSION, current: true, fileCount: 4 },
        { versionId: FIRST_VERSION, current: false, fileCount: 2 },
      ],
    )
  })

  test('the site is served with its title, rules and stored encodings, and its preview and domain too', async () => {
    const page = await get(`${SITE}.pages.slipway.test`)
    assert.equal(page.headers['x-made-by'], '4ed3342')
    assert.match(page.text, /<p>Second/)
    const redirected = await get(`${SITE}.pages.slipway.test`, '/old')
    assert.deepEqual([redirected.status, redirected.headers.location], [301, '/new'])
    const style = await get(`${SITE}.pages.slipway.test`, '/style.css', { 'accept-encoding': 'br' })
    assert.deepEqual([style.headers['content-encoding'], style.body.length], ['br', 44])
    const preview = await get(`${FIRST_VERSION}--${SITE}.pages.slipway.test`)
    assert.match(preview.text, /<p>First/)
    assert.deepEqual((await get(DOMAIN)).status, 308)
  })

  test('the domain is active, and handshakes use its stored certificate', async () => {
    const [record] = (await owner.domains()).domains
    assert.deepEqual(
      { domain: record?.domain, siteSlug: record?.siteSlug, status: record?.status },
      { domain: DOMAIN, siteSlug: SITE, status: 'active' },
    )
    const port = service.service.httpsPort!
    const socket = connect({ port, host: '127.0.0.1', servername: DOMAIN, rejectUnauthorized: false })
    await once(socket, 'secureConnect')
    assert.equal(socket.getPeerCertificate().subjectaltname, `DNS:${DOMAIN}`)
    socket.destroy()
  })

  test('the visits of that day are reported', async () => {
    const { totals, topPaths, missingPaths, referrers } = await owner.visits(SITE)
    assert.ok(totals.requests >= 3 && totals.visitors >= 2, JSON.stringify(totals))
    assert.deepEqual(new Set(topPaths.map(({ name }) => name)), new Set(['/', '/style.css']))
    assert.deepEqual(missingPaths, [{ name: '/missing', requests: 1 }])
    assert.deepEqual(referrers, [{ name: 'elsewhere.test', requests: 1 }])
  })

  test('the anonymous site can be claimed with its token', async () => {
    await owner.claim(ANONYMOUS_SITE, CLAIM_TOKEN)
    assert.deepEqual((await owner.list()).publishes.map(({ slug }) => slug).toSorted(), [
      ANONYMOUS_SITE,
      SITE,
    ])
  })

  test('a new version is published, an old one restored, and a version deleted', async () => {
    const { slug, versionId } = await owner.publish({
      slug: SITE,
      files: toFiles({ 'index.html': '<!doctype html><title>A page</title><p>Third</p>' }),
    })
    assert.equal(slug, SITE)
    assert.match((await get(`${SITE}.pages.slipway.test`)).text, /<p>Third/)
    await owner.restore(SITE, FIRST_VERSION)
    assert.match((await get(`${SITE}.pages.slipway.test`)).text, /<p>First/)
    await owner.deleteVersion(SITE, versionId)
    assert.deepEqual(
      (await owner.versions(SITE)).versions.map((version) => version.versionId),
      [SECOND_VERSION, FIRST_VERSION],
    )
  })

  function get(host: string, path = '/', headers: Record<string, string> = {}) {
    return sendRequest(service.port, { path, headers: { host, ...headers } })
  }
})
