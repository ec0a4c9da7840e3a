import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { describe, test } from 'node:test'
import type { SiteReview } from '../../client/sdk/slipway.ts'
import type { Exceptions } from '../../protocol/api/account.schema.ts'
import type { AuditPage } from '../../protocol/api/admin/audit.schema.ts'
import type { QuotaDetails } from '../../protocol/api/errors.schema.ts'
import { COMMAND_LINE } from '../../server/store/tables/administration.ts'
import { ANONYMOUS } from '../../server/store/tables/usage.ts'
import { TAR_END, tarPart } from '../archive/tar-file.ts'
import { zip } from '../archive/zip-file.ts'
import { listObjects } from '../blobs/bytes.ts'
import { anySeed, Random } from '../support/random.ts'
import { waitFor } from '../support/wait-for.ts'
import { administrator } from './administrator.ts'
import { type Account, Api, DAY_MS, expectFailure, startApi } from './api.ts'
import { part, send } from './archive-requests.ts'
import type { Contents } from './content.ts'
import { makeSecret } from './planted-secrets.ts'

const KB = 1000

const BIG = part('big.txt', Buffer.alloc(9e6))

const api = await startApi({
  PLANS: JSON.stringify({ free: { versionsKept: 2, draftsKept: 2, previews: 3 } }),
})

/** A new account with these limits. */
async function ownerWith(limits: Exceptions = {}): Promise<Account> {
  const account = await api.account()
  const { administrators } = await api.operator()
  await administrators.setPlan(COMMAND_LINE, account.email, { limits })
  return account
}

/** A page with this many bytes, different from others by its name. */
function page(name: string, bytes = KB): Contents {
  return { 'index.html': name.padEnd(bytes, '.') }
}

async function holding({ client }: Account): Promise<[bytes: number, sites: number]> {
  const { usage } = await client.me()
  assert.equal(await api.sweep('usage'), 0, 'a recount differs')
  return [usage.heldBytes, usage.heldSites]
}

async function refusal(call: Promise<unknown>): Promise<QuotaDetails> {
  const { details, status } = await expectFailure(call, 'QUOTA_EXCEEDED')
  assert.equal(status, 413)
  return details as QuotaDetails
}

describe('what an account holds', () => {
  test('versions, drafts, previews, unfinished uploads and the trash count, each content once', async () => {
    const owner = await api.account()
    const { slug } = await api.publish(owner.client, page('one'))
    assert.deepEqual(await holding(owner), [KB, 1])
    await api.publish(owner.client, page('two'), { slug })
    await api.publish(owner.client, page('one'), { slug })
    await api.publish(owner.client, page('two'), { slug })
    assert.deepEqual(await holding(owner), [2 * KB, 1])
    await api.publish(owner.client, page('draft'), { slug, live: false })
    await api.publish(owner.client, page('preview'), { slug, preview: 'pr-1' })
    assert.deepEqual(await holding(owner), [4 * KB, 1])

    const { slug: second } = await api.publish(owner.client, { ...page('one'), 'b.html': 'b'.repeat(KB) })
    assert.deepEqual(await holding(owner), [5 * KB, 2])
    const { slug: copy } = await owner.client.duplicate(second)
    assert.deepEqual(await holding(owner), [5 * KB, 3])
    await api.publish(owner.client, page('preview, again', 2 * KB), { slug, preview: 'pr-1' })
    assert.deepEqual(await holding(owner), [6 * KB, 3])

    const { upload } = await api.update(owner.client, slug, { ...page('two'), 'big.txt': 'x'.repeat(9 * KB) })
    assert.deepEqual(await holding(owner), [15 * KB, 3])
    await api.upload(upload, { 'big.txt': 'x'.repeat(9 * KB) })
    await owner.client.finalize(slug, { versionId: upload.versionId })
    assert.deepEqual(await holding(owner), [15 * KB, 3])

    await owner.client.delete(second)
    await owner.client.delete(slug)
    assert.deepEqual(await holding(owner), [15 * KB, 3])
    await owner.client.delete(slug, { permanent: true })
    assert.deepEqual(await holding(owner), [2 * KB, 2])
    await owner.client.delete(copy, { permanent: true })
    assert.deepEqual(await holding(owner), [2 * KB, 1])
    await owner.client.undelete(second)
    await owner.client.delete(second, { permanent: true })
    assert.deepEqual(await holding(owner), [0, 0])
  })

  test('a copy of a site with many files holds nothing more, and its deletion frees nothing', async () => {
    const owner = await api.account()
    const files = Array.from({ length: 501 }, (_, number) => [`${number}.txt`, `file ${1000 + number}`])
    const { slug } = await api.publish(owner.client, Object.fromEntries(files))
    const [bytes] = await holding(owner)
    const { slug: copy } = await owner.client.duplicate(slug)
    assert.deepEqual(await holding(owner), [bytes, 2])
    await owner.client.delete(copy, { permanent: true })
    assert.deepEqual(await holding(owner), [bytes, 1])
  })

  test('comments count for the owner of the site, until their review or the site is deleted', async () => {
    const owner = await ownerWith({ bytes: 12 * KB })
    const { slug } = await api.publish(owner.client, page('live'))
    const shown = await api.publish(owner.client, page('next'), { slug, preview: 'next' })
    const review = owner.client.review(slug, 'next')
    const place = { path: '/', selector: 'p', text: '', before: '', after: '', width: 9, height: 9 }
    const { versionId } = shown
    const comment = (by: SiteReview) =>
      by.createThread({ versionId, place, text: 'x'.repeat(4 * KB), name: 'Ann' })
    const { id } = await comment(review)
    const [first] = await holding(owner)
    assert.ok(first > 6 * KB && first < 6.5 * KB, `${first}`)
    await review.addToThread(id, { text: 'y'.repeat(KB) })
    const [full] = await holding(owner)
    assert.ok(full > first + KB)
    await review.addToThread(id, { status: 'resolved' })
    const { url } = await review.createLink()
    const guest = api.anonymous.with({ reviewToken: new URL(url).hash.slice(1) }).review(slug, 'next')
    await comment(guest)
    const refused = await expectFailure(comment(guest), 'QUOTA_EXCEEDED')
    assert.deepEqual([refused.details, /\d/.test(refused.message)], [undefined, false])
    assert.equal((await refusal(comment(review))).limit, 12 * KB)
    await owner.client.deletePreview(slug, 'next')
    assert.deepEqual(await holding(owner), [KB, 1])
    const live = owner.client.review(slug)
    const liveId = (await live.get()).versionId
    await live.createThread({ versionId: liveId, place, text: 'z' })
    await live.decide({ versionId: liveId, decision: 'approved' })
    await live.createLink()
    await owner.client.delete(slug)
    assert.ok((await holding(owner))[0] > KB)
    await owner.client.delete(slug, { permanent: true })
    assert.deepEqual(await holding(owner), [0, 0])
    const subject = { slug, previewName: '' }
    const { reviews } = (await api.operator()).store.read
    for (const rows of [reviews.threads(subject), reviews.links(subject), reviews.decisions(subject, 1)])
      assert.deepEqual(await rows, [], 'a deletion of the site leaves nothing of its reviews')
  })

  test('an upload that is not finalized within a day no longer counts', async () => {
    const owner = await ownerWith({ bytes: 10 * KB })
    await api.create(owner.client, page('abandoned', 8 * KB))
    const { requested, used, pendingVersions } = await refusal(
      api.publish(owner.client, page('next', 3 * KB)),
    )
    assert.deepEqual([requested, used, pendingVersions], [3 * KB, 8 * KB, 1])
    api.pass(DAY_MS + 1)
    await api.sweep('abandoned')
    await api.publish(owner.client, page('next', 3 * KB))
    assert.deepEqual(await holding(owner), [3 * KB, 1])
  })

  test('a site has as many unfinished uploads as drafts and previews: one more ends the oldest', async () => {
    const owner = await api.account()
    const { slug } = await api.publish(owner.client, page('live'))
    const { slug: other, claimToken = '' } = await api.publish(api.anonymous, page('without an account'))
    for (const [client, site, more, kept] of [
      [owner.client, slug, {}, 5],
      [owner.client, slug, { preview: 'pr-1' }, 5],
      [api.anonymous, other, { claimToken }, 2],
    ] as const) {
      const staged: string[] = []
      for (let number = 0; number <= kept; number++)
        staged.push((await api.update(client, site, page(`${number}`), more)).upload.versionId)
      const { store } = await api.operator()
      const pending = (await store.read.versions.bySlug(site)).filter(({ state }) => state === 'pending')
      const left = pending.map(({ id }) => id).reverse()
      assert.deepEqual(left.slice(-kept), staged.slice(1))
      // Beside those for the site.
      assert.equal(left.length, 'preview' in more ? 2 * kept : kept)
    }
    assert.deepEqual(await holding(owner), [11 * KB, 1])
  })

  for (const [what, publish] of Object.entries({
    'an upload': ({ client }: Account) => api.publish(client, page('more', 3 * KB)),
    'a text in the request': ({ client }: Account) =>
      client.publishContents({ files: [{ path: 'a.txt', content: 'x'.repeat(3 * KB) }] }),
  }))
    test(`${what} beyond the bytes of the plan is refused and leaves nothing behind`, async () => {
      const owner = await ownerWith({ bytes: 10 * KB })
      await api.publish(owner.client, page('first', 8 * KB))
      const { details, message, hint } = await expectFailure(publish(owner), 'QUOTA_EXCEEDED')
      const freeable = { trashedSites: 0, pendingVersions: 0 }
      const quota = { quota: 'account-bytes', limit: 10 * KB, used: 8 * KB, requested: 3 * KB }
      assert.deepEqual(details, { ...quota, ...freeable })
      assert.match(message, /^The account has 8.0 kB of 10 kB, and this needs 3.0 kB more$/)
      assert.match(hint!, /^Delete sites permanently/)
      assert.deepEqual(await holding(owner), [8 * KB, 1])
    })

  test('the first publish of an account is refused when it alone exceeds the bytes of the plan', async () => {
    const owner = await ownerWith({ bytes: 10 * KB })
    const { limit, used, requested } = await refusal(api.publish(owner.client, page('large', 11 * KB)))
    assert.deepEqual([limit, used, requested], [10 * KB, 0, 11 * KB])
    assert.deepEqual(await holding(owner), [0, 0])
    await api.publish(owner.client, page('of the size of the quota', 10 * KB))
    assert.deepEqual(await holding(owner), [10 * KB, 1])
  })

  test('a site beyond the number of the plan is refused, however it is created', async () => {
    const owner = await ownerWith({ sites: 2 })
    const { slug } = await api.publish(owner.client, page('one'))
    const { slug: second } = await api.publish(owner.client, page('two'))
    await owner.client.delete(second)
    const anonymous = await api.publish(api.anonymous, page('claimed'))
    for (const create of [
      () => api.publish(owner.client, page('three')),
      () => owner.client.duplicate(slug),
      () => owner.client.claim(anonymous.slug, anonymous.claimToken!),
    ]) {
      const { quota, limit, used, trashedSites } = await refusal(create())
      assert.deepEqual([quota, limit, used, trashedSites], ['account-sites', 2, 2, 1])
    }
    await owner.client.delete(second, { permanent: true })
    await owner.client.claim(anonymous.slug, anonymous.claimToken!)
    assert.deepEqual(await holding(owner), [2 * KB, 2])
  })

  test('an exception raises the limit of one account, until it is removed', async () => {
    const owner = await ownerWith({ sites: 1 })
    const { administrators } = await api.operator()
    await api.publish(owner.client, page('one'))
    await administrators.setPlan(COMMAND_LINE, owner.email, { limits: { sites: 2, filesPerSite: 1 } })
    await api.publish(owner.client, page('two'))
    const { limits } = await owner.client.me()
    assert.deepEqual([limits.sites, limits.filesPerSite], [2, 1])
    await expectFailure(api.publish(owner.client, { 'a.txt': 'a', 'b.txt': 'b' }), 'VALIDATION_ERROR')
    assert.equal((await refusal(api.publish(owner.client, page('three')))).limit, 2)
    const removed = { limits: { sites: null } }
    assert.deepEqual(await administrators.setPlan(COMMAND_LINE, owner.email, removed), {
      plan: 'free',
      limits: { filesPerSite: 1 },
    })
    await api.publish(owner.client, page('three'))
  })

  test('an administrator sets the plan and exceptions of an account, which is recorded', async () => {
    const owner = await api.account()
    const { key } = await administrator(api)
    const { id } = (await (await api.operator()).store.read.accounts.byEmail(owner.email))!
    const set = (json: object) => api.request('PUT', `/api/admin/accounts/${id}/plan`, { key, json })
    assert.deepEqual((await set({ plan: 'hobby', limits: { sites: 7, versionsKept: 9 } })).json, {
      plan: 'hobby',
      limits: { sites: 7 },
    })
    assert.equal((await owner.client.me()).limits.sites, 7)
    assert.equal((await set({ plan: 'golden' })).status, 400)
    assert.equal((await set({ limits: { filesPerSite: 5001 } })).status, 400)
    const { json } = await api.request('GET', `/api/admin/audit?target=${owner.email}`, { key })
    const actions = (json as AuditPage).rows.map(({ action, details }) => [action, details])
    assert.deepEqual(actions, [['account.plan', { plan: 'hobby', limits: { sites: 7 } }]])
  })

  test('a collaborator publishes into the quota of the owner', async () => {
    const [owner, friend] = [await ownerWith({ bytes: 5 * KB }), await api.account()]
    const { slug } = await api.publish(owner.client, page('one', 4 * KB))
    await owner.client.addCollaborator(slug, friend.email)
    const refused = api.publish(friend.client, page('two', 2 * KB), { slug })
    const { details, message, hint } = await expectFailure(refused, 'QUOTA_EXCEEDED')
    const quota = { quota: 'account-bytes', limit: 5 * KB, used: 4 * KB, requested: 2 * KB }
    assert.deepEqual(details, quota, 'what the owner has in the trash is not shown')
    assert.match(message, /^The owner's account has 4.0 kB of 5 kB/)
    assert.match(hint!, /^Ask the owner of the site/)
    await api.publish(friend.client, page('two', KB), { slug })
    assert.deepEqual(await holding(owner), [5 * KB, 1])
    assert.deepEqual(await holding(friend), [0, 0])
  })

  test('a site has the limits of the plan of its owner, also for a collaborator with a larger or a smaller plan', async () => {
    const small = await ownerWith({ filesPerSite: 2, fileBytes: 5 * KB, siteBytes: 5 * KB })
    const large = await ownerWith({ filesPerSite: 4, fileBytes: 8 * KB, siteBytes: 8 * KB })
    const [three, long] = [{ 'a.txt': 'a', 'b.txt': 'b', 'c.txt': 'c' }, page('long', 6 * KB)]
    const ways: Record<string, (account: Account, contents: Contents, slug: string) => Promise<unknown>> = {
      'a manifest': ({ client }, contents, slug) => api.publish(client, contents, { slug }),
      'a merge': ({ client }, contents, slug) => api.publish(client, contents, { slug, merge: true }),
      contents: async ({ request }, contents, slug) => {
        const files = Object.entries(contents).map(([path, content]) => ({ path, content }))
        const { status, json } = await request('PUT', `/api/v1/publish/${slug}`, { json: { files } })
        if (status !== 200) throw new Error(json.error)
      },
      'an archive': ({ client }, contents, slug) => {
        const parts = Object.entries(contents).map(([path, content]) => part(path, content))
        return client.publishArchive(zip(parts), { contentType: 'application/zip', slug })
      },
    }
    for (const [way, publish] of Object.entries(ways)) {
      const [{ slug: ofSmall }, { slug: ofLarge }] = [
        await api.publish(small.client, { 'a.txt': 'x' }),
        await api.publish(large.client, { 'a.txt': 'x' }),
      ]
      await small.client.addCollaborator(ofSmall, large.email)
      await large.client.addCollaborator(ofLarge, small.email)
      for (const contents of [three, long]) {
        const refused = await publish(large, contents, ofSmall).catch((error: unknown) => error)
        assert.match(String(refused), /The limit is (2|5 kB) per (site|file)/, way)
        await publish(small, contents, ofLarge)
        const copied = await small.client.duplicate(ofLarge).catch((error: unknown) => error)
        assert.match(String(copied), /The limit is (2|5 kB) per (site|file)/, `a copy after ${way}`)
      }
      assert.equal((await small.client.limits(ofLarge)).files, 4)
      assert.equal((await large.client.limits(ofSmall)).files, 2)
    }
    const { slug } = await api.publish(large.client, page('renamed'))
    await large.client.addCollaborator(slug, small.email)
    await large.client.renameSite(slug, `renamed-${slug}`.slice(0, 30))
    const { apiKey } = await small.client.createKey({ name: 'ci', scope: 'preview', sites: [slug] })
    assert.equal((await api.client(apiKey).limits(slug)).files, 4)
    assert.equal((await (await api.account()).client.limits(slug)).files, 1000)
  })

  test('an anonymous site has the limits of anonymous sites, also for a key beside its claim token', async () => {
    await using service = await Api.start({ ANONYMOUS_FILES: '2' })
    const { client } = await service.account()
    const { slug, claimToken } = await service.publish(service.anonymous, { 'a.txt': 'a' })
    const three = { 'a.txt': 'a', 'b.txt': 'b', 'c.txt': 'c' }
    await expectFailure(service.publish(client, three, { slug, claimToken }), 'VALIDATION_ERROR')
    await client.claim(slug, claimToken!)
    await service.publish(client, three, { slug })
  })

  for (const [part, limits, admitted] of [
    ['bytes', { bytes: 11 * KB }, 4],
    ['sites', { sites: 5 }, 4],
  ] as const)
    test(`of publishes at the same time exactly as many are admitted as there is room for, by ${part}`, async () => {
      const owner = await ownerWith(limits)
      const { slug } = await api.publish(owner.client, page('first', 2 * KB))
      const calls = Array.from({ length: 20 }, (_, number) =>
        part === 'sites' || number % 2 === 0
          ? api.publish(owner.client, page(`new ${number}`, 2 * KB))
          : api.publish(owner.client, page(`preview ${number}`, 2 * KB), { slug, preview: `pr-${number}` }),
      )
      const outcomes = await Promise.allSettled(calls)
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, admitted)
      const [bytes] = await holding(owner)
      assert.equal(bytes, 10 * KB)
    })

  test('an injected document does not count, also when another account publishes the same text', async () => {
    const [owner, other] = [await api.account(), await api.account()]
    const { slug, siteUrl } = await api.publish(
      owner.client,
      { 'index.html': '<p>text '.repeat(200) },
      { title: 'A title' },
    )
    await api.running.service.precompressor.onIdle()
    await api.publish(other.client, { 'copy.html': (await api.visit(siteUrl)).text })
    await owner.client.delete(slug, { permanent: true })
    assert.deepEqual(await holding(owner), [0, 0])
  })
})

describe('what sites without an account hold', () => {
  const from = (address: string) => ({ headers: { 'x-forwarded-for': address } })

  async function publishFrom(api: Api, address: string, name: string, bytes = KB) {
    const json = { files: [{ path: 'index.html', content: name.padEnd(bytes, '.') }] }
    return api.request('POST', '/api/v1/publish', { json, ...from(address) })
  }

  test('the addresses of a network share a quota of sites and of bytes: an IPv4 /24 and an IPv6 /48', async () => {
    for (const [quota, settings] of [
      ['network-sites', { ANONYMOUS_NETWORK_SITES: '2' }],
      ['network-bytes', { ANONYMOUS_NETWORK_BYTES: '2500' }],
    ] as const) {
      await using api = await Api.start({ TRUSTED_PROXIES: '1', ...settings })
      for (const [address, isFull] of [
        ['192.0.2.1', false],
        ['192.0.2.255', false],
        ['192.0.2.1', true],
        ['192.0.2.9', true],
        ['::ffff:192.0.2.7', true],
        ['192.0.3.1', false],
        ['2001:db8:7:1::1', false],
        ['2001:db8:7:2::1', false],
        ['2001:db8:7:ffff::2', true],
        ['2001:db8:8::1', false],
      ] as const) {
        const { json } = await publishFrom(api, address, 'a page')
        assert.equal((json as { details?: QuotaDetails }).details?.quota, isFull ? quota : undefined, address)
      }
      assert.equal(await api.sweep('usage'), 0)
    }
  })

  for (const [quota, settings] of [
    ['anonymous-sites', { ANONYMOUS_TOTAL_SITES: '2' }],
    ['anonymous-bytes', { ANONYMOUS_TOTAL_BYTES: '2500' }],
  ] as const)
    test(`${quota}: all networks share it, accounts do not, and a claim or the expiry frees it`, async () => {
      await using api = await Api.start({ TRUSTED_PROXIES: '1', ...settings })
      const owner = await api.account()
      const one = (await publishFrom(api, '192.0.2.1', 'one')).json as { slug: string; claimToken: string }
      assert.equal((await publishFrom(api, '198.51.100.1', 'two')).status, 201)
      const refused = await publishFrom(api, '203.0.113.1', 'three')
      assert.equal((refused.json as { details: QuotaDetails }).details.quota, quota)
      await api.publish(owner.client, page('of an account'))
      await owner.client.claim(one.slug, one.claimToken)
      assert.equal((await publishFrom(api, '203.0.113.1', 'three')).status, 201)
      assert.equal((await publishFrom(api, '203.0.113.1', 'four')).status, 413)
      api.pass(DAY_MS + 1)
      await api.sweep('expired-sites')
      for (const name of ['five', 'six'])
        assert.equal((await publishFrom(api, '203.0.113.1', name)).status, 201)
    })

  test('manifests and rules of sites without an account count, at each step', async () => {
    await using api = await Api.start({ ANONYMOUS_NETWORK_BYTES: '200kB' })
    const owner = await api.account()
    const long = (name: string) => {
      const paths = Array.from({ length: 100 }, (_, number) => `${number}/${'x'.repeat(480)}.txt`)
      return Object.fromEntries(['_redirects', ...paths].map((path) => [path, `/${name} /x`]))
    }
    const used = async () => {
      assert.equal(await api.sweep('usage'), 0, 'a recount differs')
      return (await (await api.operator()).store.read.usage.find(ANONYMOUS)).bytes
    }
    const { slug, claimToken = '', upload } = await api.create(api.anonymous, long('one'))
    const staged = await used()
    assert.ok(staged > 48 * KB)
    await api.upload(upload, long('one'))
    await api.anonymous.finalize(slug, { versionId: upload.versionId })
    const finalized = await used()
    await api.update(api.anonymous, slug, long('two'), { claimToken })
    assert.ok((await used()) > finalized + 48 * KB)
    await api.create(api.anonymous, long('three'))
    const { quota } = await refusal(api.update(api.anonymous, slug, long('four'), { claimToken }))
    assert.equal(quota, 'network-bytes')
    await owner.client.claim(slug, claimToken)
    assert.ok((await used()) < 100 * KB)
    api.pass(DAY_MS + 1)
    await api.sweep('expired-sites')
    await api.sweep('abandoned')
    assert.equal(await used(), 0)
  })

  test('archives that are received at the same time do not exceed a quota together', async () => {
    await using api = await Api.start({ ANONYMOUS_TOTAL_BYTES: '3001kB' })
    const archive = zip([part('index.html', Buffer.alloc(1e6, 'x'))])
    const before = api.begunPuts
    const answers = await Promise.all(
      Array.from({ length: 9 }, () =>
        api.request('POST', '/api/v1/publish', {
          body: archive,
          headers: { 'content-type': 'application/zip' },
        }),
      ),
    )
    const statuses = answers.map(({ status }) => status).sort()
    assert.deepEqual(statuses, [201, 201, 201, 413, 413, 413, 413, 413, 413])
    assert.ok(api.begunPuts - before < 9, 'contents without room were stored')
  })
})

for (const [why, limits, parts, status, puts] of [
  ['larger than the quota of its account', { bytes: 10e6 }, [BIG, BIG], 413, 2],
  ['without room in the quota of its account', { bytes: 10e6 }, [BIG], 413, 1],
  ['with a secret', {}, [BIG, part('app.js', makeSecret())], 422, 2],
] as const)
  test(`an archive ${why} takes no space once it is refused`, async () => {
    const owner = await ownerWith(limits)
    await api.publish(owner.client, page('one', 2e6))
    await api.running.service.precompressor.onIdle()
    const { blobs } = await api.operator()
    const [objects, before] = [await listObjects(blobs), api.begunPuts]
    const named = parts.map((one, number) => ({ ...one, name: `${number}-${one.name}` }))
    const headers = { 'content-type': 'application/zip', authorization: `Bearer ${owner.key}` }
    const answer = await api.request('POST', '/api/v1/publish', { body: zip(named), headers })
    assert.deepEqual([answer.status, api.begunPuts - before], [status, puts])
    assert.deepEqual(await listObjects(blobs), objects)
  })

test('archives of one account at the same time have a bound, and the next one can come later', async () => {
  const { key } = await ownerWith({ bytes: 10e6, siteBytes: 10e6 })
  const end = Promise.withResolvers<void>()
  async function* slow() {
    yield tarPart(BIG)
    await end.promise
    yield TAR_END
  }
  const publish = (body: Readable) => send(api, 'tar', body, { key })
  const before = api.begunPuts
  const first = [publish(Readable.from(slow())), publish(Readable.from(slow()))]
  await waitFor(() => api.begunPuts === before + 2)
  const { status, headers, json } = await publish(Readable.from([tarPart(BIG), TAR_END]))
  assert.deepEqual([status, headers['retry-after'], api.begunPuts], [503, '60', before + 2])
  assert.match(json.error, /^The archives of the account .* more than 20 MB\./)
  end.resolve()
  assert.deepEqual((await Promise.all(first)).map((one) => one.status).sort(), [201, 413])
})

test('two recounts at the same time correct what was counted wrongly once', async (t) => {
  await using api = await Api.start()
  await api.publish(api.anonymous, page('one'))
  await api.sweep('usage')
  const { store } = await api.operator()
  await store.execute('durable', ({ usage }) => usage.add(ANONYMOUS, { bytes: KB, sites: 1 }))
  const { usage } = store.read
  const read = usage.anonymousDifference.bind(usage)
  const readBesideAnother: typeof read = async () => {
    const difference = await read()
    assert.equal(await api.sweep('usage'), 1)
    return difference
  }
  t.mock.method(usage, 'anonymousDifference', readBesideAnother, { times: 1 })
  assert.equal(await api.sweep('usage'), 0)
  assert.deepEqual(await read(), { bytes: 0, sites: 0 })
})

test('after any calls, what is counted equals what is stored', async (t) => {
  const seed = anySeed()
  t.diagnostic(`seed ${seed}`)
  const random = new Random(seed)
  const owners = [await api.account(), await api.account()]
  const own: string[][] = [[], []]
  const anonymous: { slug: string; claimToken: string }[] = []
  const contents = () =>
    Object.fromEntries(
      Array.from({ length: 1 + random.below(3) }, (_, number) => [
        `${number}.txt`,
        `${random.below(6)}`.padEnd(10 + random.below(2), '.'),
      ]),
    )
  const calls = [
    async (who: number) => void own[who]!.push((await api.publish(owners[who]!.client, contents())).slug),
    async () => {
      const { slug, claimToken } = await api.publish(api.anonymous, contents())
      anonymous.push({ slug, claimToken: claimToken! })
    },
    (who: number, slug: string) => api.publish(owners[who]!.client, contents(), { slug }),
    (who: number, slug: string) => api.publish(owners[who]!.client, contents(), { slug, live: false }),
    (who: number, slug: string) =>
      api.publish(owners[who]!.client, contents(), { slug, preview: `pr-${random.below(4)}` }),
    (who: number, slug: string) => api.update(owners[who]!.client, slug, contents()),
    async (who: number, slug: string) =>
      void own[who]!.push((await owners[who]!.client.duplicate(slug)).slug),
    (who: number, slug: string) => owners[1 - who]!.client.duplicate(slug),
    (who: number, slug: string) => owners[who]!.client.delete(slug, { permanent: random.below(2) === 0 }),
    (who: number, slug: string) => owners[who]!.client.undelete(slug),
    async (who: number, slug: string) => {
      await owners[who]!.client.renameSite(slug, `name-${random.below(1e9)}`)
    },
    async (who: number, slug: string) => {
      const { versions } = await owners[who]!.client.versions(slug)
      await owners[who]!.client.deleteVersion(slug, random.pick(versions).versionId)
    },
    (who: number, slug: string) => owners[who]!.client.setMetadata(slug, { title: `${random.below(9)}` }),
    async (who: number) => {
      const site = anonymous.pop()
      if (site) await owners[who]!.client.claim(site.slug, site.claimToken)
    },
    async () => {
      api.pass(random.below(2) * DAY_MS)
      for (const name of ['expired-sites', 'abandoned', 'trash', 'old-versions']) await api.sweep(name)
    },
  ]
  for (let step = 0; step < 80; step++) {
    const who = random.below(2)
    const slug = own[who]!.length > 0 ? random.pick(own[who]!) : 'none'
    // Many calls are refused: the site is deleted, or the version is live.
    await random
      .pick(calls)(who, slug)
      .catch(() => undefined)
    if (step % 10 === 9) assert.equal(await api.sweep('usage'), 0, `step ${step} of seed ${seed}`)
  }
})
