import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Slipway } from '../../client/sdk/slipway.ts'
import type { KeyScope } from '../../protocol/api/keys.ts'
import { ApiError } from '../../server/lib/errors.ts'
import { NamePolicy } from '../../server/sites/names.ts'
import { COMMAND_LINE } from '../../server/store/tables/administration.ts'
import { pausedBody } from '../support/paused-body.ts'
import { pluck } from '../support/pluck.ts'
import { waitFor } from '../support/wait-for.ts'
import { assertWaits, DAY_MS, expectFailure, HOUR_MS, startApi } from './api.ts'
import { type ApiResponse, assertInvalid } from './api-response.ts'
import { make, send } from './archive-requests.ts'
import { toFiles, toManifest } from './content.ts'
import { webp } from './webp.ts'

const api = await startApi({ RESERVED_NAMES: 'intranet,Town-Hall' })
const owner = await api.account()
const other = await api.account()
const page = { 'index.html': '<title>Home</title>', 'menu/index.html': 'menu' }

let number = 0
/** A name that no test has used. */
const fresh = () => `bakery-number-${++number}`

const named = (name: string, client = owner.client) => api.publish(client, page, { name })

describe('a name', () => {
  const names: [name: string, reason?: RegExp][] = [
    ['joe'],
    ['marlow-street-bakery-of-oxford-st-2'],
    ['my-summer-photos'],
    ['jo', /3 to 35 characters/],
    ['marlow-street-bakery-of-oxford-st-22', /3 to 35 characters/],
    ['Bakery', /lowercase letters/],
    ['a--b', /single hyphens/],
    ['xn--bckerei-5wa', /single hyphens/],
    ['joe-', /begin and end with/],
    ['joe.smith', /lowercase letters/],
    ['amber-harbor-k7x3m2', /generated/],
    ['www', /is reserved/],
    ['adm1n', /is reserved/],
    ['a-d-m-i-n', /is reserved/],
    ['intranet', /is reserved/],
    ['openpgpkey', /is reserved/],
    ['town-ha11', /is reserved/],
    ['my-slipway', /is reserved/],
    ['s1ipvvay-login', /is reserved/],
  ]
  test('is allowed, or refused with the reason', async () => {
    for (const [name, reason] of names) {
      const check = await owner.client.checkName(name)
      assert.deepEqual([check.name, check.available], [name, reason === undefined])
      if (!reason) continue
      assert.match(check.reason!, reason)
      assertInvalid(
        await owner.request('POST', '/api/v1/publish', { json: { files: toManifest(page), name } }),
        'name',
      )
    }
  })

  test('that is too similar to the name of the service is refused', () => {
    const policy = new NamePolicy({ reservedNames: [], hosts: ['sites.acme.test', 'acme-pages.co.test'] })
    for (const name of ['acme-login', 'acrne', 'my-acme', 'sites', 's1tes', 'acme-pages'])
      assert.equal(policy.problem(name), 'is reserved', name)
    for (const name of ['bakery', 'test-sites', 'co-working'])
      assert.equal(policy.problem(name), undefined, name)
  })

  test('is given to a new site by manifest and by archive, and to one site only', async () => {
    const [first, second] = [fresh(), fresh()]
    const { slug, siteUrl } = await named(first)
    assert.equal(slug, first)
    assert.equal((await api.visit(siteUrl)).text, page['index.html'])
    const { status, json } = await send(api, 'zip', make('zip', page), {
      key: other.key,
      query: `?name=${second}`,
    })
    assert.deepEqual([status, json.slug], [201, second])
    for (const name of [first, second])
      for (const { client, key } of [owner, other]) {
        assert.deepEqual(await client.checkName(name), {
          name,
          available: false,
          reason: 'The name is taken.',
        })
        await expectFailure(named(name, client), 'NAME_TAKEN')
        const archive = await send(api, 'zip', make('zip', page), { key, query: `?name=${name}` })
        assert.equal(archive.json.code, 'NAME_TAKEN')
      }
    assertInvalid(
      await owner.request('PUT', `/api/v1/publish/${first}`, {
        json: { files: toManifest(page), name: fresh() },
      }),
      'name',
    )
  })

  test('needs an account', async () => {
    const { code, message } = await expectFailure(named(fresh(), api.anonymous), 'UNAUTHORIZED')
    assert.match(`${code} ${message}`, /name needs an account/)
    const archive = await send(api, 'zip', make('zip', page), { query: `?name=${fresh()}` })
    assert.equal(archive.json.code, 'UNAUTHORIZED')
    const { slug } = await api.publish(api.anonymous, page)
    for (const client of [api.anonymous, owner.client]) await assert.rejects(client.renameSite(slug, fresh()))
  })

  test('of a site that was deleted is never given again, and that of one that never was live only to its owner', async () => {
    const [deleted, abandoned] = [fresh(), fresh()]
    await named(deleted)
    await owner.client.delete(deleted)
    await expectFailure(named(deleted), 'NAME_TAKEN')
    await owner.client.create({ files: toManifest(page), name: abandoned })
    api.pass(2 * DAY_MS)
    await api.sweep('abandoned')
    await expectFailure(named(abandoned, other.client), 'NAME_TAKEN')
    assert.equal((await named(abandoned)).slug, abandoned)
  })
})

describe('a publish by name', () => {
  const files = toManifest(page)
  const contents = Object.entries(page).map(([path, content]) => ({ path, content }))
  const post = (body: object, key: string) => api.request('POST', '/api/v1/publish', { key, json: body })
  const query = (name: string) => `?name=${name}&update=true`
  /** As `curl -T`, which appends the name of the file. */
  const direct = (name: string, key: string, preview = '') =>
    api.request('PUT', `/site.zip${query(name)}${preview}`, { key, body: make('zip', page) })
  /** Each answers the slug of the site, or the code of the error. */
  const ways: Record<string, (name: string, key: string) => Promise<string>> = {
    async manifest(name, key) {
      const client = api.client(key)
      const { status, json } = await post({ files, name, update: true }, key)
      if (status >= 400) return json.code
      await api.upload(json.upload, page)
      return (await client.finalize(json.slug, { versionId: json.upload.versionId })).slug
    },
    SDK: (name, key) =>
      api.publish(api.client(key), page, { name, update: true }).then(
        ({ slug }) => slug,
        ({ code }) => code,
      ),
    contents: async (name, key) => toOutcome(await post({ files: contents, name, update: true }, key)),
    zip: async (name, key) =>
      toOutcome(await send(api, 'zip', make('zip', page), { key, query: query(name) })),
    'text/html': async (name, key) =>
      toOutcome(await send(api, 'text/html', Buffer.from('<p>x'), { key, query: query(name) })),
    'direct upload': async (name, key) => toDirectOutcome(await direct(name, key)),
  }
  const toDirectOutcome = ({ text, status }: ApiResponse): string =>
    status < 300 ? new URL(text.split('\n')[0]!).hostname.split('.')[0]! : JSON.parse(text).code
  const toOutcome = ({ json }: ApiResponse): string => json.slug ?? json.code

  test('gets 201 for a new site, and 200 for an update', async () => {
    const requests: Record<string, (name: string) => Promise<ApiResponse>> = {
      manifest: (name) => post({ files, name, update: true }, owner.key),
      contents: (name) => post({ files: contents, name, update: true }, owner.key),
      zip: (name) => send(api, 'zip', make('zip', page), { key: owner.key, query: query(name) }),
      'direct upload': (name) => direct(name, owner.key),
    }
    for (const [way, request] of Object.entries(requests)) {
      const name = fresh()
      const statuses = [(await request(name)).status, (await request(name)).status]
      assert.deepEqual(statuses, [201, 200], way)
    }
    const { status } = await post({ files: contents, name: fresh(), update: true }, other.key)
    assert.equal(status, 201)
  })

  test('of a site that has expired says that its name is not given again', async () => {
    const name = fresh()
    await api.publish(owner.client, page, { name, ttlSeconds: 3600 })
    await owner.client.addCollaborator(name, other.email)
    api.pass(HOUR_MS)
    for (const sweep of [undefined, 'expired-sites']) {
      if (sweep) await api.sweep(sweep)
      const publish = api.publish(owner.client, page, { name, update: true })
      assert.match((await expectFailure(publish, 'NAME_TAKEN')).message, /has expired, .* not given again/)
    }
    assert.doesNotMatch((await expectFailure(named(name, other.client), 'NAME_TAKEN')).message, /expired/)
  })

  for (const [way, publish] of Object.entries(ways))
    test(`by ${way} creates the site and then updates it, if it is one of the account`, async () => {
      const { slug } = await named(fresh(), other.client)
      const names = Array.from({ length: 6 }, fresh) as [string, string, string, string, string, string]
      const [name, deleted, renamed, suspended, shared, current] = names
      for (const one of names.slice(0, 5)) assert.equal(await publish(one, owner.key), one)
      await owner.client.delete(deleted)
      await owner.client.renameSite(renamed, current)
      const { suspensions } = await api.operator()
      await suspensions.changeSite(COMMAND_LINE, suspended, { reason: 'x' })
      await owner.client.addCollaborator(shared, other.email)
      const outcomes: [name: string, key: string, outcome: string, versions?: number][] = [
        [name, owner.key, name, 2],
        [name, other.key, 'NAME_TAKEN'],
        [slug, owner.key, 'NAME_TAKEN'],
        [deleted, owner.key, 'NOT_FOUND'],
        [deleted, other.key, 'NAME_TAKEN'],
        [renamed, owner.key, current, 2],
        [renamed, other.key, 'NAME_TAKEN'],
        [suspended, owner.key, 'SITE_SUSPENDED'],
        [shared, other.key, 'NAME_TAKEN'],
        ['www', owner.key, 'VALIDATION_ERROR'],
      ]
      for (const [one, key, outcome, versions] of outcomes) {
        api.pass()
        assert.equal(await publish(one, key), outcome, one)
        if (versions !== undefined)
          assert.equal((await owner.client.versions(outcome)).versions.length, versions, one)
      }
    })

  test('of a site that is shared with the account is refused, and the message says so', async () => {
    const name = fresh()
    await named(name)
    await owner.client.addCollaborator(name, other.email)
    const refuse = (client: Slipway) =>
      expectFailure(api.publish(client, page, { name, update: true }), 'NAME_TAKEN')
    assert.doesNotMatch((await refuse((await api.account()).client)).message, /shares/)
    const refusal = await refuse(other.client)
    assert.match(refusal.message, /is taken by a site that another account shares with you/)
    await other.client.publish({ files: toFiles(page), slug: name })
  })

  for (const [way, publish] of Object.entries(ways))
    test(`by ${way} makes one site with two versions when two first ones run at the same time`, async () => {
      const name = fresh()
      const outcomes = await Promise.all([publish(name, owner.key), publish(name, owner.key)])
      assert.deepEqual(outcomes, [name, name])
      assert.equal((await owner.client.versions(name)).versions.length, 2)
    })

  test('that fails leaves the site and the version of another first one', async (t) => {
    const name = fresh()
    const { blobs } = api.running.service
    const { commit } = blobs
    const failing = t.mock.method(blobs, 'commit', async () => {
      failing.mock.mockImplementation(commit)
      assert.equal(await ways.SDK!(name, owner.key), name)
      throw new ApiError('INSUFFICIENT_STORAGE', 'The disk is full')
    })
    assert.equal(await ways.zip!(name, owner.key), 'INSUFFICIENT_STORAGE')
    const { status, currentVersionId } = await owner.client.details(name)
    assert.deepEqual([status, (await owner.client.versions(name)).versions.length], ['active', 1])
    assert.notEqual(currentVersionId, null)
  })

  test('needs an account, a key for all sites to create one, and one for its site to update it', async () => {
    const name = fresh()
    await expectFailure(api.publish(api.anonymous, page, { name, update: true }), 'UNAUTHORIZED')
    assertInvalid(await post({ files, update: true }, owner.key), 'update')
    assert.equal(await ways.SDK!(name, owner.key), name)
    const keyOf = (scope: KeyScope, sites: string[]) =>
      owner.client.createKey({ name: fresh(), scope, sites })
    const { apiKey } = await keyOf('publish', [name])
    const { apiKey: previewing } = await keyOf('preview', [name])
    for (const [way, publish] of Object.entries(ways)) {
      assert.equal(await publish(name, apiKey), name, way)
      assert.equal(await publish(fresh(), apiKey), 'INSUFFICIENT_SCOPE', way)
      assert.equal(await publish(name, previewing), 'INSUFFICIENT_SCOPE', way)
    }
    assert.equal((await direct(name, previewing, '&preview=pr-1')).status, 200)
    assert.equal((await direct(fresh(), previewing, '&preview=pr-1')).json.code, 'INSUFFICIENT_SCOPE')
  })
})

describe('before a site has an owner, its name', () => {
  test('is checked without a key, from a limit of its own', async () => {
    const name = fresh()
    const before = await api.anonymous.checkName(name)
    assert.deepEqual(before, { name, available: true })
    const { headers } = await api.request('GET', `/api/v1/names/${name}`)
    assert.deepEqual([headers['x-ratelimit-limit'], headers['x-ratelimit-remaining']], ['60', '58'])
    await named(name)
    assert.equal((await api.anonymous.checkName(name)).available, false)
  })

  test('is suggested with each version, from its title, when it is free', async () => {
    const titled = { 'index.html': '<title>Marlow Street Bakery</title>' }
    const first = await api.publish(api.anonymous, titled)
    assert.deepEqual([first.title, first.suggestedName], ['Marlow Street Bakery', 'marlow-street-bakery'])
    const again = await api.publish(api.anonymous, titled, {
      slug: first.slug,
      claimToken: first.claimToken!,
    })
    assert.equal(again.suggestedName, 'marlow-street-bakery')
    await named('marlow-street-bakery')
    assert.equal((await api.publish(api.anonymous, titled)).suggestedName, undefined)
    const markdown = await api.publish(api.anonymous, { 'README.md': 'Intro\n\n# [Tall](x) *Ships* #\n' })
    assert.deepEqual([markdown.title, markdown.suggestedName], ['Tall Ships', 'tall-ships'])
    const long = [
      ['Garden Club Summer Fair and Plant Sale', 'garden-club-summer-fair-and-plant'],
      ['A'.repeat(36), 'a'.repeat(35)],
      [`${'B'.repeat(35)} c`, 'b'.repeat(35)],
    ] as const
    for (const [title, name] of long)
      assert.equal(
        (await api.publish(api.anonymous, { 'index.html': `<title>${title}</title>` })).suggestedName,
        name,
      )
    const reserved = { 'index.html': '<title>Login</title>' }
    assert.equal((await api.publish(api.anonymous, reserved)).suggestedName, undefined)
  })

  test('is given with the claim, or the site stays unclaimed', async () => {
    const { slug, siteUrl, claimToken } = await api.publish(api.anonymous, page)
    const [taken, name] = [fresh(), fresh()]
    await named(taken)
    await expectFailure(owner.client.claim(slug, claimToken!, taken), 'NAME_TAKEN')
    await expectFailure(owner.client.claim(slug, claimToken!, 'www'), 'VALIDATION_ERROR')
    assert.notEqual((await api.anonymous.claimPreview(slug, claimToken!)).claimed, true)
    const claimed = await owner.client.claim(slug, claimToken!, name)
    assert.equal(claimed.slug, name)
    assert.deepEqual(await owner.client.claim(slug, claimToken!, name), { ...claimed, alreadyOwned: true })
    assert.equal((await api.visit(claimed.siteUrl)).text, page['index.html'])
    assert.equal((await api.visit(siteUrl)).status, 308)
    assert.equal((await owner.client.details(name)).role, 'owner')
  })
})

describe('a rename', () => {
  test('keeps everything of the site: files, versions, thumbnails, domains, settings and visits', async () => {
    const [before, after] = [fresh(), fresh()]
    const { versionId, siteUrl } = await named(before)
    await owner.client.setMetadata(before, { title: 'Kept' })
    await owner.client.putThumbnail(before, versionId, webp(2, 2))
    await owner.client.addDomain('www.kept-domain.com', before)
    await api.visit(siteUrl)
    const { requests } = (await owner.client.visits(before)).totals
    const { thumbnailUrl: _, ...details } = await owner.client.details(before)
    const renamed = await owner.client.renameSite(before, after)
    assert.deepEqual([renamed.slug, renamed.siteUrl], [after, siteUrl.replace(before, after)])
    assert.equal(renamed.redirectsUntil, new Date(api.clock.now + 30 * DAY_MS).toISOString())
    const { thumbnailUrl, ...now } = await owner.client.details(after)
    assert.deepEqual(now, {
      ...details,
      slug: after,
      siteUrl: renamed.siteUrl,
      updatedAt: new Date(api.clock.now).toISOString(),
    })
    assert.ok(thumbnailUrl?.includes(`/${after}/`))
    assert.deepEqual(pluck((await owner.client.versions(after)).versions, 'versionId'), [versionId])
    assert.equal((await owner.client.domains()).domains[0]!.siteSlug, after)
    await owner.client.removeDomain('www.kept-domain.com')
    assert.match((await api.visit(renamed.siteUrl)).text, /<title>Kept<\/title>/)
    assert.equal((await owner.client.visits(after)).totals.requests, requests + 1)
    await api.publish(owner.client, { 'index.html': 'next' }, { slug: after })
    await api.sweep('blobs')
    await owner.client.restore(after, versionId)
    assert.equal((await api.visit(renamed.siteUrl, '/menu/')).text, 'menu')
  })

  test('redirects the former names for 30 days to the current one, with path and query', async () => {
    const [first, second, third] = [fresh(), fresh(), fresh()]
    const { siteUrl, versionId, previewUrl } = await named(first)
    assert.equal((await api.visit(siteUrl)).status, 200)
    await owner.client.renameSite(first, second)
    await owner.client.renameSite(second, third)
    const current = siteUrl.replace(first, third)
    for (const name of [first, second]) {
      const { status, headers } = await api.visit(siteUrl.replace(first, name), '/menu/?a=b%20c')
      assert.deepEqual([status, headers.location], [308, `${current}menu/?a=b%20c`])
      assert.equal(headers['access-control-allow-origin'], '*')
      assert.equal(headers['cache-control'], 'public, max-age=0, must-revalidate')
    }
    assert.equal((await api.visit(previewUrl)).headers.location, current.replace('://', `://${versionId}--`))
    api.pass(30 * DAY_MS)
    await api.sweep('former-names')
    for (const name of [first, second]) {
      // The sweep of the test runs in another process than the service.
      await waitFor(async () => (await api.visit(siteUrl.replace(first, name))).status === 404)
      await expectFailure(owner.client.details(name), 'NOT_FOUND')
      await expectFailure(named(name), 'NAME_TAKEN')
      await expectFailure(owner.client.renameSite(third, name), 'NAME_TAKEN')
    }
    assert.equal((await api.visit(current)).status, 200)
  })

  test('leaves former names to the site alone: it can take them back', async () => {
    const [first, second] = [fresh(), fresh()]
    const { siteUrl } = await named(first)
    const another = await named(fresh())
    await owner.client.renameSite(first, second)
    for (const client of [owner.client, other.client]) await expectFailure(named(first, client), 'NAME_TAKEN')
    await expectFailure(owner.client.renameSite(another.slug, first), 'NAME_TAKEN')
    await owner.client.renameSite(second, first)
    assert.equal((await api.visit(siteUrl)).status, 200)
    const { headers } = await api.visit(siteUrl.replace(first, second), '/x')
    assert.equal(headers.location, `${siteUrl}x`)
    await owner.client.delete(first)
    for (const name of [first, second])
      assert.equal((await api.visit(siteUrl.replace(first, name))).status, 404)
  })

  test('does not break a publish in progress, nor calls with the former name', async () => {
    const [first, second] = [fresh(), fresh()]
    await named(first)
    const contents = { 'index.html': 'updated', 'menu/index.html': 'new menu' }
    const { upload } = await api.update(owner.client, first, contents)
    const [target, ...rest] = upload.uploads
    await api.anonymous.upload(target!, Buffer.from('updated'))
    await owner.client.renameSite(first, second)
    await api.upload({ ...upload, uploads: rest }, contents)
    const tar = make('tar', contents)
    await api.anonymous.uploadBundle(upload.bundle!, tar, { size: tar.length })
    const finalized = await owner.client.finalize(first, { versionId: upload.versionId })
    assert.deepEqual([finalized.slug, finalized.status], [second, 'active'])
    assert.equal((await api.visit(finalized.siteUrl)).text, 'updated')
    assert.equal((await api.publish(owner.client, page, { slug: first })).slug, second)
    await owner.client.addDomain('www.former-name.com', first)
    assert.equal((await owner.client.removeDomain('www.former-name.com')).domain, 'www.former-name.com')
    assert.equal((await owner.client.renameSite(first, second)).redirectsUntil, null)
    await expectFailure(other.client.details(first), 'NOT_FOUND')
    await expectFailure(other.client.renameSite(second, fresh()), 'NOT_FOUND')
  })

  test('does not stop an archive that is being received', async () => {
    const [first, second] = [fresh(), fresh()]
    await named(first)
    const archive = make('tar', { 'index.html': 'received before', 'after.html': 'received after' })
    const { body, resume } = pausedBody(archive.subarray(0, 1024), archive.subarray(1024))
    const begun = api.begunPuts
    const sent = send(api, 'tar', body, { slug: first, key: owner.key })
    await waitFor(() => api.begunPuts > begun)
    await owner.client.renameSite(first, second)
    resume()
    const { status, json } = await sent
    assert.deepEqual([status, json.slug], [200, second])
    assert.equal((await api.visit(json.siteUrl, '/after.html')).text, 'received after')
  })

  test('is possible ten times a day for all sites of an account', async () => {
    const account = await api.account()
    let { slug } = await named(fresh(), account.client)
    const names = [fresh(), fresh()] as const
    // To and fro counts, too.
    for (let count = 0; count < 10; count++)
      ({ slug } = await account.client.renameSite(slug, names[count % 2]!))
    const other = await named(fresh(), account.client)
    await assertWaits(api, () => account.client.renameSite(other.slug, fresh()))
  })
})
