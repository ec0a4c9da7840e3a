import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { pluck } from '../support/pluck.ts'
import { MIB } from '../support/units.ts'
import { DAY_MS, expectFailure, startApi } from './api.ts'
import { assertInvalid } from './api-response.ts'
import { type Contents, toEntry, toManifest } from './content.ts'

const api = await startApi({
  ANONYMOUS_FILE_BYTES: `${2 * MIB}`,
  ANONYMOUS_SITE_BYTES: `${3 * MIB}`,
  FILE_BYTES: `${2 ** 30}`,
  SITE_BYTES: `${1.5 * 2 ** 30}`,
})
const owner = await api.account()

const PAGE = { path: 'index.html', size: 5, contentType: 'text/html' }

/** Sends a manifest with these entries. */
function send(files: unknown, more: object = {}, key: string | undefined = owner.key) {
  return api.request('POST', '/api/v1/publish', { key, json: { files, ...more } })
}

describe('a new site', () => {
  test('is created with its URL, its upload targets and its finalize URL', async () => {
    const contents = { 'index.html': '<h1>hi</h1>', 'css/style.css': 'h1 {}', 'a b/ü&?.txt': 'x' }
    const created = await owner.client.create({ files: toManifest(contents) })
    const { slug, upload } = created
    assert.match(slug, /^[a-z0-9]+(-[a-z0-9]+)*$/)
    assert.ok(slug.length <= 35)
    assert.deepEqual(Object.keys(created).sort(), ['siteUrl', 'slug', 'status', 'upload'])
    assert.equal(created.siteUrl, `http://${slug}.localhost:${api.port}/`)
    assert.equal(created.status, 'pending')
    assert.equal(upload.finalizeUrl, `${api.baseUrl}/api/v1/publish/${slug}/finalize`)
    assert.equal(upload.expiresInSeconds, 3600)
    assert.deepEqual(upload.skipped, [])
    assert.match(upload.versionId, /^[0-9a-z]{20,}$/)
    assert.deepEqual(
      upload.uploads.map(({ path, method, headers }) => ({ path, method, headers })),
      toManifest(contents).map(({ path, contentType }) => {
        return { path, method: 'PUT', headers: { 'Content-Type': contentType } }
      }),
    )
  })

  test('gets upload URLs with slug, version and path, token, content type and expiry', async () => {
    const path = 'a b/ü&?#%.txt'
    const { slug, upload } = await owner.client.create({ files: [toEntry(path, 'x')] })
    const url = new URL(upload.uploads[0]!.url)
    assert.equal(url.origin, api.baseUrl)
    const key = `${slug}/${upload.versionId}/a%20b/%C3%BC%26%3F%23%25.txt`
    assert.equal(url.pathname, `/api/v1/_upload/${key}`)
    assert.deepEqual([...url.searchParams.keys()].sort(), ['ct', 'exp', 'token'])
    assert.equal(url.searchParams.get('ct'), toEntry(path, '').contentType)
    assert.equal(Number(url.searchParams.get('exp')), Math.floor(api.clock.now / 1000) + 3600)
  })

  test('is served byte for byte, whatever the names and types of its files', async () => {
    const contents: Contents = { 'index.html': '<h1>hi</h1>' }
    for (const name of STRANGE_NAMES) contents[name] = `contents of ${name}`
    const { siteUrl } = await api.publish(owner.client, contents)
    for (const [path, content] of Object.entries(contents)) {
      const visit = await api.visit(siteUrl, `/${path.split('/').map(encodeURIComponent).join('/')}`)
      assert.equal(visit.text, content, path)
    }
  })
})

const STRANGE_NAMES = [
  ...[
    'data.JSON',
    'app.webmanifest',
    'no-extension',
    '.well-known/security.txt',
    'notes..txt',
    '..notes',
    '.../a',
  ],
  ...['a b.txt', 'a+b.txt', '100%.txt', 'a%20b.txt', 'a%2Fb.txt', '%2e%2e', 'a#b.txt', 'a?b.txt', 'a;b.txt'],
  ...['a&b=c.txt', 'a:b.txt', "it's.txt", '"quoted".txt', '<b>.txt', 'ünïcödé.txt', '日本/語.txt', '😀.txt'],
  ...['__proto__', 'constructor', 'x'.repeat(500), `${'y'.repeat(250)}/${'z'.repeat(249)}`],
]

describe('without an account', () => {
  test('a site is created with a claim token, shown once, and an expiry', async () => {
    const created = await api.anonymous.create({ files: toManifest({ 'index.html': 'x' }) })
    const { slug, claimToken, claimUrl, expiresAt, anonymous, warning } = created
    assert.match(claimToken!, /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/)
    assert.equal(claimUrl, `${api.baseUrl}/claim?slug=${slug}&token=${claimToken}`)
    assert.equal(expiresAt, new Date(api.clock.now + DAY_MS).toISOString())
    assert.equal(anonymous, true)
    assert.match(warning!, /claimToken/)
    assert.match(warning!, /claimUrl/)
  })

  test('the claim token of a site is not shown again', async () => {
    const contents = { 'index.html': 'x' }
    const created = await api.create(api.anonymous, contents)
    await api.upload(created.upload, contents)
    const { slug, upload, claimToken } = created
    const answers = [
      await api.anonymous.finalize(slug, upload),
      await api.anonymous.refresh(slug, {
        versionId: (await api.update(api.anonymous, slug, contents, { claimToken: claimToken! })).upload
          .versionId,
        claimToken,
      }),
      await api.anonymous.claimPreview(slug, claimToken!),
    ]
    for (const answer of answers) assert.equal(JSON.stringify(answer).includes(claimToken!), false)
  })

  test('a site cannot set ttlSeconds', async () => {
    const json = { files: [PAGE], ttlSeconds: 3600 }
    assertInvalid(await api.request('POST', '/api/v1/publish', { json }), 'ttlSeconds')
  })
})

describe('a size', () => {
  const limits = [
    ['file', 'without an account', undefined, 2 * MIB, 1],
    ['file', 'of an account', 'key', 2 ** 30, 1],
    ['site', 'without an account', undefined, 1.5 * MIB, 2],
    ['site', 'of an account', 'key', 0.75 * 2 ** 30, 2],
  ] as const
  for (const [what, whose, key, size, count] of limits) {
    test(`of a ${what} ${whose} can equal the limit and not exceed it`, async () => {
      const files = (last: number) =>
        Array.from({ length: count }, (_, index) => ({
          ...PAGE,
          path: `${index}.bin`,
          size: index === count - 1 ? last : size,
        }))
      const whole = { files: files(size) }
      const over = { files: files(size + 1) }
      const credentials = { key: key && owner.key }
      assert.equal(
        (await api.request('POST', '/api/v1/publish', { ...credentials, json: whole })).status,
        201,
      )
      const { json } = await api.request('POST', '/api/v1/publish', { ...credentials, json: over })
      assert.equal(json.code, 'VALIDATION_ERROR')
      const limit = { file: size, site: size * count }[what]
      assert.ok(json.error.includes(`${limit}`), `names the limit: ${json.error}`)
      assert.equal(json.details[0].field, what === 'file' ? 'files[0].size' : 'files')
    })
  }
})

describe('a body', () => {
  const bodies: [sentence: string, type: string | undefined, body: string, status: number, code: string][] = [
    ['that is not JSON', 'application/json', '{"files":', 400, 'INVALID_JSON'],
    ['that is JSON twice', 'application/json', '{}{}', 400, 'INVALID_JSON'],
    ['of a text', 'application/json', '"files"', 400, 'VALIDATION_ERROR'],
    ['of a list', 'application/json', '[]', 400, 'VALIDATION_ERROR'],
    ['of null', 'application/json', 'null', 400, 'VALIDATION_ERROR'],
    ['of a number', 'application/json', '5', 400, 'VALIDATION_ERROR'],
    ['of nothing', 'application/json', '', 400, 'VALIDATION_ERROR'],
    ['of a form', 'application/x-www-form-urlencoded', 'files=a', 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['of text', 'text/plain', '{"files":[]}', 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['of an unsupported kind of archive', 'application/x-7z-compressed', '7z', 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['of no type', undefined, '{"files":[]}', 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['of an invalid type', 'json', '{"files":[]}', 415, 'UNSUPPORTED_MEDIA_TYPE'],
  ]
  test('that is no JSON object of the type that the route accepts is refused', async () => {
    for (const [sentence, type, body, status, code] of bodies) {
      const headers = type === undefined ? undefined : { 'content-type': type }
      const answer = await api.request('POST', '/api/v1/publish', { key: owner.key, body, headers })
      assert.deepEqual([answer.status, answer.json.code], [status, code], sentence)
    }
  })

  test('of JSON can have its type in any notation', async () => {
    const body = JSON.stringify({ files: [PAGE] })
    for (const type of ['application/json; charset=utf-8', 'Application/JSON']) {
      const headers = { 'content-type': type }
      const answer = await api.request('POST', '/api/v1/publish', { key: owner.key, body, headers })
      assert.equal(answer.status, 201, answer.text)
    }
  })

  test('of more than 2 MiB beside contents, or 5 MiB, is PAYLOAD_TOO_LARGE, with the limit in the error', async () => {
    const filled = (length: number) => {
      const empty = JSON.stringify({ files: [PAGE], filler: '' })
      return JSON.stringify({ files: [PAGE], filler: 'x'.repeat(length - empty.length) })
    }
    const headers = { 'content-type': 'application/json' }
    const fits = { key: owner.key, headers, body: filled(2 * MIB) }
    assert.equal((await api.request('POST', '/api/v1/publish', fits)).status, 201)
    for (const [length, limit] of [
      [2 * MIB + 1, /limit is 2 MB/],
      [9 * MIB, /limit is 5.2 MB/],
    ] as const) {
      const over = { key: owner.key, headers, body: filled(length) }
      const answer = await api.request('POST', '/api/v1/publish', over)
      assert.equal(answer.status, 413)
      assert.match(answer.json.error, limit)
    }
  })
})

describe('the contents of a file', () => {
  const secret = 'confidential content'

  test('cannot be obtained by naming their hash', async () => {
    await api.publish(owner.client, { 'secret.txt': secret })
    const otherAccount = await api.account()
    const files = [toEntry('mine.txt', secret)]
    const { slug, upload } = await otherAccount.client.create({ files })
    assert.deepEqual(pluck(upload.uploads, 'path'), ['mine.txt'])
    await expectFailure(otherAccount.client.finalize(slug, upload), 'UPLOADS_MISSING')
  })

  test('cannot be obtained by marking them as uploaded', async () => {
    await api.publish(owner.client, { 'secret.txt': secret })
    const otherAccount = await api.account()
    for (const claim of [{ known: true }, { arrived: true }, { skipped: true }, { state: 'ready' }]) {
      const { json } = await send([{ ...toEntry('mine.txt', secret), ...claim }], {}, otherAccount.key)
      await expectFailure(otherAccount.client.finalize(json.slug, json.upload), 'UPLOADS_MISSING')
      const { slug } = await api.publish(otherAccount.client, { 'a.txt': 'a' })
      const files = [{ ...toEntry('mine.txt', secret), ...claim }]
      const update = await otherAccount.request('PUT', `/api/v1/publish/${slug}`, { files })
      assert.equal(update.json.upload.uploads.length, 1)
      await expectFailure(otherAccount.client.finalize(slug, update.json.upload), 'UPLOADS_MISSING')
    }
  })
})
