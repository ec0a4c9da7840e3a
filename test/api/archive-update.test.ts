import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import { type Account, Api, HOUR_MS } from './api.ts'
import { assertKeepsNothing, filesIn, make, send, storedFiles, TYPES } from './archive-requests.ts'

const MIB = 2 ** 20

let api: Api
let owner: Account
before(async () => {
  api = await Api.start({ ANONYMOUS_FILE_BYTES: `${2 * MIB}`, ANONYMOUS_SITE_BYTES: `${3 * MIB}` })
  owner = await api.account()
})
after(() => api[Symbol.asyncDispose]())

describe('an archive as an update', () => {
  const old = { 'index.html': 'old', 'old.txt': 'old' }
  const fresh = make('tar.gz', { 'index.html': 'new' })

  test('replaces the whole version at once', async () => {
    const first = await api.publish(owner.client, old, { title: 'T' })
    const { slug, siteUrl } = first
    const { status, json } = await send(api, 'tar.gz', fresh, { slug, key: owner.key })
    assert.equal(status, 200)
    assert.equal(json.previousVersionId, first.versionId)
    assert.equal(json.currentVersionId, json.versionId)
    assert.match((await api.visit(siteUrl)).text, /<title>T<\/title>.*new$/s)
    assert.equal((await owner.client.details(slug)).title, 'T')
    assert.equal((await owner.client.details(slug)).files.length, 1)
  })

  test('can be stored as a draft', async () => {
    const { slug, siteUrl } = await api.publish(owner.client, old)
    const { json } = await send(api, 'tar.gz', fresh, { slug, query: '?live=false', key: owner.key })
    assert.equal((await api.visit(siteUrl)).text, 'old')
    assert.equal((await api.visit(json.previewUrl)).text, 'new')
    await owner.client.restore(slug, json.versionId)
    assert.equal((await api.visit(siteUrl)).text, 'new')
  })

  test('is refused without storing anything when another version than its base is live', async () => {
    const { slug, siteUrl, versionId } = await api.publish(owner.client, old)
    const query = (base: string) => ({ slug, query: `?baseVersionId=${base}`, key: owner.key })
    const right = await send(api, 'tar.gz', fresh, query(versionId))
    assert.equal(right.status, 200)
    const late = await assertKeepsNothing(api, owner, () =>
      send(api, 'zip', make('zip', { 'late.txt': 'late' }), query(versionId)),
    )
    assert.equal(late.status, 409)
    assert.deepEqual(late.json.details, { currentVersionId: right.json.versionId })
    assert.equal((await api.visit(siteUrl)).text, 'new')
  })

  test('succeeds or fails as a whole when several have the same base, and leaves no pending version', async () => {
    const { slug, siteUrl, versionId } = await api.publish(owner.client, old)
    const names = ['one', 'two', 'three', 'four']
    const query = { slug, query: `?baseVersionId=${versionId}`, key: owner.key }
    const answers = await Promise.all(
      names.map((name) => send(api, 'tar', make('tar', { 'index.html': name }), query)),
    )
    const winners = names.filter((_, at) => answers[at]!.status === 200)
    assert.equal(winners.length, 1)
    assert.equal((await api.visit(siteUrl)).text, winners[0])
    for (const { status, json } of answers) if (status !== 200) assert.equal(json.code, 'VERSION_CONFLICT')
    assert.equal((await owner.client.details(slug)).pendingVersionId, null)
    assert.equal((await owner.client.versions(slug)).versions.length, 2)
    await storedFiles(api)
    assert.deepEqual(await filesIn(api, 'blobs/staged', 'spool'), [])
  })

  test('of an anonymous site needs its claim token, and does not extend its lifetime', async () => {
    const site = await api.publish(api.anonymous, old)
    const { slug, siteUrl, claimToken, expiresAt } = site
    api.pass(HOUR_MS)
    const options = { contentType: TYPES['tar.gz'], slug, claimToken: claimToken! }
    const answer = await owner.client.publishArchive(fresh, options)
    assert.equal(answer.claimToken, undefined)
    assert.equal((await api.visit(siteUrl)).text, 'new')
    const offer = await api.anonymous.claimPreview(slug, claimToken!)
    assert.equal(!offer.claimed && offer.expiresAt, expiresAt)
    const byQuery = await send(api, 'tar.gz', fresh, { slug, query: `?claimToken=${claimToken}` })
    assert.equal(byQuery.status, 200, 'older clients have it in the query')
    const header = (token: string) => ({ 'x-slipway-claim-token': token })
    const wrong = await assertKeepsNothing(api, owner, () =>
      send(api, 'tar.gz', fresh, { slug, headers: header('x') }),
    )
    assert.equal(wrong.json.code, 'INVALID_CLAIM_TOKEN')
    const wrongly = [
      ['', 401, 'UNAUTHORIZED'],
      ['?claimToken=', 403, 'INVALID_CLAIM_TOKEN'],
      ['?claimToken=x', 403, 'INVALID_CLAIM_TOKEN'],
      [`?claimToken=${claimToken}&claimToken=x`, 400, 'VALIDATION_ERROR'],
    ] as const
    for (const [query, status, code] of wrongly) {
      const refusal = await assertKeepsNothing(api, owner, () => send(api, 'tar.gz', fresh, { slug, query }))
      assert.equal(refusal.status, status, query)
      assert.equal(refusal.json.code, code)
    }
    api.clock.now = Date.parse(expiresAt!)
    const late = await send(api, 'tar.gz', fresh, { slug, query: `?claimToken=${claimToken}` })
    assert.equal(late.json.code, 'SITE_EXPIRED')
  })

  test('is refused for other accounts before its body is read', async () => {
    const { slug } = await api.publish(owner.client, old)
    const otherAccount = await api.account()
    const body = () =>
      Readable.from(
        (async function* () {
          for (let piece = 0; piece < 50; piece++) yield randomBytes(64 * 1024)
        })(),
      )
    const theirs = await assertKeepsNothing(api, owner, () =>
      send(api, 'tar', body(), { slug, key: otherAccount.key }),
    )
    assert.equal(theirs.json.code, 'NOT_FOUND')
    const nobodys = await assertKeepsNothing(api, owner, () => send(api, 'tar', body(), { slug }))
    assert.equal(nobodys.json.code, 'UNAUTHORIZED')
    const missing = await send(api, 'tar', body(), { slug: 'no-such-site-234567', key: owner.key })
    assert.equal(missing.json.code, 'NOT_FOUND')
  })

  const queries: [string, string[]][] = [
    ['?live=no', ['live']],
    ['?spaMode=yes', ['spaMode']],
    ['?live=&spaMode=1', ['live', 'spaMode']],
    [`?title=${'t'.repeat(201)}`, ['title']],
    [`?description=${'d'.repeat(501)}`, ['description']],
    ['?title=a&title=b', ['title']],
    ['?ttlSeconds=59', ['ttlSeconds']],
    ['?ttlSeconds=soon', ['ttlSeconds']],
    ['?ttlSeconds=', ['ttlSeconds']],
    ['?ogImagePath=nowhere.png', ['ogImagePath']],
    ['?ogImagePath=index.html', ['ogImagePath']],
    ['?baseVersionId=a&baseVersionId=b', ['baseVersionId']],
  ]
  for (const [query, fields] of queries) {
    test(`is refused for its query: ${query.slice(0, 40)}`, async () => {
      const { slug } = await api.publish(owner.client, old)
      const answer = await assertKeepsNothing(api, owner, () =>
        send(api, 'tar.gz', fresh, { slug, query, key: owner.key }),
      )
      assert.equal(answer.status, 400, answer.text)
      assert.deepEqual(answer.json.details.map(({ field }: { field: string }) => field).sort(), fields)
    })
  }
})
