import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { SessionList } from '../../protocol/api/account.ts'
import { type Account, Api, DAY_MS, expectFailure } from './api.ts'
import { browser, type SignedIn } from './browser.ts'

let api: Api
before(async () => {
  api = await Api.start()
})
after(() => api[Symbol.asyncDispose]())

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0'

/** Signs in another browser of the account, a moment later. */
function signedIn(account: Account, userAgent = FIREFOX): Promise<SignedIn> {
  api.pass()
  return browser(api, account, userAgent)
}

const listSessions = async ({ headers }: Pick<SignedIn, 'headers'>): Promise<SessionList['sessions']> =>
  (await api.request('GET', '/api/v1/me/sessions', { headers })).json.sessions

const fetchStatus = async ({ headers }: SignedIn) =>
  (await api.request('GET', '/api/v1/me', { headers })).status

describe('the sessions of an account', () => {
  test('are listed newest first, with the current one marked', async () => {
    const account = await api.account()
    const first = await signedIn(account)
    const at = api.clock.now
    await signedIn(account, 'curl/8.14.1')
    const sessions = await listSessions(first)
    assert.deepEqual(
      sessions.map(({ browser: name, current }) => [name, current]),
      [
        ['curl', false],
        ['Firefox on Linux', true],
      ],
    )
    assert.deepEqual(sessions[1], {
      id: sessions[1]!.id,
      current: true,
      browser: 'Firefox on Linux',
      createdAt: new Date(at).toISOString(),
      expiresAt: new Date(at + 30 * DAY_MS).toISOString(),
    })
    for (const { id } of sessions) assert.match(id, /^[0-9a-f]{16}$/)
  })

  test('are listed for the key, too, which is not one of them', async () => {
    const account = await api.account()
    assert.deepEqual(await account.client.sessions(), { sessions: [] })
    await signedIn(account)
    const { sessions } = await account.client.sessions()
    assert.deepEqual(
      sessions.map(({ current }) => current),
      [false],
    )
  })

  test('are not visible to other accounts', async () => {
    const [one, other] = [await api.account(), await api.account()]
    await signedIn(one)
    const theirs = await signedIn(other)
    const { id } = (await one.client.sessions()).sessions[0]!
    assert.equal((await listSessions(theirs)).length, 1)
    await expectFailure(other.client.endSession(id), 'NOT_FOUND')
    await other.client.endOtherSessions()
    assert.equal((await one.client.sessions()).sessions.length, 1)
    await expectFailure(api.anonymous.sessions(), 'UNAUTHORIZED')
    await expectFailure(api.anonymous.endOtherSessions(), 'UNAUTHORIZED')
  })

  test('are no longer listed once they have expired', async () => {
    const account = await api.account()
    await signedIn(account)
    api.pass(30 * DAY_MS - 1)
    assert.equal((await account.client.sessions()).sessions.length, 1)
    api.pass(1)
    assert.deepEqual((await account.client.sessions()).sessions, [])
    assert.deepEqual(await account.client.endOtherSessions(), { ended: 0 })
  })

  test('are at most 50: one more ends the oldest of the same account only', async () => {
    const [account, other] = [await api.account(), await api.account()]
    const theirs = await signedIn(other)
    const operator = await api.operator()
    const { id } = (await operator.store.read.accounts.byEmail(account.email))!
    const oldest = await signedIn(account)
    const second = await signedIn(account)
    await operator.store.write('durable', async (tx) => {
      for (let number = 0; number < 48; number++) {
        api.pass()
        await tx.signIns.addSession({
          tokenHash: `f${number}`,
          accountId: id,
          createdAt: api.clock.now,
          expiresAt: api.clock.now + DAY_MS,
          browser: null,
        })
      }
    })
    assert.equal(await fetchStatus(oldest), 200)
    const newest = await signedIn(account)
    assert.deepEqual(
      [await fetchStatus(oldest), await fetchStatus(second), await fetchStatus(newest)],
      [401, 200, 200],
    )
    assert.equal((await listSessions(newest)).length, 50)
    assert.equal(await fetchStatus(theirs), 200)
  })
})

describe('ending sessions', () => {
  test('ends one, and the others stay', async () => {
    const account = await api.account()
    const [lost, mine] = [await signedIn(account), await signedIn(account)]
    const { id } = (await listSessions(lost)).find(({ current }) => current)!
    const ended = await api.request('DELETE', `/api/v1/me/sessions/${id}`, { headers: mine.headers })
    assert.deepEqual(ended.json, { ended: 1 })
    assert.equal(ended.headers['set-cookie'], undefined)
    assert.deepEqual([await fetchStatus(lost), await fetchStatus(mine)], [401, 200])
    await expectFailure(account.client.endSession(id), 'NOT_FOUND')
  })

  test('can end the current one, and deletes its cookie', async () => {
    const mine = await signedIn(await api.account())
    const { id } = (await listSessions(mine))[0]!
    const ended = await api.request('DELETE', `/api/v1/me/sessions/${id}`, { headers: mine.headers })
    assert.match(ended.headers['set-cookie']![0]!, /^__Host-[\w-]+=; .*Max-Age=0/)
    assert.equal(await fetchStatus(mine), 401)
  })

  test('can end all others, and not the key', async () => {
    const account = await api.account()
    const [one, two, mine] = [await signedIn(account), await signedIn(account), await signedIn(account)]
    const { json } = await api.request('DELETE', '/api/v1/me/sessions', { headers: mine.headers })
    assert.deepEqual(json, { ended: 2 })
    assert.deepEqual(
      [await fetchStatus(one), await fetchStatus(two), await fetchStatus(mine)],
      [401, 401, 200],
    )
    await account.client.me()
  })

  test('ends all of them when requested with the key', async () => {
    const account = await api.account()
    const [one, two] = [await signedIn(account), await signedIn(account)]
    assert.deepEqual(await account.client.endOtherSessions(), { ended: 2 })
    assert.deepEqual([await fetchStatus(one), await fetchStatus(two)], [401, 401])
  })

  test('requires the complete id of a session', async () => {
    const account = await api.account()
    await signedIn(account)
    const { id } = (await account.client.sessions()).sessions[0]!
    for (const wrong of [
      'x',
      '%',
      id.slice(0, 8),
      `${id}0`,
      id.toUpperCase().replace(/\d/g, 'F'),
      '0'.repeat(500),
    ])
      await expectFailure(account.client.endSession(wrong), 'NOT_FOUND')
    assert.equal((await account.client.sessions()).sessions.length, 1)
  })

  test('is refused from other origins', async () => {
    const mine = await signedIn(await api.account())
    const headers = { cookie: mine.cookie, origin: 'https://evil.example' }
    assert.equal((await api.request('DELETE', '/api/v1/me/sessions', { headers })).status, 401)
    assert.equal(await fetchStatus(mine), 200)
  })
})
