import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { MetadataRequest } from '../../protocol/api/sites.schema.ts'
import { MAX_COLLABORATORS } from '../../protocol/api/sites.ts'
import { pluck } from '../support/pluck.ts'
import { assertWaits, DAY_MS, expectFailure, HOUR_MS, startApi } from './api.ts'
import { toManifest } from './content.ts'
import { mailsTo } from './sign-in-mails.ts'

const api = await startApi()

/** A site with an owner and a collaborator. */
async function sharedSite() {
  const [owner, colleague] = [await api.account(), await api.account()]
  const { slug } = await api.publish(owner.client, { 'index.html': 'one' })
  await api.publish(owner.client, { 'index.html': 'two' }, { slug })
  await owner.client.addCollaborator(slug, colleague.email)
  return { owner, colleague, slug }
}

// The access of collaborators to each route is in test/calls.ts.
describe('a collaborator', () => {
  test('may not set or remove the password or the lifetime by any way, nor remove others', async () => {
    const { colleague, slug } = await sharedSite()
    const { client } = colleague
    const files = toManifest({ 'index.html': 'z' })
    for (const call of [
      () => client.setMetadata(slug, { password: 'open sesame' }),
      () => client.setMetadata(slug, { password: null }),
      () => client.setMetadata(slug, { ttlSeconds: 3600 }),
      () => client.update(slug, { files, viewer: { ttlSeconds: null } }),
      () => client.removeCollaborator(slug, 'friend@example.com'),
    ])
      await expectFailure(call(), 'OWNER_REQUIRED')
  })

  /** Of each field of a site, whether only its owner may change it. */
  const FIELDS: Record<keyof MetadataRequest, { value: unknown; isOwners: boolean }> = {
    title: { value: 'T', isOwners: false },
    description: { value: 'D', isOwners: false },
    ogImagePath: { value: null, isOwners: false },
    spaMode: { value: true, isOwners: false },
    ttlSeconds: { value: 3600, isOwners: true },
    requireApproval: { value: 'anyone', isOwners: true },
    password: { value: 'open sesame', isOwners: true },
  }

  test('may change each field that is not only for the owner', async () => {
    const { colleague, slug } = await sharedSite()
    for (const [field, { value, isOwners }] of Object.entries(FIELDS)) {
      const change = colleague.client.setMetadata(slug, { [field]: value })
      await (isOwners ? expectFailure(change, 'OWNER_REQUIRED') : change)
    }
  })

  test('sees the site in its list and its details, with the owner and its own role, and owns its copy', async () => {
    const { owner, colleague, slug } = await sharedSite()
    const mine = await api.publish(colleague.client, { 'index.html': 'mine' })
    const { publishes } = await colleague.client.list()
    assert.deepEqual(
      publishes.map((site) => [site.slug, site.role, site.ownerEmail]),
      [
        [mine.slug, 'owner', undefined],
        [slug, 'collaborator', owner.email],
      ],
    )
    const { role, ownerEmail } = await colleague.client.details(slug)
    assert.deepEqual([role, ownerEmail], ['collaborator', owner.email])
    assert.equal((await owner.client.details(slug)).role, 'owner')
    assert.equal((await colleague.client.me()).usage.sites, 1)
    const copy = await colleague.client.duplicate(slug)
    assert.equal((await colleague.client.details(copy.slug)).role, 'owner')
  })

  test('is named as the author of its versions', async () => {
    const { owner, colleague, slug } = await sharedSite()
    await api.publish(colleague.client, { 'index.html': 'three' }, { slug })
    const { versions } = await owner.client.versions(slug)
    assert.deepEqual(pluck(versions, 'publishedBy'), [colleague.email, owner.email, owner.email])
  })

  test('that leaves or is removed has no access any more', async () => {
    const { owner, colleague, slug } = await sharedSite()
    const { email, client } = colleague
    for (const remover of [client, owner.client]) {
      assert.deepEqual(await remover.removeCollaborator(slug, email), { slug, email, removed: true })
      await expectFailure(client.details(slug), 'NOT_FOUND')
      await owner.client.addCollaborator(slug, email)
    }
  })

  test('keeps access after a rename, and loses it with its account', async () => {
    const { owner, colleague, slug } = await sharedSite()
    const name = `renamed-${slug}`
    await owner.client.renameSite(slug, name)
    assert.equal((await colleague.client.details(slug)).slug, name)
    await colleague.client.deleteAccount(colleague.email)
    assert.deepEqual((await owner.client.collaborators(name)).collaborators, [])
    const returned = await api.account(colleague.email)
    await expectFailure(returned.client.details(name), 'NOT_FOUND')
  })
})

describe('adding a collaborator', () => {
  test('needs no account of the address, which is not the owner’s, notifies it by email, and happens once', async () => {
    const owner = await api.account()
    const { slug, siteUrl } = await api.publish(owner.client, { 'index.html': 'x' }, { title: 'Win a prize' })
    await expectFailure(owner.client.addCollaborator(slug, owner.email), 'VALIDATION_ERROR')
    const added = await owner.client.addCollaborator(slug, ' New.Colleague@Example.com ')
    assert.deepEqual(added, {
      email: 'new.colleague@example.com',
      addedAt: new Date(api.clock.now).toISOString(),
    })
    api.pass()
    assert.deepEqual(await owner.client.addCollaborator(slug, 'new.colleague@example.com'), added)
    assert.deepEqual(await owner.client.collaborators(slug), {
      slug,
      ownerEmail: owner.email,
      collaborators: [added],
    })
    await api.sweep('emails')
    assert.equal(await api.sweep('emails'), 0)
    const mails = await mailsTo(api, added.email)
    assert.equal(mails.length, 1)
    for (const part of [owner.email, siteUrl]) assert.ok(mails[0]!.includes(part), part)
    // A title is what the owner likes, and the recipient may be a stranger.
    assert.doesNotMatch(mails[0]!, /prize/)
    const invited = await api.account(added.email)
    await api.publish(invited.client, { 'index.html': 'y' }, { slug })
  })

  test('is notified of at most five a day in one mailbox, by all accounts together, and has access to all sites', async () => {
    const stranger = await api.account('stranger@example.com')
    const before = (await mailsTo(api, 'stranger')).length
    const slugs: string[] = []
    for (let number = 0; number < 9; number++) {
      const { client } = await api.account()
      const { slug } = await api.publish(client, { 'index.html': `${number}` })
      await client.addCollaborator(slug, stranger.email)
      await client.addCollaborator(slug, `stranger+${number}@example.com`)
      slugs.unshift(slug)
    }
    await api.sweep('emails')
    assert.equal((await mailsTo(api, 'stranger')).length, before + 5)
    assert.deepEqual(pluck((await stranger.client.list()).publishes, 'slug'), slugs)
  })

  test(`is limited to ${MAX_COLLABORATORS} of a site and to 20 invitations a day`, async () => {
    const owner = await api.account()
    const [one, other] = [
      await api.publish(owner.client, { 'index.html': 'one' }),
      await api.publish(owner.client, { 'index.html': 'other' }),
    ]
    api.pass(DAY_MS - (api.clock.now % DAY_MS))
    for (let number = 0; number < MAX_COLLABORATORS; number++) {
      await owner.client.addCollaborator(one.slug, `friend${number}@example.com`)
      if (number === 0) api.pass(HOUR_MS)
    }
    await expectFailure(
      owner.client.addCollaborator(one.slug, 'more@example.com'),
      'COLLABORATOR_LIMIT_REACHED',
    )
    await owner.client.removeCollaborator(one.slug, 'friend0@example.com')
    for (const { slug } of [one, other])
      await expectFailure(owner.client.addCollaborator(slug, 'more@example.com'), 'RATE_LIMITED')
    await assertWaits(api, () => owner.client.addCollaborator(one.slug, 'more@example.com'))
  })
})
