import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { CreateKeyRequest } from '../../protocol/api/keys.schema.ts'
import { pausedBody } from '../support/paused-body.ts'
import { waitFor } from '../support/wait-for.ts'
import { DAY_MS, expectFailure, HOUR_MS, MINUTE_MS, startApi } from './api.ts'
import { type ApiResponse, assertInvalid } from './api-response.ts'
import { make, send } from './archive-requests.ts'
import { browser } from './browser.ts'
import { toManifest } from './content.ts'
import { webp } from './webp.ts'

const api = await startApi()
const owner = await api.account()
const home = { 'index.html': 'home' }
const own = await api.publish(owner.client, home)

let keys = 0

/** A key of the owner. */
async function keyWith(request: Partial<CreateKeyRequest>) {
  const created = await owner.client.createKey({ name: `key ${++keys}`, scope: 'manage', ...request })
  return { ...created, client: api.client(created.apiKey) }
}

// The access of each kind of key to each route is in test/calls.ts.
test('the error of a key with too narrow a scope says which one is missing', async () => {
  const { client } = await keyWith({ scope: 'read' })
  const failure = await expectFailure(api.publish(client, home), 'INSUFFICIENT_SCOPE')
  assert.deepEqual(failure.details, { requiredScope: 'publish', scope: 'read' })
  assert.match(failure.message, /scope publish.*scope read/)
})

test('a key of scope publish cannot end a site or keep it longer by any way to publish, and sets the lifetime of what it creates', async () => {
  const { slug } = await api.publish(owner.client, home)
  const { apiKey: key, client } = await keyWith({ scope: 'publish', sites: [slug] })
  const target = `/api/v1/publish/${slug}`
  const body = make('zip', home)
  const files = toManifest({ 'index.html': 'second' })
  const put = (fields: object) => () => api.request('PUT', target, { key, json: { files, ...fields } })
  const ways: Record<string, () => Promise<ApiResponse>> = {
    'a manifest': put({ ttlSeconds: 60 }),
    'a manifest without an end': put({ ttlSeconds: null }),
    'viewer of a manifest': put({ viewer: { ttlSeconds: 60 } }),
    'a merge': put({ merge: true, ttlSeconds: 60 }),
    'an archive': () => send(api, 'zip', body, { slug, key, query: '?ttlSeconds=60' }),
    'a direct upload': () => api.request('PUT', `/${slug}?ttlSeconds=60`, { key, body }),
    metadata: () => api.request('PATCH', `${target}/metadata`, { key, json: { ttlSeconds: 60 } }),
    'the password': () => api.request('PATCH', `${target}/metadata`, { key, json: { password: 'x' } }),
  }
  for (const [way, request] of Object.entries(ways)) {
    const { status, text } = await request()
    assert.equal(status, 403, way)
    assert.match(text, /needs a key of scope manage/, way)
  }
  const { status, expiresAt, hasPassword } = await client.details(slug)
  assert.deepEqual(
    { status, expiresAt, hasPassword },
    { status: 'active', expiresAt: null, hasPassword: false },
  )
  assert.equal((await client.versions(slug)).versions.length, 1)
  await api.publish(client, home, { slug, preview: 'pr-1', ttlSeconds: 60 })
  const creator = (await keyWith({ scope: 'publish' })).client
  const created = await api.publish(creator, home, { ttlSeconds: 60 })
  assert.notEqual((await creator.details(created.slug)).expiresAt, null)
  const manager = (await keyWith({ sites: [slug] })).client
  await api.publish(manager, home, { slug, ttlSeconds: 60 })
  assert.notEqual((await manager.details(slug)).expiresAt, null)
})

describe('a key of scope preview', () => {
  const second = { 'index.html': 'second' }
  const body = make('zip', second)
  const files = toManifest(second)
  const contents = [{ path: 'index.html', content: 'second' }]

  test('cannot change what visitors see, by any way to publish', async () => {
    const { slug, siteUrl } = await api.publish(owner.client, home)
    const { apiKey: key } = await keyWith({ scope: 'preview', sites: [slug] })
    const { json: staged } = await owner.request('PUT', `/api/v1/publish/${slug}`, { json: { files } })
    const put = (fields: object) => () => api.request('PUT', `/api/v1/publish/${slug}`, { key, json: fields })
    const unfinished = `/api/v1/publish/${slug}/versions/${staged.upload.versionId}`
    const ways: Record<string, () => Promise<ApiResponse>> = {
      'a merge': put({ files, merge: true }),
      'a draft': put({ files: contents, live: false }),
      contents: put({ files: contents }),
      'an archive': () => send(api, 'zip', body, { slug, key }),
      'a direct upload': () => api.request('PUT', `/${slug}`, { key, body }),
      'the end of an unfinished one': () => api.request('DELETE', unfinished, { key }),
    }
    for (const [way, request] of Object.entries(ways)) {
      const { status, text } = await request()
      assert.deepEqual([status, /INSUFFICIENT_SCOPE/.test(text)], [403, true], `${way}: ${text}`)
    }
    assert.match((await api.visit(siteUrl)).text, /home/)
  })

  test('publishes, updates, finds and deletes previews of its site, by any way to publish', async () => {
    const { slug, siteUrl } = await api.publish(owner.client, home)
    const { apiKey: key, client } = await keyWith({ scope: 'preview', sites: [slug] })
    const preview = 'pr-1'
    for (const text of ['first', 'second'])
      await api.publish(client, { 'index.html': text }, { slug, preview })
    await api.publish(client, { 'a.txt': 'a' }, { slug, preview, merge: true })
    const ways: (() => Promise<ApiResponse>)[] = [
      () => send(api, 'zip', body, { slug, key, query: '?preview=pr-2' }),
      () => api.request('PUT', `/${slug}?preview=pr-3`, { key, body }),
      () =>
        api.request('PUT', `/api/v1/publish/${slug}`, { key, json: { files: contents, preview: 'pr-4' } }),
    ]
    for (const request of ways) assert.equal((await request()).status, 200)
    const { json: pending } = await api.request('PUT', `/api/v1/publish/${slug}`, {
      key,
      json: { files: toManifest({ 'index.html': 'third' }), preview },
    })
    const { versionId } = pending.upload
    const refreshed = await api.request('POST', `/api/v1/publish/${slug}/uploads/refresh`, {
      key,
      json: { versionId },
    })
    assert.equal(refreshed.json.upload.uploads.length, 1)
    await client.deleteVersion(slug, versionId)
    const { previews } = await client.previews(slug)
    assert.deepEqual(previews.map(({ name }) => name).sort(), ['pr-1', 'pr-2', 'pr-3', 'pr-4'])
    await client.deletePreview(slug, 'pr-4')
    assert.match((await api.visit(siteUrl)).text, /home/)
    await expectFailure(api.publish(client, home, { slug: own.slug, preview }), 'INSUFFICIENT_SCOPE')
  })
})

describe('a key of one site', () => {
  test('publishes to its site, also after the site was renamed', async () => {
    const { slug } = await api.publish(owner.client, home)
    const { client, id } = await keyWith({ scope: 'publish', sites: [slug, own.slug] })
    await api.publish(client, { 'index.html': 'second' }, { slug })
    const { slug: renamed } = await owner.client.renameSite(slug, 'renamed-bakery')
    for (const name of [slug, renamed]) await api.publish(client, { 'index.html': name }, { slug: name })
    const { keys } = await owner.client.keys()
    assert.deepEqual(keys.find((key) => key.id === id)?.sites, [renamed, own.slug])
    api.pass(31 * DAY_MS)
    await api.publish(client, { 'index.html': 'third' }, { slug: renamed })
    await expectFailure(api.publish(client, home), 'INSUFFICIENT_SCOPE')
  })

  test('can be limited only to sites that the account may publish to', async () => {
    const stranger = await api.account()
    const created = stranger.client.createKey({ name: 'ci', scope: 'publish', sites: [own.slug] })
    const { message } = await expectFailure(created, 'NOT_FOUND')
    assert.ok(message.includes(`'${own.slug}' in sites[0]`), message)
    await owner.client.addCollaborator(own.slug, stranger.email)
    const { apiKey } = await stranger.client.createKey({ name: 'ci', scope: 'manage', sites: [own.slug] })
    const { slug: theirs } = await api.publish(stranger.client, home)
    const both = await stranger.client.createKey({ name: 'both', scope: 'read', sites: [own.slug, theirs] })
    assert.equal((await api.client(apiKey).details(own.slug)).slug, own.slug)
    await expectFailure(api.client(apiKey).delete(own.slug), 'OWNER_REQUIRED')
    await owner.client.removeCollaborator(own.slug, stranger.email)
    await expectFailure(api.client(apiKey).details(own.slug), 'UNAUTHORIZED')
    await expectFailure(api.client(both.apiKey).details(own.slug), 'INSUFFICIENT_SCOPE')
    for (const client of [api.client(both.apiKey), stranger.client])
      assert.equal((await client.details(theirs)).slug, theirs)
  })
})

test('a key with an expiry is invalid afterwards with a sentence that says when it expired, and is listed for a week', async () => {
  const { client, id, expiresAt } = await keyWith({ expiresInSeconds: 3600 })
  assert.equal(expiresAt, new Date(api.clock.now + HOUR_MS).toISOString())
  assert.equal((await client.me()).key?.expiresAt, expiresAt)
  api.pass(HOUR_MS)
  const { message } = await expectFailure(client.me(), 'UNAUTHORIZED')
  assert.match(message, new RegExp(`expired at ${expiresAt}`))
  const isListed = async () => (await owner.client.keys()).keys.some((key) => key.id === id)
  for (const days of [0, 6.9]) {
    api.pass(days * DAY_MS)
    await api.sweep('sign-ins')
    assert.equal(await isListed(), true)
  }
  api.pass(0.1 * DAY_MS)
  await api.sweep('sign-ins')
  await api.sweep('sign-ins')
  assert.equal(await isListed(), false)
})

describe('the list of keys', () => {
  test('loses a key for one site when that is deleted permanently, and no other', async () => {
    const { client } = await api.account()
    const [one, other] = [(await api.publish(client, home)).slug, (await api.publish(client, home)).slug]
    const limits = { one: [one], both: [one, other], other: [other], all: null }
    for (const [name, sites] of Object.entries(limits)) await client.createKey({ name, scope: 'read', sites })
    const colleague = await api.account()
    await client.addCollaborator(one, colleague.email)
    await colleague.client.createKey({ name: 'one', scope: 'read', sites: [one] })
    const names = async () => (await client.keys()).keys.map(({ name }) => name).sort()
    await client.delete(one)
    assert.deepEqual(await names(), ['all', 'both', 'one', 'other'], 'the site can be restored')
    await client.delete(one, { permanent: true })
    assert.deepEqual(await names(), ['all', 'both', 'other'])
    assert.deepEqual((await colleague.client.keys()).keys, [], 'of a collaborator')
  })

  test('no longer names a site in keys for several when its collaborator was removed, also after a rename', async () => {
    const colleague = await api.account()
    const others = [await api.publish(colleague.client, home), await api.publish(colleague.client, home)]
    const { slug } = await api.publish(owner.client, home)
    await owner.client.addCollaborator(slug, colleague.email)
    const [one, other] = others.map((site) => site.slug) as [string, string]
    const orders = { first: [slug, one, other], middle: [one, slug, other], last: [one, slug], none: [one] }
    for (const [name, sites] of Object.entries(orders))
      await colleague.client.createKey({ name, scope: 'read', sites })
    const stays = await keyWith({ scope: 'read', sites: [slug, own.slug] })
    await owner.client.removeCollaborator(slug, colleague.email)
    await owner.client.renameSite(slug, 'not-for-everyone')
    const { keys } = await colleague.client.keys()
    assert.deepEqual(Object.fromEntries(keys.map(({ name, sites }) => [name, sites])), {
      ...{ first: [one, other], middle: [one, other], last: [one], none: [one] },
    })
    const found = (await owner.client.keys()).keys.find(({ id }) => id === stays.id)
    assert.deepEqual(found?.sites, ['not-for-everyone', own.slug], 'of the owner')
  })

  test('shows names, permissions and the last use, and never the key', async () => {
    const { email, client } = await api.account()
    const { siteUrl: _, slug } = await api.publish(client, home)
    const ci = await client.createKey({
      name: ' CI of bakery ',
      scope: 'publish',
      sites: [slug],
      expiresInSeconds: 86_400,
    })
    api.pass()
    const { apiKey, warning, ...laptop } = await client.createKey({ name: 'laptop', scope: 'manage' })
    assert.match(apiKey, /^sl_live_[0-9a-f]{32}$/)
    assert.match(warning, /shown only once/)
    const { apiKey: secret, warning: __, ...expected } = ci
    const { keys } = await client.keys()
    assert.deepEqual(keys, [laptop, { ...expected, name: 'CI of bakery', sites: [slug], lastUsedAt: null }])
    await api.client(secret).details(slug)
    const usedAt = api.clock.now
    const lastUse = async () => (await client.keys()).keys[1]!.lastUsedAt
    await waitFor(async () => (await lastUse()) !== null)
    api.pass(MINUTE_MS)
    await api.client(secret).details(slug)
    assert.equal(await lastUse(), new Date(usedAt).toISOString())
    api.pass(5 * MINUTE_MS)
    await api.client(secret).details(slug)
    await waitFor(async () => (await lastUse()) === new Date(api.clock.now).toISOString())
    const [own] = (await api.client(apiKey).keys()).keys
    assert.equal(own?.current, true)
    assert.deepEqual((await api.client(secret).me()).key, {
      ...{ name: 'CI of bakery', scope: 'publish', sites: [slug], expiresAt: ci.expiresAt },
    })
    assert.equal((await client.me()).key, null)
    const { headers } = await browser(api, { email })
    const answer = await api.request('GET', '/api/v1/me/keys', { headers })
    assert.doesNotMatch(JSON.stringify(answer.json), /sl_live_/)
  })

  test('or a session changes nothing by a request whose body arrives afterwards', async () => {
    const { read } = (await api.operator()).store
    const { id: account } = (await read.accounts.byEmail(owner.email))!
    const state = async () => [
      await read.keys.list(account),
      await read.sites.byOwner(account, { limit: 100 }),
    ]
    const withKey = async () => {
      const { apiKey, id, name } = await keyWith({})
      return {
        headers: { authorization: `Bearer ${apiKey}` },
        isAuthenticated: async () =>
          (await read.keys.list(account)).find((key) => key.name === name)!.lastUsedAt !== null,
        end: () => owner.client.revokeKey(id),
      }
    }
    const withSession = async () => {
      const { headers } = await browser(api, owner)
      const hour = Math.floor(api.clock.now / HOUR_MS) * HOUR_MS
      const requests = () => read.counters.value(`session:${account}`, hour)
      const before = await requests()
      return {
        headers,
        isAuthenticated: async () => (await requests()) > before,
        end: () => owner.client.endOtherSessions(),
      }
    }
    const key = Buffer.from(JSON.stringify({ name: 'late', scope: 'manage' }))
    const thumbnail = `/api/v1/publish/${own.slug}/versions/${own.versionId}/thumbnail`
    for (const [signIn, method, target, type, bytes] of [
      [withKey, 'POST', '/api/v1/me/keys', 'application/json', key],
      [withSession, 'POST', '/api/v1/me/keys', 'application/json', key],
      [withKey, 'POST', '/api/v1/publish', 'application/x-tar', make('tar', home)],
      [withKey, 'PUT', '/', 'text/html', Buffer.from('<!doctype html><p>late')],
      [withKey, 'PUT', thumbnail, 'image/webp', webp(10, 10)],
    ] as const) {
      const { headers, isAuthenticated, end } = await signIn()
      const { body, resume } = pausedBody(bytes.subarray(0, 9), bytes.subarray(9))
      const late = api.request(method, target, { headers: { ...headers, 'content-type': type }, body })
      await waitFor(isAuthenticated)
      await end()
      const known = await state()
      api.pass(1000)
      resume()
      assert.equal((await late).status, 401, `${method} ${target}`)
      assert.deepEqual(await state(), known)
    }
  })

  test('has at most fifty, each of another name; expired ones make room', async () => {
    const { client } = await api.account()
    for (let number = 0; number < 50; number++)
      await client.createKey({
        name: `key ${number}`,
        scope: 'read',
        expiresInSeconds: number === 7 ? 60 : null,
      })
    await expectFailure(client.createKey({ name: 'key 1', scope: 'read' }), 'NAME_TAKEN')
    await expectFailure(client.createKey({ name: 'one more', scope: 'read' }), 'KEY_LIMIT_REACHED')
    api.pass(MINUTE_MS)
    await client.createKey({ name: 'one more', scope: 'read' })
  })

  test('is listed after its end while there is room', async () => {
    const { client } = await api.account()
    await client.createKey({ name: 'ended', scope: 'read', expiresInSeconds: 60 })
    api.pass(MINUTE_MS)
    await client.createKey({ name: 'next', scope: 'read' })
    assert.deepEqual(
      (await client.keys()).keys.map(({ name }) => name),
      ['next', 'ended'],
    )
  })

  test('refuses a request that is not one of its rules', async () => {
    const valid = { name: 'ci', scope: 'read' }
    for (const [field, change] of [
      ['name', { name: ' ' }],
      ...['a\u0007b', 'a\u202eb', 'a\ud83d', '\u200b\u3164'].map((name) => ['name', { name }] as const),
      ['scope', { scope: 'admin' }],
      ['scope', { scope: undefined }],
      ['sites', { sites: [] }],
      ['sites', { sites: Array(51).fill(own.slug) }],
      ['expiresInSeconds', { expiresInSeconds: 0 }],
      ['expiresInSeconds', { expiresInSeconds: 1e12 }],
    ] as [field: string, change: object][])
      assertInvalid(await owner.request('POST', '/api/v1/me/keys', { json: { ...valid, ...change } }), field)
  })
})
