import assert from 'node:assert/strict'
import { rename, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { Blocklist } from '../../server/accounts/blocklist.ts'
import { forEachConcurrent } from '../../server/lib/concurrency.ts'
import { MINUTE_MS } from '../../server/lib/time.ts'
import { Signer } from '../../server/lib/tokens.ts'
import { Blocks } from '../../server/operations/moderation/blocks.ts'
import type { Store } from '../../server/store/store.ts'
import { COMMAND_LINE } from '../../server/store/tables/administration.ts'
import type { Block } from '../../server/store/tables/moderation.ts'
import { domainRow, reportedSite } from '../store/rows.ts'
import { withMethods } from '../store/with-methods.ts'
import { pluck } from '../support/pluck.ts'
import { administrator } from './administrator.ts'
import { Api, assertWaits, DAY_MS, expectFailure, HOUR_MS, startApi } from './api.ts'
import { type ApiResponse, assertInvalid } from './api-response.ts'
import { sha256, toPlainManifest } from './content.ts'
import { mailsTo } from './sign-in-mails.ts'
import { insertSites } from './stored-sites.ts'
import { webp } from './webp.ts'

const api = await startApi({ REPORT_EMAIL: 'abuse@example.com', RATE_ANONYMOUS: '10000' })
const { key } = await administrator(api)
const admin = (method: string, path: string, json?: object) =>
  api.request(method, `/api/admin/${path}`, { key, json })
const call = async (method: string, path: string, json?: object) => {
  api.pass()
  const answer = await admin(method, path, json)
  assert.ok(answer.status < 300, `${method} ${path}: ${JSON.stringify(answer.json)}`)
  return answer.json
}
const REASON = { reason: 'It imitates a bank' }
const lastAudit = async () => (await call('GET', 'audit?limit=1')).rows[0]
const accountId = async (email: string) =>
  (await (await api.operator()).store.read.accounts.byEmail(email))!.id

async function publishedSite() {
  const [owner, colleague] = [await api.account(), await api.account()]
  const { slug, versionId: older, siteUrl } = await api.publish(owner.client, { 'index.html': 'one' })
  const live = await api.publish(owner.client, { 'index.html': 'two' }, { slug })
  await owner.client.addCollaborator(slug, colleague.email)
  return { owner, colleague, slug, siteUrl, older, live }
}
type Published = Awaited<ReturnType<typeof publishedSite>>

describe('a suspended site', () => {
  test('is offline, cannot be changed, and can be read and deleted, until it is resumed', async () => {
    const { owner, colleague, slug, siteUrl } = await publishedSite()
    const statement = { ...REASON, publicReason: 'Deceptive', note: 'ticket 7' }
    await call('PUT', `sites/${slug}/suspension`, statement)
    assert.deepEqual((await lastAudit()).details, statement)
    for (const target of [`sites/${slug}`, `accounts/${await accountId(owner.email)}`])
      assertInvalid(await admin('PUT', `${target}/suspension`, { ...statement, note: 'half \ud83d' }), 'note')
    await api.sweep('emails')
    const mails = await mailsTo(api, owner.email)
    assert.ok(!mails.some((mail) => mail.includes(statement.note)), 'the note is for operators')
    assert.equal((await api.visit(siteUrl)).status, 451)
    for (const { client } of [owner, colleague]) {
      const refused = await expectFailure(client.setMetadata(slug, { title: 'T' }), 'SITE_SUSPENDED')
      assert.match(refused.message, /has suspended this site: It imitates a bank$/)
      assert.equal((refused.details as { reason: string }).reason, REASON.reason)
    }
    const { suspension } = await owner.client.details(slug)
    assert.equal(suspension?.reason, REASON.reason)
    await call('PUT', `sites/${slug}/suspension`, { reason: 'It still does' })
    assert.deepEqual((await owner.client.details(slug)).suspension, {
      ...suspension,
      reason: 'It still does',
    })
    await call('DELETE', `sites/${slug}/suspension`)
    assert.equal((await api.visit(siteUrl)).text, 'two')
    assert.equal('suspension' in (await owner.client.details(slug)), false)
    await owner.client.setMetadata(slug, { title: 'T' })
    await call('PUT', `sites/${slug}/suspension`, REASON)
    await owner.client.delete(slug)
    await owner.client.undelete(slug)
    assert.equal((await api.visit(siteUrl)).status, 451)
  })

  test('of a visitor without an account refuses its claim token, except to delete it, also after its expiry', async () => {
    const { slug, claimToken = '' } = await api.create(api.anonymous, { 'index.html': 'x' })
    await call('PUT', `sites/${slug}/suspension`, REASON)
    await expectFailure(api.update(api.anonymous, slug, { a: 'x' }, { claimToken }), 'SITE_SUSPENDED')
    await expectFailure((await api.account()).client.claim(slug, claimToken), 'SITE_SUSPENDED')
    api.pass(2 * DAY_MS)
    await expectFailure(api.update(api.anonymous, slug, { a: 'x' }, { claimToken }), 'SITE_EXPIRED')
    await expectFailure(api.anonymous.delete(slug, { claimToken: 'another' }), 'INVALID_CLAIM_TOKEN')
    await api.anonymous.delete(slug, { claimToken })
    await expectFailure(api.anonymous.delete(slug, { claimToken }), 'NOT_FOUND')
  })

  test('that is online again is not announced as suspended by an email that had to wait', async () => {
    const { owner, slug } = await publishedSite()
    await call('PUT', `sites/${slug}/suspension`, REASON)
    api.pass(10 * MINUTE_MS)
    await call('DELETE', `sites/${slug}/suspension`)
    await api.sweep('emails')
    const mails = await mailsTo(api, owner.email)
    const count = (text: RegExp) => mails.filter((mail) => text.test(mail)).length
    assert.deepEqual([count(/Subject: .* was suspended/), count(/Subject: .* is online again/)], [0, 1])
  })

  test('is announced by at most five emails in an hour; those beyond are sent later', async () => {
    const { owner, slug } = await publishedSite()
    const announced = async () => {
      await api.sweep('emails')
      return (await mailsTo(api, owner.email)).filter((mail) => /Subject: .* was suspended/.test(mail)).length
    }
    api.pass(HOUR_MS - (api.clock.now % HOUR_MS))
    for (let number = 0; number < 7; number++)
      await call('PUT', `sites/${slug}/suspension`, { reason: `reason ${number}` })
    assert.equal(await announced(), 5)
    api.pass(HOUR_MS)
    assert.equal(await announced(), 7)
  })

  test('can be read and deleted by its owner after its expiry, until it is deleted', async () => {
    const owner = await api.account()
    const { slug } = await api.publish(owner.client, { 'index.html': 'x' }, { ttlSeconds: 3600 })
    await call('PUT', `sites/${slug}/suspension`, REASON)
    api.pass(2 * HOUR_MS)
    await api.sweep('expired-sites')
    assert.equal((await owner.client.details(slug)).suspension?.reason, REASON.reason)
    await owner.client.delete(slug)
  })

  test('does not exist after its sweep, as one of a suspended account, and cannot be deleted a second time', async () => {
    const owner = await api.account()
    await api.publish(owner.client, { 'index.html': 'stays' })
    const slugs: string[] = []
    for (const text of ['one', 'two'])
      slugs.push((await api.publish(owner.client, { 'index.html': text }, { ttlSeconds: 3600 })).slug)
    await call('PUT', `sites/${slugs[0]}/suspension`, REASON)
    api.pass(31 * DAY_MS)
    await api.sweep('expired-sites')
    const target = `accounts/${await accountId(owner.email)}/suspension`
    for (const method of ['DELETE', 'PUT']) {
      await call(method, target, REASON)
      for (const slug of slugs) {
        await expectFailure(owner.client.details(slug), 'SITE_EXPIRED')
        await expectFailure(owner.client.delete(slug), 'SITE_EXPIRED')
      }
    }
    assert.equal((await owner.client.me()).usage.heldSites, 1)
  })

  test('shows its thumbnails, and those of a suspended account, only to its owner and collaborators', async () => {
    const { owner, colleague, slug, older } = await publishedSite()
    await owner.client.putThumbnail(slug, older, webp(1, 1))
    const path = `/api/v1/publish/${slug}/versions/${older}/thumbnail`
    const seenBy = async (key?: string) => (await api.request('GET', path, { key })).status
    for (const target of [`sites/${slug}`, `accounts/${await accountId(owner.email)}`]) {
      await call('PUT', `${target}/suspension`, REASON)
      const statuses = [await seenBy(), await seenBy((await api.account()).key)]
      assert.deepEqual(statuses, [404, 404], target)
      assert.deepEqual([await seenBy(owner.key), await seenBy(colleague.key)], [200, 200], target)
      await call('DELETE', `${target}/suspension`)
      assert.equal(await seenBy(), 200)
    }
  })
})

describe('a suspended account', () => {
  test('has its sites offline, cannot publish, and can sign in, read, download and delete sites', async () => {
    const { owner, colleague, slug, siteUrl, older } = await publishedSite()
    const id = await accountId(owner.email)
    assert.deepEqual(await call('PUT', `accounts/${id}/suspension`, REASON), { email: owner.email })
    assert.equal((await api.visit(siteUrl)).status, 451)
    const refused = await expectFailure(
      owner.client.createKey({ name: 'x', scope: 'read' }),
      'ACCOUNT_SUSPENDED',
    )
    assert.match(refused.message, /has suspended this account: It imitates a bank$/)
    assert.equal((await owner.client.details(slug)).suspension?.reason, REASON.reason)
    const [shared] = (await colleague.client.list()).publishes
    assert.equal(shared!.suspension?.reason, 'The account of the owner of this site is suspended')
    const listed = await call('GET', `accounts?q=${owner.email}`)
    assert.equal(listed.rows[0].suspension.reason, REASON.reason)
    const [row] = (await call('GET', `sites?q=${owner.email}`)).rows
    assert.deepEqual([row.slug, row.suspension, row.isOwnerSuspended], [slug, null, true])
    await expectFailure(owner.client.deleteAccount(owner.email), 'ACCOUNT_SUSPENDED')
    const { message } = await expectFailure(colleague.client.restore(slug, older), 'SITE_SUSPENDED')
    assert.doesNotMatch(message, /bank/)
    await owner.client.archive(slug)
    await owner.client.deleteVersion(slug, older)
    const again = await api.account(owner.email)
    assert.equal((await again.client.me()).suspension?.reason, REASON.reason)
    await call('DELETE', `accounts/${id}/suspension`)
    assert.equal((await api.visit(siteUrl)).text, 'two')
    await call('PUT', `accounts/${id}/suspension`, REASON)
    await again.client.delete(slug)
    await api.sweep('emails')
    const mails = (await mailsTo(api, owner.email)).filter((mail) => /Your account (was|is)/.test(mail))
    assert.equal(mails.length, 3)
  })

  test('reads and leaves a site of another account, and deletes nothing of it', async () => {
    const { owner, colleague, slug, older } = await publishedSite()
    await api.publish(owner.client, { 'index.html': 'preview' }, { slug, preview: 'pr-1' })
    const { id } = await owner.client.review(slug, 'pr-1').createLink()
    await call('PUT', `accounts/${await accountId(colleague.email)}/suspension`, REASON)
    const { client } = colleague
    for (const change of [
      () => client.deleteVersion(slug, older),
      () => client.deletePreview(slug, 'pr-1'),
      () => client.review(slug, 'pr-1').revokeLink(id),
    ])
      await expectFailure(change(), 'ACCOUNT_SUSPENDED')
    assert.equal((await client.versions(slug)).versions.length, 3)
    await client.removeCollaborator(slug, colleague.email)
    await expectFailure(client.versions(slug), 'NOT_FOUND')
  })

  test('is suspended and resumed on every node with all its sites, however many', async () => {
    const owner = await api.account()
    const slugs = await insertSites(api, owner, 501, 'many')
    const { suspensions, store } = await api.operator()
    const changed = new Set<string>()
    store.onChange((names) => {
      for (const name of names ?? []) changed.add(name)
    })
    for (const change of [
      () => suspensions.changeAccount(COMMAND_LINE, owner.email, REASON),
      () => suspensions.changeAccount(COMMAND_LINE, owner.email),
    ]) {
      changed.clear()
      await change()
      assert.deepEqual([...changed].filter((name) => slugs.includes(name)).sort(), slugs.toSorted())
    }
  })

  test('that administers the service keeps its access, as the response says', async () => {
    const own = await administrator(api)
    const path = `/api/admin/accounts/${await accountId(own.email)}/suspension`
    const suspended = await api.request('PUT', path, { key: own.key, json: REASON })
    assert.match(suspended.json.message, /your own account.*\/admin/)
    await expectFailure(api.create(api.client(own.key), { 'index.html': 'x' }), 'ACCOUNT_SUSPENDED')
    for (const method of ['PUT', 'DELETE']) {
      const { status } = await api.request(method, path, { key: own.key, json: REASON })
      assert.equal(status, 200, method)
    }
    await api.create(api.client(own.key), { 'index.html': 'x' })
  })
})

describe('what an operator takes away', () => {
  test('is a site with all of it, also from the trash', async () => {
    for (const isInTrash of [false, true]) {
      const { owner, slug, siteUrl } = await publishedSite()
      if (isInTrash) await owner.client.delete(slug)
      await call('DELETE', `sites/${slug}`, REASON)
      assert.equal((await api.visit(siteUrl)).status, 404)
      await expectFailure(owner.client.undelete(slug), 'NOT_FOUND')
    }
  })

  test('is a domain, which another account can add immediately', async () => {
    const { owner, slug } = await publishedSite()
    const domain = 'www.taken.example.org'
    const { store } = await api.operator()
    const row = domainRow(domain, { accountId: await accountId(owner.email), slug, status: 'active' })
    await store.write('durable', {}, (tx) => tx.domains.insert(row))
    await call('DELETE', `domains/${domain}`, REASON)
    assert.deepEqual((await owner.client.domains()).domains, [])
    const reservation = () => store.read.domains.reservation(domain, api.clock.now)
    assert.equal(await reservation(), undefined)

    await store.write('durable', {}, (tx) => tx.domains.insert(row))
    await owner.client.removeDomain(domain)
    assert.notEqual(await reservation(), undefined)
    await call('DELETE', `domains/${domain}`, REASON)
    assert.equal(await reservation(), undefined, 'its owner had removed it')
    await assert.rejects(call('DELETE', `domains/${domain}`, REASON), /NOT_FOUND/)
  })
})

describe('a blocked network', () => {
  test('is refused by the API, not by sites, until the block ends; at most 10,000 can be', async () => {
    await using api = await Api.start()
    const { key, session: headers } = await administrator(api)
    const owner = await api.account()
    const { siteUrl } = await api.publish(owner.client, { 'index.html': 'x' })
    const add = (more: object) => {
      const json = { kind: 'network', value: '127.0.0.1', ...REASON, ...more }
      return api.request('POST', '/api/admin/blocks', { key, json })
    }
    const refused = await add({})
    assertInvalid(refused, 'value')
    assert.match(refused.json.details[0].message, /the address of this request.*set force \(--force\)/)
    const { json: block } = await add({ seconds: 3600, force: true })
    assert.equal(block.value, '127.0.0.1/32')
    for (const client of [owner.client, api.anonymous])
      await expectFailure(api.create(client, { 'index.html': 'x' }), 'BLOCKED')
    await expectFailure(api.anonymous.requestCode('a@example.com'), 'BLOCKED')
    assert.equal((await api.request('PUT', '/', { body: '<p>x' })).json.code, 'BLOCKED')
    assert.equal((await api.visit(siteUrl)).status, 200)
    for (const path of ['/api/admin/audit', '/api/admin/nothing', '/api/v1/me'])
      assert.equal((await api.request('GET', path, { key: owner.key })).json.code, 'BLOCKED')
    // The page of blocks gets the account first.
    for (const path of ['/api/admin/audit', '/api/v1/me'])
      for (const credential of [{ key }, { headers }])
        assert.equal((await api.request('GET', path, credential)).status, 200)
    const status = async () => (await api.request('GET', '/api/v1/me', { key: owner.key })).status
    api.pass(HOUR_MS - 10)
    assert.equal(await status(), 403)
    api.pass(10)
    assert.equal(await status(), 200, 'no sweep has run')
    assert.equal(await api.sweep('expired-blocks'), 1)
    assert.equal(await status(), 200)
    await add({ force: true })
    assert.equal(await status(), 403)
    const json = { kind: 'network', value: '127.0.0.1' }
    assert.equal((await api.request('DELETE', '/api/admin/blocks', { key, json })).status, 200)
    assert.equal(await status(), 200)
    const { store } = await api.operator()
    const other = { kind: 'network', reason: 'x', createdAt: api.clock.now, expiresAt: null } as const
    await store.write('durable', {}, async (tx) => {
      for (let number = 0; number < 10_000; number++)
        await tx.rows.put('blocks', { ...other, value: `198.18.${number >> 8}.${number & 255}/32` })
    })
    assertInvalid(await add({ value: '192.0.2.0/24' }), 'value')
    assert.equal((await add({ value: '198.18.0.1/32', reason: 'renewed' })).json.reason, 'renewed')
  })

  test('is listed in one form, and unblocked in any', async () => {
    for (const [given, value] of [
      ['198.51.100.77/24', '198.51.100.0/24'],
      ['2001:DB8:0:0::1/48', '2001:db8::/48'],
      ['::ffff:203.0.113.9', '203.0.113.9/32'],
    ] as const) {
      assert.equal((await call('POST', 'blocks', { kind: 'network', value: given, ...REASON })).value, value)
      assert.ok((await call('GET', 'blocks')).blocks.some((one: { value: string }) => one.value === value))
      await call('DELETE', 'blocks', { kind: 'network', value: given })
      assert.equal((await admin('DELETE', 'blocks', { kind: 'network', value })).status, 404)
    }
    const refused = ['0.0.0.0/0', '10.0.0.0/7', '2000::/3', 'x', '192.0.2.1/33', '192.0.2.0/24/8', '10.1.2.3']
    for (const value of refused)
      assertInvalid(await admin('POST', 'blocks', { kind: 'network', value, ...REASON }), 'value')
    // It is that of every empty file.
    assertInvalid(await admin('POST', 'blocks', { kind: 'hash', value: sha256(''), ...REASON }), 'value')
  })
})

describe('a blocked file', () => {
  test('is neither served nor accepted, wherever it is, until it is unblocked', async () => {
    const bad = 'the bad file'
    const files = { 'index.html': 'x', 'bad.txt': bad }
    const { owner, slug, siteUrl } = await publishedSite()
    const { versionId } = await api.publish(owner.client, files, { slug })
    const other = await api.publish(api.anonymous, files)
    const { slug: former } = await api.publish(owner.client, files)
    const renamed = await owner.client.renameSite(former, `renamed-${former}`.slice(0, 30))
    assert.equal((await api.visit(renamed.siteUrl, '/bad.txt')).status, 200)
    await api.publish(owner.client, { 'index.html': 'y' }, { slug })
    await call('POST', 'blocks', { kind: 'hash', value: sha256(bad).toUpperCase(), ...REASON })
    assert.equal((await api.visit(renamed.siteUrl, '/bad.txt')).status, 451)
    assert.equal((await api.visit(other.siteUrl, '/bad.txt')).status, 451)
    assert.equal((await api.visit(other.siteUrl)).status, 200)
    await owner.client.restore(slug, versionId)
    assert.equal((await api.visit(siteUrl, '/bad.txt')).status, 451)
    await expectFailure(owner.client.duplicate(slug), 'CONTENT_REFUSED')
    const { details } = await expectFailure(api.create(owner.client, { 'a/b.txt': bad }), 'CONTENT_REFUSED')
    assert.deepEqual(details, { path: 'a/b.txt' })
    const archive = { files: [{ path: 'c.txt', content: bad }] }
    await expectFailure(owner.client.publishContents(archive), 'CONTENT_REFUSED')
    // Its hash is not declared before it was uploaded.
    const undeclared = { files: toPlainManifest({ 'c.txt': bad }) }
    const { slug: target, upload } = await owner.client.create(undeclared)
    await api.upload(upload, { 'c.txt': bad })
    const { versionId: pending } = upload
    await expectFailure(owner.client.finalize(target, { versionId: pending }), 'CONTENT_REFUSED')
    await call('DELETE', 'blocks', { kind: 'hash', value: sha256(bad) })
    assert.equal((await api.visit(siteUrl, '/bad.txt')).text, bad)
    await owner.client.publishContents(archive)
  })

  test('is served by none of 501 sites that have it', async () => {
    const owner = await api.account()
    const { slug: first, siteUrl } = await api.publish(owner.client, { 'index.html': 'same' })
    const slugs = await insertSites(api, owner, 501, 'same')
    const visits = async () => {
      const statuses = new Set<number>()
      // A service refuses more cold visits at the same time than its database answers.
      await forEachConcurrent(20, slugs, async (slug) => {
        statuses.add((await api.visit(siteUrl.replace(first, slug))).status)
      })
      return statuses
    }
    assert.deepEqual(await visits(), new Set([200]))
    const target = { kind: 'hash', value: sha256('same') }
    await call('POST', 'blocks', { ...target, ...REASON })
    assert.deepEqual(await visits(), new Set([451]))
    await call('DELETE', 'blocks', target)
  })

  test('is served and accepted from the end of its block on, before any sweep', async () => {
    const { owner } = await publishedSite()
    const bad = 'ends'
    const sites = [
      await api.publish(owner.client, { 'index.html': bad }),
      await api.publish(owner.client, { 'README.md': bad }),
      await api.publish(owner.client, { 'a.html': 'x', '404.html': bad }),
    ]
    const [, , withErrorPage] = sites
    const see = async () => {
      const statuses = []
      for (const { siteUrl } of sites) statuses.push((await api.visit(siteUrl)).status)
      return [...statuses, (await api.visit(withErrorPage!.siteUrl, '/nowhere')).text.includes(bad)]
    }
    const served = [200, 200, 200, true]
    assert.deepEqual(await see(), served)
    await call('POST', 'blocks', { kind: 'hash', value: sha256(bad), seconds: 3600, ...REASON })
    for (const wait of [0, HOUR_MS - 10]) {
      api.pass(wait)
      assert.deepEqual(await see(), [451, 451, 200, false])
      await expectFailure(api.create(owner.client, { 'a.txt': bad }), 'CONTENT_REFUSED')
    }
    api.pass(10)
    assert.deepEqual(await see(), served)
    await api.publish(owner.client, { 'a.txt': bad })
    assert.equal(await api.sweep('expired-blocks'), 1)
    assert.equal(await api.sweep('expired-blocks'), 0)
    assert.deepEqual(await see(), served)
  })

  test('stays blocked when an administrator renews the block while the sweep ends it', async () => {
    const { owner } = await publishedSite()
    const { siteUrl } = await api.publish(owner.client, { 'index.html': 'renewed' })
    const block = () =>
      call('POST', 'blocks', { kind: 'hash', value: sha256('renewed'), seconds: 3600, ...REASON })
    await block()
    api.pass(HOUR_MS)
    const { store } = await api.operator()
    const renewing: Store = {
      ...store,
      async write(...given) {
        await block()
        return store.write(...given)
      },
    }
    await new Blocks({ store, clock: () => api.clock.now }).removeExpired(renewing)
    assert.equal((await api.visit(siteUrl)).status, 451)
  })

  test('is not shown as a thumbnail either', async () => {
    const { owner, slug, older, live } = await publishedSite()
    const picture = webp(1, 2)
    await owner.client.putThumbnail(slug, older, picture)
    const get = async () => {
      const path = `/api/v1/publish/${slug}/versions/${older}/thumbnail`
      return (await api.request('GET', path)).status
    }
    assert.equal(await get(), 200)
    const target = { kind: 'hash', value: sha256(picture) }
    await call('POST', 'blocks', { ...target, ...REASON })
    assert.equal(await get(), 404)
    await expectFailure(owner.client.putThumbnail(slug, live.versionId, picture), 'CONTENT_REFUSED')
    await call('DELETE', 'blocks', target)
    assert.equal(await get(), 200)
  })
})

describe('the blocks that a process has in memory', () => {
  test('follow a change by reading that block alone, however many there are', async () => {
    await using api = await Api.start()
    const { store } = await api.operator()
    const other = { kind: 'network', reason: 'x', createdAt: api.clock.now, expiresAt: null } as const
    await store.write('durable', {}, async (tx) => {
      for (let number = 0; number < 1200; number++)
        await tx.rows.put('blocks', { ...other, value: `198.18.${number >> 8}.${number & 255}/32` })
    })
    let found = 0
    const count = async (rows: Promise<Block[]>) => {
      found += (await rows).length
      return rows
    }
    const { blocks } = store.read
    const counted = withMethods(blocks, {
      page: (...given) => count(blocks.page(...given)),
      among: (...given) => count(blocks.among(...given)),
    })
    const reading = { ...store, read: { ...store.read, blocks: counted } }
    const [clock, moderator] = [() => api.clock.now, new Blocks({ store, clock: () => api.clock.now })]
    const blocklist = new Blocklist({ store: reading, clock })
    const isRefused = async (address: string) => {
      found = 0
      const refused = await blocklist.assertCaller(address).then(
        () => false,
        () => true,
      )
      return [refused, found]
    }
    assert.deepEqual(await isRefused('198.18.4.175'), [true, 1200])
    assert.deepEqual(await isRefused('192.0.2.7'), [false, 0])
    const target = { kind: 'network', value: '192.0.2.0/24' } as const
    await moderator.add(COMMAND_LINE, { ...target, ...REASON })
    assert.deepEqual(await isRefused('192.0.2.7'), [true, 1])
    await moderator.add(COMMAND_LINE, { ...target, ...REASON, seconds: 60 })
    assert.deepEqual(await isRefused('192.0.2.7'), [true, 1])
    api.pass(MINUTE_MS)
    assert.deepEqual(await isRefused('192.0.2.7'), [false, 0])
    await moderator.remove(COMMAND_LINE, { kind: 'network', value: '198.18.4.175' })
    assert.deepEqual(await isRefused('198.18.4.175'), [false, 0])
    assert.deepEqual(await isRefused('198.18.4.174'), [true, 0])
  })
})

describe('reports of visitors', () => {
  const list = async (state: string) => (await call('GET', `reports?state=${state}`)).rows
  const find = async (state: string, slug: string) =>
    (await list(state)).find((row: { slug: string }) => row.slug === slug)
  const report = (url: string, text = '') => api.anonymous.report({ url, reason: 'phishing', text })

  test('are counted in one row of the site, with the last texts, at any of its addresses', async () => {
    const { owner, slug, siteUrl } = await publishedSite()
    const files = { 'index.html': '<title>A bank</title>' }
    const live = await api.publish(owner.client, files, { slug })
    const version = siteUrl.replace('//', `//${live.versionId}--`)
    for (let number = 0; number < 25; number++) {
      if (number % 10 === 0) api.pass(HOUR_MS)
      await report(number % 2 === 0 ? `${siteUrl}login?a=1` : version, `text ${number}`)
    }
    const { count, latest, title, ownerEmail, isSuspended } = await find('open', slug)
    assert.deepEqual([count, title, ownerEmail, isSuspended], [25, 'A bank', owner.email, false])
    const newest = Array.from({ length: 20 }, (_, index) => `text ${24 - index}`)
    assert.deepEqual(pluck(latest, 'text' as never), newest)
    assert.equal((await call('GET', `sites/${slug}`)).reports, 25)
  })

  test('keep little text of long ones, without control characters', async () => {
    api.pass(HOUR_MS)
    const { slug, siteUrl } = await publishedSite()
    for (let number = 0; number < 7; number++) await report(siteUrl, `${number}\n\0\x1b${'x'.repeat(1900)}`)
    const { count, latest } = await find('open', slug)
    assert.equal(count, 7)
    const beginnings = latest.map(({ text }: { text: string }) => text.slice(0, 5))
    assert.deepEqual(beginnings, ['6\n  x', '5\n  x', '4\n  x', '3\n  x', '2\n  x'])
  })

  test('of one network are limited, and only those about sites are accepted', async () => {
    api.pass(HOUR_MS)
    const { siteUrl } = await publishedSite()
    const scripted = siteUrl.replace(/^https?:/, 'javascript:')
    for (const url of [
      api.baseUrl,
      'x',
      'https://example.com/',
      siteUrl.replace('//', '//no-such-'),
      scripted,
    ])
      await expectFailure(report(url), 'VALIDATION_ERROR')
    await expectFailure(report(siteUrl, 'x'.repeat(2001)), 'VALIDATION_ERROR')
    for (let number = 0; number < 15; number++) await report(siteUrl)
    for (let refused = 0; refused < 3; refused++) await expectFailure(report(siteUrl), 'RATE_LIMITED')
    // Only the first refusal was a write.
    const { store, secret } = await api.operator()
    const counter = new Signer(secret, 'networks of limits').sign(['report:127.0.0.1'])
    assert.equal(await store.read.counters.value(counter, api.clock.now - (api.clock.now % HOUR_MS)), 21)
    await assertWaits(api, () => report(siteUrl))
  })

  test('are decided by an operator, and opened again by a report of changed content, also of a preview', async () => {
    const { owner, slug, siteUrl } = await publishedSite()
    api.pass(HOUR_MS)
    await report(siteUrl)
    await call('PUT', `reports/${slug}`, { state: 'dismissed' })
    await report(siteUrl)
    assert.equal((await find('dismissed', slug)).count, 2)
    await api.publish(owner.client, { 'index.html': 'another' }, { slug })
    await report(siteUrl)
    assert.equal((await find('open', slug)).count, 3)
    await call('PUT', `reports/${slug}`, { state: 'dismissed' })
    await api.publish(owner.client, { 'index.html': 'bad' }, { slug, preview: 'pr-1' })
    await report(siteUrl.replace('//', '//pr-1--'))
    assert.equal((await find('open', slug)).count, 4)
    await call('PUT', `sites/${slug}/suspension`, REASON)
    await report(siteUrl)
    assert.equal((await find('acted', slug)).isSuspended, true)
    await call('DELETE', `sites/${slug}/suspension`)
    await report(siteUrl)
    assert.equal((await find('open', slug)).count, 6)
    await call('PUT', `accounts/${owner.email}/suspension`, REASON)
    await report(siteUrl)
    assert.equal((await find('acted', slug)).count, 7)
  })

  test('of a site that is deleted need no decision, and can be opened again and dismissed', async () => {
    api.pass(HOUR_MS)
    const { owner, slug, siteUrl } = await publishedSite()
    await report(siteUrl)
    await owner.client.delete(slug)
    await owner.client.delete(slug, { permanent: true })
    assert.ok(await find('acted', slug))
    for (const state of ['open', 'dismissed']) {
      await call('PUT', `reports/${slug}`, { state })
      assert.ok(await find(state, slug))
    }
  })

  describe('reach the operator by email', () => {
    const mails = async () => {
      await api.sweep('reports')
      return mailsTo(api, 'abuse@example.com')
    }
    /** The emails of the next run about sites, without line feeds. */
    const next = async (...sites: Published[]) => {
      const earlier = (await mailsTo(api, 'abuse@example.com')).length
      const texts = (await mails()).slice(earlier).map((mail) => mail.replace(/=?\s+/g, ' '))
      return texts.filter((text) => sites.some(({ slug }) => text.includes(slug)))
    }

    // About what earlier tests reported.
    before(() => api.sweep('reports'))

    test('at most once an hour for a site', async () => {
      const site = await publishedSite()
      api.pass(HOUR_MS)
      await report(site.siteUrl, 'It asks for\r\n\r\ncard numbers')
      const [mail = '', ...others] = await next(site)
      assert.match(mail, new RegExp(`Subject: ${site.slug} was reported: phishing`))
      assert.match(mail, /1 new report, 1 in total.*It asks for card numbers .*\/admin\/reports/)
      assert.equal(others.length, 0)
      await report(site.siteUrl)
      for (const emails of [0, 0, 0, 0, 0, 1, 0]) {
        api.pass(10 * MINUTE_MS)
        assert.equal((await next(site)).length, emails)
      }
      api.pass(181 * DAY_MS)
      await api.sweep('reports')
      assert.deepEqual(await list('open'), [])
    })

    test('at most every ten minutes, with one about many sites', async () => {
      const sites = [await publishedSite(), await publishedSite()]
      api.pass(HOUR_MS)
      for (const text of ['first', 'second']) for (const { siteUrl } of sites) await report(siteUrl, text)
      const [mail = '', ...others] = await next(...sites)
      assert.equal(others.length, 0)
      assert.match(mail, /Subject: 2 sites were reported/)
      for (const { siteUrl } of sites)
        assert.match(
          mail,
          new RegExp(`The site at ${siteUrl} has 2 new reports, 2 in total\\..*: second .*: first`),
        )
      const late = await publishedSite()
      await report(late.siteUrl)
      assert.equal((await next(late)).length, 0)
      api.pass(10 * MINUTE_MS)
      assert.equal((await next(late)).length, 1)
    })

    test('before older ones about more sites than an email names', async () => {
      api.pass(HOUR_MS)
      for (let number = 0; number < 20; number++)
        await report((await api.publish(api.anonymous, { 'index.html': `${number}` })).siteUrl)
      api.pass(HOUR_MS)
      const site = await publishedSite()
      await report(site.siteUrl)
      assert.equal((await next(site)).length, 1)
      // The others.
      api.pass(HOUR_MS)
      await mails()
    })

    test('later when the mail server was away', async () => {
      const site = await publishedSite()
      api.pass(HOUR_MS)
      await report(site.siteUrl)
      const folder = join(api.data, 'mail')
      await rename(folder, `${folder}-away`)
      await writeFile(folder, '')
      await assert.rejects(api.sweep('reports'))
      await unlink(folder)
      await rename(`${folder}-away`, folder)
      api.pass(10 * MINUTE_MS)
      assert.equal((await next(site)).length, 1)
    })

    test('later when they arrive while an email about the site is sent', async () => {
      const site = await publishedSite()
      api.pass(HOUR_MS)
      await report(site.siteUrl)
      const { reports, store } = await api.operator()
      const reporting: Store = {
        ...store,
        async execute(...given) {
          await report(site.siteUrl)
          return store.execute(...given)
        },
      }
      assert.equal(await reports.run(reporting), 1)
      api.pass(HOUR_MS)
      const [mail] = await next(site)
      assert.match(mail!, /1 new report, 2 in total/)
    })

    test('not about sites that no longer exist, which do not delay it', async () => {
      api.pass(2 * HOUR_MS)
      const [deleted, present] = [await publishedSite(), await publishedSite()]
      await report(deleted.siteUrl)
      await deleted.owner.client.delete(deleted.slug, { permanent: true })
      await (await api.operator()).store.write('durable', {}, async ({ rows }) => {
        const at = { firstAt: api.clock.now + 1, lastAt: api.clock.now + 1 }
        for (let number = 0; number < 20; number++)
          await rows.put('reports', reportedSite(`released-${number}`, at))
      })
      await report(present.siteUrl)
      // Each run reads 20 rows.
      assert.equal((await next(deleted, present)).length, 0)
      assert.match((await next(deleted, present)).join(), new RegExp(`Subject: ${present.slug}`))
    })
  })
})

describe('the page for reports', () => {
  const post = (fields: Record<string, string>, headers: Record<string, string> = {}) =>
    api.request('POST', '/report', {
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body: new URLSearchParams(fields).toString(),
    })

  const readRefusal = ({ status, headers }: ApiResponse) => [status, Number(headers['retry-after'] ?? 0) > 5]

  test('counts what other pages send apart, so that none keeps a visitor from a report', async () => {
    api.pass(HOUR_MS)
    const { siteUrl: url } = await publishedSite()
    const foreign = { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'empty' }
    const send = (headers: Record<string, string>) =>
      Promise.all([
        post({ url, reason: 'other' }, headers),
        api.request('POST', '/api/reports', { headers, json: { url, reason: 'other' } }),
      ])
    for (let sent = 0; sent < 20; sent += 2) await send(foreign)
    const refused = await send(foreign)
    assert.deepEqual(refused.map(readRefusal), Array(2).fill([429, true]))
    assert.deepEqual((await send({})).map(readRefusal), [
      [200, false],
      [202, false],
    ])
  })

  test('reads the first hundred fields of a form', async () => {
    api.pass(HOUR_MS)
    const { siteUrl: url } = await publishedSite()
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const send = async (others: number) => {
      const body = `${'x=%FF&'.repeat(others)}${new URLSearchParams({ url, reason: 'other' })}`
      return (await api.request('POST', '/report', { headers, body })).status
    }
    assert.deepEqual([await send(98), await send(100)], [200, 400])
  })

  test('works without a script, and shows what is missing with what was entered', async () => {
    api.pass(HOUR_MS)
    const { slug, siteUrl } = await publishedSite()
    const page = await api.request('GET', `/report?url=${encodeURIComponent(`${siteUrl}"><b>`)}`)
    assert.equal(page.status, 200)
    assert.ok(page.text.includes(`value="${siteUrl}&#34;&#62;&#60;b&#62;"`))
    assert.match(page.text, /<meta name="description" content="[^"]{20,}">/)
    assert.doesNotMatch(page.text, /autofocus/)
    assert.match((await api.request('GET', '/report')).text, /<input id="url" [^>]* autofocus>/)
    assert.ok(!page.text.includes('Report abuse'), 'links to itself')
    assert.match(`${page.headers['content-security-policy']}`, /default-src 'none'.*form-action 'self'/)
    const fields = { url: siteUrl, reason: 'malware', text: 'a <b> file', email: '' }
    for (const wrong of [{ reason: 'x' }, { email: 'x' }, { url: 'https://example.com' }]) {
      const refused = await post({ ...fields, ...wrong })
      assert.equal(refused.status, 400)
      assert.match(refused.text, /role="alert"/)
    }
    const french = await post({ ...fields, email: 'x' }, { 'accept-language': 'fr' })
    assert.match(french.text, /<html lang="fr">[\s\S]*Veuillez vérifier ces champs : Votre adresse e-mail/)
    assert.doesNotMatch(french.text, /[>"](Report|Details|Send|Address|What|Your|It) /)
    for (const origin of ['https://evil.example', 'null'])
      assert.equal((await post(fields, { origin })).status, 401, origin)
    assert.match((await post({ ...fields, reason: 'x' })).text, /a &#60;b&#62; file/)
    const accepted = await post(fields, { origin: api.baseUrl })
    assert.deepEqual([accepted.status, /Report received/.test(accepted.text)], [200, true])
    const { rows } = await call('GET', 'reports')
    assert.equal(rows.find((row: { slug: string }) => row.slug === slug).latest[0].text, 'a <b> file')
  })
})
