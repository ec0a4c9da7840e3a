import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as oauth from 'oauth4webapi'
import type { Slipway } from '../../client/sdk/slipway.ts'
import {
  COMMAND_LINE_CLIENT,
  DEVICE_GRANT_TYPE,
  type DeviceAuthorizationRequest,
  type DeviceToken,
} from '../../protocol/api/device.ts'
import { DeviceSignIns } from '../../server/accounts/device-sign-in.ts'
import type { OAuthProblem } from '../../server/accounts/oauth/clients.ts'
import { ApiError } from '../../server/lib/errors.ts'
import { withMethods } from '../store/with-methods.ts'
import { Api, assertWaits, expectFailure, MINUTE_MS, startApi } from './api.ts'
import { browser } from './browser.ts'

const api = await startApi({ RATE_SIGN_IN: '1000', RATE_FREE: '1000' })
const owner = await api.account()
const CLIENT = COMMAND_LINE_CLIENT
const ASKED = { client_id: CLIENT, machine: 'ann@desk' }

const start = async (at = api, asked: DeviceAuthorizationRequest = ASKED) => {
  const { device_code: deviceCode, user_code: userCode } = await at.anonymous.requestDeviceCode(asked)
  return { deviceCode, userCode }
}
/** An account, and what may have allowed a device in its name. */
interface Mine {
  client: Slipway
  sessionId: string
  keyId: string
}

const exchange = (deviceCode: string, at = api) => at.anonymous.exchangeDeviceCode(CLIENT, deviceCode)
const FORM = 'application/x-www-form-urlencoded'

describe('a sign-in of a program', () => {
  test('gives it a named key once its code was allowed in a browser, and only once', async () => {
    const {
      device_code: deviceCode,
      user_code: userCode,
      ...rest
    } = await api.anonymous.requestDeviceCode(ASKED)
    assert.match(userCode, /^[A-HJ-NP-Z2-9]{4}-[A-HJ-NP-Z2-9]{4}$/)
    assert.deepEqual(rest, {
      verification_uri: `${api.baseUrl}/device`,
      verification_uri_complete: `${api.baseUrl}/device?code=${userCode}`,
      expires_in: 600,
      interval: 5,
    })
    await expectFailure(exchange(deviceCode), 'AUTHORIZATION_PENDING')
    const { headers } = await browser(api, owner)
    const typed = { userCode: userCode.toLowerCase().replace('-', ' ') }
    const { json: asked } = await api.request('POST', '/api/v1/me/device', { headers, json: typed })
    assert.deepEqual(asked, {
      ...{ program: 'Slipway command line', machine: 'ann@desk', scope: 'manage' },
      ...{ userCode, replacesKey: false, network: '127.0.0.0/8', ownNetwork: '127.0.0.0/8' },
      createdAt: new Date(api.clock.now).toISOString(),
      expiresAt: new Date(api.clock.now + 10 * MINUTE_MS).toISOString(),
    })
    const json = { ...typed, allow: true }
    const decided = await api.request('POST', '/api/v1/me/device/decision', { headers, json })
    assert.deepEqual(decided.json, { allowed: true })
    await expectFailure(owner.client.decideDevice(userCode, false), 'INVALID_CODE')
    const { deviceSignIns } = await api.operator()
    const fetch = () => deviceSignIns.exchange({ clientId: CLIENT, deviceCode }, async () => undefined)
    const fetched = await Promise.allSettled([fetch(), fetch()])
    const [one, ...others] = fetched.flatMap((outcome) =>
      outcome.status === 'fulfilled' && 'access_token' in outcome.value ? [outcome.value] : [],
    )
    assert.deepEqual(others, [])
    const { access_token: key, ...token } = one!
    assert.deepEqual(token, {
      ...{ token_type: 'Bearer', scope: 'read publish manage' },
      ...{ email: owner.email, plan: 'free', key_name: 'ann@desk' },
    })
    assert.equal((await api.client(key).me()).key?.scope, 'manage')
    await expectFailure(exchange(deviceCode), 'EXPIRED_TOKEN')
    await expectFailure(owner.client.decideDevice(userCode, true), 'INVALID_CODE')
    const again = await start()
    assert.equal((await owner.client.deviceRequest(again.userCode)).replacesKey, true)
  })

  test('gives nothing when it was refused, or after ten minutes, and keeps no codes', async () => {
    const [refused, late] = [await start(), await start()]
    assert.deepEqual(await owner.client.decideDevice(refused.userCode, false), { allowed: false })
    await expectFailure(exchange(refused.deviceCode), 'ACCESS_DENIED')
    api.pass(10 * MINUTE_MS)
    await expectFailure(owner.client.decideDevice(late.userCode, true), 'INVALID_CODE')
    for (const { deviceCode } of [refused, late]) await expectFailure(exchange(deviceCode), 'EXPIRED_TOKEN')
    assert.equal((await api.sweep('sign-ins')) > 0, true)
    const { store } = await api.operator()
    const sweep = store.execute('durable', ({ rows }) =>
      rows.removeBefore('device_sign_ins', api.clock.now + 1, 100),
    )
    assert.equal(await sweep, 0)
  })

  test('is refused while its account has no room for another key, and allowed for one that it replaces', async () => {
    const { client } = await api.account()
    const [early, late] = [await start(), await start()]
    for (let number = 1; number < 50; number++) await client.createKey({ name: `${number}`, scope: 'read' })
    await client.decideDevice(early.userCode, true)
    const last = await client.createKey({ name: 'last', scope: 'read' })
    const { message } = await expectFailure(exchange(early.deviceCode), 'ACCESS_DENIED')
    assert.match(message, /50 named keys/)
    for (let count = 0; count <= 30; count++)
      await expectFailure(client.decideDevice(late.userCode, true), 'KEY_LIMIT_REACHED')
    await client.revokeKey(last.id)
    await expectFailure(exchange(early.deviceCode), 'ACCESS_DENIED')
    await client.createKey({ name: ASKED.machine, scope: 'read' })
    assert.deepEqual(await client.decideDevice(late.userCode, true), { allowed: true })
    assert.ok((await exchange(late.deviceCode)).access_token)
  })

  for (const [what, end] of [
    ['the browser was signed out', (mine: Mine) => mine.client.endSession(mine.sessionId)],
    ['all other browsers were signed out', (mine: Mine) => mine.client.endOtherSessions()],
    ['the key was revoked', (mine: Mine) => mine.client.revokeKey(mine.keyId)],
  ] as const)
    test(`gives nothing when ${what} that allowed it, before the program has fetched the key`, async () => {
      const { client, email } = await api.account()
      const { headers } = await browser(api, { email })
      const [session] = (await client.sessions()).sessions
      const { id: keyId, apiKey } = await client.createKey({ name: 'stolen', scope: 'manage' })
      const { deviceCode, userCode } = await start()
      const allowing = what === 'the key was revoked' ? { key: apiKey } : { headers }
      const json = { userCode, allow: true }
      assert.equal(
        (await api.request('POST', '/api/v1/me/device/decision', { ...allowing, json })).status,
        200,
      )
      await end({ client, sessionId: session!.id, keyId })
      await expectFailure(exchange(deviceCode), 'EXPIRED_TOKEN')
      assert.ok(!(await client.keys()).keys.some(({ name }) => name === ASKED.machine))
    })

  test('is the device grant of OAuth, at the addresses of the metadata, for programs that are registered for it', async () => {
    const insecure = { [oauth.allowInsecureRequests]: true }
    const issuer = new URL(api.baseUrl)
    const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure })
    const server = await oauth.processDiscoveryResponse(issuer, found)
    const registerFor = async (...grant_types: string[]) => {
      const client = { client_name: 'TV', redirect_uris: ['https://tv.example/'], grant_types }
      const response = await oauth.dynamicClientRegistrationRequest(server, client, insecure)
      return oauth.processDynamicClientRegistrationResponse(response)
    }
    const [tv, other] = [await registerFor(DEVICE_GRANT_TYPE), await registerFor('authorization_code')]
    const auth = oauth.None()
    const begin = await oauth.deviceAuthorizationRequest(server, tv, auth, { scope: 'read' }, insecure)
    const { device_code: code, user_code } = await oauth.processDeviceAuthorizationResponse(server, tv, begin)
    const { program, machine, scope } = await owner.client.deviceRequest(user_code)
    assert.deepEqual([program, machine, scope], ['TV', 'TV', 'read'])
    const poll = async (client = tv) =>
      oauth.processDeviceCodeResponse(
        server,
        client,
        await oauth.deviceCodeGrantRequest(server, client, auth, code, insecure),
      )
    for (const error of ['authorization_pending', 'slow_down']) await assert.rejects(poll(), { error })
    await assert.rejects(poll(other), { error: 'expired_token' }, 'a code is valid for its program only')

    const [start, end] = [server.device_authorization_endpoint!, server.token_endpoint!]
    const form = `grant_type=${DEVICE_GRANT_TYPE}&client_id=${tv.client_id}&device_code=${code}`
    const asTv = `client_id=${tv.client_id}`
    const INVALID: [url: string, body: string, status: number, error: string, type?: string][] = [
      [start, '', 400, 'invalid_request'],
      [start, 'client_id=', 400, 'invalid_request'],
      [start, 'client_id=unknown', 401, 'invalid_client'],
      [start, `client_id=${other.client_id}`, 400, 'unauthorized_client'],
      [start, `${asTv}&${asTv}`, 400, 'invalid_request'],
      [start, `${asTv}&machine=%20`, 400, 'invalid_request'],
      [start, `${asTv}&machine=b%07c`, 400, 'invalid_request'],
      [start, `${asTv}&machine=${'x'.repeat(65)}`, 400, 'invalid_request'],
      [start, JSON.stringify({ client_id: tv.client_id }), 400, 'invalid_request', 'application/json'],
      [end, `${form}&scope=a&scope=b`, 400, 'invalid_request'],
      [end, form.replace(/&device_code.*/, ''), 400, 'invalid_request'],
      [end, form.replace(asTv, ''), 400, 'invalid_request'],
    ]
    for (const [url, body, status, error, type = FORM] of INVALID) {
      const response = await fetch(url, { method: 'POST', headers: { 'content-type': type }, body })
      const json = (await response.json()) as Record<string, string>
      assert.deepEqual([response.status, json.error], [status, error], body)
      assert.match(json.error_description!, /^\S.{10}/)
    }
    await owner.client.decideDevice(user_code, true)
    const token = await poll()
    assert.deepEqual([token.token_type, token.scope], ['bearer', 'read'])
    assert.equal((await api.client(token.access_token).me()).key?.scope, 'read')
  })

  test('says from which network a program asks, and which one its user has', async () => {
    await using proxied = await Api.start({ TRUSTED_PROXIES: '1' })
    const { key } = await proxied.account()
    for (const [address, network] of [
      ['203.0.113.77', '203.0.113.0/24'],
      ['2001:db8:0:1::2', '2001:db8::/48'],
      ['::ffff:203.0.113.77', '203.0.113.0/24'],
      ['::1', '127.0.0.0/8'],
    ] as const) {
      const body = `client_id=${CLIENT}`
      const headers = { 'content-type': FORM, 'x-forwarded-for': address }
      const { json } = await proxied.request('POST', '/oauth/device_authorization', { headers, body })
      const asked = await proxied.client(key).deviceRequest(json.user_code)
      assert.deepEqual([asked.network, asked.ownNetwork], [network, '127.0.0.0/8'])
    }
  })

  test('slows down a program that asks too often, and does not charge one that does not', async () => {
    const { deviceCode } = await start()
    for (let poll = 0; poll < 80; poll++) {
      await expectFailure(exchange(deviceCode), 'AUTHORIZATION_PENDING')
      api.pass(5000)
    }
    const quick = await start()
    await expectFailure(exchange(quick.deviceCode), 'AUTHORIZATION_PENDING')
    for (const seconds of [10, 15]) {
      const { message } = await expectFailure(exchange(quick.deviceCode), 'SLOW_DOWN')
      assert.equal(message, `Wait ${seconds} seconds between two requests`)
    }
    api.pass(14_999)
    await expectFailure(exchange(quick.deviceCode), 'SLOW_DOWN')
    api.pass(5001)
    await expectFailure(exchange(quick.deviceCode), 'AUTHORIZATION_PENDING')
  })

  test('causes no writes when it polls too often beyond the limit, or at the longest interval', async () => {
    const { store } = await api.operator()
    let writes = 0
    const execute: typeof store.execute = (durability, statement) => {
      writes++
      return store.execute(durability, statement)
    }
    const node = new DeviceSignIns({
      ...{ store: withMethods(store, { execute }), baseUrl: api.baseUrl, secret: 'a secret' },
      clock: () => api.clock.now,
    })
    const { deviceCode } = await start()
    const code = { clientId: CLIENT, deviceCode }
    const admit = async () => undefined
    const refuse = () => Promise.reject(new ApiError('RATE_LIMITED', 'Hourly limit reached'))
    await expectFailure(exchange(deviceCode), 'AUTHORIZATION_PENDING')
    for (let poll = 0; poll < 5; poll++)
      await assert.rejects(node.exchange(code, refuse), { code: 'RATE_LIMITED' })
    assert.equal(writes, 0)
    for (let poll = 0; poll < 20; poll++) assert.equal(errorOf(await node.exchange(code, admit)), 'slow_down')
    assert.equal(writes, 11)
    api.pass(MINUTE_MS)
    assert.equal(errorOf(await node.exchange(code, refuse)), 'authorization_pending')
  })

  test('limits polls without a code, and the wrong codes that an account can enter in an hour', async () => {
    await using strict = await Api.start({ RATE_SIGN_IN: '5' })
    const { deviceCode } = await start(strict)
    for (let poll = 0; poll < 4; poll++) await expectFailure(exchange('unknown', strict), 'EXPIRED_TOKEN')
    await expectFailure(exchange('unknown', strict), 'RATE_LIMITED')
    for (let interval = 0; interval < 3; interval++) {
      await expectFailure(exchange(deviceCode, strict), 'AUTHORIZATION_PENDING')
      for (let poll = 0; poll < 3; poll++) await expectFailure(exchange(deviceCode, strict), 'RATE_LIMITED')
      strict.pass(5000)
    }
    const guesser = await api.account()
    const { userCode } = await start()
    for (let look = 0; look < 10; look++) await guesser.client.deviceRequest(userCode)
    await guesser.client.decideDevice((await start()).userCode, true)
    for (let guess = 0; guess < 30; guess++)
      await expectFailure(guesser.client.decideDevice('ABCD-2345', true), 'INVALID_CODE')
    await expectFailure(guesser.client.decideDevice(userCode, true), 'RATE_LIMITED')
    await assertWaits(api, async () => guesser.client.deviceRequest((await start()).userCode))
  })
})

function errorOf(result: DeviceToken | OAuthProblem): string | undefined {
  return 'error' in result ? result.error : undefined
}
