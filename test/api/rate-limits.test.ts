import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, test } from 'node:test'
import type { CreateResponse } from '../../protocol/api/publish.schema.ts'
import { RateLimits } from '../../server/accounts/rate-limits.ts'
import { ApiError } from '../../server/lib/errors.ts'
import type { Store } from '../../server/store/store.ts'
import { pluck } from '../support/pluck.ts'
import { WatchedStore } from '../support/watched-store.ts'
import { Api, type ApiRequest, HOUR_MS, MINUTE_MS, startApi, toTarget } from './api.ts'
import { type ApiResponse, readRemaining } from './api-response.ts'
import { make, TYPES } from './archive-requests.ts'
import { browser } from './browser.ts'
import { toManifest } from './content.ts'

const RATES = {
  RATE_ANONYMOUS: '5',
  RATE_FREE: '60',
  RATE_HOBBY: '200',
  RATE_SIGN_IN: '60',
  RATE_SESSION: '1000',
  TRUSTED_PROXIES: '1',
}

const api = await startApi(RATES)
beforeEach(() => nextHour(api))

/** Moves the clock to a quarter past the next hour, in which no requests are counted yet. */
function nextHour({ clock }: Api): void {
  clock.now = (Math.floor(clock.now / HOUR_MS) + 1) * HOUR_MS + 15 * MINUTE_MS
}

const ABSENT_VERSION = '0'.repeat(26)

const manifest = { files: toManifest({ 'index.html': 'hello' }) }

/** Publishes without a key from an address, through one proxy. */
function publishFrom(api: Api, address: string): Promise<ApiResponse> {
  return api.request('POST', '/api/v1/publish', { headers: { 'x-forwarded-for': address }, json: manifest })
}

const readLimit = ({ headers }: ApiResponse) => Number(headers['x-ratelimit-limit'])
const readReset = ({ headers }: ApiResponse) => Number(headers['x-ratelimit-reset'])

let hosts = 0
/** A new client address. */
const newAddress = () => `198.51.${100 + Math.floor(++hosts / 250)}.${hosts % 250}`

/** Uses up the rate limit of an address. */
async function exhaust(address: string): Promise<void> {
  for (let round = 0; round < 5; round++) assert.equal((await publishFrom(api, address)).status, 201)
  assert.equal((await publishFrom(api, address)).status, 429)
}

const getAccount = (key: string) => api.request('GET', '/api/v1/me', { key })

async function remainingFor(address: string): Promise<number> {
  const answer = await api.request('GET', '/api/openapi.json', { headers: { 'x-forwarded-for': address } })
  api.pass(2000)
  return readRemaining(answer)
}

describe('without a key', () => {
  test('an address has five requests an hour, with the remaining ones and the reset in the headers', async () => {
    const address = newAddress()
    const end = (Math.floor(api.clock.now / HOUR_MS) + 1) * HOUR_MS
    for (const remaining of [4, 3, 2, 1, 0]) {
      const answer = await publishFrom(api, address)
      assert.equal(answer.status, 201)
      assert.equal(readLimit(answer), 5)
      assert.equal(readRemaining(answer), remaining)
      assert.equal(readReset(answer), end / 1000)
    }
    for (let round = 0; round < 3; round++) {
      const answer = await publishFrom(api, address)
      assert.equal(answer.json.code, 'RATE_LIMITED')
      assert.match(answer.json.error, /5/)
      assert.deepEqual(answer.json.details, { countedBy: 'address' })
      assert.match(answer.json.hint, /Signing in raises the limit/)
      assert.deepEqual([readLimit(answer), readRemaining(answer)], [5, 0])
      assert.equal(answer.headers['retry-after'], `${(end - api.clock.now) / 1000}`)
    }
  })

  test('the limit resets at the full hour, to the millisecond', async () => {
    const address = newAddress()
    await exhaust(address)
    api.clock.now = (Math.floor(api.clock.now / HOUR_MS) + 1) * HOUR_MS - 1
    const late = await publishFrom(api, address)
    assert.equal(late.status, 429)
    assert.equal(late.headers['retry-after'], '1')
    api.pass()
    const early = await publishFrom(api, address)
    assert.equal(early.status, 201)
    assert.equal(readRemaining(early), 4)
    assert.equal(readReset(early), readReset(late) + 3600)
  })
})

describe('an address', () => {
  const same: [one: string, other: string][] = [
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff'],
    ['2001:db8:1:3::1', '2001:DB8:1:3::A'],
    ['2001:db8:1:4::1', '2001:0db8:0001:0004:0000:0000:0000:0002'],
    ['2001:db8::1', '2001:db8:0:0:5::'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
  ]
  const apart: [one: string, other: string][] = [
    ['203.0.113.1', '203.0.113.2'],
    ['2001:db8:5:1::1', '2001:db8:5:2::1'],
    ['2001:db8:6::1', '2001:db8:6:1::1'],
    ['fe80::1', 'fe81::1'],
  ]
  test('counts with others of its network, and separately from all others', async () => {
    for (const [pairs, remaining] of [
      [same, 3],
      [apart, 4],
    ] as const)
      for (const [one, other] of pairs) {
        nextHour(api)
        assert.equal(readRemaining(await publishFrom(api, one)), 4)
        assert.equal(readRemaining(await publishFrom(api, other)), remaining, `${one} and ${other}`)
      }
  })

  const chains: [trusted: number, forwarded: string | undefined, address: string][] = [
    [0, '203.0.113.9', 'the peer'],
    [0, undefined, 'the peer'],
    [1, '198.51.100.1, 203.0.113.9', '203.0.113.9'],
    [1, '203.0.113.9, nonsense', 'the peer'],
    [1, undefined, 'the peer'],
    [2, '198.51.100.1, 203.0.113.9, 10.0.0.1', '203.0.113.9'],
    [2, '203.0.113.9', 'the peer'],
    [2, '2001:db8:7::1, 10.0.0.1', '2001:db8:7::1'],
    [1, '198.51.100.1, 203.0.113.9:51234', '203.0.113.9'],
    [1, '[2001:db8:7::1]:443', '2001:db8:7::1'],
    [1, '::ffff:cb00:7109', '203.0.113.9'],
    [1, '203.0.113.9:', 'the peer'],
  ]
  test('is that of the peer or the one that the outermost trusted proxy saw, never one that the client sent', async () => {
    await using none = await Api.start({ RATE_ANONYMOUS: '5' })
    await using two = await Api.start({ RATE_ANONYMOUS: '5', TRUSTED_PROXIES: '2' })
    for (const [trusted, forwarded, address] of chains) {
      const service = [none, api, two][trusted]!
      nextHour(service)
      const chain = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
      await service.request('POST', '/api/v1/publish', { headers: chain, json: manifest })
      const near = trusted === 2 ? ['10.9.9.9'] : []
      const alone = address === 'the peer' ? {} : { 'x-forwarded-for': [address, ...near].join(', ') }
      const answer = await service.request('POST', '/api/v1/publish', { headers: alone, json: manifest })
      assert.equal(readRemaining(answer), 3, `${trusted} proxies, ${forwarded}`)
    }
  })
})

describe('with a key', () => {
  test('an account on the Free plan has 60 requests an hour, from any address', async () => {
    const { key } = await api.account()
    for (let used = 1; used <= 60; used++) {
      const headers = { 'x-forwarded-for': newAddress() }
      const answer = await api.request('GET', '/api/v1/me', { key, headers })
      assert.equal(answer.status, 200)
      assert.equal(readLimit(answer), 60)
      assert.equal(readRemaining(answer), 60 - used)
      assert.equal(answer.json.usage.requestsThisHour, used)
      assert.equal(Date.parse(answer.json.usage.resetsAt) / 1000, readReset(answer))
    }
    const address = newAddress()
    await exhaust(address)
    const refused = await getAccount(key)
    assert.equal(refused.status, 429)
    assert.deepEqual(refused.json.details, { countedBy: 'account' })
    const headers = { 'x-forwarded-for': address }
    const other = await api.request('GET', '/api/v1/me', { key: (await api.account()).key, headers })
    assert.equal(readRemaining(other), 59, 'accounts and addresses count separately')
  })

  test('an account that moves to a larger plan has its limit immediately', async () => {
    const { email, key } = await api.account()
    while ((await getAccount(key)).status === 200);
    await api.setPlan(email, 'hobby')
    const answer = await getAccount(key)
    assert.deepEqual([answer.status, readLimit(answer)], [200, 200])
  })

  test('a browser session has a limit of its own, and neither uses up the other', async () => {
    const account = await api.account()
    const { cookie } = await browser(api, account)
    const me = () => api.request('GET', '/api/v1/me', { headers: { cookie } })
    const first = await me()
    assert.deepEqual([readLimit(first), readRemaining(first)], [1000, 999])
    while ((await getAccount(account.key)).status === 200);
    const second = await me()
    assert.deepEqual([second.status, readRemaining(second)], [200, 998])
    assert.deepEqual([second.json.limits.requestsPerHour, second.json.usage.requestsThisHour], [60, 60])
  })

  test('waiting for a review costs an account no request, and a guest one of the requests of its network', async () => {
    const { key, client } = await api.account()
    const { slug } = await api.publish(client, { 'index.html': 'a' })
    const review = `/api/v1/publish/${slug}/review`
    const { json: link } = await api.request('POST', `${review}/links`, { key, json: {} })
    const token = { 'x-slipway-review': new URL(link.url).hash.slice(1), 'x-forwarded-for': newAddress() }
    const wait = (request: ApiRequest) => api.request('GET', `${review}/changes?since=x`, request)
    const before = readRemaining(await getAccount(key))
    for (let round = 1; round <= 3; round++) {
      assert.equal((await wait({ key })).status, 200)
      assert.equal(readRemaining(await wait({ headers: token })), 1000 - round)
    }
    assert.equal((await api.request('GET', `${review}/changes?since=1&since=2`, { key })).status, 400)
    assert.equal(readRemaining(await getAccount(key)), before - 1)
  })

  test('never keeps a key or a session from ending, and the next request with it is charged to the address', async () => {
    const account = await api.account()
    while ((await getAccount(account.key)).status === 200);
    const endKey = (headers: Record<string, string>) =>
      api.request('DELETE', '/api/v1/me/key', { key: account.key, headers })
    const address = newAddress()
    assert.equal((await endKey({ 'x-forwarded-for': address })).status, 200)
    assert.equal((await endKey({ 'x-forwarded-for': address })).status, 401)
    assert.equal(await remainingFor(address), 4)
    const { headers } = await browser(api, account)
    const signOut = () =>
      api.request('DELETE', '/api/auth/session', { headers: { ...headers, 'x-forwarded-for': address } })
    const json = { code: 'ABCD-EFGH' }
    const verify = { headers: { 'x-forwarded-for': address }, json }
    while ((await api.request('POST', '/api/auth/session', verify)).status !== 429);
    assert.equal((await signOut()).status, 200)
    assert.equal((await signOut()).status, 429)
  })

  test('requests with an invalid key count for their address, on every route', async () => {
    const site = '/api/v1/publish/some-site-234567'
    for (const [method, target, json, limit = 5] of [
      ['GET', '/api/v1/me'],
      ['GET', '/api/v1/publishes'],
      ['GET', '/api/nowhere'],
      ['POST', `${site}/finalize`, { versionId: 'x' }],
      ['PUT', `${site}/versions/x/thumbnail`],
      ['POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'ping' }, 100],
    ] as const) {
      const headers = { 'x-forwarded-for': newAddress(), authorization: 'Bearer sl_live_nothing' }
      const send = () => api.request(method, target, { headers, json })
      for (let round = 0; round < limit; round++) assert.equal((await send()).status, 401, target)
      assert.equal((await send()).status, 429, target)
    }
  })
})

test('requests with a key that does not permit them count for its account, on every route', async () => {
  const { client } = await api.account()
  const { slug, versionId } = await api.publish(client, { 'index.html': 'x' })
  const { apiKey: key } = await client.createKey({ name: 'reader', scope: 'read' })
  const site = `/api/v1/publish/${slug}`
  for (const [method, target, json] of [
    ['PATCH', `${site}/metadata`, { title: 'T' }],
    ['POST', `${site}/finalize`, { versionId }],
    ['PUT', `${site}/versions/${versionId}/thumbnail`],
    ['DELETE', site],
  ] as const) {
    const before = readRemaining(await getAccount(key))
    const refused = await api.request(method, target, { key, json })
    assert.equal(refused.status, 403, target)
    assert.deepEqual([readRemaining(refused), readRemaining(await getAccount(key))], [before - 1, before - 2])
  }
})

test('requests whose body cannot be read count, also where others are free', async () => {
  const { key } = await api.account()
  const { headers: session } = await browser(api, { email: 'unreadable@example.com' })
  const [json, text] = [{ 'content-type': 'application/json' }, { 'content-type': 'text/plain' }]
  for (const [method, target, credential] of [
    ['POST', '/api/v1/publish/x/finalize', { authorization: `Bearer ${key}` }],
    ['DELETE', '/api/v1/publish/x', { authorization: `Bearer ${key}` }],
    ['DELETE', '/api/v1/me/key', { authorization: `Bearer ${key}` }],
    ['DELETE', '/api/auth/session', session],
    ['POST', '/api/auth/oidc/exchange', { 'x-forwarded-for': newAddress() }],
  ] as const) {
    // The document has no errors of bodies for calls that need none.
    const send = (type: Record<string, string>, body: string) =>
      fetch(api.baseUrl + target, { method, headers: { ...credential, ...type }, body })
    const answers = [
      await send(json, '{'),
      await send(text, 'x'),
      await send(json, `"${'x'.repeat(40_000)}"`),
    ]
    assert.deepEqual(pluck(answers, 'status'), [400, 415, 413], target)
    const [first, ...next] = answers.map(({ headers }) => Number(headers.get('x-ratelimit-remaining')))
    assert.deepEqual(next, [first! - 1, first! - 2], target)
  }
  const last = { headers: { ...json, 'x-forwarded-for': newAddress() }, body: '{' }
  for (const remaining of [4, 3, 2, 1, 0, 0])
    assert.equal(readRemaining(await api.request('POST', '/api/v1/publish/x/finalize', last)), remaining)
})

describe('a message to /mcp', () => {
  const message = (method: string, params = {}) => ({ jsonrpc: '2.0', id: 1, method, params })
  const messages: [what: string, target: string, json: unknown, status: number][] = [
    ['a list of the tools', '/mcp', message('tools/list'), 200],
    ['an unknown method', '/mcp', message('nothing'), 200],
    ['an unknown tool', '/mcp', message('tools/call', { name: 'nothing' }), 200],
    ['a call that needs an account', '/mcp', message('tools/call', { name: 'list_sites' }), 401],
    [
      'a call with invalid arguments',
      '/mcp',
      message('tools/call', { name: 'publish_site', arguments: {} }),
      200,
    ],
    ['no message', '/mcp', { a: 1 }, 400],
    ['a batch of one', '/mcp', [message('ping')], 200],
    ['no token where one is needed', '/mcp/account', message('tools/list'), 401],
  ]
  test('counts whatever it does, in a counter of its own that has 20 times as many', async () => {
    for (const [what, target, json, status] of messages) {
      const headers = { 'x-forwarded-for': newAddress() }
      const send = () => api.request('POST', target, { headers, json })
      const first = await send()
      assert.deepEqual([first.status, readLimit(first), readRemaining(first)], [status, 100, 99], what)
      for (let count = 1; count < 100; count++)
        await api.request('POST', target, { headers, json: message('ping') })
      const refused = await send()
      assert.deepEqual([refused.status, refused.json.code], [429, 'RATE_LIMITED'], what)
      assert.equal(await remainingFor(headers['x-forwarded-for']), what.includes('arguments') ? 4 : 5)
    }
  })

  test('of a batch counts as every message in it', async () => {
    const headers = { 'x-forwarded-for': newAddress() }
    const answer = await api.request('POST', '/mcp', { headers, json: Array(20).fill(message('ping')) })
    assert.deepEqual([answer.json.length, readRemaining(answer)], [20, 80])
  })

  test('of a batch that exceeds the limit is refused alone: what the others did is answered', async () => {
    const headers = { 'x-forwarded-for': newAddress() }
    const files = [{ path: 'index.html', content: 'x' }]
    const publish = message('tools/call', { name: 'publish_site', arguments: { files } })
    const send = (json: unknown[]) => api.request('POST', '/mcp', { headers, json })
    for (const count of [20, 20, 20, 20, 18]) await send(Array(count).fill(message('ping')))
    const { status, json } = await send([publish, message('ping'), { ...message('ping'), id: 9 }])
    assert.equal(status, 200)
    assert.ok(json[0].result.structuredContent.claimToken)
    assert.deepEqual([json.length, json[2].id], [3, 9])
    assert.match(json[2].error.message, /^RATE_LIMITED: /)
    assert.equal((await send([message('ping')])).status, 429)
  })

  test('counts for the account of its key, before its body is read', async () => {
    const { key } = await api.account()
    const answer = await api.request('POST', '/mcp', {
      key,
      body: '{',
      headers: { 'content-type': 'application/json' },
    })
    assert.deepEqual([answer.status, readLimit(answer), readRemaining(answer)], [400, 1200, 1199])
  })
})

describe('a counted request', () => {
  const version = { json: { versionId: 'x' } }
  const archive = { headers: { 'content-type': TYPES.tar }, body: make('tar', { 'index.html': 'x' }) }
  const calls: [what: string, method: string, target: string, sent?: ApiRequest][] = [
    ['an archive', 'POST', '/api/v1/publish', archive],
    ['a direct upload', 'PUT', '/', { body: '<p>' }],
    ['an unknown route', 'GET', '/api/nowhere'],
    ['an address that is none', 'GET', '/api/v1/publish/%zz'],
    ['a method that is not known', 'PUT', '/api/v1/publishes'],
    ['a query of too many parameters', 'GET', `/api/v1/publishes?${'a=1&'.repeat(41)}`],
    ['a query that is too long', 'POST', `/api/v1/publish/x/finalize?a=${'a'.repeat(4100)}`, version],
    ['a manifest that is refused', 'POST', '/api/v1/publish', { json: { files: [] } }],
    ['a call that needs a key', 'GET', '/api/v1/me'],
    ['a finalize of nothing', 'POST', '/api/v1/publish/some-site-234567/finalize', version],
    ['a refresh of nothing', 'POST', '/api/v1/publish/some-site-234567/uploads/refresh', version],
  ]
  test('is every request to the API, whether it succeeds or not', async () => {
    for (const [what, method, target, sent] of calls) {
      const headers = { 'x-forwarded-for': newAddress(), ...sent?.headers }
      for (const remaining of [4, 3, 2, 1, 0])
        assert.equal(readRemaining(await api.request(method, target, { ...sent, headers })), remaining, what)
      assert.equal((await api.request(method, target, { ...sent, headers })).json.code, 'RATE_LIMITED', what)
    }
  })

  test('is not an upload, successful or not', async () => {
    const address = newAddress()
    const headers = { 'x-forwarded-for': address }
    const created = await publishFrom(api, address)
    const [target] = created.json.upload.uploads
    for (let round = 0; round < 20; round++) {
      const upload = { headers: { ...headers, ...target.headers }, body: round % 2 ? 'hello' : 'wrong' }
      const answer = await api.request('PUT', toTarget(target.url), upload)
      assert.equal(answer.status, round % 2 ? 200 : 400)
      assert.equal(readRemaining(answer), 4)
    }
    for (const path of ['a/b/c', 'a/b'])
      await api.request('PUT', `/api/v1/_upload/${path}?token=x`, { headers, body: 'hello' })
    assert.equal(await remainingFor(address), 4)
  })

  test('is not a document, a health check, a preflight or a visit', async () => {
    const { siteUrl } = await api.publish((await api.account()).client, { 'index.html': 'x' })
    const address = newAddress()
    const headers = { 'x-forwarded-for': address }
    for (let round = 0; round < 10; round++) {
      for (const target of ['/api/openapi.json', '/docs', '/health'])
        assert.equal((await api.request('GET', target, { headers })).status, 200)
      assert.equal((await api.request('OPTIONS', '/api/v1/publish', { headers })).status, 204)
      assert.equal((await api.visit(siteUrl, '/', headers)).status, 200)
    }
    assert.equal(await remainingFor(address), 5)
  })
})

describe('an admitted publish', () => {
  test('can be completed at the limit, including its uploads and a finalize that is too early', async () => {
    const address = newAddress()
    const sites = []
    for (let round = 0; round < 5; round++) sites.push(await created(address))
    assert.equal((await publishFrom(api, address)).status, 429)
    for (const { siteUrl, finalize, put } of sites) {
      for (let round = 0; round < 3; round++) assert.equal((await finalize()).json.code, 'UPLOADS_MISSING')
      await put()
      assert.equal((await finalize()).status, 200)
      assert.equal((await api.visit(siteUrl)).text, 'hello')
      assert.equal((await finalize()).status, 429, 'a second one is charged like any other request')
    }
  })

  test('can be taken down at the limit with its claim token; a wrong token and a repetition are charged', async () => {
    const address = newAddress()
    const { json } = await publishFrom(api, address)
    const remove = async (claimToken: string) => {
      const headers = { 'x-forwarded-for': address, 'x-slipway-claim-token': claimToken }
      const { status, json: answer } = await api.request('DELETE', `/api/v1/publish/${json.slug}`, {
        headers,
      })
      return answer.code ?? status
    }
    for (let round = 0; round < 4; round++) assert.equal(await remove('wrong'), 'INVALID_CLAIM_TOKEN')
    assert.equal(await remove('wrong'), 'RATE_LIMITED')
    assert.equal(await remove(json.claimToken), 200)
    assert.equal(await remove(json.claimToken), 'RATE_LIMITED')
  })
})

/** A sign-in request from an address, each with another email, so that the limit of codes does not apply. */
let emails = 0
const call = (address: string, path = '/api/auth/agent/request-code', more: object = {}) => {
  const json = { email: `limited${++emails}@example.org`, ...more }
  return api.request('POST', path, { headers: { 'x-forwarded-for': address }, json })
}

test('signing in has a separate limit of 60 requests an hour per address, over all of its operations', async () => {
  const address = newAddress()
  const paths = ['/api/auth/agent/request-code', '/api/auth/agent/verify-code', '/api/auth/session']
  for (let used = 1; used <= 60; used++) {
    const answer = await call(address, paths[used % 3], { code: 'ABCD-EFGH' })
    assert.notEqual(answer.status, 429)
    assert.equal(readLimit(answer), 60)
    assert.equal(readRemaining(answer), 60 - used)
  }
  for (const path of paths) {
    const answer = await call(address, path, { code: 'ABCD-EFGH' })
    assert.equal(answer.status, 429)
    assert.equal(answer.headers['retry-after'], `${45 * 60}`)
  }
  await exhaust(address)
  nextHour(api)
  await exhaust(address)
  await call(address, '/api/auth/agent/request-code', { email: 5 })
  assert.equal(readRemaining(await call(address)), 58, 'publishes do not count, refused requests do')
})

test('all networks of a /48 share 20 times the limit of signing in, and those of others have their own', async () => {
  await using api = await Api.start({ TRUSTED_PROXIES: '1', RATE_SIGN_IN: '2' })
  const register = async (address: string, from: Record<string, string> = {}) => {
    const headers = { 'x-forwarded-for': address, 'content-type': 'application/json', ...from }
    return (await api.request('POST', '/oauth/register', { headers, body: '{}' })).status
  }
  const statuses = []
  for (let network = 1; network <= 41; network++)
    statuses.push(await register(`2001:db8:1:${network.toString(16)}::1`))
  assert.deepEqual([new Set(statuses.slice(0, 40)), statuses[40]], [new Set([400]), 429])
  assert.equal(await register('2001:db8:2:1::1'), 400)
  // What one network sends beyond its own limit is not that of the others.
  await Promise.all(Array.from({ length: 60 }, () => register('2001:db8:3:1::1')))
  assert.equal(await register('2001:db8:3:2::1'), 400)
  const ofPages = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }
  for (let network = 1; network <= 40; network++)
    assert.equal(await register(`2001:db8:4:${network.toString(16)}::1`, ofPages), 400)
  assert.equal(await register('2001:db8:4:29::1', ofPages), 429)
  assert.equal(await register('2001:db8:4:29::1'), 400, 'what pages of other origins send counts apart')
})

test('a page of another origin does not use up the sign-in requests of the network of its visitor', async () => {
  const address = newAddress()
  const send = (method: string, path: string, headers: Record<string, string>) =>
    api.request(method, path, { headers: { 'x-forwarded-for': address, ...headers } })
  const ask = (headers: Record<string, string>) => send('GET', '/oauth/authorize', headers)
  const remainingAfter = async (headers: Record<string, string>) => readRemaining(await ask(headers))
  const own = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }
  const opened = {
    'sec-fetch-site': 'cross-site',
    'sec-fetch-mode': 'navigate',
    'sec-fetch-dest': 'document',
  }
  const link = { ...opened, 'sec-fetch-user': '?1' }
  assert.deepEqual(
    [await remainingAfter({}), await remainingAfter(own), await remainingAfter(link)],
    [59, 58, 57],
  )
  assert.equal(await remainingAfter(opened), 59, 'a window that opens without a click')
  for (const [used, headers] of [
    { ...opened, 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' },
    { ...opened, 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' },
    { ...link, 'sec-fetch-dest': 'iframe' },
    { ...link, 'sec-fetch-site': 'same-site', 'sec-fetch-dest': 'iframe' },
  ].entries())
    assert.equal(await remainingAfter(headers), 59 - used)
  // A form in a window that the page opens, also after a click.
  const form = { ...link, 'content-type': 'application/x-www-form-urlencoded' }
  assert.equal(readRemaining(await send('POST', '/api/auth/agent/request-code', form)), 55)
  for (let used = 5; used < 60; used++) await ask({ ...link, 'sec-fetch-dest': 'iframe' })
  assert.equal((await ask({ ...link, 'sec-fetch-dest': 'iframe' })).status, 429)
  assert.deepEqual([await remainingAfter(own), await remainingAfter(opened)], [56, 58])
})

// One finalize of a version runs at a time, and only one that completes a publish is free (contract, "Rates").

/** Creates a site from an address, with one file to upload. */
async function created(address: string, at = api) {
  const { slug, siteUrl, upload } = (await publishFrom(at, address)).json as CreateResponse
  const finalize = (body: object = {}): Promise<ApiResponse> =>
    at.request('POST', `/api/v1/publish/${slug}/finalize`, {
      headers: { 'x-forwarded-for': address },
      json: { versionId: upload.versionId, ...body },
    })
  const put = () => at.anonymous.upload(upload.uploads[0]!, Buffer.from('hello'))
  return { siteUrl, finalize, put }
}

test('concurrent finalizes of one version run once: one of them is free, the others get its response and are charged', async () => {
  const address = newAddress()
  const { finalize, put } = await created(address)
  await put()
  const answers = await Promise.all(Array.from({ length: 32 }, () => finalize()))
  const done = answers.filter(({ status }) => status === 200)
  assert.equal(done.length, 5, 'one that is free, and four that the hour still had')
  assert.equal(done.filter(({ json }) => json.replayed !== true).length, 1)
  assert.equal(answers.filter(({ json }) => json.code === 'RATE_LIMITED').length, 27)
})

test('a finalize that changes nothing is charged when files are missing, from the second time on, and is limited', async () => {
  const { finalize, put } = await created(newAddress())
  for (const remaining of [4, 3, 2, 1, 0]) {
    const answer = await finalize()
    assert.equal(answer.json.code, 'UPLOADS_MISSING')
    assert.equal(readRemaining(answer), remaining)
  }
  for (let round = 0; round < 3; round++) assert.equal((await finalize()).json.code, 'RATE_LIMITED')
  await put()
  nextHour(api)
  assert.equal((await finalize()).status, 200)
})

test('a finalize that the server cannot complete is free', async () => {
  let watched!: WatchedStore
  const wrapStore = (real: Store) => {
    watched = new WatchedStore(real)
    return watched.watched
  }
  await using own = await Api.start(RATES, { wrapStore })
  const { finalize } = await created(newAddress(), own)
  watched.delayRead = async (query) => {
    if (query === 'versions.listArrivals')
      throw new ApiError('UNAVAILABLE', 'The store is unavailable', { retryAfterSeconds: 1 })
  }
  for (let round = 0; round < 5; round++) assert.equal((await finalize()).json.code, 'UNAVAILABLE')
  watched.delayRead = () => undefined
  assert.equal(readRemaining(await finalize()), 4)
})

describe('100 requests of a network at the same time that count towards no limit', () => {
  test('delay further ones for thumbnails, of this network only, by a second', async () => {
    const target = `/api/v1/publish/no-such-site/versions/${ABSENT_VERSION}/thumbnail`
    const get = async (address: string) =>
      (await api.request('GET', target, { headers: { 'x-forwarded-for': address } })).status
    const address = newAddress()
    for (let round = 0; round < 100; round++) assert.equal(await get(address), 404)
    assert.deepEqual([await get(address), await get(newAddress())], [503, 404])
    api.pass(1000)
    assert.equal(await get(address), 404)
  })

  test('delay a finalize beyond the hourly limit by a second', async () => {
    const address = newAddress()
    const { finalize, put } = await created(address)
    await put()
    for (let round = 0; round < 4; round++) await publishFrom(api, address)
    assert.equal((await publishFrom(api, address)).status, 429)
    for (let round = 0; round < 100; round++)
      assert.equal((await finalize({ versionId: ABSENT_VERSION })).status, 429)
    const delayed = await finalize()
    assert.deepEqual([delayed.status, delayed.headers['retry-after']], [503, '1'])
    api.pass(1000)
    assert.equal((await finalize()).status, 200)
  })
})

test('the rate limit stores no addresses, deletes the counts of past hours, and keeps those of the present one', async () => {
  const address = newAddress()
  assert.equal(readRemaining(await publishFrom(api, address)), 4)
  api.clock.now = (Math.floor(api.clock.now / HOUR_MS) + 1) * HOUR_MS - 1
  await api.sweep('sign-ins')
  assert.equal(readRemaining(await publishFrom(api, address)), 3)
  const files = readdirSync(api.data).filter((name) => name.startsWith('slipway.db'))
  for (const name of files) assert.equal(readFileSync(join(api.data, name)).includes(address), false, name)
  const operator = await api.operator()
  const [counted, rates] = [api.clock.now, { anonymous: 5, session: 1, signIn: 1 }]
  const countThen = async () => {
    const limits = new RateLimits({ ...operator, clock: () => counted, rates })
    return (await limits.peek({ account: undefined, address, signedInWith: 'anonymous' }, 'api')).remaining
  }
  assert.equal(await countThen(), 3)
  api.pass(3 * HOUR_MS)
  await api.sweep('sign-ins')
  assert.equal(await countThen(), 5)
})
