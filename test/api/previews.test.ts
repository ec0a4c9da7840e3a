import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { PublishOptions } from '../../client/sdk/slipway.ts'
import { pluck } from '../support/pluck.ts'
import { Api, DAY_MS, expectFailure, HOUR_MS, startApi } from './api.ts'
import { type Contents, toManifest } from './content.ts'

const api = await startApi()
const owner = await api.account()

/** A site with a live page. */
async function newSite(contents: Record<string, string> = { 'index.html': 'live', 'a.txt': 'a' }) {
  return api.publish(owner.client, contents)
}

/** Publishes as a preview of a site. */
function show(slug: string, contents: Contents, preview = 'pr-42', more: Omit<PublishOptions, 'files'> = {}) {
  return api.publish(owner.client, contents, { slug, preview, ...more })
}

/** What visitors of a preview see: the status, and the page of status 200. */
async function read(url: string, path = '/'): Promise<string> {
  const { status, body } = await api.visit(url, path)
  return status === 200 ? body.toString() : `${status}`
}

function urlOf(siteUrl: string, name: string): string {
  const url = new URL(siteUrl)
  url.host = `${name}--${url.host}`
  return url.href
}

describe('a preview', () => {
  test('shows each publish of its name at a URL that stays the same, and leaves the site as it is', async () => {
    const { slug, siteUrl, versionId } = await newSite()
    const first = await show(slug, { 'index.html': '1', 'a.txt': 'a' })
    const url = urlOf(siteUrl, 'pr-42')
    assert.deepEqual(first.preview, {
      name: 'pr-42',
      url,
      expiresAt: new Date(api.clock.now + 30 * DAY_MS).toISOString(),
    })
    assert.equal(first.uploaded, 1, 'a file of the live version needs no upload')
    assert.deepEqual([await read(url), await read(siteUrl)], ['1', 'live'])
    const second = await show(slug, { 'index.html': '1', 'a.txt': 'b' })
    assert.equal(second.uploaded, 1, 'nor does a file of the version that it shows')
    assert.deepEqual([await read(url, '/a.txt'), await read(siteUrl, '/a.txt')], ['b', 'a'])
    assert.equal((await owner.client.details(slug)).currentVersionId, versionId)
    assert.deepEqual(
      (await owner.client.versions(slug)).versions.map((one) => [one.versionId, one.preview?.name]),
      [
        [second.versionId, 'pr-42'],
        [versionId, undefined],
      ],
    )
    await expectFailure(owner.client.version(slug, first.versionId), 'NOT_FOUND')
    api.pass()
    await owner.client.update(slug, { files: toManifest({ 'a.txt': 'next' }), preview: 'pr-42' })
    await api.running.service.invalidate([slug])
    assert.equal(await read(url, '/a.txt'), 'b', 'an unfinished upload changes nothing')
  })

  test('serves a file for an hour after it went away, which is its own, and ends with it', async () => {
    const { slug, siteUrl } = await newSite()
    const publish = (number: number, preview?: string) =>
      show(slug, { 'index.html': `${number}`, [`app.${number}.js`]: `${number}` }, preview)
    for (const number of [1, 2, 3]) await publish(number)
    const [url, other] = [urlOf(siteUrl, 'pr-42'), urlOf(siteUrl, 'pr-43')]
    await publish(4, 'pr-43')
    const files = async (at: string) =>
      Promise.all([1, 2, 3, 4].map((number) => read(at, `/app.${number}.js`)))
    assert.deepEqual(await files(url), ['1', '2', '3', '404'])
    assert.deepEqual(await files(other), ['404', '404', '404', '4'])
    assert.deepEqual(await files(siteUrl), ['404', '404', '404', '404'])
    api.pass(HOUR_MS)
    assert.deepEqual(await files(url), ['404', '404', '3', '404'])
    await publish(4)
    assert.deepEqual(await files(url), ['404', '404', '3', '4'])
    await owner.client.deletePreview(slug, 'pr-42')
    await publish(2)
    assert.deepEqual(await files(url), ['404', '2', '404', '404'])
  })

  test('begins without the files that the last one of its name had removed, however that ended', async () => {
    const ends = [
      ({ slug }: { slug: string }) => owner.client.deletePreview(slug, 'pr-42'),
      ({ slug, versionId }: { slug: string; versionId: string }) =>
        owner.client.deleteVersion(slug, versionId),
      async () => api.pass(60_000),
    ]
    for (const end of ends) {
      const { slug, siteUrl } = await newSite()
      const options = { slug, preview: 'pr-42', ttlSeconds: 60 }
      const url = urlOf(siteUrl, 'pr-42')
      await api.publish(owner.client, { 'index.html': '1', 'a.txt': 'a secret' }, options)
      const { versionId } = await api.publish(owner.client, { 'index.html': '2' }, options)
      assert.equal(await read(url, '/a.txt'), 'a secret')
      await end({ slug, versionId })
      await api.publish(owner.client, { 'index.html': '3' }, options)
      assert.deepEqual([await read(url), await read(url, '/a.txt')], ['3', '404'])
    }
  })

  test('is never indexed or cached, and has the password, the rules and the expiry of its site', async () => {
    const { slug, siteUrl } = await newSite()
    const rules = { _redirects: '/old /new 302', _headers: '/*\n  X-Robots-Tag: all\n  X-Test: 1' }
    await show(slug, { 'index.html': '1', ...rules }, 'staging')
    const url = urlOf(siteUrl, 'staging')
    const { headers } = await api.visit(url)
    const values = ['x-robots-tag', 'cache-control', 'x-test'].map((name) => headers[name])
    assert.deepEqual(values, ['noindex', 'private, no-store', '1'])
    assert.equal((await api.visit(url, '/old')).headers.location, '/new')
    await owner.client.setMetadata(slug, { password: 'secret' })
    assert.equal(await read(url), '401')
    await owner.client.setMetadata(slug, { password: null, ttlSeconds: 60 })
    api.pass(61_000)
    assert.equal(await read(url), '410')
  })

  test('is promoted in one step: the same version is live, and the preview still shows it', async () => {
    const { slug, siteUrl, versionId } = await newSite()
    const metadata = { title: 'Of the preview', ttlSeconds: 3600, spaMode: true }
    const shown = await show(slug, { 'index.html': '2' }, 'pr-42', metadata)
    assert.equal(await read(siteUrl, '/no/file'), '404')
    assert.match(await read(urlOf(siteUrl, 'pr-42'), '/no/file'), /2$/)
    const promoted = await owner.client.promote(slug, 'pr-42', shown.versionId)
    assert.deepEqual([promoted.currentVersionId, promoted.previousVersionId], [shown.versionId, versionId])
    assert.match(await read(siteUrl), /<title>Of the preview<\/title>.*2$/s)
    assert.match(await read(siteUrl, '/no/file'), /2$/)
    const details = await owner.client.details(slug)
    assert.deepEqual([details.title, details.expiresAt], ['Of the preview', null])
    const [listed] = (await owner.client.previews(slug)).previews
    assert.deepEqual([listed?.current, listed?.versionId], [true, shown.versionId])
    assert.equal((await owner.client.promote(slug, 'pr-42')).replayed, true)
    await show(slug, { 'index.html': '3' })
    assert.match(await read(urlOf(siteUrl, 'pr-42')), /3$/)
    assert.equal((await owner.client.details(slug)).currentVersionId, shown.versionId)
    await expectFailure(owner.client.promote(slug, 'pr-42', shown.versionId), 'VERSION_CONFLICT')
  })

  test('of unchanged files keeps its version, and lasts as long as a new one', async () => {
    const { slug } = await newSite()
    const options = { slug, preview: 'pr-42', ifChanged: true }
    const first = await api.publish(owner.client, { 'index.html': 'live', 'a.txt': 'a' }, options)
    assert.equal(first.unchanged, undefined, 'it equals the live version, but the preview is new')
    api.pass(DAY_MS)
    const again = await api.publish(owner.client, { 'index.html': 'live', 'a.txt': 'a' }, options)
    assert.deepEqual([again.unchanged, again.versionId], [true, first.versionId])
    assert.equal(again.preview?.expiresAt, new Date(api.clock.now + 30 * DAY_MS).toISOString())
    assert.equal((await owner.client.preview(slug, 'pr-42')).expiresAt, again.preview?.expiresAt)
  })

  test('is merged with itself, and at first with the live version', async () => {
    const { slug, siteUrl } = await newSite()
    const url = urlOf(siteUrl, 'pr-42')
    const merge = (contents: Record<string, string>, deleted?: string[]) =>
      api.publish(owner.client, contents, { slug, preview: 'pr-42', merge: true, delete: deleted })
    await merge({ 'b.txt': 'b' })
    assert.deepEqual([await read(url), await read(url, '/b.txt')], ['live', 'b'])
    await api.publish(owner.client, { 'index.html': 'newer' }, { slug })
    const files = toManifest({ 'index.html': 'newer' })
    const { upload } = await owner.client.update(slug, { files, preview: 'pr-42' })
    assert.deepEqual(upload.uploads, [], 'the live version has the file')
    const { changes } = await merge({ 'c.txt': 'c' }, ['a.txt'])
    assert.deepEqual(changes, { added: 1, changed: 0, removed: 1 })
    api.pass(HOUR_MS)
    assert.deepEqual(
      [await read(url), await read(url, '/b.txt'), await read(url, '/a.txt')],
      ['live', 'b', '404'],
    )
  })

  test('refuses a publish that is based on another version of it, until it ends', async () => {
    const { slug, versionId } = await newSite()
    const publish = (baseVersionId: string) =>
      api.publish(owner.client, { 'index.html': baseVersionId }, { slug, preview: 'pr-42', baseVersionId })
    const shown = await publish(versionId)
    const refusal = await expectFailure(publish(versionId), 'VERSION_CONFLICT')
    assert.partialDeepStrictEqual(refusal.details, { currentVersionId: shown.versionId })
    await publish(shown.versionId)
    api.pass(31 * DAY_MS)
    await publish(versionId)
  })

  test('ends 30 days after its last change, or after the time of its publish, and is deleted then', async () => {
    const { slug, siteUrl } = await newSite()
    await show(slug, { 'index.html': '1' }, 'pr-1')
    for (const number of ['2', '3'])
      await show(slug, { 'index.html': number }, `pr-${number}`, { ttlSeconds: 3600 })
    await owner.client.promote(slug, 'pr-3')
    const names = async () => (await owner.client.previews(slug)).previews.map(({ name }) => name)
    const shown = async () => [await read(urlOf(siteUrl, 'pr-1')), await read(urlOf(siteUrl, 'pr-2'))]
    assert.deepEqual(
      [await names(), await shown()],
      [
        ['pr-3', 'pr-2', 'pr-1'],
        ['1', '2'],
      ],
    )
    api.pass(3_601_000)
    assert.deepEqual([await names(), await shown()], [['pr-1'], ['1', '404']])
    await expectFailure(owner.client.promote(slug, 'pr-2'), 'NOT_FOUND')
    await api.sweep('old-versions')
    assert.equal((await owner.client.versions(slug)).versions.length, 3)
    assert.equal(await read(siteUrl), '3', 'the live version stays')
    api.pass(30 * DAY_MS)
    assert.deepEqual([await names(), await shown()], [[], ['404', '404']])
    await api.sweep('old-versions')
    await api.sweep('old-versions')
    assert.equal((await owner.client.versions(slug)).versions.length, 2)
  })

  test('lasts for its whole time from its finalize on', async () => {
    const { slug } = await newSite()
    const contents = { 'index.html': 'uploaded slowly' }
    const options = { files: toManifest(contents), preview: 'pr-1', ttlSeconds: 7200 }
    const { upload } = await owner.client.update(slug, options)
    await api.upload(upload, contents)
    api.pass(HOUR_MS)
    const { preview } = await owner.client.finalize(slug, upload)
    assert.equal(preview?.expiresAt, new Date(api.clock.now + 2 * HOUR_MS).toISOString())
  })

  test('is not visible after its end under the URL of its version either, which stays if it was live', async () => {
    const { slug, siteUrl } = await newSite()
    const publish = async (preview: string) =>
      (await show(slug, { 'index.html': preview }, preview, { ttlSeconds: 3600 })).versionId
    const [only, promoted, later] = [await publish('pr-1'), await publish('pr-2'), await publish('pr-3')]
    await owner.client.promote(slug, 'pr-2')
    const shown = async () => [await read(urlOf(siteUrl, only)), await read(urlOf(siteUrl, promoted))]
    assert.deepEqual(await shown(), ['pr-1', 'pr-2'])
    api.pass(3_599_000)
    const { url } = await owner.client.previewLink(slug, only)
    assert.equal(await read(url), 'pr-1')
    assert.equal(await read(urlOf(siteUrl, later)), 'pr-3')
    await owner.client.promote(slug, 'pr-3')
    api.pass(1000)
    assert.deepEqual([await shown(), await read(url)], [['404', 'pr-2'], '404'])
    assert.equal(await read(urlOf(siteUrl, later)), 'pr-3')
  })

  test('is deleted immediately, with its version unless that was live, and its name is free again', async () => {
    const { slug, siteUrl } = await newSite()
    const { versionId } = await api.publish(owner.client, { 'index.html': '1' }, { slug, preview: 'pr-1' })
    assert.deepEqual(await owner.client.deletePreview(slug, 'pr-1'), { slug, name: 'pr-1', deleted: true })
    assert.equal(await read(urlOf(siteUrl, 'pr-1')), '404')
    await expectFailure(owner.client.version(slug, versionId), 'NOT_FOUND')
    await expectFailure(owner.client.deletePreview(slug, 'pr-1'), 'NOT_FOUND')
    await api.publish(owner.client, { 'index.html': '2' }, { slug, preview: 'pr-1' })
    await owner.client.promote(slug, 'pr-1')
    await owner.client.deletePreview(slug, 'pr-1')
    assert.deepEqual([await read(urlOf(siteUrl, 'pr-1')), await read(siteUrl)], ['404', '2'])
  })

  test('keeps its name when its site is renamed, copied to none, and deleted and restored with its site', async () => {
    const { slug, siteUrl } = await newSite()
    await api.publish(owner.client, { 'index.html': '1' }, { slug, preview: 'pr-1' })
    const copy = await owner.client.duplicate(slug)
    assert.deepEqual((await owner.client.previews(copy.slug)).previews, [])
    const renamed = await owner.client.renameSite(slug, `renamed-${slug.slice(-6)}`)
    assert.equal(await read(urlOf(renamed.siteUrl, 'pr-1')), '1')
    const { status, headers } = await api.visit(urlOf(siteUrl, 'pr-1'), '/x')
    assert.deepEqual([status, headers.location], [308, `${urlOf(renamed.siteUrl, 'pr-1')}x`])
    await owner.client.delete(renamed.slug)
    assert.equal(await read(urlOf(renamed.siteUrl, 'pr-1')), '404')
    await owner.client.undelete(renamed.slug)
    assert.equal(await read(urlOf(renamed.siteUrl, 'pr-1')), '1')
  })
})

describe('a publish as a preview', () => {
  test('is possible before the site has a live version', async () => {
    const published = await api.publish(owner.client, { 'index.html': '1' }, { preview: 'pr-1' })
    const { slug, siteUrl, status, preview } = published
    assert.deepEqual([status, await read(siteUrl), await read(preview!.url)], ['pending', '404', '1'])
    await owner.client.promote(slug, 'pr-1')
    assert.equal(await read(siteUrl), '1')
  })

  test('takes one request with an archive or with contents, and never goes live by a finalize', async () => {
    const { slug, siteUrl } = await newSite()
    const url = urlOf(siteUrl, 'pr-1')
    const files = [{ path: 'index.html', content: 'contents' }]
    const { versionId } = await owner.client.publishContents({ files, preview: 'pr-1', live: true }, slug)
    assert.deepEqual([await read(url), await read(siteUrl)], ['contents', 'live'])
    assert.equal((await owner.client.finalize(slug, { versionId })).replayed, true)
    assert.deepEqual([await read(url), await read(siteUrl)], ['contents', 'live'])
    const headers = { 'content-type': 'text/html' }
    const target = `/api/v1/publish/${slug}?preview=pr-1&ttlSeconds=60`
    const { json } = await api.request('PUT', target, { key: owner.key, headers, body: 'page' })
    assert.equal((json as { preview: unknown }).preview !== undefined, true)
    assert.deepEqual([await read(url), await read(siteUrl)], ['page', 'live'])
    api.pass(60_000)
    assert.equal(await read(url), '404')
  })

  test('refuses names that are no part of a host name, or that may be a version or a preview link', async () => {
    const { slug } = await newSite()
    const link = new URL((await owner.client.previewLink(slug)).url).host.split('--')[0]!
    const long = 'a'.repeat(26)
    const { versionId } = await owner.client.details(slug)
    const page = { 'index.html': '1' }
    const refusal = async (preview: string) =>
      (await expectFailure(show(slug, page, preview), 'VALIDATION_ERROR')).message
    for (const preview of ['', 'xn', 'PR-42', 'a--b', '-ab', 'ab-', 'a.b', 'pr_1', long, link, versionId])
      assert.match(await refusal(preview), /^preview: must have 3 to 25 /, preview)
    assert.equal(await refusal('slipway-sign-in'), 'preview: is reserved')
    await show(slug, page, 'a'.repeat(25))
  })
})

test('a site has a limited number of previews, which versions and drafts do not evict', async () => {
  await using few = await Api.start({
    PREVIEWS: '2',
    VERSIONS_KEPT: '1',
    DRAFTS_KEPT: '1',
    PREVIEW_LIFETIME: '7200',
  })
  const { client } = await few.account()
  const { slug } = await few.publish(client, { 'index.html': '0' })
  const publish = (preview: string) => few.publish(client, { 'index.html': preview }, { slug, preview })
  const { slug: busy } = await few.publish(client, { 'index.html': '0' })
  const outcomes = await Promise.allSettled(
    Array.from({ length: 20 }, (_, number) =>
      client.publishContents(
        { files: [{ path: 'index.html', content: `${number}` }], preview: `new-${number}` },
        busy,
      ),
    ),
  )
  // Together they are more than a site can have pending: those that newer ones have ended say so.
  const codes = outcomes.map((one) => (one.status === 'rejected' ? one.reason.code : 'published'))
  assert.deepEqual([...new Set(codes)].sort(), ['PREVIEW_LIMIT_REACHED', 'UPLOAD_EXPIRED', 'published'])
  await publish('pr-1')
  await client.promote(slug, 'pr-1')
  const files = toManifest({ 'index.html': 'pr-1' })
  const staged = await client.update(slug, { files, preview: 'pr-3' })
  await publish('pr-2')
  await expectFailure(publish('pr-3'), 'PREVIEW_LIMIT_REACHED')
  const { versionId } = staged.upload
  await expectFailure(client.finalize(slug, { versionId }), 'PREVIEW_LIMIT_REACHED')
  await publish('pr-2')
  for (const number of ['1', '2', '3'])
    await few.publish(client, { 'index.html': number }, { slug, live: number === '3' })
  await few.sweep('old-versions')
  const named = (await client.versions(slug)).versions.map(({ preview }) => preview?.name)
  assert.deepEqual(named, [undefined, undefined, 'pr-2', 'pr-1'])
  few.pass(7_201_000)
  await publish('pr-3')
  assert.deepEqual(pluck((await client.previews(slug)).previews, 'name'), ['pr-3'])
})
