import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { AuditPage } from '../../protocol/api/admin/audit.ts'
import { Program } from '../mcp/program.ts'
import { pluck } from '../support/pluck.ts'
import { administrator } from './administrator.ts'
import { DAY_MS, expectFailure, HOUR_MS, startApi } from './api.ts'
import { assertInvalid } from './api-response.ts'
import { browser } from './browser.ts'
import { operations } from './document.ts'

const api = await startApi({ RATE_FREE: '100000', RATE_ANONYMOUS: '100000', RATE_SIGN_IN: '100000' })
const ADMIN_OPERATIONS = operations(api.conformance!.document).flatMap(([name]) => {
  const [method, path] = name.split(' ') as [string, string]
  return path.startsWith('/api/admin/') ? [[method, path.replace(/\{\w+\}/g, 'x')] as const] : []
})

const setMark = async (email: string, isAdministrator: boolean) =>
  (await api.operator()).administrators.setByEmail(email, isAdministrator)
const findId = async (email: string) => (await (await api.operator()).store.read.accounts.byEmail(email))!.id

describe('the routes for administrators', () => {
  test('do not exist for anyone else, with whatever credential', async () => {
    assert.ok(ADMIN_OPERATIONS.length >= 2)
    const stranger = await api.account()
    const admin = await api.account()
    await setMark(admin.email, true)
    const { apiKey: manager } = await admin.client.createKey({ name: 'manager', scope: 'manage' })
    const program = await Program.register(api.baseUrl)
    const issued = await program.exchange(await program.code(admin.key))
    const { access_token: token } = (await issued.json()) as { access_token: string }
    const { headers: session } = await browser(api, stranger)
    const credentials = {
      none: {},
      'the key of another account': { key: stranger.key },
      'the session of another account': { headers: session },
      'the unnamed key of an administrator': { key: admin.key },
      'a key of an administrator with scope manage': { key: manager },
      'a token of a program of an administrator': { key: token },
    }
    for (const [name, given] of Object.entries(credentials)) {
      const missing = await api.request('GET', '/api/admin/nothing', given)
      for (const [method, path] of ADMIN_OPERATIONS) {
        const answer = await api.request(method, path, { ...given, json: method === 'GET' ? undefined : {} })
        assert.deepEqual(
          [answer.status, answer.json],
          [missing.status, missing.json],
          `${method} ${path}: ${name}`,
        )
        for (const other of ['PROPFIND', 'OPTIONS'])
          assert.equal((await api.request(other, path, given)).headers.allow, undefined, `${other} ${path}`)
      }
    }
  })

  test('open with a session and with a key of scope admin, and close when the mark is removed', async () => {
    const { email, session, key } = await administrator(api)
    const status = async (given: object) => (await api.request('GET', '/api/admin/audit', given)).status
    assert.deepEqual([await status({ headers: session }), await status({ key })], [200, 200])
    await administrator(api)
    await setMark(email, false)
    assert.deepEqual([await status({ headers: session }), await status({ key })], [404, 401])
    await setMark(email, true)
    assert.deepEqual([await status({ headers: session }), await status({ key })], [200, 401])
  })

  test('change nothing for a session of more than 12 hours, until its user signs in again', async () => {
    const { email, session, key } = await administrator(api)
    const id = await findId(email)
    const change = (given: object) =>
      api.request('PUT', `/api/admin/accounts/${id}/administrator`, {
        ...given,
        json: { administrator: true },
      })
    api.pass(12 * HOUR_MS - 1)
    assert.equal((await change({ headers: session })).status, 200)
    api.pass(1)
    assert.equal((await change({ headers: session })).json.code, 'SIGN_IN_AGAIN')
    assert.equal((await api.request('GET', '/api/admin/audit', { headers: session })).status, 200)
    assert.equal((await change({ key })).status, 200)
    const { headers } = await browser(api, { email })
    assert.equal((await change({ headers })).status, 200)
  })
})

describe('a key of scope admin', () => {
  test('is created by an administrator with a recent session or such a key only', async () => {
    const { email, session, key } = await administrator(api)
    let number = 0
    const create = (given: object, more: object = {}) =>
      api.request('POST', '/api/v1/me/keys', {
        ...given,
        json: { name: `key ${++number}`, scope: 'admin', ...more },
      })
    assert.equal((await create({ key })).status, 201)
    const stranger = await api.account()
    assertInvalid(await create({ key: stranger.key }), 'scope')
    const { apiKey: manager } = await api.client(key).createKey({ name: 'manager', scope: 'manage' })
    assert.equal((await create({ key: manager })).json.code, 'INSUFFICIENT_SCOPE')
    const { slug } = await api.publish(api.client(key), { 'index.html': 'x' })
    assertInvalid(await create({ key }, { sites: [slug] }), 'sites')
    assert.equal((await create({ headers: session })).status, 201)
    api.pass(12 * HOUR_MS)
    assert.equal((await create({ headers: session })).json.code, 'SIGN_IN_AGAIN')
    const others = (await api.client(key).keys()).keys.filter(({ scope }) => scope !== 'admin')
    assert.deepEqual(pluck(others, 'name'), ['manager'], email)
  })

  test('is not given to CI jobs', async () => {
    const { key } = await administrator(api)
    const { slug } = await api.publish(api.client(key), { 'index.html': 'x' })
    const json = { forge: 'github', repository: 'a/b', site: slug, branch: 'main', scope: 'admin' }
    assertInvalid(await api.request('POST', '/api/v1/me/trusts', { key, json }), 'scope')
  })
})

describe('the last administrator', () => {
  test('stays one until the command line removes the mark', async () => {
    const { store } = await api.operator()
    for (const { email } of await store.read.accounts.administrators()) await setMark(email, false)
    const { email, key } = await administrator(api)
    const id = await findId(email)
    const other = await api.account()
    const otherId = await findId(other.email)
    const set = (accountId: string, isAdministrator: boolean) =>
      api.request('PUT', `/api/admin/accounts/${accountId}/administrator`, {
        key,
        json: { administrator: isAdministrator },
      })
    assert.equal((await set(id, false)).json.code, 'LAST_ADMINISTRATOR')
    await expectFailure(api.client(key).deleteAccount(email), 'LAST_ADMINISTRATOR')
    assert.equal((await set(otherId, true)).status, 200)
    assert.equal((await other.client.me()).administrator, true)
    assert.equal((await set(otherId, false)).status, 200)
    assert.equal((await set(id, false)).status, 409)
    await setMark(email, false)
    assert.deepEqual(await store.read.accounts.administrators(), [])
  })

  test('is not needed: an account that is none can be deleted', async () => {
    const { email, client } = await api.account()
    await client.deleteAccount(email)
  })
})

describe('the audit log', () => {
  test('says who changed what, from which network, newest first and by pages', async () => {
    const { email, key } = await administrator(api)
    const { email: other } = await api.account()
    const id = await findId(other)
    for (const isAdministrator of [true, false, true]) {
      api.pass()
      const json = { administrator: isAdministrator }
      await api.request('PUT', `/api/admin/accounts/${id}/administrator`, { key, json })
    }
    const list = async (query: string) =>
      (await api.request('GET', `/api/admin/audit?${query}`, { key })).json as AuditPage
    const entry = { actor: email, network: '127.0.0.0/24', target: other }
    const first = await list(`limit=2&target=${encodeURIComponent(other)}`)
    assert.deepEqual(
      first.rows.map(({ id: _, at, ...rest }) => rest),
      [
        { ...entry, action: 'administrator.add' },
        { ...entry, action: 'administrator.remove' },
      ],
    )
    const second = await list(`limit=2&target=${encodeURIComponent(other)}&cursor=${first.nextCursor}`)
    assert.deepEqual([second.rows.length, second.nextCursor], [1, null])
    const [marked] = (await list(`target=${encodeURIComponent(email)}`)).rows
    assert.deepEqual([marked!.actor, marked!.network], ['command line', null])
    for (const cursor of ['x', 'WzEsMl0', 'WyIiLCIiXQ'])
      assertInvalid(await api.request('GET', `/api/admin/audit?cursor=${cursor}`, { key }), 'cursor')
  })

  test('keeps entries for 400 days', async () => {
    const { email, key } = await administrator(api)
    const count = async () =>
      (await api.request('GET', `/api/admin/audit?target=${email}`, { key })).json.rows.length
    api.pass(400 * DAY_MS)
    await api.sweep('audit-log')
    assert.equal(await count(), 1)
    api.pass(1)
    assert.ok((await api.sweep('audit-log')) > 0)
    assert.deepEqual([await count(), await api.sweep('audit-log')], [0, 0])
  })
})
