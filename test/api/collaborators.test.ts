import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MAX_COLLABORATORS } from '../../protocol/api/sites.ts'
import { type Account, DAY_MS, expectFailure, startApi } from './api.ts'
import { toManifest } from './content.ts'
import { mailsTo } from './sign-in-mails.ts'
import { webp } from './webp.ts'

const api = await startApi()

/** A site with an owner, a collaborator, a live version, an older one and a pending one. */
async function sharedSite() {
  const [owner, colleague] = [await api.account(), await api.account()]
  const { slug, versionId: older } = await api.publish(owner.client, { 'index.html': 'one' })
  const live = await api.publish(owner.client, { 'index.html': 'two' }, { slug })
  await owner.client.addCollaborator(slug, colleague.email)
  return { owner, colleague, slug, older, live }
}

type Site = Awaited<ReturnType<typeof sharedSite>>

/** Every route of one site, by whether a collaborator may call it. */
const ROUTES: Record<'allowed' | 'refused', Record<string, (a: Account, s: Site) => Promise<unknown>>> = {
  allowed: {
    getSite: ({ client }, { slug }) => client.details(slug),
    updateSite: ({ client }, { slug }) => api.update(client, slug, { 'index.html': 'x' }),
    refreshUploads: async ({ client }, { slug, owner }) => {
      const { upload } = await api.update(owner.client, slug, { 'index.html': 'refreshed' })
      return client.refresh(slug, upload)
    },
    finalizeVersion: async ({ client }, { slug, owner }) => {
      const contents = { 'index.html': 'finalized' }
      const { upload } = await api.update(owner.client, slug, contents)
      await api.upload(upload, contents)
      return client.finalize(slug, upload)
    },
    publishArchive: ({ client }, { slug }) =>
      client.publishContents({ files: [{ path: 'index.html', content: 'y' }] }, slug),
    updateMetadata: ({ client }, { slug }) => client.setMetadata(slug, { title: 'T', spaMode: true }),
    getVisits: ({ client }, { slug }) => client.visits(slug),
    duplicateSite: ({ client }, { slug }) => client.duplicate(slug),
    listVersions: ({ client }, { slug }) => client.versions(slug),
    getVersion: ({ client }, { slug, older }) => client.version(slug, older),
    restoreVersion: ({ client }, { slug, older }) => client.restore(slug, older),
    putThumbnail: ({ client }, { slug, older }) => client.putThumbnail(slug, older, webp(1, 1)),
    createPreviewLink: ({ client }, { slug }) => client.previewLink(slug),
    downloadFile: ({ client }, { slug }) => client.file(slug, 'index.html'),
    downloadArchive: ({ client }, { slug }) => client.archive(slug),
    listCollaborators: ({ client }, { slug }) => client.collaborators(slug),
    deleteVersion: ({ client }, { slug, live }) => client.deleteVersion(slug, live.versionId),
  },
  refused: {
    deleteSite: ({ client }, { slug }) => client.delete(slug),
    deletePermanently: ({ client }, { slug }) => client.delete(slug, { permanent: true }),
    undeleteSite: ({ client }, { slug }) => client.undelete(slug),
    renameSite: ({ client }, { slug }) => client.renameSite(slug, `renamed-${slug}`),
    addDomain: ({ client }, { slug }) => client.addDomain('www.shared-test.example.com', slug),
    setPassword: ({ client }, { slug }) => client.setMetadata(slug, { password: 'open sesame' }),
    removePassword: ({ client }, { slug }) => client.setMetadata(slug, { password: null }),
    setLifetime: ({ client }, { slug }) => client.setMetadata(slug, { ttlSeconds: 3600 }),
    publishWithLifetime: ({ client }, { slug }) =>
      client.update(slug, { files: toManifest({ 'index.html': 'z' }), viewer: { ttlSeconds: null } }),
    addCollaborator: ({ client }, { slug }) => client.addCollaborator(slug, 'friend@example.com'),
    removeOther: ({ client }, { slug }) => client.removeCollaborator(slug, 'friend@example.com'),
  },
}

describe('a collaborator', async () => {
  const site = await sharedSite()
  const stranger = await api.account()

  for (const [name, call] of Object.entries(ROUTES.allowed))
    test(`may call ${name}`, async () => void (await call(site.colleague, site)))

  for (const [name, call] of Object.entries(ROUTES.refused))
    test(`may not call ${name}`, async () =>
      void (await expectFailure(call(site.colleague, site), 'OWNER_REQUIRED')))

  test('that was removed gets the responses of any other account from every route', async () => {
    await site.owner.client.removeCollaborator(site.slug, site.colleague.email)
    for (const [name, call] of Object.entries({ ...ROUTES.allowed, ...ROUTES.refused }))
      for (const account of [site.colleague, stranger])
        assert.equal((await expectFailure(call(account, site), 'NOT_FOUND')).status, 404, name)
  })

  test('sees the site in its list and its details, with the owner and its own role', async () => {
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
  })

  test('is named as the author of its versions', async () => {
    const { owner, colleague, slug } = await sharedSite()
    await api.publish(colleague.client, { 'index.html': 'three' }, { slug })
    const { versions } = await owner.client.versions(slug)
    assert.deepEqual(
      versions.map(({ publishedBy }) => publishedBy),
      [colleague.email, owner.email, owner.email],
    )
  })

  test('owns the copy of a site', async () => {
    const { colleague, slug } = await sharedSite()
    const copy = await colleague.client.duplicate(slug)
    assert.equal((await colleague.client.details(copy.slug)).role, 'owner')
  })

  test('can leave a site', async () => {
    const { colleague, slug } = await sharedSite()
    const { email, client } = colleague
    assert.deepEqual(await client.removeCollaborator(slug, email), { slug, email, removed: true })
    await expectFailure(client.details(slug), 'NOT_FOUND')
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
  test('needs no account of the address, notifies it by email, and happens once', async () => {
    const owner = await api.account()
    const { slug, siteUrl } = await api.publish(owner.client, { 'index.html': 'x' }, { title: 'Win a prize' })
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

  test('is refused for the owner and for an invalid address', async () => {
    const { owner, slug } = await sharedSite()
    for (const email of [owner.email, 'no address'])
      await expectFailure(owner.client.addCollaborator(slug, email), 'VALIDATION_ERROR')
    await expectFailure(owner.client.removeCollaborator(slug, 'unknown@example.com'), 'NOT_FOUND')
  })

  test(`is limited to ${MAX_COLLABORATORS} of a site and to 20 invitations a day`, async () => {
    const owner = await api.account()
    const [one, other] = [
      await api.publish(owner.client, { 'index.html': 'one' }),
      await api.publish(owner.client, { 'index.html': 'other' }),
    ]
    for (let number = 0; number < MAX_COLLABORATORS; number++)
      await owner.client.addCollaborator(one.slug, `friend${number}@example.com`)
    await expectFailure(
      owner.client.addCollaborator(one.slug, 'more@example.com'),
      'COLLABORATOR_LIMIT_REACHED',
    )
    await owner.client.removeCollaborator(one.slug, 'friend0@example.com')
    for (const { slug } of [one, other])
      await expectFailure(owner.client.addCollaborator(slug, 'more@example.com'), 'RATE_LIMITED')
    api.pass(DAY_MS)
    await owner.client.addCollaborator(one.slug, 'more@example.com')
  })
})
