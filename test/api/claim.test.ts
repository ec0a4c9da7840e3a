import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { COMMAND_LINE } from '../../server/store/tables/administration.ts'
import { pluck } from '../support/pluck.ts'
import { DAY_MS, expectFailure, HOUR_MS, MINUTE_MS, startApi } from './api.ts'

const api = await startApi()
const owner = await api.account()

/** An anonymous site that is live, with its token. */
async function anonymousSite() {
  const { claimToken, ...site } = await api.publish(api.anonymous, { 'index.html': 'home' })
  return { ...site, claimToken: claimToken! }
}

describe('a claim', () => {
  test('moves an anonymous site to the account permanently', async () => {
    const { client } = await api.account()
    const { slug, siteUrl, claimToken } = await anonymousSite()
    api.pass(23 * HOUR_MS)
    assert.deepEqual(await client.claim(slug, claimToken), { success: true, slug, siteUrl, expiresAt: null })
    api.pass(30 * DAY_MS)
    await api.sweep('expired-sites')
    await api.sweep('abandoned')
    assert.equal((await api.visit(siteUrl)).text, 'home')
    const details = await client.details(slug)
    assert.equal(details.expiresAt, null)
    assert.deepEqual(pluck((await client.list()).publishes, 'slug'), [slug])
  })

  test('is ALREADY_CLAIMED for other accounts', async () => {
    const { slug, claimToken } = await anonymousSite()
    const other = await api.account()
    await owner.client.claim(slug, claimToken)
    await expectFailure(other.client.claim(slug, claimToken), 'ALREADY_CLAIMED')
    await expectFailure(other.client.details(slug), 'NOT_FOUND')
    await (await api.operator()).suspensions.changeSite(COMMAND_LINE, slug, { reason: 'phishing' })
    await expectFailure(other.client.claim(slug, claimToken), 'ALREADY_CLAIMED')
    assert.equal((await owner.client.claim(slug, claimToken)).alreadyOwned, true)
  })

  test('is refused for a site that has expired since the account claimed it', async () => {
    const { slug, claimToken } = await anonymousSite()
    const { client } = owner
    await client.claim(slug, claimToken)
    const { expiresAt } = await client.setMetadata(slug, { ttlSeconds: 60 })
    assert.equal((await client.claim(slug, claimToken)).expiresAt, expiresAt)
    api.pass(MINUTE_MS)
    await expectFailure(client.claim(slug, claimToken), 'SITE_EXPIRED')
    await api.sweep('expired-sites')
    await expectFailure(client.claim(slug, claimToken), 'SITE_EXPIRED')
  })

  test('needs the site’s own token', async () => {
    const { slug, claimToken } = await anonymousSite()
    const other = await anonymousSite()
    const spellings = ['', 'x', claimToken.toUpperCase(), ` ${claimToken}`, claimToken.slice(1)]
    for (const wrong of [other.claimToken, ...spellings]) {
      await expectFailure(owner.client.claim(slug, wrong), 'INVALID_CLAIM_TOKEN')
      await expectFailure(api.anonymous.claimPreview(slug, wrong), 'INVALID_CLAIM_TOKEN')
    }
    await expectFailure(owner.client.claim('no-such-site-234567', claimToken), 'NOT_FOUND')
  })

  test('cannot take a site that was published with a key', async () => {
    const { slug } = await api.publish((await api.account()).client, { 'index.html': 'x' })
    for (const token of ['', 'null', 'undefined', '00000000-0000-0000-0000-000000000000']) {
      await expectFailure(owner.client.claim(slug, token), 'INVALID_CLAIM_TOKEN')
    }
  })
})

describe('a site without an owner', () => {
  test('is deleted with its claim token, in the header or the body, and never comes back', async () => {
    const inBody = async (slug: string, claimToken: string) => {
      const { json } = await api.request('DELETE', `/api/v1/publish/${slug}`, { json: { claimToken } })
      return json
    }
    const remove = (slug: string, claimToken: string) => api.anonymous.delete(slug, { claimToken })
    for (const way of [remove, inBody]) {
      const { slug, siteUrl, versionId, claimToken } = await anonymousSite()
      assert.deepEqual(await way(slug, claimToken), { slug, deleted: true, deletedUntil: null })
      assert.equal((await api.visit(siteUrl)).status, 404)
      await expectFailure(api.anonymous.delete(slug, { claimToken }), 'NOT_FOUND')
      await expectFailure(owner.client.claim(slug, claimToken), 'NOT_FOUND')
      await expectFailure(api.anonymous.finalize(slug, { versionId, claimToken }), 'NOT_FOUND')
      assert.deepEqual((await owner.client.list({ deleted: true })).publishes, [])
    }
  })
})

describe('a claim link', () => {
  test('shows the site before signing in', async () => {
    const contents = { 'index.html': 'home', 'a.txt': 'aa' }
    const { slug, claimToken, ...site } = await api.publish(api.anonymous, contents, { title: 'T' })
    const shown = await api.anonymous.claimPreview(slug, claimToken!)
    assert.ok(!shown.claimed)
    const { siteUrl, expiresAt, title, fileCount, totalBytes, currentVersionId } = shown
    assert.deepEqual([siteUrl, expiresAt, title], [site.siteUrl, site.expiresAt, 'T'])
    assert.deepEqual([fileCount, totalBytes, currentVersionId], [2, 6, site.versionId])
  })

  test('shows nothing but the claim once the token was used', async () => {
    const { client } = await api.account()
    const { slug, claimToken } = await api.publish(api.anonymous, { 'index.html': 'home' }, { title: 'T' })
    await client.claim(slug, claimToken!)
    const claimed = { slug, claimed: true }
    assert.deepEqual(await api.anonymous.claimPreview(slug, claimToken!), claimed)
    await api.publish(client, { 'index.html': 'secret' }, { slug, title: 'Secret', ttlSeconds: 60 })
    api.pass(DAY_MS)
    assert.deepEqual(await api.anonymous.claimPreview(slug, claimToken!), claimed)
  })
})
