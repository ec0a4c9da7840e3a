import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Api, expectFailure, HOUR_MS } from './api.ts'
import { browser as browserOf } from './browser.ts'

let api: Api
before(async () => {
  api = await Api.start()
})
after(() => api[Symbol.asyncDispose]())

const browser = (account: { email: string }) => browserOf(api, account)

const me = (headers: Record<string, string>) => api.request('GET', '/api/v1/me', { headers })

describe('a session', () => {
  test('is a cookie that is HttpOnly, SameSite and limited to the host', async () => {
    const { cookie, attributes } = await browser(await api.account())
    assert.match(cookie, /^__Host-[\w-]+=[\w-]{40,}$/)
    assert.match(attributes, /^HttpOnly; Max-Age=\d+; Path=\/; SameSite=Strict; Secure$/)
  })

  test('returns the same as a sign-in, without a key', async () => {
    const account = await api.account()
    await api.anonymous.requestCode(account.email)
    const answer = await api.anonymous.signIn(account.email, await api.running.mailedCode(account.email))
    assert.deepEqual(answer, { email: account.email, plan: 'free', isNewUser: false })
  })

  test('creates an account for a new email, without a key', async () => {
    const email = 'newcomer@example.org'
    await api.anonymous.requestCode(email)
    const answer = await api.anonymous.signIn(email, await api.running.mailedCode(email))
    assert.equal(answer.isNewUser, true)
  })

  test('authenticates like the key, and does not replace it', async () => {
    const account = await api.account()
    const { cookie } = await browser(account)
    assert.equal((await me({ cookie })).json.email, account.email)
    assert.equal((await account.client.me()).email, account.email)
  })

  test('is found among other cookies', async () => {
    const account = await api.account()
    const { cookie } = await browser(account)
    for (const header of [`a=b; ${cookie}`, `${cookie}; a=b`, `x=${cookie.split('=')[1]}; ${cookie}`]) {
      assert.equal((await me({ cookie: header })).json.email, account.email, header)
    }
    assert.equal((await me({ cookie: `x${cookie}` })).status, 401)
    assert.equal((await me({ cookie: cookie.slice(0, -1) })).status, 401)
  })

  test('ends when it is closed, even for a client that kept the cookie; others stay', async () => {
    const account = await api.account()
    const [one, other] = [await browser(account), await browser(account)]
    const headers = { cookie: one.cookie, origin: api.baseUrl }
    const closed = await api.request('DELETE', '/api/auth/session', { headers })
    assert.equal(closed.status, 200)
    assert.match(closed.headers['set-cookie']![0]!, /^__Host-[\w-]+=; .*Max-Age=0/)
    assert.equal((await me({ cookie: one.cookie })).status, 401)
    assert.equal((await me({ cookie: other.cookie })).status, 200)
  })

  test('can be closed without one', async () => {
    await api.anonymous.signOut()
  })

  test('expires with its cookie', async () => {
    const { cookie, attributes } = await browser(await api.account())
    const seconds = Number(/Max-Age=(\d+)/.exec(attributes)![1])
    api.pass(seconds * 1000 - 1)
    assert.equal((await me({ cookie })).status, 200)
    api.pass()
    assert.equal((await me({ cookie })).status, 401)
  })

  test('can create a new key, which invalidates the previous one and not the session', async () => {
    const account = await api.account()
    const { cookie } = await browser(account)
    const headers = { cookie, origin: api.baseUrl }
    const { json } = await api.request('POST', '/api/v1/me/key', { headers })
    await expectFailure(account.client.me(), 'UNAUTHORIZED')
    assert.equal((await api.client(json.apiKey).me()).email, account.email)
    assert.equal((await me({ cookie })).status, 200)
  })

  test('is ignored in favor of a key in the same request, even a wrong one', async () => {
    const [one, other] = [await api.account(), await api.account()]
    const { cookie } = await browser(one)
    const both = await me({ cookie, authorization: `Bearer ${other.key}` })
    assert.equal(both.json.email, other.email)
    assert.equal((await me({ cookie, authorization: 'Bearer nothing' })).status, 401)
  })
})

describe('a call with the cookie', () => {
  const own = 'own'
  const cases: [string, 'GET' | 'POST', Record<string, string>, boolean][] = [
    ['reads from an address bar', 'GET', { 'sec-fetch-site': 'none' }, true],
    ['reads from our pages', 'GET', { 'sec-fetch-site': 'same-origin' }, true],
    ['reads from our pages in an old browser', 'GET', {}, true],
    ['reads with our origin', 'GET', { origin: own }, true],
    ['reads from a published site', 'GET', { 'sec-fetch-site': 'same-site' }, false],
    ['reads from another site', 'GET', { 'sec-fetch-site': 'cross-site' }, false],
    ['reads with another origin', 'GET', { origin: 'https://evil.example' }, false],
    ['reads with an opaque origin', 'GET', { origin: 'null' }, false],
    ['writes from our pages', 'POST', { origin: own, 'sec-fetch-site': 'same-origin' }, true],
    ['writes from our pages in an old browser', 'POST', { origin: own }, true],
    ['writes without an origin', 'POST', {}, false],
    ['writes without an origin from our pages', 'POST', { 'sec-fetch-site': 'same-origin' }, false],
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
  for (const [what, method, given, taken] of cases) {
    test(`is ${taken ? 'authenticated' : 'unauthenticated'} when it ${what}`, async () => {
      const { cookie } = await browser(await api.account())
      const origin = given.origin === own ? { origin: api.baseUrl } : {}
      const target = method === 'GET' ? '/api/v1/me' : '/api/v1/me/key'
      const answer = await api.request(method, target, { headers: { cookie, ...given, ...origin } })
      assert.equal(answer.status, taken ? 200 : 401)
    })
  }

  test('that deletes needs our origin, too, and another site cannot end a session', async () => {
    const account = await api.account()
    const { cookie } = await browser(account)
    const { slug } = await api.publish(account.client, { 'index.html': 'x' })
    const evil = { cookie, origin: 'https://evil.example' }
    assert.equal((await api.request('DELETE', `/api/v1/publish/${slug}`, { headers: evil })).status, 401)
    await api.request('DELETE', '/api/auth/session', { headers: evil })
    assert.equal((await me({ cookie })).status, 200)
    const ours = { cookie, origin: api.baseUrl }
    assert.equal((await api.request('DELETE', `/api/v1/publish/${slug}`, { headers: ours })).status, 200)
  })
})

describe('a call with a key', () => {
  test('is allowed from pages of any origin', async () => {
    const { key, email } = await api.account()
    const headers = { origin: 'https://elsewhere.example', 'sec-fetch-site': 'cross-site' }
    const answer = await api.request('GET', '/api/v1/me', { key, headers })
    assert.equal(answer.json.email, email)
    assert.equal(answer.headers['access-control-allow-origin'], '*')
  })

  test('exposes the rate limit headers to those pages', async () => {
    const { key } = await api.account()
    const { headers } = await api.request('GET', '/api/v1/me', { key })
    const exposed = headers['access-control-expose-headers']!.toLowerCase()
    for (const name of ['limit', 'remaining', 'reset'])
      assert.match(exposed, new RegExp(`x-ratelimit-${name}`))
    assert.match(exposed, /retry-after/)
  })

  const preflights = [
    ['POST', '/api/v1/publish'],
    ['PUT', '/api/v1/publish/some-site-234567'],
    ['PATCH', '/api/v1/publish/some-site-234567/metadata'],
    ['DELETE', '/api/v1/publish/some-site-234567'],
    ['PUT', '/api/v1/_upload/some-site-234567/x/a/b%20c.html?token=x&ct=text%2Fhtml&exp=1'],
    ['GET', '/api/v1/publish/some-site-234567/files/a/b.html'],
    ['POST', '/api/auth/agent/request-code'],
  ] as const
  for (const [method, target] of preflights) {
    test(`has a preflight for any origin: ${method} ${target}`, async () => {
      const answer = await api.request('OPTIONS', target, {
        headers: {
          origin: 'https://elsewhere.example',
          'access-control-request-method': method,
          'access-control-request-headers': 'authorization,content-type',
        },
      })
      assert.equal(answer.status, 204)
      assert.ok(answer.headers['access-control-allow-methods']!.split(', ').includes(method))
      const allowed = answer.headers['access-control-allow-headers']!.toLowerCase()
      assert.match(allowed, /authorization/)
      assert.match(allowed, /content-type/)
    })
  }

  test('costs the same with and without a preflight', async () => {
    const { key } = await api.account()
    const remaining = async () => {
      const answer = await api.request('GET', '/api/v1/me', { key })
      return Number(answer.headers['x-ratelimit-remaining'])
    }
    const before = await remaining()
    for (let round = 0; round < 3; round++) await api.request('OPTIONS', '/api/v1/me')
    assert.equal(await remaining(), before - 1)
    api.pass(HOUR_MS)
  })
})
