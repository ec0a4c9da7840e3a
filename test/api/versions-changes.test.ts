import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { VersionDetails } from '../../protocol/api/sites.ts'
import { newId } from '../../server/lib/tokens.ts'
import { blob, siteRow, versionRow } from '../store/rows.ts'
import { type Account, Api, expectFailure } from './api.ts'
import { make, send } from './archive-requests.ts'
import { browser } from './browser.ts'
import { type Contents, sha256 } from './content.ts'

let api: Api
let owner: Account
before(async () => {
  api = await Api.start()
  owner = await api.account()
})
after(() => api[Symbol.asyncDispose]())

const newest = async (slug: string) => (await owner.client.versions(slug)).versions[0]!

/** A site with a version for each of these contents, the last one live. */
async function publishVersions(...all: Contents[]): Promise<{ slug: string; ids: string[] }> {
  const ids: string[] = []
  let slug: string | undefined
  for (const contents of all) {
    const published = await api.publish(owner.client, contents, slug === undefined ? {} : { slug })
    slug = published.slug
    ids.push(published.versionId)
  }
  return { slug: slug!, ids }
}

describe('what changed in a version', () => {
  const first = { 'index.html': 'home', 'a/b.css': 'b', 'c.js': 'c' }
  const cases: [
    what: string,
    later: Contents,
    differs: Pick<VersionDetails, 'added' | 'changed' | 'removed'>,
  ][] = [
    ['nothing', first, { added: [], changed: [], removed: [] }],
    ['other bytes', { ...first, 'c.js': 'C' }, { added: [], changed: ['c.js'], removed: [] }],
    ['a new file', { ...first, 'd.txt': 'd' }, { added: ['d.txt'], changed: [], removed: [] }],
    ['removed files', { 'index.html': 'home' }, { added: [], changed: [], removed: ['a/b.css', 'c.js'] }],
    [
      'a file under another name',
      { 'index.html': 'home', 'a/b.css': 'b', 'e.js': 'c' },
      { added: ['e.js'], changed: [], removed: ['c.js'] },
    ],
    [
      'everything',
      { 'index.html': 'new', 'f.svg': 'f' },
      { added: ['f.svg'], changed: ['index.html'], removed: ['a/b.css', 'c.js'] },
    ],
  ]
  for (const [what, later, differs] of cases) {
    test(`is returned by path, and counted in the list: ${what}`, async () => {
      const { slug, ids } = await publishVersions(first, later)
      const { files, comparedWith, added, changed, removed, ...summary } = await owner.client.version(
        slug,
        ids[1]!,
      )
      assert.equal(comparedWith, ids[0])
      assert.deepEqual({ added, changed, removed }, differs)
      assert.deepEqual(summary, await newest(slug))
      assert.deepEqual(summary.changes, {
        added: added.length,
        changed: changed.length,
        removed: removed.length,
      })
      assert.deepEqual(
        files.map(({ path, hash }) => [path, hash]),
        Object.entries(later).map(([path, content]) => [path, sha256(String(content))]),
      )
    })
  }

  test('is unknown for the oldest kept version', async () => {
    const { slug, ids } = await publishVersions(first)
    assert.equal((await newest(slug)).changes, null)
    const { comparedWith, added, changed, removed } = await owner.client.version(slug, ids[0]!)
    assert.deepEqual(
      { comparedWith, added, changed, removed },
      {
        comparedWith: null,
        added: [],
        changed: [],
        removed: [],
      },
    )
  })

  test('is relative to the previous kept version, whichever is live', async () => {
    const { slug, ids } = await publishVersions(
      { 'a.txt': '1' },
      { 'a.txt': '2', 'b.txt': '2' },
      { 'a.txt': '3' },
    )
    await owner.client.restore(slug, ids[0]!)
    await owner.client.deleteVersion(slug, ids[1]!)
    const { comparedWith, changes } = await owner.client.version(slug, ids[2]!)
    assert.equal(comparedWith, ids[0])
    assert.deepEqual(changes, { added: 0, changed: 1, removed: 0 })
    assert.deepEqual((await newest(slug)).changes, changes)
  })

  test('ignores pending versions', async () => {
    const { slug, ids } = await publishVersions({ 'a.txt': '1' })
    await api.update(owner.client, slug, { 'a.txt': 'never uploaded' })
    const { versionId } = await api.publish(owner.client, { 'a.txt': '3' }, { slug })
    assert.equal((await owner.client.version(slug, versionId)).comparedWith, ids[0])
  })

  test('is returned to the owner only, for finalized versions of that site', async () => {
    const [one, other] = [await publishVersions(first), await publishVersions(first)]
    const otherAccount = await api.account()
    await expectFailure(otherAccount.client.version(one.slug, one.ids[0]!), 'NOT_FOUND')
    await expectFailure(owner.client.version(one.slug, other.ids[0]!), 'NOT_FOUND')
    await expectFailure(owner.client.version(one.slug, 'x'), 'NOT_FOUND')
    await expectFailure(api.anonymous.version(one.slug, one.ids[0]!), 'UNAUTHORIZED')
    const { upload } = await api.update(owner.client, one.slug, { 'a.txt': 'pending' })
    await expectFailure(owner.client.version(one.slug, upload.versionId), 'SITE_PENDING')
  })

  test('is computed for ten versions of 1,000 files that all differ', async () => {
    const operator = await api.operator()
    const account = (await operator.store.read.accounts.byEmail(owner.email))!
    const slug = 'much-to-compare'
    const ids = Array.from({ length: 10 }, (_, number) => newId(api.clock.now + number))
    await operator.store.write('durable', async (tx) => {
      await tx.sites.insert(siteRow(slug, { ownerId: account.id, liveVersionId: ids[9]! }))
      for (const [version, id] of ids.entries()) {
        const files = Array.from({ length: 1000 }, (_, number) => ({
          path: `assets/pages/of/the/site/number-${version + number}.html`,
          size: 1,
          contentType: 'text/html; charset=utf-8',
          hash: blob(number % 2 ? `${version} ${number}` : version + number),
        }))
        await tx.versions.insert(versionRow(id, slug, { files, fileCount: 1000 }))
      }
    })
    const { versions } = await owner.client.versions(slug)
    assert.deepEqual(
      versions.map(({ changes }) => changes),
      [...Array(9).fill({ added: 1, changed: 999, removed: 1 }), null],
    )
  })
})

describe('the publisher of a version', () => {
  const page = { 'index.html': 'x' }

  test('is the owner with a key, for every kind of publish', async () => {
    const { slug } = await publishVersions(page)
    await send(api, 'tar', make('tar', page), { slug, key: owner.key })
    const copy = await owner.client.duplicate(slug)
    for (const one of [slug, copy.slug])
      for (const { publishedBy, publishedWith } of (await owner.client.versions(one)).versions)
        assert.deepEqual({ publishedBy, publishedWith }, { publishedBy: owner.email, publishedWith: 'key' })
  })

  test('is the owner in the dashboard, also for a duplicate of a version published with a key', async () => {
    const { slug } = await publishVersions(page)
    const { headers } = await browser(api, owner)
    const { json } = await api.request('POST', `/api/v1/publish/${slug}/duplicate`, { headers })
    const { publishedBy, publishedWith } = await newest(json.slug)
    assert.deepEqual([publishedBy, publishedWith], [owner.email, 'dashboard'])
    const made = await api.request('POST', '/api/v1/publish', {
      headers,
      json: { files: [{ path: 'a.txt', size: 1, contentType: 'text/plain' }] },
    })
    await api.upload(made.json.upload, { 'a.txt': 'a' })
    await owner.client.finalize(made.json.slug, { versionId: made.json.upload.versionId })
    assert.equal((await newest(made.json.slug)).publishedWith, 'dashboard')
  })

  test('is empty for versions from before the site was claimed', async () => {
    const { slug, claimToken } = await api.publish(api.anonymous, page)
    await owner.client.claim(slug, claimToken!)
    const { publishedBy, publishedWith } = await newest(slug)
    assert.deepEqual([publishedBy, publishedWith], [null, 'anonymous'])
    await api.publish(owner.client, { 'index.html': 'mine' }, { slug })
    assert.equal((await newest(slug)).publishedBy, owner.email)
  })

  test('does not change when the version is restored', async () => {
    const { slug, ids } = await publishVersions(page, { 'index.html': 'y' })
    const { headers } = await browser(api, owner)
    await api.request('POST', `/api/v1/publish/${slug}/versions/${ids[0]}/restore`, { headers })
    assert.equal((await owner.client.version(slug, ids[0]!)).publishedWith, 'key')
  })

  test('is not returned for versions from before it was recorded', async () => {
    const { slug, ids } = await publishVersions(page)
    const operator = await api.operator()
    await operator.store.write('durable', (tx) =>
      tx.versions.update(ids[0]!, { publishedBy: null, publishedWith: null }),
    )
    const { publishedBy, publishedWith } = await newest(slug)
    assert.deepEqual([publishedBy, publishedWith], [null, null])
  })
})
