import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { SiteReview, Slipway, SlipwayError } from '../../client/sdk/slipway.ts'
import type { ErrorCode } from '../../protocol/api/errors.schema.ts'
import type { SiteMetadata } from '../../protocol/api/publish.schema.ts'
import {
  MAX_COMMENT_LENGTH,
  MAX_DECISIONS,
  MAX_REPLIES,
  MAX_REVIEW_LINKS,
  MAX_THREADS,
} from '../../protocol/api/reviews.ts'
import { hashToken } from '../../server/lib/tokens.ts'
import type { Store } from '../../server/store/store.ts'
import { COMMAND_LINE } from '../../server/store/tables/administration.ts'
import { noise } from '../edge/fixture.ts'
import { pluck } from '../support/pluck.ts'
import { waitFor } from '../support/wait-for.ts'
import { WatchedStore } from '../support/watched-store.ts'
import { type Account, Api, assertWaits, DAY_MS, expectFailure, HOUR_MS, MINUTE_MS, startApi } from './api.ts'
import { codeFor, mailsTo } from './sign-in-mails.ts'

const api = await startApi({ TRUSTED_PROXIES: '1' })
const { store, suspensions } = await api.operator()
const [owner, colleague, stranger] = [await api.account(), await api.account(), await api.account()]

const PLACE = {
  ...{ path: '/', selector: 'main > p', text: 'the text', before: '', after: '' },
  ...{ width: 360, height: 640 },
}

/** A live site with the preview `spring`, which is shared with colleagues. */
async function reviewed({ contents = { 'index.html': 'spring' }, people = [colleague] } = {}) {
  const { slug } = await api.publish(owner.client, { 'index.html': 'live' })
  const { versionId } = await api.publish(owner.client, contents, { slug, preview: 'spring' })
  await store.write('durable', { site: slug }, async (tx) => {
    for (const { email } of people) await tx.collaborators.add({ slug, email, addedAt: api.clock.now })
  })
  const review = owner.client.review(slug, 'spring')
  const begin = () => review.createThread({ versionId, place: PLACE, text: 'too small' })
  return { slug, versionId, review, begin }
}

/** A client with the token of a link, and the link. */
async function linked(review: SiteReview, options: Parameters<SiteReview['createLink']>[0] = {}) {
  const link = await review.createLink(options)
  return { link, reviewToken: new URL(link.url).hash.slice(1) }
}

const guestOf = (reviewToken: string, client: Slipway = api.anonymous) => client.with({ reviewToken })

/** The code of the error of a call, or `ok`. */
function outcome(call: Promise<unknown>): Promise<ErrorCode | 'ok'> {
  return call.then(
    () => 'ok',
    ({ code }: SlipwayError) => code as ErrorCode,
  )
}

describe('a review', () => {
  const OPERATIONS = [
    'get',
    'wait',
    'comment',
    'reply',
    'resolve',
    'approve',
    'place',
    'link',
    'revoke',
  ] as const

  /** What each caller gets: first for all operations of reviewers, then for making and ending links. */
  const CALLERS: [who: string, reviewing: ErrorCode | 'ok', linking: ErrorCode | 'ok'][] = [
    ['the owner', 'ok', 'ok'],
    ['a collaborator', 'ok', 'ok'],
    ['the holder of a link', 'ok', 'UNAUTHORIZED'],
    ['the holder of a link of a collaborator', 'ok', 'UNAUTHORIZED'],
    ['an account with a link', 'ok', 'NOT_FOUND'],
    ['a collaborator with a link for collaborators', 'ok', 'ok'],
    ['the holder of a link for collaborators', 'UNAUTHORIZED', 'UNAUTHORIZED'],
    ['an account with a link for collaborators', 'NOT_FOUND', 'NOT_FOUND'],
    ['the holder of a revoked link', 'NOT_FOUND', 'UNAUTHORIZED'],
    ['the holder of an expired link', 'NOT_FOUND', 'UNAUTHORIZED'],
    ['the holder of a link to another preview', 'NOT_FOUND', 'UNAUTHORIZED'],
    ['the holder of a link to the live version', 'NOT_FOUND', 'UNAUTHORIZED'],
    ['the holder of a link to another site', 'NOT_FOUND', 'UNAUTHORIZED'],
    ['the owner with the token of a revoked link', 'NOT_FOUND', 'ok'],
    ['the holder of a link of a former collaborator', 'NOT_FOUND', 'UNAUTHORIZED'],
    ['the holder of a link of a deleted account', 'NOT_FOUND', 'UNAUTHORIZED'],
    ['the holder of a link of a suspended account', 'NOT_FOUND', 'UNAUTHORIZED'],
    ['the holder of a link of a revoked key', 'NOT_FOUND', 'UNAUTHORIZED'],
    ['another account', 'NOT_FOUND', 'NOT_FOUND'],
    ['a caller without anything', 'UNAUTHORIZED', 'UNAUTHORIZED'],
  ]

  /** Holders of links whose creators have no more access. */
  async function holdersOfEnded(slug: string, former: readonly [Account, Account, Account]) {
    const [left, deleted, suspended] = former
    const { id, apiKey } = await owner.client.createKey({ name: `links of ${slug}`, scope: 'publish' })
    const creators = [...former.map(({ client }) => client), api.client(apiKey)]
    const tokens = creators.map(async (client) => (await linked(client.review(slug, 'spring'))).reviewToken)
    const guests = (await Promise.all(tokens)).map((token) => guestOf(token))
    await owner.client.removeCollaborator(slug, left.email)
    await deleted.client.deleteAccount(deleted.email)
    await suspensions.changeAccount(COMMAND_LINE, suspended.email, { reason: 'a reason' })
    const countLinks = async () => (await owner.client.review(slug, 'spring').get()).links!.length
    const before = await countLinks()
    await owner.client.revokeKey(id)
    assert.equal(await countLinks(), before - 1, 'the link of the key is not listed')
    return guests
  }

  async function clients(
    { slug, review }: Awaited<ReturnType<typeof reviewed>>,
    former: readonly [Account, Account, Account],
  ) {
    const other = await reviewed()
    await api.publish(owner.client, { 'index.html': 'autumn' }, { slug, preview: 'autumn' })
    const expired = await linked(review, { expiresInSeconds: 60 })
    api.pass(2 * MINUTE_MS)
    const [anyone, people, revoked] = [
      (await linked(review)).reviewToken,
      (await linked(review, { audience: 'collaborators' })).reviewToken,
      await linked(review),
    ]
    await review.revokeLink(revoked.link.id)
    const tokenOf = async (one: SiteReview) => (await linked(one)).reviewToken
    return [
      owner.client,
      colleague.client,
      guestOf(anyone),
      guestOf(await tokenOf(colleague.client.review(slug, 'spring'))),
      guestOf(anyone, stranger.client),
      guestOf(people, colleague.client),
      guestOf(people),
      guestOf(people, stranger.client),
      guestOf(revoked.reviewToken),
      guestOf(expired.reviewToken),
      guestOf(await tokenOf(owner.client.review(slug, 'autumn'))),
      guestOf(await tokenOf(owner.client.review(slug))),
      guestOf(await tokenOf(other.review)),
      guestOf(revoked.reviewToken, owner.client),
      ...(await holdersOfEnded(slug, former)),
      stranger.client,
      api.anonymous,
    ]
  }

  test('is for the people of its site and for holders of its links, and for them only', async () => {
    const former = [await api.account(), await api.account(), await api.account()] as const
    const site = await reviewed({ people: [colleague, ...former] })
    const { slug, versionId, review, begin } = site
    const all = await clients(site, former)
    const kept = new Set((await review.get()).links!.map(({ id }) => id))
    for (const [index, [who, reviewing, linking]] of CALLERS.entries()) {
      const mine = all[index]!.review(slug, 'spring')
      const { id } = await begin()
      const target = (await linked(review)).link.id
      const name = 'Ann'
      const calls: Record<(typeof OPERATIONS)[number], () => Promise<unknown>> = {
        get: () => mine.get(),
        wait: () => mine.wait('another revision'),
        comment: () => mine.createThread({ versionId, place: PLACE, text: 'a', name }),
        reply: () => mine.addToThread(id, { text: 'b', name }),
        resolve: () => mine.addToThread(id, { status: 'resolved', name }),
        approve: () => mine.decide({ decision: 'approved', versionId, name }),
        place: () => mine.reportPlacements({ versionId, placed: [id], missing: [] }),
        link: () => mine.createLink(),
        revoke: () => mine.revokeLink(target),
      }
      const before = await review.get()
      for (const operation of OPERATIONS) {
        const expected = ['link', 'revoke'].includes(operation) ? linking : reviewing
        assert.equal(await outcome(calls[operation]()), expected, `${who}: ${operation}`)
      }
      const after = await review.get()
      if (reviewing !== 'ok')
        assert.deepEqual([after.threads, after.decisions], [before.threads, before.decisions], who)
      for (const { id } of after.links!) if (!kept.has(id)) await review.revokeLink(id)
    }
  })

  test('has links and threads of its own only', async () => {
    const [mine, other] = [await reviewed(), await reviewed()]
    const [{ link }, { id }] = [await linked(other.review), await other.begin()]
    await expectFailure(mine.review.revokeLink(link.id), 'NOT_FOUND')
    await expectFailure(mine.review.addToThread(id, { text: 'a', name: 'Ann' }), 'NOT_FOUND')
    const { links, threads } = await other.review.get()
    assert.deepEqual([pluck(links!, 'id'), threads[0]!.comments.length], [[link.id], 1])
  })

  test('gives the holder of its link no other call of the site', async () => {
    const { slug, review } = await reviewed()
    const { reviewToken } = await linked(review)
    const guest = guestOf(reviewToken)
    for (const call of [
      () => guest.details(slug),
      () => guest.previews(slug),
      () => guest.promote(slug, 'spring'),
      () => guest.review(slug).get(),
      () => guest.archive(slug),
    ])
      assert.match(await outcome(call()), /^(UNAUTHORIZED|NOT_FOUND)$/)
    const opened = await guest.openReview()
    assert.deepEqual([opened.slug, opened.preview], [slug, 'spring'])
    assert.equal((await guest.review(slug, 'spring').get()).links, undefined)
    const sites = [(await api.publish(colleague.client, { 'index.html': 'another' })).slug]
    const { apiKey } = await colleague.client.createKey({ name: slug, scope: 'read', sites })
    const limited = guestOf(reviewToken, api.client(apiKey))
    assert.equal(await outcome(limited.openReview()), 'INSUFFICIENT_SCOPE')
    assert.equal(await outcome(limited.review(slug, 'spring').get()), 'INSUFFICIENT_SCOPE')
  })

  test('needs a version that is shown', async () => {
    const { slug } = await api.create(owner.client, { 'index.html': 'x' })
    await expectFailure(owner.client.review(slug).get(), 'SITE_PENDING')
    await expectFailure(owner.client.review(slug, 'spring').get(), 'NOT_FOUND')
  })

  test('keeps no token, and frames that end with the link, or with its key', async () => {
    const { slug, review } = await reviewed()
    const { link, reviewToken } = await linked(review, { expiresInSeconds: 5 * 60 })
    assert.ok(
      !JSON.stringify(await store.read.reviews.links({ slug, previewName: 'spring' })).includes(reviewToken),
    )
    const { frame } = await guestOf(reviewToken).review(slug, 'spring').get()
    assert.equal(
      frame.expiresAt,
      new Date(Math.floor(Date.parse(link.expiresAt!) / 1000) * 1000).toISOString(),
    )
    assert.equal((await api.visit(frame.url)).status, 200)
    await review.revokeLink(link.id)
    assert.equal((await api.visit(frame.url)).status, 404)
    const { email } = owner
    const ends: ((key: { id: string; apiKey: string }, name: string) => Promise<unknown>)[] = [
      ({ id }) => owner.client.revokeKey(id),
      ({ apiKey }) => api.client(apiKey).endKey(),
      // Another key gets its name.
      async (_, name) => api.anonymous.verifyCode(email, await codeFor(api, email), undefined, name),
    ]
    for (const [at, end] of ends.entries()) {
      const name = `${at} ${slug}`
      const key = await owner.client.createKey({ name, scope: 'publish' })
      const ofKey = await linked(api.client(key.apiKey).review(slug, 'spring'))
      const shown = await guestOf(ofKey.reviewToken).review(slug, 'spring').get()
      assert.equal((await api.visit(shown.frame.url)).status, 200)
      await end(key, name)
      assert.equal((await api.visit(shown.frame.url)).status, 404, name)
    }
  })

  for (const [what, end] of [
    ['removed', ({ email }: Account, slug: string) => owner.client.removeCollaborator(slug, email)],
    ['gone', ({ client, email }: Account) => client.deleteAccount(email)],
    [
      'suspended',
      ({ email }: Account) => suspensions.changeAccount(COMMAND_LINE, email, { reason: 'a reason' }),
    ],
  ] as const)
    test(`shows nothing more in frames that a collaborator opened who is ${what}`, async () => {
      const former = await api.account()
      const { slug, review } = await reviewed({ people: [former] })
      const { link } = await linked(former.client.review(slug, 'spring'))
      assert.equal(link.createdBy, former.email)
      assert.deepEqual(
        (await review.get()).links!.map(({ createdBy }) => createdBy),
        [former.email],
      )
      const { frame } = await former.client.review(slug, 'spring').get()
      assert.equal((await api.visit(frame.url)).status, 200)
      await end(former, slug)
      await waitFor(async () => (await api.visit(frame.url)).status === 404)
      const left = what === 'suspended' ? [former.email] : []
      assert.deepEqual(pluck((await review.get()).links!, 'createdBy'), left)
      assert.equal((await api.visit((await review.get()).frame.url)).status, 200)
    })

  for (const [what, key, decides] of [
    ['publish', { scope: 'publish' }, false],
    ['publish for an hour', { scope: 'publish', expiresInSeconds: 3600 }, false],
    ['manage for an hour', { scope: 'manage', expiresInSeconds: 3600 }, true],
    ['manage for all', { scope: 'manage' }, true],
  ] as const)
    test(`has links of a key of scope ${what}, ${decides ? 'with' : 'without'} which guests decide`, async () => {
      const { slug, versionId } = await reviewed()
      const { apiKey, expiresAt } = await owner.client.createKey({ name: `${what} ${slug}`, ...key })
      const { link, reviewToken } = await linked(api.client(apiKey).review(slug, 'spring'))
      assert.equal(link.expiresAt, expiresAt)
      const guest = guestOf(reviewToken).review(slug, 'spring')
      await guest.createThread({ versionId, place: PLACE, text: 'a', name: 'Ann' })
      assert.equal((await guest.get()).mayDecide, decides)
      const decision = outcome(guest.decide({ decision: 'approved', versionId, name: 'Ann' }))
      assert.equal(await decision, decides ? 'ok' : 'INSUFFICIENT_SCOPE')
      api.pass(2 * HOUR_MS)
      assert.equal(await outcome(guest.get()), expiresAt === null ? 'ok' : 'NOT_FOUND')
    })

  test('is closed to holders of links while its site is suspended, without the reason, and after its end', async () => {
    const { slug, versionId, review, begin } = await reviewed()
    const guest = guestOf((await linked(review)).reviewToken).review(slug, 'spring')
    await suspensions.changeSite(COMMAND_LINE, slug, { reason: 'a secret reason' })
    const { message, details } = await expectFailure(guest.get(), 'SITE_SUSPENDED')
    assert.doesNotMatch(message + JSON.stringify(details ?? ''), /secret/)
    await suspensions.changeSite(COMMAND_LINE, slug)
    await guest.get()
    await begin()
    await review.decide({ decision: 'approved', versionId })
    const read = () => {
      const { reviews } = store.read
      const subject = { slug, previewName: 'spring' }
      return Promise.all([reviews.threads(subject), reviews.links(subject), reviews.decisions(subject, 1)])
    }
    await owner.client.delete(slug)
    await expectFailure(guest.get(), 'NOT_FOUND')
    assert.deepEqual(
      (await read()).map(({ length }) => length),
      [1, 1, 1],
    )
    await owner.client.delete(slug, { permanent: true })
    assert.deepEqual(await read(), [[], [], []], 'nothing is left of a site that is deleted permanently')
    const brief = await reviewed()
    const { reviewToken } = await linked(brief.review)
    await owner.client.setMetadata(brief.slug, { ttlSeconds: 3600 })
    api.pass(2 * HOUR_MS)
    await expectFailure(guestOf(reviewToken).review(brief.slug, 'spring').get(), 'SITE_EXPIRED')
  })

  test('is closed to holders of the links of collaborators while the account of its owner is suspended', async () => {
    const { client, email } = await api.account()
    const { slug } = await api.publish(client, { 'index.html': 'live' })
    await client.addCollaborator(slug, colleague.email)
    const guest = guestOf((await linked(colleague.client.review(slug))).reviewToken).review(slug)
    await guest.get()
    await suspensions.changeAccount(COMMAND_LINE, email, { reason: 'a secret reason' })
    const { message, details } = await expectFailure(guest.get(), 'SITE_SUSPENDED')
    assert.doesNotMatch(message + JSON.stringify(details ?? ''), /secret/)
  })

  test('has links that end after 30 days if it is about the live version, and with the preview otherwise', async () => {
    const { slug, review } = await reviewed()
    const end = new Date(api.clock.now + 30 * DAY_MS).toISOString()
    const { link: ofLive } = await linked(owner.client.review(slug))
    assert.deepEqual([ofLive.expiresAt, (await linked(review)).link.expiresAt], [end, null])
  })

  for (const [what, end] of [
    ['the deletion of the preview', (slug: string) => owner.client.deletePreview(slug, 'spring')],
    ['the deletion of its version', (slug: string, id: string) => owner.client.deleteVersion(slug, id)],
    [
      'the end of the preview',
      async () => {
        api.pass(31 * DAY_MS)
        await api.sweep('old-versions')
      },
    ],
  ] as const)
    test(`ends with ${what}: a new preview of the name has neither its threads nor its links`, async () => {
      const { slug, versionId, review, begin } = await reviewed()
      const { reviewToken } = await linked(review)
      await begin()
      await review.decide({ decision: 'approved', versionId })
      await end(slug, versionId)
      await expectFailure(review.get(), 'NOT_FOUND')
      await api.publish(owner.client, { 'index.html': 'spring' }, { slug, preview: 'spring' })
      const { threads, decision, links } = await review.get()
      assert.deepEqual([threads, decision, links], [[], 'none', []])
      await expectFailure(guestOf(reviewToken).openReview(), 'NOT_FOUND')
    })

  test('keeps its links and threads when its site gets another name', async () => {
    const { slug, review, begin } = await reviewed()
    const guest = guestOf((await linked(review)).reviewToken)
    const { id } = await begin()
    const name = `renamed-${slug}`
    await owner.client.renameSite(slug, name)
    assert.equal((await guest.openReview()).slug, name)
    for (const known of [slug, name])
      assert.deepEqual(
        (await guest.review(known, 'spring').get()).threads.map((thread) => thread.id),
        [id],
      )
  })

  test('keeps the threads of a new version, and marks those that its pages have no place for', async () => {
    const { slug, versionId, review, begin } = await reviewed()
    const [one, other] = [await begin(), await begin()]
    const next = await api.publish(owner.client, { 'index.html': 'new' }, { slug, preview: 'spring' })
    const late = { versionId, placed: [], missing: [one.id] }
    assert.deepEqual((await review.reportPlacements(late)).counts, { open: 2, resolved: 0, outdated: 0 })
    const seen = { versionId: next.versionId, placed: [other.id], missing: [one.id, 'unknown'] }
    const { revision } = await review.get()
    const waiting = review.wait(revision)
    assert.deepEqual((await review.reportPlacements(seen)).counts, { open: 1, resolved: 0, outdated: 1 })
    assert.notEqual((await waiting).revision, revision, 'other reviewers see it')
    const outdated = await review.get({ status: 'outdated' })
    assert.deepEqual(
      outdated.threads.map(({ id, outdated }) => [id, outdated]),
      [[one.id, true]],
    )
    assert.deepEqual((await review.get({ path: '/other' })).threads, [])
    await api.publish(owner.client, { 'index.html': 'newer' }, { slug, preview: 'spring' })
    assert.equal((await review.get()).counts.outdated, 0, 'beside a version that was not opened yet')
  })

  test('is counted and named in the list of sites, by its open threads', async () => {
    const { slug, review, begin } = await reviewed()
    const count = async () => {
      const found = (await owner.client.list()).publishes.find((site) => site.slug === slug)!
      return [found.openThreads, found.openReview]
    }
    assert.deepEqual(await count(), [0, null])
    const { id } = await begin()
    assert.deepEqual(await count(), [1, 'spring'])
    await review.addToThread(id, { status: 'resolved' })
    assert.deepEqual(await count(), [0, null])
  })

  test('wakes those who wait for its next change', async () => {
    const { slug, review, begin } = await reviewed()
    const guest = guestOf((await linked(review)).reviewToken).review(slug, 'spring')
    let { revision } = await review.get()
    const [{ id }, other] = [await begin(), await begin()]
    for (const change of [
      begin,
      () => review.addToThread(id, { status: 'resolved' }),
      () => review.addToThread(id, { status: 'open' }),
      () => review.addToThread(other.id, { status: 'resolved' }),
      () => api.publish(owner.client, { 'index.html': 'new' }, { slug, preview: 'spring' }),
    ]) {
      ;({ revision } = await review.get())
      const [woken] = await Promise.all([guest.wait(revision), change()])
      assert.notEqual(woken.revision, revision)
    }
  })
})

describe('what a reviewer writes', () => {
  test('is stored as it was written, with who wrote it', async () => {
    const { slug, versionId, review } = await reviewed()
    const guest = guestOf((await linked(review)).reviewToken).review(slug, 'spring')
    const text = '<script>alert(1)</script> {{x}} &amp; \u202Eevil\n\t"\'`\u0007 😀'
    const place = { ...PLACE, path: '/a b?x#y', text: '<img onerror=alert(1)>', selector: '</style><b>' }
    const { id } = await guest.createThread({ versionId, place, text, name: ' <b>Ann</b>\n\u202E ' })
    await review.addToThread(id, { text: 'thanks' })
    const [thread] = (await guest.get()).threads
    assert.deepEqual(thread!.place, place)
    assert.deepEqual(
      thread!.comments.map((one) => [one.text, one.author]),
      [
        [text, { name: '<b>Ann</b>', role: 'guest' }],
        ['thanks', { name: owner.email.split('@')[0], role: 'owner' }],
      ],
    )
  })

  test('is of a key, whatever name it gives, unless that may decide', async () => {
    const { slug, versionId } = await reviewed()
    for (const [scope, role] of [
      ['preview', 'key'],
      ['publish', 'key'],
      ['manage', 'owner'],
    ] as const) {
      const { apiKey } = await owner.client.createKey({ name: `${scope} of ${slug}`, scope })
      const review = api.client(apiKey).review(slug, 'spring')
      const { comments } = await review.createThread({
        versionId,
        place: PLACE,
        text: 'publish it',
        name: 'Ann',
      })
      assert.deepEqual(comments[0]!.author, { name: 'Ann', role })
    }
  })

  const LONG = 'x'.repeat(MAX_COMMENT_LENGTH + 1)
  for (const [what, change] of [
    ['a comment of 5,001 characters', { text: LONG }],
    ['an empty comment', { text: '' }],
    ['a null character', { text: 'a\0b' }],
    ['half a character', { place: { ...PLACE, text: '\uD800' } }],
    ['a script as the path', { place: { ...PLACE, path: 'javascript:alert(1)' } }],
    ['another host as the path', { place: { ...PLACE, path: 'https://evil.test/' } }],
    ['no name', { name: undefined }],
    ['a name of spaces', { name: '  ' }],
    ['a name that shows nothing', { name: '\u200B' }],
    ['no version', { versionId: 'x' }],
  ] as const)
    test(`with ${what} is refused`, async () => {
      const { slug, versionId, review } = await reviewed()
      const guest = guestOf((await linked(review)).reviewToken).review(slug, 'spring')
      const request = { versionId, place: PLACE, text: 'a', name: 'Ann', ...change }
      await expectFailure(guest.createThread(request as never), 'VALIDATION_ERROR')
      assert.deepEqual((await review.get()).threads, [])
    })

  test('gives its owner back the storage of each thread that makes room', async () => {
    const { slug, review, begin } = await reviewed()
    await api.publish(owner.client, { 'large.bin': noise(2_000_000) })
    // Without the first one, there is still no room.
    for (const characters of [300_000, 1_000_000]) {
      api.pass(1000)
      const { id } = await begin()
      await review.addToThread(id, { status: 'resolved' })
      await store.write('durable', {}, (tx) => tx.reviews.updateThread(id, { characters }))
    }
    const before = (await owner.client.me()).usage.heldBytes
    const { id } = await begin()
    const { characters } = (await store.read.reviews.thread({ slug, previewName: 'spring' }, id))!
    assert.equal((await owner.client.me()).usage.heldBytes, before + characters - 1_300_000)
  })

  test('has limits: of replies, of threads, of links and of an hour', async () => {
    const { slug, versionId, review, begin } = await reviewed()
    const { id } = await begin()
    const subject = { slug, previewName: 'spring' }
    const stored = (await store.read.reviews.thread(subject, id))!
    const comments = Array.from({ length: MAX_REPLIES }, () => stored.comments[0]!)
    await store.write('durable', {}, (tx) => tx.reviews.updateThread(id, { comments }))
    await review.addToThread(id, { text: 'the last one' })
    await expectFailure(review.addToThread(id, { text: 'one more' }), 'QUOTA_EXCEEDED')
    await store.write('durable', {}, async (tx) => {
      for (let number = 1; number < MAX_THREADS; number++)
        await tx.rows.insert('review_threads', {
          ...stored,
          id: `${stored.id.slice(0, -4)}~${number}`.padEnd(26, '~'),
        })
    })
    await expectFailure(begin(), 'QUOTA_EXCEEDED')
    const [newest] = (await review.get()).threads
    for (const resolved of [newest!.id, id]) await review.addToThread(resolved, { status: 'resolved' })
    await begin()
    const left = pluck((await review.get({ status: 'resolved' })).threads, 'id')
    assert.deepEqual(left, [newest!.id], 'the oldest of those that are resolved makes room')

    const [first, second] = (await review.get()).threads.slice(-2).map((thread) => thread.id) as [
      string,
      string,
    ]
    await store.write('durable', {}, (tx) => tx.reviews.updateThread(first, { characters: 1_000_000 }))
    await expectFailure(review.addToThread(second, { text: 'a reply' }), 'QUOTA_EXCEEDED')
    await review.addToThread(first, { status: 'resolved' })
    await expectFailure(review.addToThread(first, { text: 'a reply' }), 'QUOTA_EXCEEDED')
    await review.addToThread(second, { text: 'a reply' })
    assert.ok(!(await review.get()).threads.some((thread) => thread.id === first), 'so do its characters')
    const { place, comments: written, characters } = (await store.read.reviews.thread(subject, second))!
    assert.ok(characters >= JSON.stringify([place, written]).length, `${characters} of the response`)

    const limited = await owner.client.createKey({ name: `limits of ${slug}`, scope: 'publish' })
    const { reviewToken } = await linked(api.client(limited.apiKey).review(slug, 'spring'))
    await owner.client.revokeKey(limited.id)
    for (let number = 0; number < MAX_REVIEW_LINKS; number++)
      await review.createLink({ expiresInSeconds: 3600 })
    await expectFailure(review.createLink(), 'QUOTA_EXCEEDED')
    const ofLimited = await store.read.reviews.linkByToken(hashToken(reviewToken))
    assert.equal(ofLimited, undefined, 'it is deleted, like those that have expired')
    api.pass(2 * HOUR_MS)
    const { reviewToken: shared } = await linked(review)
    const guest = guestOf(shared).review(slug, 'spring')
    const { id: thread } = (await guest.get({ status: 'open' })).threads[0]!
    for (let number = 0; number < 60; number++)
      await guest.addToThread(thread, { status: 'open', name: 'Ann' })
    const approval = { decision: 'approved', versionId } as const
    await expectFailure(guest.decide({ ...approval, name: 'Ann' }), 'RATE_LIMITED')
    const lost = { versionId, placed: [], missing: [thread] }
    await expectFailure(guest.reportPlacements(lost), 'RATE_LIMITED')
    await guest.reportPlacements({ ...lost, placed: [thread], missing: [] })
    const ofOtherLink = guestOf((await linked(review)).reviewToken).review(slug, 'spring')
    for (const free of [review, ofOtherLink]) await free.decide({ ...approval, name: 'Ann' })
    const headers = { 'x-slipway-review': shared, 'x-forwarded-for': '192.0.2.1' }
    const decisions = `/api/v1/publish/${slug}/previews/spring/review/decisions`
    const elsewhere = await api.request('POST', decisions, { headers, json: { ...approval, name: 'Ann' } })
    assert.equal(elsewhere.status, 201, 'the same link in another network')
    await assertWaits(api, () => guest.decide({ ...approval, name: 'Ann' }))
  })

  test('is announced to the owner and collaborators by one email in ten minutes and few in a day, without its words, but not to its author', async () => {
    const [ann, cleo] = [await api.account(), await api.account()]
    const { slug } = await api.publish(ann.client, { 'index.html': 'live' })
    const { versionId } = await api.publish(ann.client, { 'index.html': '1' }, { slug, preview: 'spring' })
    await ann.client.addCollaborator(slug, cleo.email)
    await ann.client.addCollaborator(slug, 'without-an-account@example.test')
    const review = ann.client.review(slug, 'spring')
    const guest = guestOf((await linked(review)).reviewToken).review(slug, 'spring')
    const mails = async ({ email }: Account) =>
      (await mailsTo(api, email)).filter((mail) => mail.includes('Review: '))
    const count = async () => {
      await api.sweep('emails')
      return [(await mails(ann)).length, (await mails(cleo)).length]
    }
    const comment = (by: SiteReview, name?: string) =>
      by.createThread({ versionId, place: PLACE, text: 'the words', ...(name && { name }) })
    api.clock.now = Math.ceil(api.clock.now / HOUR_MS) * HOUR_MS + MINUTE_MS
    await comment(review)
    assert.deepEqual(await count(), [0, 1])
    await comment(cleo.client.review(slug, 'spring'))
    assert.deepEqual(await count(), [1, 1])
    await comment(ann.client.review(slug))
    assert.deepEqual(await count(), [1, 2], 'another review')
    for (let number = 0; number < 3; number++) {
      api.pass(2 * MINUTE_MS)
      await comment(guest, 'Bob')
      assert.deepEqual(await count(), [1, 2])
    }
    assert.ok(![...(await mails(ann)), ...(await mails(cleo))].some((mail) => mail.includes('the words')))
    api.pass(10 * MINUTE_MS)
    await guest.decide({ decision: 'changes-requested', versionId, name: 'Bob' })
    assert.deepEqual(await count(), [2, 3])
    api.clock.now = Math.ceil(api.clock.now / DAY_MS + 1) * DAY_MS
    const guestOfLive = guestOf((await linked(ann.client.review(slug))).reviewToken).review(slug)
    for (let period = 0; period < 7; period++) {
      for (const review of [guest, guestOfLive]) await comment(review, 'Bob')
      await count()
      api.pass(10 * MINUTE_MS)
    }
    assert.deepEqual(await count(), [2 + 6 + 2, 3 + 12], 'six an hour to the owner, twelve a day to others')
  })

  for (const [which, end] of [
    ['removed', ({ email }: Account, slug: string) => owner.client.removeCollaborator(slug, email)],
    ['there', () => undefined],
    [
      'there, of a preview that ended',
      (_: Account, slug: string) => owner.client.deletePreview(slug, 'spring'),
    ],
  ] as const)
    test(`is announced late to a collaborator who still sees it: ${which}`, async () => {
      const cleo = await api.account()
      const { slug, begin } = await reviewed({ people: [cleo] })
      await begin()
      await end(cleo, slug)
      await api.sweep('emails')
      const mails = await mailsTo(api, cleo.email)
      assert.equal(mails.filter((mail) => mail.includes('Review: ')).length, which === 'there' ? 1 : 0)
    })

  test('is announced to its owner also when reviews that others share have sent the twelve emails of a day', async () => {
    const [ann, cleo] = [await api.account(), await api.account()]
    const { slug } = await api.publish(ann.client, { 'index.html': 'of ann' })
    const own = await api.publish(cleo.client, { 'index.html': 'of cleo' })
    await ann.client.addCollaborator(slug, cleo.email)
    const comment = async ({ client }: Account, { slug }: { slug: string }) => {
      const { versionId } = await client.review(slug).get()
      await client.review(slug).createThread({ versionId, place: PLACE, text: 'x', name: 'Bob' })
      await api.sweep('emails')
      api.pass(10 * MINUTE_MS)
    }
    for (let comments = 0; comments < 13; comments++) await comment(ann, { slug })
    const guest = guestOf((await linked(cleo.client.review(own.slug))).reviewToken)
    await comment({ ...ann, client: guest }, own)
    const mails = await mailsTo(api, cleo.email)
    assert.equal(mails.filter((mail) => mail.includes(`Review: ${slug}`)).length, 12)
    assert.equal(mails.filter((mail) => mail.includes(`Review: ${own.slug}`)).length, 1)
  })
})

describe('a site that requires approval', () => {
  type Step = ['approved' | 'changes-requested', 'owner' | 'collaborator' | 'guest']
  const CASES: [what: string, rule: 'off' | 'anyone' | 'collaborators', steps: Step[], promotes: boolean][] =
    [
      ['nothing, when it requires none', 'off', [['changes-requested', 'owner']], true],
      ['nothing', 'anyone', [], false],
      ['an approval of a guest', 'anyone', [['approved', 'guest']], true],
      ['an approval of a guest, of collaborators', 'collaborators', [['approved', 'guest']], false],
      ['an approval of a collaborator', 'collaborators', [['approved', 'collaborator']], true],
      ['an approval of the owner', 'collaborators', [['approved', 'owner']], true],
      [
        'an approval of the owner, then of a guest',
        'collaborators',
        [
          ['approved', 'owner'],
          ['approved', 'guest'],
        ],
        true,
      ],
      [
        'an approval, then a request for changes',
        'anyone',
        [
          ['approved', 'owner'],
          ['changes-requested', 'guest'],
        ],
        false,
      ],
      [
        'a request for changes, then an approval',
        'anyone',
        [
          ['changes-requested', 'owner'],
          ['approved', 'guest'],
        ],
        true,
      ],
    ]
  for (const [what, rule, steps, promotes] of CASES)
    test(`${promotes ? 'promotes' : 'does not promote'} after ${what} (${rule})`, async () => {
      const { slug, versionId, review } = await reviewed()
      await owner.client.setMetadata(slug, { requireApproval: rule })
      const by = {
        owner: review,
        collaborator: colleague.client.review(slug, 'spring'),
        guest: guestOf((await linked(review)).reviewToken).review(slug, 'spring'),
      }
      for (const [decision, who] of steps) await by[who].decide({ decision, versionId, name: 'Ann' })
      const expected = promotes ? 'ok' : 'APPROVAL_REQUIRED'
      assert.equal(await outcome(colleague.client.restore(slug, versionId)), expected)
      assert.equal(await outcome(owner.client.promote(slug, 'spring')), expected)
    })

  for (const [rule, promotes] of [
    ['anyone', true],
    ['collaborators', false],
  ] as const)
    test(`${promotes ? 'promotes' : 'does not promote'} after an approval of a former collaborator (${rule})`, async () => {
      const { slug, versionId } = await reviewed()
      await owner.client.setMetadata(slug, { requireApproval: rule })
      await colleague.client.review(slug, 'spring').decide({ decision: 'approved', versionId })
      await owner.client.removeCollaborator(slug, colleague.email)
      assert.equal(await outcome(owner.client.promote(slug, 'spring')), promotes ? 'ok' : 'APPROVAL_REQUIRED')
    })

  test('keeps its last 500 decisions, and never counts an approval again that changes were requested after', async () => {
    const { slug, versionId, review } = await reviewed()
    const { versionId: same } = await api.publish(
      owner.client,
      { 'index.html': 'spring' },
      { slug, preview: 'autumn' },
    )
    await owner.client.setMetadata(slug, { requireApproval: 'anyone' })
    await owner.client.review(slug, 'autumn').decide({ decision: 'approved', versionId: same })
    api.pass()
    await review.decide({ decision: 'changes-requested', versionId })
    const spring = { slug, previewName: 'spring' }
    const { read } = store
    const [refusal] = await read.reviews.decisions(spring, 1)
    await store.write('durable', {}, async (tx) => {
      for (let number = 1; number < MAX_DECISIONS; number++)
        await tx.rows.insert('review_decisions', {
          ...{ ...refusal!, contentHash: 'other' },
          id: `${refusal!.id.slice(0, -4)}~${number}`.padEnd(26, '~'),
        })
    })
    await api.publish(owner.client, { 'index.html': 'another' }, { slug, preview: 'spring' })
    const { versionId: next } = await review.get()
    await review.decide({ decision: 'approved', versionId: next })
    assert.equal((await read.reviews.decisions(spring, 2 * MAX_DECISIONS)).length, MAX_DECISIONS)
    await expectFailure(owner.client.promote(slug, 'autumn'), 'APPROVAL_REQUIRED')
    await owner.client.promote(slug, 'spring')
  })

  test('counts no approval that changes were requested after in a preview that a key for previews deletes', async () => {
    const { slug, versionId, review } = await reviewed()
    const preview = 'autumn'
    const same = await api.publish(owner.client, { 'index.html': 'spring' }, { slug, preview })
    await owner.client.setMetadata(slug, { requireApproval: 'anyone' })
    const autumn = owner.client.review(slug, preview)
    await autumn.decide({ decision: 'approved', versionId: same.versionId })
    await review.decide({ decision: 'changes-requested', versionId })
    const name = `previews of ${slug}`
    const { apiKey } = await owner.client.createKey({ name, scope: 'preview', sites: [slug] })
    await api.client(apiKey).deletePreview(slug, 'spring')
    assert.equal((await autumn.get()).decision, 'none')
    await expectFailure(owner.client.promote(slug, preview), 'APPROVAL_REQUIRED')
    await autumn.decide({ decision: 'approved', versionId: same.versionId })
    await owner.client.promote(slug, preview)
  })

  test('keeps the changes that a review requested when another one that requested some later is deleted', async () => {
    const { slug, versionId, review } = await reviewed()
    const same = await api.publish(owner.client, { 'index.html': 'spring' }, { slug, preview: 'autumn' })
    const autumn = owner.client.review(slug, 'autumn')
    await autumn.decide({ decision: 'changes-requested', versionId: same.versionId })
    api.pass()
    await review.decide({ decision: 'changes-requested', versionId })
    const { apiKey } = await owner.client.createKey({ name: slug, scope: 'preview', sites: [slug] })
    await api.client(apiKey).deletePreview(slug, 'spring')
    assert.equal((await autumn.get()).decision, 'changes-requested')
  })

  test('needs an approval of exactly the bytes, types and metadata that are promoted', async () => {
    const { slug, versionId, review } = await reviewed()
    await owner.client.setMetadata(slug, { requireApproval: 'anyone' })
    await review.decide({ decision: 'approved', versionId })
    const publish = (text: string, metadata: SiteMetadata = {}) =>
      api.publish(owner.client, { 'index.html': text }, { slug, preview: 'spring', ...metadata })
    const { versionId: other } = await publish('other bytes')
    await expectFailure(owner.client.promote(slug, 'spring'), 'APPROVAL_REQUIRED')
    await expectFailure(review.decide({ decision: 'approved', versionId }), 'VERSION_CONFLICT')
    await review.decide({ decision: 'changes-requested', versionId: other })
    await publish('spring', { title: 'Not approved' })
    assert.equal((await review.get()).decision, 'none')
    await expectFailure(owner.client.promote(slug, 'spring'), 'APPROVAL_REQUIRED')
    const script = { path: 'index.html', content: 'spring', contentType: 'text/javascript' }
    await owner.client.publishContents({ files: [script], preview: 'spring' }, slug)
    await expectFailure(owner.client.promote(slug, 'spring'), 'APPROVAL_REQUIRED')
    await publish('spring')
    assert.equal((await review.get()).decision, 'approved', 'the same bytes as before')
    await owner.client.promote(slug, 'spring')
  })

  test('counts an approval of before it was renamed', async () => {
    const { slug, versionId, review, begin } = await reviewed()
    await owner.client.setMetadata(slug, { requireApproval: 'anyone' })
    const [{ link }, { id }] = [await linked(review), await begin()]
    await review.decide({ decision: 'approved', versionId })
    const { slug: renamed } = await owner.client.renameSite(slug, 'approved-before')
    const { links, threads } = await owner.client.review(renamed, 'spring').get()
    assert.deepEqual([pluck(links!, 'id'), pluck(threads, 'id')], [[link.id], [id]])
    await owner.client.promote(renamed, 'spring')
  })

  test('has a rule that only its owner changes', async () => {
    const { slug } = await reviewed()
    await owner.client.setMetadata(slug, { requireApproval: 'collaborators' })
    await expectFailure(colleague.client.setMetadata(slug, { requireApproval: 'off' }), 'OWNER_REQUIRED')
    assert.equal((await colleague.client.details(slug)).requireApproval, 'collaborators')
  })
})

test('a review has a revision from before what it shows, so that the next wait sees a change that comes between', async () => {
  let watched!: WatchedStore
  const wrapStore = (real: Store) => {
    watched = new WatchedStore(real)
    return watched.watched
  }
  await using own = await Api.start({}, { wrapStore })
  const { client } = await own.account()
  const { slug } = await own.publish(client, { 'index.html': 'live' })
  const { versionId } = await own.publish(client, { 'index.html': 'spring' }, { slug, preview: 'spring' })
  const review = client.review(slug, 'spring')
  let decided: Promise<unknown> | undefined
  watched.delayRead = (query) => {
    if (query !== 'reviews.decisionsAbout' || decided) return undefined
    decided = Promise.resolve()
    decided = review.decide({ decision: 'approved', versionId })
    return decided
  }
  const { decision, revision } = await review.get()
  assert.equal(decision, 'none')
  assert.notEqual((await review.wait(revision)).revision, revision)
})
