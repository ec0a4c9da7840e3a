import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { DeviceSignIns } from '../../server/accounts/device-sign-in.ts'
import { ApiError } from '../../server/lib/errors.ts'
import { withMethods } from '../store/with-methods.ts'
import { Api, expectFailure, HOUR_MS, MINUTE_MS, startApi } from './api.ts'
import { browser } from './browser.ts'

const api = await startApi({ RATE_SIGN_IN: '1000', RATE_FREE: '1000' })
const owner = await api.account()
const ASKED = { program: 'Slipway command line', machine: 'ann@desk' }

const start = (change: Partial<typeof ASKED> = {}) => api.anonymous.requestDeviceCode({ ...ASKED, ...change })
const exchange = (deviceCode: string) => api.anonymous.exchangeDeviceCode(deviceCode)

describe('a sign-in of a program', () => {
  test('gives it a named key once its code was allowed in a browser, and only once', async () => {
    const { deviceCode, userCode, verificationUrlComplete, ...rest } = await start()
    assert.match(userCode, /^[A-HJ-NP-Z2-9]{4}-[A-HJ-NP-Z2-9]{4}$/)
    assert.equal(verificationUrlComplete, `${api.baseUrl}/device?code=${userCode}`)
    assert.deepEqual(rest, {
      verificationUrl: `${api.baseUrl}/device`,
      expiresInSeconds: 600,
      intervalSeconds: 5,
    })
    await expectFailure(exchange(deviceCode), 'AUTHORIZATION_PENDING')
    const { headers } = await browser(api, owner)
    const typed = { userCode: userCode.toLowerCase().replace('-', ' ') }
    const { json: asked } = await api.request('POST', '/api/v1/me/device', { headers, json: typed })
    assert.deepEqual(asked, {
      ...{ ...ASKED, userCode, replacesKey: false },
      createdAt: new Date(api.clock.now).toISOString(),
      expiresAt: new Date(api.clock.now + 10 * MINUTE_MS).toISOString(),
    })
    const json = { ...typed, allow: true }
    const decided = await api.request('POST', '/api/v1/me/device/decision', { headers, json })
    assert.deepEqual(decided.json, { allowed: true })
    const { store } = await api.operator()
    const clock = () => api.clock.now
    const node = new DeviceSignIns({ store, baseUrl: api.baseUrl, secret: 'a secret', clock })
    const fetched = await Promise.allSettled(
      [deviceCode, deviceCode].map((code) => node.exchange(code, async () => undefined)),
    )
    const [one, ...others] = fetched.flatMap((outcome) =>
      outcome.status === 'fulfilled' ? [outcome.value] : [],
    )
    assert.deepEqual(others, [])
    const { apiKey, email, keyName } = one!
    assert.deepEqual([email, keyName], [owner.email, ASKED.machine])
    assert.equal((await api.client(apiKey).me()).key?.scope, 'manage')
    await expectFailure(exchange(deviceCode), 'DEVICE_CODE_EXPIRED')
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
    for (const { deviceCode } of [refused, late])
      await expectFailure(exchange(deviceCode), 'DEVICE_CODE_EXPIRED')
    assert.equal((await api.sweep('sign-ins')) > 0, true)
    const { store } = await api.operator()
    assert.equal(await store.read.deviceSignIns.deleteExpired(api.clock.now, 100), 0)
  })

  test('slows down a program that asks too often, and does not charge one that does not', async () => {
    const { deviceCode } = await start()
    for (let poll = 0; poll < 80; poll++) {
      await expectFailure(exchange(deviceCode), 'AUTHORIZATION_PENDING')
      api.pass(5000)
    }
    const quick = await start()
    await expectFailure(exchange(quick.deviceCode), 'AUTHORIZATION_PENDING')
    for (const intervalSeconds of [10, 15]) {
      const { details } = await expectFailure(exchange(quick.deviceCode), 'SLOW_DOWN')
      assert.deepEqual(details, { intervalSeconds })
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
    const admit = async () => undefined
    const refuse = () => Promise.reject(new ApiError('RATE_LIMITED', 'Hourly limit reached'))
    await expectFailure(exchange(deviceCode), 'AUTHORIZATION_PENDING')
    for (let poll = 0; poll < 5; poll++)
      await assert.rejects(node.exchange(deviceCode, refuse), { code: 'RATE_LIMITED' })
    assert.equal(writes, 0)
    for (let poll = 0; poll < 20; poll++)
      await assert.rejects(node.exchange(deviceCode, admit), { code: 'SLOW_DOWN' })
    assert.equal(writes, 11)
    api.pass(MINUTE_MS)
    await assert.rejects(node.exchange(deviceCode, refuse), { code: 'AUTHORIZATION_PENDING' })
  })

  test('limits polls without a code, and the codes that an account can enter in an hour', async () => {
    await using strict = await Api.start({ RATE_SIGN_IN: '5' })
    const { deviceCode } = await strict.anonymous.requestDeviceCode(ASKED)
    for (let poll = 0; poll < 4; poll++)
      await expectFailure(strict.anonymous.exchangeDeviceCode('unknown'), 'DEVICE_CODE_EXPIRED')
    await expectFailure(strict.anonymous.exchangeDeviceCode('unknown'), 'RATE_LIMITED')
    for (let interval = 0; interval < 3; interval++) {
      await expectFailure(strict.anonymous.exchangeDeviceCode(deviceCode), 'AUTHORIZATION_PENDING')
      for (let poll = 0; poll < 3; poll++)
        await expectFailure(strict.anonymous.exchangeDeviceCode(deviceCode), 'RATE_LIMITED')
      strict.pass(5000)
    }
    const guesser = await api.account()
    const { userCode } = await start()
    for (let guess = 0; guess < 30; guess++)
      await expectFailure(guesser.client.decideDevice('ABCD-2345', true), 'INVALID_CODE')
    await expectFailure(guesser.client.decideDevice(userCode, true), 'RATE_LIMITED')
    await expectFailure(guesser.client.deviceRequest(userCode), 'RATE_LIMITED')
    api.pass(HOUR_MS)
    await expectFailure(guesser.client.deviceRequest(userCode), 'INVALID_CODE')
  })
})
