import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { AccountDeletion } from '../../server/jobs/account-deletion.ts'
import type { Store } from '../../server/store/store.ts'
import type { Account as StoredAccount } from '../../server/store/tables/accounts.ts'
import { accountHolder } from '../../server/store/tables/usage.ts'
import { readBlob } from '../blobs/bytes.ts'
import { domainRow, suspension } from '../store/rows.ts'
import { withMethods } from '../store/with-methods.ts'
import { openTestTables } from '../support/engines.ts'
import { pausedBody } from '../support/paused-body.ts'
import { openOperator } from '../support/service.ts'
import { waitFor } from '../support/wait-for.ts'
import { type Account, DAY_MS, expectFailure, HOUR_MS, startApi } from './api.ts'
import { assertInvalid } from './api-response.ts'
import { make } from './archive-requests.ts'
import { browser } from './browser.ts'
import { sha256 } from './content.ts'
import { watchObjects } from './pending-version.ts'
import { codeFor, mailsTo } from './sign-in-mails.ts'
import { insertSites } from './stored-sites.ts'

const api = await startApi()

const findAccount = async ({ email }: Pick<Account, 'email'>): Promise<StoredAccount | undefined> =>
  (await api.operator()).store.read.accounts.byEmail(email)

async function countDeleted(slugs: readonly string[]): Promise<number> {
  const { read } = (await api.operator()).store
  const rows = await Promise.all(slugs.map((slug) => read.sites.find(slug)))
  return rows.filter((row) => row?.deletionReason === 'deleted').length
}

describe('deleting an account', () => {
  test('deletes everything of it: sites, versions, drafts, sessions, the key and the account itself', async () => {
    const account = await api.account()
    const { client, email } = account
    const site = await api.publish(client, { 'index.html': 'left behind' })
    const draft = await api.publish(client, { 'index.html': 'a draft' }, { live: false })
    const pending = await api.create(client, { 'index.html': 'never uploaded' })
    const trashed = await api.publish(client, { 'index.html': 'in the trash' })
    await client.delete(trashed.slug)
    await client.createTrust({ forge: 'github', repository: 'ann/bakery', site: site.slug, branch: 'main' })
    const signedIn = await browser(api, account)
    const { id } = (await findAccount(account))!

    assert.deepEqual(await client.deleteAccount(email), { email, deleted: true })

    for (const url of [site.siteUrl, site.previewUrl, draft.previewUrl])
      assert.equal((await api.visit(url)).status, 404)
    await expectFailure(client.me(), 'UNAUTHORIZED')
    assert.equal((await api.request('GET', '/api/v1/me', { headers: signedIn.headers })).status, 401)
    assert.equal(await findAccount(account), undefined)
    const operator = await api.operator()
    const { sites, versions, counters, trusts, usage } = operator.store.read
    assert.deepEqual(await sites.byOwner(id, { limit: 10 }), [])
    for (const { slug } of [site, draft, pending, trashed]) {
      assert.equal((await sites.find(slug))?.deletionReason, 'deleted', 'the slug is never given out again')
      assert.deepEqual(await versions.bySlug(slug), [])
    }
    assert.equal((await sites.find(trashed.slug))?.keptUntil, null)
    assert.deepEqual(await trusts.list(id), [])
    assert.deepEqual(await usage.find(accountHolder(id)), { bytes: 0, sites: 0, revision: 0 })
    const hour = Math.floor(api.clock.now / HOUR_MS) * HOUR_MS
    assert.equal(await counters.value(`account:${id}`, hour), 0)
    api.pass(DAY_MS)
    await api.sweep('blobs')
    for (const content of ['left behind', 'in the trash'])
      assert.equal(await readBlob(operator, sha256(content)), undefined)
  })

  test('deletes nothing of other accounts, nor blobs that others reference', async () => {
    const [one, other] = [await api.account(), await api.account()]
    await api.publish(one.client, { 'index.html': 'both have this' })
    const theirs = await api.publish(other.client, { 'index.html': 'both have this' })
    const stays = await browser(api, other)
    await one.client.deleteAccount(one.email)
    api.pass(DAY_MS)
    await api.sweep('blobs')
    assert.equal((await api.visit(theirs.siteUrl)).text, 'both have this')
    assert.equal((await other.client.me()).usage.sites, 1)
    assert.equal((await api.request('GET', '/api/v1/me', { headers: stays.headers })).status, 200)
  })

  test('forgets the networks and browsers from which the account signed in, and its codes', async () => {
    const account = await api.account()
    await browser(api, account)
    const code = await codeFor(api, account.email)
    await using tables = await openTestTables(api.data)
    const countSources = async () => {
      const sources = tables.db.selectFrom('sign_in_sources').where('email', '=', account.email)
      return (await sources.select('source').execute()).length
    }
    assert.notEqual(await countSources(), 0)
    await account.client.deleteAccount(account.email)
    assert.equal(await countSources(), 0)
    await expectFailure(api.anonymous.verifyCode(account.email, code), 'INVALID_CODE')
  })

  test('needs the address of the account, in any case and with spaces around it', async () => {
    const { email, client, request } = await api.account()
    assertInvalid(await request('DELETE', '/api/v1/me', { json: { email: 'other@example.com' } }), 'email')
    assert.deepEqual(await client.deleteAccount(` ${email.toUpperCase()} `), { email, deleted: true })
  })

  test('is possible with the session of the dashboard, which ends', async () => {
    const { headers } = await browser(api, { email: 'leaves-by-browser@example.com' })
    const json = { email: 'leaves-by-browser@example.com' }
    const answer = await api.request('DELETE', '/api/v1/me', { headers, json })
    assert.deepEqual(answer.json, { ...json, deleted: true })
    assert.match(answer.headers['set-cookie']![0]!, /^__Host-[\w-]+=; .*Max-Age=0/)
    assert.equal((await api.request('GET', '/api/v1/me', { headers })).status, 401)
  })

  test('ends its domains immediately and without reservation, so that another account can add them', async () => {
    const [account, other] = [await api.account(), await api.account()]
    const { slug } = await api.publish(account.client, { 'index.html': 'mine' })
    const { id } = (await findAccount(account))!
    const { store } = await api.operator()
    await store.write('durable', {}, async (tx) => {
      await tx.domains.insert(domainRow('left.example.com', { accountId: id, slug, status: 'active' }))
      await tx.rows.put('held_domains', {
        domain: 'removed.example.com',
        accountId: id,
        verificationToken: 'p',
        until: api.clock.now + DAY_MS,
      })
    })
    await account.client.deleteAccount(account.email)
    assert.equal(await store.read.domains.active('left.example.com'), undefined)
    assert.equal(await store.read.domains.countReservations(id, api.clock.now), 0)
    const theirs = await api.publish(other.client, { 'index.html': 'theirs' })
    const record = await other.client.addDomain('left.example.com', theirs.slug)
    assert.equal(record.status, 'pending')
  })
})

describe('a deletion that a power failure interrupts', () => {
  /** Starts the deletion of an account in a process whose store closes during it. */
  async function interrupted(account: Account): Promise<void> {
    const row = (await findAccount(account))!
    await using operator = await openOperator(api.running, {})
    let writes = 0
    const store: Store = {
      ...operator.store,
      write: async (durability, scope, work) => {
        if (++writes === 4) await operator.store[Symbol.asyncDispose]()
        return operator.store.write(durability, scope, work)
      },
    }
    const deletion = new AccountDeletion({ store, clock: () => api.clock.now })
    await assert.rejects(deletion.deleteAccount(row, account.email), {
      ...{ message: /is closed.* will be deleted/, details: { closed: true } },
    })
  }

  for (const when of ['before', 'after'])
    test(`is announced to its owner with one email, that is sent ${when} it is completed`, async () => {
      const account = await api.account()
      await insertSites(api, account, 30, `announced-${when}`)
      await interrupted(account)
      if (when === 'after') await api.sweep('leaving')
      await api.sweep('emails')
      await api.sweep('leaving')
      await api.sweep('emails')
      const mails = await mailsTo(api, account.email)
      assert.equal(mails.filter((mail) => mail.includes('Subject: Your account was deleted')).length, 1)
      const { store } = await api.operator()
      const notices = await store.read.notices.due(Number.MAX_SAFE_INTEGER, 1000)
      assert.deepEqual(notices, [])
    })

  test('has invalidated all credentials, and the next sweep completes it', async () => {
    const account = await api.account()
    const signedIn = await browser(api, account)
    const code = await codeFor(api, account.email)
    const named = await api.anonymous.verifyCode(account.email, code, undefined, 'laptop')
    const slugs = await insertSites(api, account, 60, 'cut')
    await interrupted(account)
    assert.equal(await countDeleted(slugs), 25)
    assert.ok((await findAccount(account))!.deletionStartedAt)
    for (const client of [account.client, api.client(named.apiKey)])
      await expectFailure(client.me(), 'UNAUTHORIZED')
    assert.equal((await api.request('GET', '/api/v1/me', { headers: signedIn.headers })).status, 401)

    assert.equal(await api.sweep('leaving'), 1)
    assert.equal(await countDeleted(slugs), 60)
    assert.equal(await findAccount(account), undefined)
    assert.equal(await api.sweep('leaving'), 0)
  })

  test('refuses sign-in until it is completed, and then accepts the same code', async () => {
    const account = await api.account()
    await insertSites(api, account, 30, 'again')
    await interrupted(account)
    const { email } = account
    const before = await api.anonymous.requestCode('new-user@example.com')
    const response = await api.anonymous.requestCode(email)
    assert.deepEqual({ ...response, email: '', attempt: '' }, { ...before, email: '', attempt: '' })
    const code = await api.running.mailedCode(email)
    await expectFailure(api.anonymous.verifyCode(email, 'WRNG-CDEE'), 'INVALID_CODE')
    const { message } = await expectFailure(api.anonymous.verifyCode(email, code), 'UNAVAILABLE')
    assert.match(message, /is being deleted/)
    await expectFailure(api.anonymous.signIn(email, code), 'UNAVAILABLE')
    await api.sweep('leaving')
    assert.equal((await api.anonymous.verifyCode(email, code)).isNewUser, true)
  })

  test('is completed for other accounts when one fails', async () => {
    const [stuck, other] = [await api.account(), await api.account()]
    for (const account of [stuck, other]) {
      await insertSites(api, account, 30, `stuck-${account.email}`)
      await interrupted(account)
      api.pass()
    }
    const { store } = await api.operator()
    const { id } = (await findAccount(stuck))!
    const broken: Store = {
      ...store,
      write: (durability, scope, work) =>
        store.write(durability, scope, (tx) => {
          const listFirstHeld: typeof tx.sites.listFirstHeld = (owner, limit) => {
            if (owner === id) throw new Error('this one is broken')
            return tx.sites.listFirstHeld(owner, limit)
          }
          return work(withMethods(tx, { sites: withMethods(tx.sites, { listFirstHeld }) }))
        }),
    }
    const deletion = new AccountDeletion({ store: broken, clock: () => api.clock.now })
    await assert.rejects(deletion.resume(broken), /this one is broken/)
    assert.ok(await findAccount(stuck))
    assert.equal(await findAccount(other), undefined)
    assert.equal(await api.sweep('leaving'), 1)
  })
})

test('an account that was suspended since the call began is not deleted by its owner', async () => {
  const account = await api.account()
  const row = (await findAccount(account))!
  const { accountDeletion, store } = await api.operator()
  const change = { suspension: suspension('a reason') }
  await store.write('durable', {}, (tx) => tx.accounts.update(row.id, change))
  await assert.rejects(accountDeletion.deleteAccount(row, account.email), { code: 'ACCOUNT_SUSPENDED' })
  assert.equal((await findAccount(account))?.deletionStartedAt, null)
})

describe('a request that was in progress when its account was deleted', () => {
  test('creates no site', async () => {
    const account = await api.account()
    const archive = make('tar', { 'index.html': 'x'.repeat(3_000_000), 'b.txt': 'b' })
    const { body, resume } = pausedBody(archive.subarray(0, 2_900_000), archive.subarray(2_900_000))
    const headers = { 'content-type': 'application/x-tar' }
    const objects = await watchObjects(api)
    const publishing = api.request('POST', '/api/v1/publish', { key: account.key, headers, body })
    await waitFor(() => objects.begun() > 0)
    const { id } = (await findAccount(account))!
    await account.client.deleteAccount(account.email)
    resume()
    const { json } = await publishing
    assert.equal(json.code, 'UNAUTHORIZED')
    assert.deepEqual(await (await api.operator()).store.read.sites.byOwner(id, { limit: 10 }), [])
  })

  test('creates no key and claims no site', async () => {
    const account = await api.account()
    const row = (await findAccount(account))!
    const { slug, claimToken } = await api.publish(api.anonymous, { 'index.html': 'x' })
    const { accounts, sites, store } = await api.operator()
    await account.client.deleteAccount(account.email)
    for (const call of [
      () => sites.claim(row, slug, { claimToken: claimToken! }),
      () => accounts.renewKey(row),
    ])
      await assert.rejects(call, { code: 'UNAUTHORIZED' })
    assert.equal((await store.read.sites.find(slug))!.ownerId, null)
  })
})
