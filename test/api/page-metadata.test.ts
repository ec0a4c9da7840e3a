import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { brotliDecompressSync } from 'node:zlib'
import { makeLog } from '../../server/lib/log.ts'
import { Finalizer } from '../../server/publish/finalize.ts'
import { UrlBuilder } from '../../server/sites/urls.ts'
import type { WriteTransaction } from '../../server/store/store.ts'
import { type Account, Api, blobFolder, expectFailure } from './api.ts'
import { make, send } from './archive-requests.ts'
import { type Contents, sha256, toEntry } from './content.ts'
import { makeUnreadable } from './unreadable-blob.ts'

let api: Api
let owner: Account
before(async () => {
  api = await Api.start({ BLOB_GRACE: '0' })
  owner = await api.account()
})
after(() => api[Symbol.asyncDispose]())

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
  test('as soon as it is published, and in no other file', async () => {
    const viewer = { title: 'New', description: 'Said', ogImagePath: 'pic/a b.png' }
    const { siteUrl, previewUrl } = await api.publish(owner.client, SITE, viewer)
    const expected = { title: 'New', description: 'Said', image: `${siteUrl}pic/a%20b.png` }
    assert.deepEqual(await head(siteUrl), expected)
    assert.deepEqual(await head(siteUrl, '/index.html'), expected)
    assert.deepEqual(await head(previewUrl), expected)
    assert.deepEqual(await head(siteUrl, '/about.html'), OLD)
  })

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

  test('with another etag, so that caches revalidate', async () => {
    const { slug, siteUrl } = await api.publish(owner.client, SITE, { title: 'One' })
    const { etag } = (await api.visit(siteUrl)).headers
    assert.equal((await api.visit(siteUrl, '/', { 'if-none-match': etag! })).status, 304)
    await owner.client.setMetadata(slug, { title: 'Two' })
    assert.equal((await api.visit(siteUrl, '/', { 'if-none-match': etag! })).status, 200)
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

  test('for an archive', async () => {
    const { json } = await send(api, 'zip', make('zip', SITE), { key: owner.key, query: '?title=New' })
    assert.equal((await head(json.siteUrl)).title, 'New')
  })

  test('in a restored version, with the current metadata', async () => {
    const first = await api.publish(owner.client, SITE, { title: 'One', ogImagePath: 'pic/a b.png' })
    const { slug, siteUrl } = first
    await api.publish(owner.client, { 'index.html': PAGE }, { slug, title: 'Two' })
    assert.deepEqual(await head(siteUrl), { title: 'Two', description: undefined, image: undefined })
    await owner.client.restore(slug, first.versionId)
    assert.deepEqual(await head(siteUrl), { title: 'Two', description: undefined, image: undefined })
    await owner.client.setMetadata(slug, { ogImagePath: 'pic/a b.png' })
    assert.equal((await head(siteUrl)).image, `${siteUrl}pic/a%20b.png`)
  })

  test('in a draft at its preview URL, with the metadata of the draft', async () => {
    const { slug, siteUrl } = await api.publish(owner.client, SITE, { title: 'Live', description: 'D' })
    const draft = await api.publish(owner.client, SITE, { slug, live: false, title: 'Draft' })
    assert.deepEqual(await head(draft.previewUrl), { title: 'Draft', description: 'D', image: undefined })
    assert.equal((await head(siteUrl)).title, 'Live')
    await owner.client.restore(slug, draft.versionId)
    assert.deepEqual(await head(siteUrl), { title: 'Draft', description: 'D', image: undefined })
  })

  test('in every encoding, also after each change', async () => {
    const page = `${PAGE}${'<p>word after word'.repeat(100)}`
    const { slug, siteUrl } = await api.publish(owner.client, { 'index.html': page }, { title: 'One' })
    for (const title of ['One', 'Two']) {
      await owner.client.setMetadata(slug, { title })
      await api.running.service.precompressor.onIdle()
      const { headers, body } = await api.visit(siteUrl, '/', { 'accept-encoding': 'br' })
      assert.equal(headers['content-encoding'], 'br')
      assert.equal(parseMetadata(brotliDecompressSync(body).toString()).title, title)
    }
  })

  test('in a duplicate, with its own address', async () => {
    const { slug } = await api.publish(owner.client, SITE, { title: 'New', ogImagePath: 'pic/a b.png' })
    const copies = await Promise.all(Array.from({ length: 8 }, () => owner.client.duplicate(slug)))
    for (const copy of copies) {
      const image = `${copy.siteUrl}pic/a%20b.png`
      assert.deepEqual(await head(copy.siteUrl), { title: 'New', description: undefined, image })
    }
  })
})

describe('a root document without a head that can be changed', () => {
  const cases: [what: string, contents: Contents, warned: RegExp | undefined][] = [
    ['in UTF-16', { 'index.html': Buffer.from(`\uFEFF${PAGE}`, 'utf16le') }, /UTF-16/],
    ['of more than 2 MiB', { 'index.html': PAGE + ' '.repeat(2 ** 21) }, /2097152/],
    ['that is not there', { 'docs/index.html': PAGE }, undefined],
  ]
  for (const [what, contents, warned] of cases) {
    test(`is served as it was published: ${what}`, async () => {
      const answer = await api.publish(owner.client, contents, { title: 'New' })
      if (warned)
        assert.deepEqual((await api.visit(answer.siteUrl)).body, Buffer.from(contents['index.html']!))
      assert.deepEqual(
        answer.warnings?.map(({ file }) => file),
        warned && ['index.html'],
      )
      if (warned) assert.match(answer.warnings![0]!.message, warned)
    })
  }

  test('of exactly 2 MiB still gets the metadata', async () => {
    const page = PAGE.padEnd(2 ** 21)
    const { siteUrl, warnings } = await api.publish(owner.client, { 'index.html': page }, { title: 'New' })
    assert.deepEqual([(await head(siteUrl)).title, warnings], ['New', undefined])
  })

  for (const contentType of ['application/xhtml+xml', 'text/plain']) {
    test(`is served as it was published: of type ${contentType}`, async () => {
      const files = [{ ...toEntry('index.html', PAGE), contentType, open: () => Buffer.from(PAGE) }]
      const { siteUrl, warnings } = await owner.client.publish({ files, title: 'New' })
      assert.deepEqual([(await api.visit(siteUrl)).text, warnings], [PAGE, undefined])
    })
  }

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

describe('while the root document cannot be read', () => {
  test('a change is stored, and visible as soon as the document can be read again', async () => {
    const page = `${PAGE}${Math.random()}`
    const { slug, siteUrl, versionId } = await api.publish(
      owner.client,
      { 'index.html': page },
      { title: 'One' },
    )
    await api.running.service.precompressor.onIdle()
    {
      await using _page = await makeUnreadable(blobFolder(api), page)
      await owner.client.setMetadata(slug, { title: 'Two' })
      assert.equal((await owner.client.finalize(slug, { versionId })).replayed, true)
      assert.equal((await api.visit(siteUrl)).status, 503)
    }
    assert.equal((await head(siteUrl)).title, 'Two')
  })
})

/** A finalizer as another process has it, with its durable writes replaced. */
async function finalizing(durable: (work: (tx: WriteTransaction) => Promise<unknown>) => Promise<unknown>) {
  const operator = await api.operator()
  const store = {
    ...operator.store,
    write: (durability, work) =>
      durability === 'durable' ? durable(work) : operator.store.write(durability, work),
  } as typeof operator.store
  const { versions, precompressor, clock } = operator.sweepOptions
  const log = makeLog({ level: 'silent', text: false, write: () => undefined })
  const addresses = new UrlBuilder({ baseUrl: api.baseUrl, siteDomain: 'localhost' })
  const dependencies = { store, blobs: operator.blobs, versions, precompressor, addresses, clock, log }
  return new Finalizer(dependencies)
}

describe('the encodings of a root document with metadata', () => {
  const collect = async () => {
    api.pass()
    await api.sweep('unnamed')
    await api.sweep('blobs')
  }
  const long = (name: string) => `${PAGE}${name}${'<p>word after word'.repeat(100)}`
  /** The hash of the served document, once its encodings are stored. */
  const encodedAt = async (siteUrl: string) => {
    await api.running.service.precompressor.onIdle()
    const hash = sha256((await api.visit(siteUrl)).body)
    assert.equal(await isThere(hash), true)
    return hash
  }
  const isThere = async (hash: string) => (await (await api.operator()).blobs.bytes(hash, 'br')) !== undefined

  test('are kept as long as its version, and deleted with it or when the metadata changes', async () => {
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

  test('are available for a restored version and a duplicated site', async () => {
    const contents = { 'index.html': long('restored'), 'a.png': 'png' }
    const first = await api.publish(owner.client, contents, { title: 'One' })
    const { slug, siteUrl } = first
    await api.publish(owner.client, { ...contents, 'index.html': long('later') }, { slug, title: 'Two' })
    await owner.client.restore(slug, first.versionId)
    await encodedAt(siteUrl)
    await owner.client.setMetadata(slug, { ogImagePath: 'a.png' })
    await encodedAt((await owner.client.duplicate(slug)).siteUrl)
  })
})

test('metadata that is set during finalize is in the head', async () => {
  const contents = { 'index.html': `${PAGE}during` }
  const { slug, siteUrl, upload } = await api.create(owner.client, contents)
  await api.upload(upload, contents)
  await owner.client.setMetadata(slug, { title: 'One' })
  const { store } = await api.operator()
  const dependencies = await finalizing(async (work) => {
    await owner.client.setMetadata(slug, { title: 'Two' })
    return store.write('durable', work)
  })
  const account = (await store.read.accounts.byEmail(owner.email))!
  const caller = { account, address: '::1', signedInWith: 'key' as const }
  await dependencies.finalize(caller, slug, { versionId: upload.versionId })
  // The test acts as another process than the service.
  await api.running.service.invalidate([slug])
  assert.equal((await head(siteUrl)).title, 'Two')
})

test('many changes at once all succeed, and the head matches the final metadata', async () => {
  const { slug, siteUrl } = await api.publish(owner.client, SITE, { title: 'One' })
  const outcomes = await Promise.allSettled(
    Array.from({ length: 6 }, (_, number) => owner.client.setMetadata(slug, { title: `${number}` })),
  )
  assert.deepEqual(
    outcomes.filter(({ status }) => status === 'rejected'),
    [],
  )
  const { title } = await owner.client.details(slug)
  assert.equal((await head(siteUrl)).title, title)
})

test('an invalid image is refused even if the rest of the request is valid', async () => {
  const { slug } = await api.publish(owner.client, SITE)
  await expectFailure(owner.client.setMetadata(slug, { ogImagePath: 'no.png' }), 'VALIDATION_ERROR')
})

test('publishing without rules and metadata reads no file', async () => {
  const { siteUrl, slug } = await api.publish(owner.client, { 'index.html': `${PAGE}unread` })
  const page = `${PAGE}unread again`
  const { upload } = await api.update(owner.client, slug, { 'index.html': page })
  await api.upload(upload, { 'index.html': page })
  const operator = await api.operator()
  const { versions, precompressor, clock } = operator.sweepOptions
  const log = makeLog({ level: 'silent', text: false, write: () => undefined })
  const addresses = new UrlBuilder({ baseUrl: api.baseUrl, siteDomain: 'localhost' })
  const blobs = {
    ...operator.blobs,
    bytes: (hash: string) => assert.fail(`${hash} was read`),
    read: (hash: string) => assert.fail(`${hash} was read`),
  }
  const dependencies = { store: operator.store, blobs, versions, precompressor, addresses, clock, log }
  const account = (await operator.store.read.accounts.byEmail(owner.email))!
  const caller = { account, address: '::1', signedInWith: 'key' as const }
  await new Finalizer(dependencies).finalize(caller, slug, upload)
  assert.equal(sha256((await api.visit(siteUrl)).body), sha256(page))
})
