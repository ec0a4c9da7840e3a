import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { SessionList } from '../../protocol/api/account.schema.ts'
import { sessionRow } from '../store/rows.ts'
import { pluck } from '../support/pluck.ts'
import { type Account, DAY_MS, expectFailure, HOUR_MS, startApi } from './api.ts'
import { browser, type SignedIn } from './browser.ts'
import { mailsTo } from './sign-in-mails.ts'

const api = await startApi()

const me = (headers: Record<string, string>) => api.request('GET', '/api/v1/me', { headers })

test('an account gets one email a day about sign-ins from unknown networks, and at most five an hour about deletions', async () => {
  const own = await startApi({ TRUSTED_PROXIES: '1' })
  own.clock.now = Math.ceil(own.clock.now / DAY_MS) * DAY_MS
  const { email, client } = await own.account()
  const signInFrom = async (from: string) => {
    await client.requestCode(email)
    const json = { email, code: await own.running.mailedCode(email) }
    const headers = { 'user-agent': 'Firefox/140.0 (Windows)', 'x-forwarded-for': from }
    assert.equal((await own.request('POST', '/api/auth/session', { json, headers })).status, 200)
  }
  for (const from of ['192.0.2.1', '198.51.100.1', '198.51.100.1']) await signInFrom(from)
  // The first notice that is due, which the limit does not keep back.
  const { slug: restored } = await own.publish(client, { 'index.html': '<title>Restored</title>' })
  await client.delete(restored)
  await client.undelete(restored)
  own.clock.now++
  for (let count = 0; count < 7; count++)
    await client.delete((await own.publish(client, { 'index.html': '<title>Bakery</title>' })).slug)
  await own.sweep('emails')
  await client.updateMe({ reminders: false })
  await client.delete((await own.publish(client, { 'index.html': 'x' })).slug)
  await own.sweep('emails')
  const emails = (await mailsTo(own, email)).filter((one) => !one.includes('sign-in code'))
  const getSignIns = async () =>
    (await mailsTo(own, email)).filter((one) => one.includes('Subject: New sign-in to your account'))
  const signIns = await getSignIns()
  assert.equal(signIns.length, 1)
  // Sweeps delete old counters.
  for (const [hours, from, count] of [
    [23, '203.0.113.1', 1],
    [1, '203.0.114.1', 2],
  ] as const) {
    own.pass(hours * HOUR_MS)
    await own.sweep('sign-ins')
    await signInFrom(from)
    await own.sweep('emails')
    assert.equal((await getSignIns()).length, count, `after ${hours} hours`)
  }
  assert.match(signIns[0]!, /Firefox\s+on\s+Windows\s+in\s+the\s+network\s+(192\.0\.2|198\.51\.100)\.0\/24/)
  assert.ok(emails.every((one) => !one.includes(restored)))
  assert.equal(emails.filter((one) => / was deleted\r?$/m.test(one)).length, 5)
})

describe('a session', () => {
  test('returns the same as a sign-in, without a key, and creates an account for a new email', async () => {
    const { email: known } = await api.account()
    for (const [email, isNewUser] of [
      [known, false],
      ['newcomer@example.org', true],
    ] as const) {
      await api.anonymous.requestCode(email)
      const answer = await api.anonymous.signIn(email, await api.running.mailedCode(email))
      assert.deepEqual(answer, { email, plan: 'free', isNewUser })
    }
  })

  test('authenticates like the key, does not replace it, and is found among other cookies', async () => {
    const account = await api.account()
    const { cookie } = await browser(api, account)
    assert.equal((await account.client.me()).email, account.email)
    const among = [cookie, `a=b; ${cookie}`, `${cookie}; a=b`, `x=${cookie.split('=')[1]}; ${cookie}`]
    for (const header of among) assert.equal((await me({ cookie: header })).json.email, account.email, header)
    for (const wrong of [`x${cookie}`, cookie.slice(0, -1)])
      assert.equal((await me({ cookie: wrong })).status, 401)
  })

  test('ends when it is closed, even for a client that kept the cookie; others stay', async () => {
    const account = await api.account()
    const [one, other] = [await browser(api, account), await browser(api, account)]
    const close = (origin: string) =>
      api.request('DELETE', '/api/auth/session', { headers: { cookie: one.cookie, origin } })
    await close('https://evil.example')
    assert.equal((await me({ cookie: one.cookie })).status, 200, 'another site cannot end it')
    const closed = await close(api.baseUrl)
    assert.equal(closed.status, 200)
    assert.match(closed.headers['set-cookie']![0]!, /^__Host-[\w-]+=; .*Max-Age=0/)
    assert.equal((await me({ cookie: one.cookie })).status, 401)
    assert.equal((await me({ cookie: other.cookie })).status, 200)
  })

  test('ends when its browser signs in again, also to another account, and the sessions of other browsers stay', async () => {
    const account = await api.account()
    const [first, other] = [await browser(api, account), await browser(api, account)]
    const second = await browser(api, account, undefined, first)
    assert.equal((await me({ cookie: first.cookie })).status, 401)
    assert.equal((await me({ cookie: second.cookie })).status, 200)
    await browser(api, await api.account(), undefined, second)
    assert.equal((await me({ cookie: second.cookie })).status, 401)
    assert.equal((await me({ cookie: other.cookie })).status, 200)
  })

  test('is a cookie that is HttpOnly, SameSite and limited to the host, and expires with it', async () => {
    const { cookie, attributes } = await browser(api, await api.account())
    assert.match(cookie, /^__Host-[\w-]+=[\w-]{40,}$/)
    assert.match(attributes, /^HttpOnly; Max-Age=\d+; Path=\/; SameSite=Strict; Secure$/)
    const seconds = Number(/Max-Age=(\d+)/.exec(attributes)![1])
    api.pass(seconds * 1000 - 1)
    assert.equal((await me({ cookie })).status, 200)
    api.pass()
    assert.equal((await me({ cookie })).status, 401)
  })

  test('can create a key, which invalidates the previous one and not the session, and is shown once', async () => {
    const { headers } = await browser(api, { email: 'no-key-yet@example.com' })
    const renew = async () => (await api.request('POST', '/api/v1/me/key', { headers })).json.apiKey
    assert.equal((await me(headers)).json.hasKey, false)
    const [first, second] = [await renew(), await renew()]
    await expectFailure(api.client(first).me(), 'UNAUTHORIZED')
    await api.client(second).me()
    const after = await me(headers)
    assert.deepEqual([after.status, after.json.hasKey, after.text.includes(second)], [200, true, false])
  })

  test('is ignored in favor of a key in the same request, even a wrong one', async () => {
    const [one, other] = [await api.account(), await api.account()]
    const { cookie } = await browser(api, one)
    const both = await me({ cookie, authorization: `Bearer ${other.key}` })
    assert.equal(both.json.email, other.email)
    assert.equal((await me({ cookie, authorization: 'Bearer nothing' })).status, 401)
  })
})

const own = 'own'
const cases: [string, 'GET' | 'POST', Record<string, string>, boolean][] = [
  ['reads from an address bar', 'GET', { 'sec-fetch-site': 'none' }, true],
  ['reads from our pages', 'GET', { 'sec-fetch-site': 'same-origin' }, true],
  ['reads from our pages in an old browser', 'GET', {}, true],
  ['reads from a published site', 'GET', { 'sec-fetch-site': 'same-site' }, false],
  ['reads from another site', 'GET', { 'sec-fetch-site': 'cross-site' }, false],
  ['reads with another origin', 'GET', { origin: 'https://evil.example' }, false],
  ['writes from our pages', 'POST', { origin: own, 'sec-fetch-site': 'same-origin' }, true],
  ['writes from our pages in an old browser', 'POST', { origin: own }, true],
  ['writes without an origin', 'POST', {}, false],
  ['writes with an opaque origin', 'POST', { origin: 'null' }, false],
  ['writes from another site', 'POST', { origin: 'https://evil.example' }, false],
  [
    'writes from a published site',
    'POST',
    { origin: 'http://site.localhost', 'sec-fetch-site': 'same-site' },
    false,
  ],
  [
    'writes with our origin from another site',
    'POST',
    { origin: own, 'sec-fetch-site': 'cross-site' },
    false,
  ],
]
test('a call with the cookie is authenticated from our pages only', async () => {
  const { cookie } = await browser(api, await api.account())
  for (const [what, method, given, taken] of cases) {
    const origin = given.origin === own ? { origin: api.baseUrl } : {}
    const target = method === 'GET' ? '/api/v1/me' : '/api/v1/me/key'
    const answer = await api.request(method, target, { headers: { cookie, ...given, ...origin } })
    assert.equal(answer.status, taken ? 200 : 401, what)
  }
})

test('a call with a key is allowed from pages of any origin, which can read the rate limit, the challenge and the id of the request', async () => {
  const { key, email } = await api.account()
  const headers = { origin: 'https://elsewhere.example', 'sec-fetch-site': 'cross-site' }
  const answer = await api.request('GET', '/api/v1/me', { key, headers })
  assert.equal(answer.json.email, email)
  assert.equal(answer.headers['access-control-allow-origin'], '*')
  const exposed = answer.headers['access-control-expose-headers']!.toLowerCase().split(/, */)
  for (const name of Object.keys(answer.headers).filter((name) => name.startsWith('x-')))
    assert.ok(exposed.includes(name), name)
})

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
    const { createdAt, expiresAt } = sessions[1]!
    const lifetime = [at, at + 30 * DAY_MS].map((time) => new Date(time).toISOString())
    assert.deepEqual([createdAt, expiresAt], lifetime)
  })

  test('are listed for the key, which is not one of them, until they expire', async () => {
    const account = await api.account()
    assert.deepEqual(await account.client.sessions(), { sessions: [] })
    await signedIn(account)
    api.pass(30 * DAY_MS - 1)
    assert.deepEqual(pluck((await account.client.sessions()).sessions, 'current'), [false])
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
    await operator.store.write('durable', {}, async (tx) => {
      for (let number = 0; number < 48; number++) {
        api.pass()
        const times = { createdAt: api.clock.now, expiresAt: api.clock.now + DAY_MS }
        await tx.rows.insert('sessions', sessionRow(`f${number}`, { accountId: id, ...times }))
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
  test('ends one or the current one, which deletes its cookie, and the others stay', async () => {
    const account = await api.account()
    const [lost, mine] = [await signedIn(account), await signedIn(account)]
    const end = async (one: SignedIn) => {
      const { id } = (await listSessions(one)).find(({ current }) => current)!
      return api.request('DELETE', `/api/v1/me/sessions/${id}`, { headers: mine.headers })
    }
    const ended = await end(lost)
    assert.deepEqual([ended.json, ended.headers['set-cookie']], [{ ended: 1 }, undefined])
    assert.deepEqual([await fetchStatus(lost), await fetchStatus(mine)], [401, 200])
    assert.match((await end(mine)).headers['set-cookie']![0]!, /^__Host-[\w-]+=; .*Max-Age=0/)
    assert.equal(await fetchStatus(mine), 401)
  })

  test('can end all others, or all when requested with the key, and not the key', async () => {
    const account = await api.account()
    const sessions = [await signedIn(account), await signedIn(account), await signedIn(account)]
    const statuses = () => Promise.all(sessions.map(fetchStatus))
    const { json } = await api.request('DELETE', '/api/v1/me/sessions', { headers: sessions[2]!.headers })
    assert.deepEqual([json, await statuses()], [{ ended: 2 }, [401, 401, 200]])
    assert.deepEqual(await account.client.endOtherSessions(), { ended: 1 })
    assert.deepEqual(await statuses(), [401, 401, 401])
    await account.client.me()
  })
})
