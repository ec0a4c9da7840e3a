import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { METADATA_FIELDS, type MetadataField } from '../../protocol/api/publish.ts'
import type { MetadataRequest } from '../../protocol/api/sites.schema.ts'
import type { EncodingLocations } from '../../server/store/tables/blobs.ts'
import { listObjects, recordsOf } from '../blobs/bytes.ts'
import { pluck } from '../support/pluck.ts'
import { expectFailure, HOUR_MS, startApi } from './api.ts'
import { assertInvalid } from './api-response.ts'
import { make, send } from './archive-requests.ts'
import { type Contents, sha256 } from './content.ts'

const api = await startApi({ BLOB_GRACE: '0' })
const owner = await api.account()

const contents = { 'index.html': 'home', 'card.png': 'png', 'other.svg': '<svg/>' }

const site = () =>
  api.publish(owner.client, contents, { title: 'T', description: 'D', ogImagePath: 'card.png' })

const patch = (slug: string, json: unknown) =>
  owner.request('PATCH', `/api/v1/publish/${slug}/metadata`, { json })

describe('a change of the metadata of a site', () => {
  const start = { title: 'T', description: 'D', ogImagePath: 'card.png', spaMode: false, hasPassword: false }
  const changes: [
    MetadataRequest & Record<string, unknown>,
    Partial<typeof start> | Record<string, unknown>,
  ][] = [
    [{}, {}],
    [{ title: 'New' }, { title: 'New' }],
    [{ description: null }, { description: null }],
    [{ ogImagePath: 'other.svg' }, { ogImagePath: 'other.svg' }],
    [{ ogImagePath: null }, { ogImagePath: null }],
    [{ password: 'open sesame' }, { hasPassword: true }],
    [
      { password: null, spaMode: true, title: null },
      { spaMode: true, title: null },
    ],
    [{ slug: 'mine', status: 'gone', files: [], versionId: 'x', unknown: 1 }, {}],
  ]
  test('sets given fields, clears null fields and keeps the others', async () => {
    for (const [change, expected] of changes) {
      const { slug } = await site()
      const before = await owner.client.details(slug)
      api.pass(5000)
      const { status, json } = await patch(slug, change)
      assert.equal(status, 200)
      const updatedAt = new Date(api.clock.now).toISOString()
      const { title, description, ogImagePath } = { ...start, ...expected }
      const viewer = { title, description, ogImagePath }
      assert.deepEqual(json, { ...before, ...start, ...expected, viewer, updatedAt })
      assert.deepEqual(await owner.client.details(slug), json)
    }
  })

  const wrong: [Record<string, unknown>, string[]][] = [
    [{ title: 't'.repeat(201) }, ['title']],
    [{ description: 'd'.repeat(501) }, ['description']],
    [{ title: 'a null \0', description: 'half of \ud83d' }, ['description', 'title']],
    [{ ogImagePath: 'nowhere.png' }, ['ogImagePath']],
    [{ ogImagePath: 'index.html' }, ['ogImagePath']],
    [{ spaMode: 'yes' }, ['spaMode']],
    [{ password: '' }, ['password']],
    [{ password: 'p'.repeat(201) }, ['password']],
    [{ ttlSeconds: 31_536_001 }, ['ttlSeconds']],
    [{ ttlSeconds: 'soon' }, ['ttlSeconds']],
    [
      { title: 5, description: 5, password: '', ttlSeconds: 1 },
      ['description', 'password', 'title', 'ttlSeconds'],
    ],
  ]
  test('is refused as a whole for each invalid field', async () => {
    const { slug } = await site()
    const before = await owner.client.details(slug)
    for (const [change, fields] of wrong)
      assertInvalid(await patch(slug, { spaMode: true, ...change }), ...fields)
    for (const json of [[], null, 'title', 5])
      assert.equal((await patch(slug, json)).json.code, 'VALIDATION_ERROR')
    assert.deepEqual(await owner.client.details(slug), before)
  })

  test('of a site that is not finalized is validated against the pending manifest', async () => {
    const { slug } = await api.create(owner.client, contents)
    await owner.client.setMetadata(slug, { ogImagePath: 'other.svg' })
    await expectFailure(owner.client.setMetadata(slug, { ogImagePath: 'nowhere.png' }), 'VALIDATION_ERROR')
  })

  test('hashes a few passwords of an account at the same time, and none for a site that it has no right to', async () => {
    const [{ slug }, stranger] = [await site(), await api.account()]
    const send = ({ request }: typeof owner) =>
      Array.from({ length: 40 }, () =>
        request('PATCH', `/api/v1/publish/${slug}/metadata`, { json: { password: 'open sesame' } }),
      )
    const answers = (await Promise.all([...send(owner), ...send(stranger)])).map(({ status }) => status)
    const [own, foreign] = [answers.slice(0, 40), answers.slice(40)]
    assert.deepEqual([new Set(own), new Set(foreign)], [new Set([200, 503]), new Set([404])])
    assert.ok(own.filter((status) => status === 200).length >= 17)
  })

  test('names its image in any Unicode form', async () => {
    const [nfc, nfd] = ['Büro.png', 'Büro.png'.normalize('NFD')]
    const { slug } = await api.publish(
      owner.client,
      { 'index.html': 'x', [nfc]: 'png' },
      { ogImagePath: nfd },
    )
    const { warnings } = await api.publish(owner.client, { 'index.html': 'y', [nfd]: 'png' }, { slug })
    assert.deepEqual([(await owner.client.details(slug)).viewer.ogImagePath, warnings ?? []], [nfd, []])
  })
})

const FIELDS: Record<MetadataField, string | number | boolean> = {
  title: 'T',
  description: 'D',
  ogImagePath: 'card.png',
  spaMode: true,
  ttlSeconds: 31_536_000,
}

describe('each field that a publisher sets', () => {
  const files = Object.entries(contents).map(([path, content]) => ({ path, content }))
  const create = async (json: object) =>
    (await owner.request('POST', '/api/v1/publish', { json: { files, ...json } })).json.slug
  const ways: Record<string, (field: string, value: string | number | boolean) => Promise<string>> = {
    json: (field, value) => create({ [field]: value }),
    viewer: (field, value) => create({ viewer: { [field]: value } }),
    archive: async (field, value) =>
      (await send(api, 'tar', make('tar', contents), { query: `?${field}=${value}`, key: owner.key })).json
        .slug,
    patch: async (field, value) => {
      const slug = await create({})
      await patch(slug, { [field]: value })
      return slug
    },
  }
  const read = async (slug: string, field: string) => {
    const { viewer, expiresAt, ...details } = await owner.client.details(slug)
    const ttlSeconds = expiresAt === null ? null : (Date.parse(expiresAt) - api.clock.now) / 1000
    return ({ ...details, ...viewer, ttlSeconds } as Record<string, unknown>)[field]
  }

  test('is returned however it is sent, copied with the site, and cleared by deletion', async () => {
    const { store } = await api.operator()
    for (const field of METADATA_FIELDS)
      for (const [way, publish] of Object.entries(ways)) {
        const slug = await publish(field, FIELDS[field])
        assert.equal(await read(slug, field), FIELDS[field], `${field} by ${way}`)
        if (way === Object.keys(ways)[0]) {
          const copied = field === 'ttlSeconds' ? null : FIELDS[field]
          assert.equal(
            await read((await owner.client.duplicate(slug)).slug, field),
            copied,
            `${field} of a copy`,
          )
        }
        await owner.client.delete(slug, { permanent: true })
        const row: Record<string, unknown> = (await store.read.sites.find(slug))!
        assert.notEqual(row[field], FIELDS[field], `${field} after deletion`)
      }
  })

  test('is cleared by null or an empty text, except for a switch', async () => {
    for (const field of METADATA_FIELDS.filter((field) => typeof FIELDS[field] !== 'boolean'))
      for (const clear of typeof FIELDS[field] === 'string' ? [null, ''] : [null]) {
        const slug = await create({ [field]: FIELDS[field] })
        assert.equal((await patch(slug, { [field]: clear })).status, 200)
        assert.equal(await read(slug, field), null, field)
      }
  })

  test('is refused when its type is wrong', async () => {
    for (const field of METADATA_FIELDS)
      for (const json of [{ [field]: [1] }, { viewer: { [field]: [1] } }])
        assertInvalid(
          await owner.request('POST', '/api/v1/publish', { json: { files, ...json } }),
          'viewer' in json ? `viewer.${field}` : field,
        )
  })
})

describe('an expiry that is set later', () => {
  test('counts from that moment, and can be changed and removed', async () => {
    const { slug, siteUrl } = await site()
    const end = (seconds: number) => new Date(api.clock.now + seconds * 1000).toISOString()
    api.pass(HOUR_MS)
    assert.equal((await owner.client.setMetadata(slug, { ttlSeconds: 60 })).expiresAt, end(60))
    api.pass(30_000)
    assert.equal((await owner.client.setMetadata(slug, { title: 'x' })).expiresAt, end(30))
    assert.equal((await owner.client.setMetadata(slug, { ttlSeconds: 90 })).expiresAt, end(90))
    api.pass(89_999)
    assert.equal((await api.visit(siteUrl)).status, 200)
    assert.equal((await owner.client.setMetadata(slug, { ttlSeconds: null })).expiresAt, null)
    api.pass(HOUR_MS)
    assert.equal((await api.visit(siteUrl)).status, 200)
  })

  test('cannot be changed once it has passed', async () => {
    const { slug, siteUrl } = await site()
    await owner.client.setMetadata(slug, { ttlSeconds: 60 })
    api.pass(60_000)
    await expectFailure(owner.client.setMetadata(slug, { ttlSeconds: null }), 'SITE_EXPIRED')
    assert.equal((await api.visit(siteUrl)).status, 410)
  })
})

const PAGE =
  '<!doctype html><html><head><meta charset="utf-8"><title>Old</title></head><body>Hi</body></html>'
const SITE: Contents = { 'index.html': PAGE, 'pic/a b.png': 'png', 'about.html': PAGE }

/** Title and Open Graph tags in the head of a page. */
function parseMetadata(html: string) {
  const content = (name: string) =>
    new RegExp(`<meta (?:name|property)="${name}" content="([^"]*)">`).exec(html)?.[1]
  return {
    title: /<title>(.*?)<\/title>/.exec(html)?.[1],
    description: content('description'),
    image: content('og:image'),
  }
}

const head = async (url: string, path = '/') => parseMetadata((await api.visit(url, path)).text)

const OLD = { title: 'Old', description: undefined, image: undefined }

describe('the metadata of a site is in the head of its root document', () => {
  test('after each change, and not after it is cleared', async () => {
    const { slug, siteUrl } = await api.publish(owner.client, SITE)
    assert.equal((await api.visit(siteUrl)).text, PAGE)
    for (const change of [{ title: 'A' }, { title: 'B' }, { title: 'A' }, { title: 'A', description: 'D' }]) {
      const { title, description } = await owner.client.setMetadata(slug, change)
      assert.deepEqual(await head(siteUrl), {
        title,
        description: description ?? undefined,
        image: undefined,
      })
    }
    await owner.client.setMetadata(slug, { title: null })
    assert.deepEqual(await head(siteUrl), { ...OLD, description: 'D' })
    await owner.client.setMetadata(slug, { description: null })
    assert.equal((await api.visit(siteUrl)).text, PAGE)
  })

  test('also in the next version, which keeps, changes or clears it', async () => {
    const { slug, siteUrl } = await api.publish(owner.client, SITE, { title: 'New' })
    await api.publish(owner.client, { ...SITE, 'more.txt': 'more' }, { slug })
    assert.equal((await head(siteUrl)).title, 'New')
    await api.publish(owner.client, { 'index.html': `${PAGE}!` }, { slug, title: 'Newer' })
    assert.equal((await head(siteUrl)).title, 'Newer')
    await api.publish(owner.client, SITE, { slug, title: null })
    assert.equal((await api.visit(siteUrl)).text, PAGE)
  })

  test('also in a version that is restored, which does not bring back the metadata of its publish', async () => {
    const { slug, siteUrl, versionId } = await api.publish(owner.client, SITE, { title: 'New' })
    await api.publish(owner.client, { ...SITE, 'more.txt': 'more' }, { slug, title: 'Newer' })
    await owner.client.restore(slug, versionId)
    assert.equal((await head(siteUrl)).title, 'Newer')
  })

  test('in a draft at its preview URL, with the metadata of the draft', async () => {
    const { slug, siteUrl } = await api.publish(owner.client, SITE, { title: 'Live', description: 'D' })
    const draft = await api.publish(owner.client, SITE, { slug, live: false, title: 'Draft' })
    assert.deepEqual(await head(draft.previewUrl), { title: 'Draft', description: 'D', image: undefined })
    assert.equal((await head(siteUrl)).title, 'Live')
    await owner.client.restore(slug, draft.versionId)
    assert.deepEqual(await head(siteUrl), { title: 'Draft', description: 'D', image: undefined })
  })
})

describe('a root document without a head that can be changed', () => {
  const cases: [what: string, contents: Contents, warned: RegExp][] = [
    ['in UTF-16', { 'index.html': Buffer.from(`\uFEFF${PAGE}`, 'utf16le') }, /UTF-16/],
    ['of more than 2 MiB', { 'index.html': PAGE + ' '.repeat(2 ** 21) }, /2097152/],
  ]
  test('is served as it was published, with a warning', async () => {
    for (const [what, contents, warned] of cases) {
      const { siteUrl, warnings } = await api.publish(owner.client, contents, { title: 'New' })
      assert.deepEqual((await api.visit(siteUrl)).body, Buffer.from(contents['index.html']!), what)
      assert.deepEqual(pluck(warnings!, 'file'), ['index.html'])
      assert.match(warnings![0]!.message, warned)
    }
  })

  test('has no warning any more once the metadata is cleared', async () => {
    const contents = { 'index.html': PAGE + ' '.repeat(2 ** 21) }
    const { slug, versionId, warnings } = await api.publish(owner.client, contents, { title: 'New' })
    assert.equal(warnings?.length, 1)
    await owner.client.setMetadata(slug, { title: null })
    assert.equal((await owner.client.finalize(slug, { versionId })).warnings, undefined)
    await owner.client.setMetadata(slug, { title: 'New' })
    assert.equal((await owner.client.finalize(slug, { versionId })).warnings?.length, 1)
  })
})

const collect = async () => {
  api.pass()
  await api.sweep('unnamed')
  await api.sweep('blobs')
}
const long = (name: string) => `${PAGE}${name}${'<p>word after word'.repeat(100)}`
const encoded = new Map<string, EncodingLocations>()
/** The hash of the served document, once its encodings are stored. */
const encodedAt = async (siteUrl: string) => {
  await api.running.service.precompressor.onIdle()
  const hash = sha256((await api.visit(siteUrl)).body)
  const { store } = await api.operator()
  const [slug] = new URL(siteUrl).host.split('.')
  const site = (await store.read.sites.find(slug!))!
  const records = await recordsOf(store.read, [site.liveVersionId!])
  encoded.set(hash, records.find((one) => one.hash === hash)!.encodings!)
  assert.equal(await isThere(hash), true)
  return hash
}
const isThere = async (hash: string) => {
  const { blobs, store } = await api.operator()
  const { br } = encoded.get(hash)!
  const isListed = (await listObjects(blobs)).includes(br!.object)
  assert.equal((await store.read.blobs.withoutRow([br!.object])).length, isListed ? 0 : 1)
  return isListed
}

test('the encodings of a root document with metadata are kept as long as its version, and deleted with it or when the metadata changes', async () => {
  const contents = { 'index.html': long('kept') }
  const { slug, siteUrl, versionId } = await api.publish(owner.client, contents, { title: 'One' })
  const one = await encodedAt(siteUrl)
  await collect()
  assert.equal(await isThere(one), true)
  await owner.client.setMetadata(slug, { title: 'Two' })
  const two = await encodedAt(siteUrl)
  await collect()
  assert.deepEqual([await isThere(one), await isThere(two)], [false, true])
  await api.publish(owner.client, { 'index.html': long('next') }, { slug })
  const next = await encodedAt(siteUrl)
  await collect()
  assert.equal(await isThere(two), true, 'for a restore of that version')
  await owner.client.deleteVersion(slug, versionId)
  await collect()
  assert.deepEqual([await isThere(two), await isThere(next)], [false, true])
})

test('a root document that names an image by the URL of its site is encoded again after a rename', async () => {
  const contents = { 'index.html': long('named'), 'a.png': 'x' }
  const { slug, siteUrl } = await api.publish(owner.client, contents, { ogImagePath: 'a.png' })
  const before = await encodedAt(siteUrl)
  const renamed = await owner.client.renameSite(slug, 'with-an-image')
  assert.notEqual(await encodedAt(renamed.siteUrl), before)
})

describe('the title and the icon of a site', () => {
  const ICONS = { 'favicon.ico': 'i', 'img/ä b.png': 'i', 'img/big.svg': 'i', 'notes.txt': 'n' }
  const of = async (document: string | Buffer, path = 'index.html', more: Contents = ICONS) => {
    const { slug, versionId } = await api.publish(owner.client, { [path]: document, ...more })
    const { title, iconUrl, viewer } = await owner.client.details(slug)
    assert.equal(viewer.title, null)
    const [summary] = (await owner.client.list({ q: slug })).publishes
    assert.deepEqual([summary!.title, summary!.iconUrl], [title, iconUrl])
    if (iconUrl === null) return [title, null]
    assert.equal(new URL(iconUrl).host.split('.')[0], `${versionId}--${slug}`)
    return [title, decodeURI(new URL(iconUrl).pathname)]
  }
  const linked = (...links: string[]) => `<title>T</title>${links.map((link) => `<link ${link}>`).join('')}`
  test('are those of the document; an icon is a picture of the site, by default its favicon', async () => {
    const links = ['rel=icon href=none.png', 'rel=icon href=notes.txt', 'rel=icon href="img/%C3%A4 b.png"']
    assert.deepEqual(await of(linked(...links)), ['T', '/img/ä b.png'])
    assert.deepEqual(await of('<h1>Hello</h1>'), [null, '/favicon.ico'])
  })

  test('are those of the index.html nearest to the root', async () => {
    const deeper = { 'a/b/index.html': '<title>Deep</title>', 'b/index.html': '<title>Second</title>' }
    const found = await of(linked('rel=icon href=i.png'), 'a/index.html', { ...deeper, 'a/i.png': 'i' })
    assert.deepEqual(found, ['T', '/a/i.png'])
  })

  test('follow the live version; a title of the site replaces that, and a password hides pictures', async () => {
    const first = { 'index.html': '<title>Bäcker One</title>', 'favicon.ico': 'i' }
    const { slug, versionId } = await api.publish(owner.client, first)
    await api.publish(owner.client, { 'index.html': '<title>Bäcker Two</title>' }, { slug })
    const titles = async (q: string) => pluck((await owner.client.list({ q })).publishes, 'title')
    assert.deepEqual(await titles('bäcker two'), ['Bäcker Two'])
    await owner.client.restore(slug, versionId)
    assert.deepEqual([await titles('bäcker two'), await titles('bäcker')], [[], ['Bäcker One']])
    const { title, viewer } = await owner.client.setMetadata(slug, { title: 'Own', password: 'secret' })
    assert.deepEqual([title, viewer.title, await titles('bäcker')], ['Own', 'Own', []])
    const [locked] = (await owner.client.list({ q: slug })).publishes
    assert.deepEqual([locked!.iconUrl, locked!.imageUrl], [null, null])
    const { slug: copy } = await owner.client.duplicate(slug)
    assert.equal((await owner.client.setMetadata(copy, { title: null })).title, 'Bäcker One')
  })
})
