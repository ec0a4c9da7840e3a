import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { pluck } from '../support/pluck.ts'
import { MIB } from '../support/units.ts'
import { DAY_MS, expectFailure, startApi } from './api.ts'
import { assertInvalid } from './api-response.ts'
import { type Contents, sha256, toEntry, toManifest } from './content.ts'
import { assertPublished, buildTar, createPending, send as sendBundle } from './pending-version.ts'

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

/** A manifest entry, and the field that the error must name; no field when the entry is valid. */
type EntryCase = [sentence: string, entry: unknown, wrong?: 'path' | 'size' | 'contentType' | 'hash' | '']

const HASH = sha256('hello')
const EMOJI = '😀'

const entries: EntryCase[] = [
  ['a path of 500 characters', { ...PAGE, path: 'a'.repeat(500) }],
  ['a path of 501 characters', { ...PAGE, path: 'a'.repeat(501) }, 'path'],
  ['a path of 501 characters outside the basic plane', { ...PAGE, path: EMOJI.repeat(501) }, 'path'],
  ['a path of a million characters', { ...PAGE, path: 'a/'.repeat(500_000) }, 'path'],
  ['an empty path', { ...PAGE, path: '' }, 'path'],
  ['no path', { size: 5, contentType: 'text/html' }, 'path'],
  ['a path that is a list', { ...PAGE, path: ['a'] }, 'path'],
  ['a path from the root', { ...PAGE, path: '/index.html' }, 'path'],
  ['a path with an empty segment', { ...PAGE, path: 'a//b' }, 'path'],
  ['a path that ends with a slash', { ...PAGE, path: 'a/' }, 'path'],
  ["a path with a '..' segment", { ...PAGE, path: 'a/../b' }, 'path'],
  ['a name with two dots in it', { ...PAGE, path: 'notes..txt' }],
  ['a name of three dots', { ...PAGE, path: '.../a' }],
  ["a path with a '.' segment", { ...PAGE, path: './index.html' }, 'path'],
  ['a hidden name', { ...PAGE, path: '.well-known/acme' }],
  ['a backslash', { ...PAGE, path: 'a\\b' }, 'path'],
  ['a null byte', { ...PAGE, path: 'a\u0000b' }, 'path'],
  ['a line break', { ...PAGE, path: 'a\nb' }, 'path'],
  ['a control character of Latin 1', { ...PAGE, path: 'a\u0085b' }, 'path'],
  ['a lone surrogate', { ...PAGE, path: 'a\ud83d' }, 'path'],
  ['a space', { ...PAGE, path: 'a b.html' }],
  ['a name of every kind of letter', { ...PAGE, path: 'ü/日本/😀.html' }],
  ['a size of one byte', { ...PAGE, size: 1 }],
  ['a size of 0', { ...PAGE, size: 0 }, 'size'],
  ['a size of 1.5', { ...PAGE, size: 1.5 }, 'size'],
  ['a size that is a string', { ...PAGE, size: '5' }, 'size'],
  ['no size', { path: 'a', contentType: 'text/html' }, 'size'],
  ['a size of 2^53', { ...PAGE, size: 2 ** 53 }, 'size'],
  ['a size over the limit of a file', { ...PAGE, size: 2 ** 30 + 1 }, 'size'],
  ['no content type', { path: 'a', size: 5 }, 'contentType'],
  ['a content type that is a number', { ...PAGE, contentType: 1 }, 'contentType'],
  ['a content type without a slash', { ...PAGE, contentType: 'html' }, 'contentType'],
  ['a content type with a space in it', { ...PAGE, contentType: 'text/ht ml' }, 'contentType'],
  [
    'a content type with a line break',
    { ...PAGE, contentType: 'text/html\r\nSet-Cookie: a=b' },
    'contentType',
  ],
  ['two content types', { ...PAGE, contentType: 'text/html, text/plain' }, 'contentType'],
  [
    'a parameter with a line break in its quotes',
    { ...PAGE, contentType: 'text/html; a="\n"' },
    'contentType',
  ],
  ['a content type with a charset', { ...PAGE, contentType: 'text/html; charset=utf-8' }],
  ['a content type with a charset and no space', { ...PAGE, contentType: 'text/html;charset=UTF-8' }],
  ['a content type with a quoted parameter', { ...PAGE, contentType: 'text/html; a="b; c"; d=e' }],
  ['a content type in capitals', { ...PAGE, contentType: 'TEXT/HTML' }],
  ['a content type of 255 characters', { ...PAGE, contentType: `text/${'x'.repeat(250)}` }],
  ['a content type of 256 characters', { ...PAGE, contentType: `text/${'x'.repeat(251)}` }, 'contentType'],
  ['a hash', { ...PAGE, hash: HASH }],
  ['a hash of 65 characters', { ...PAGE, hash: `${HASH}0` }, 'hash'],
  ['a hash in capitals', { ...PAGE, hash: 'A'.repeat(64) }, 'hash'],
  ['a hash with a letter that is not hex', { ...PAGE, hash: `${HASH.slice(1)}g` }, 'hash'],
  ['a hash with a line break behind it', { ...PAGE, hash: `${HASH}\n` }, 'hash'],
  ['a hash that is a number', { ...PAGE, hash: 5 }, 'hash'],
  ['unknown fields', { ...PAGE, mode: 0o644, mtime: null, known: true, __proto__x: {} }],
  ['a file that is null', null, ''],
  ['a file that is a list', [PAGE], ''],
]

describe('a manifest entry', () => {
  test('is accepted, or refused with its field', async () => {
    for (const [sentence, entry, wrong] of entries) {
      const { status, json, text } = await send([{ ...PAGE, path: 'before' }, entry])
      if (wrong === undefined) {
        assert.equal(status, 201, `${sentence}: ${text}`)
        assert.equal(json.upload.uploads.length, 2)
        continue
      }
      assert.equal(json.code, 'VALIDATION_ERROR', `${sentence}: ${text}`)
      const field = wrong === '' ? 'files[1]' : `files[1].${wrong}`
      // A size over the limit of a file also exceeds the limit of the site.
      const fields = pluck<{ field: string }, 'field'>(json.details, 'field')
      assert.deepEqual(
        fields.filter((name) => name !== 'files'),
        [field],
        sentence,
      )
      assert.ok(json.error.startsWith(`${field}: `), json.error)
    }
  })
})

describe('a manifest', () => {
  const pages = (...paths: string[]) => paths.map((path) => ({ ...PAGE, path }))
  const many = (count: number) => pages(...Array.from({ length: count }, (_, number) => `${number}.html`))
  const cases: [sentence: string, files: unknown, wrong?: string[]][] = [
    ['without files', undefined, ['files']],
    ['with no file', [], ['files']],
    ['whose files are an object', { 0: PAGE }, ['files']],
    ['of 1,000 files', many(1000)],
    ['of 1,001 files', many(1001), ['files']],
    ['with a path twice', pages('a.html', 'b.html', 'a.html'), ['files[2].path']],
    ['with a path in two Unicode forms', pages('\u00fc.html', 'u\u0308.html'), ['files[1].path']],
    ['with a file that is a folder too', pages('a', 'a/b'), ['files[0].path']],
    ['with a file that is a folder too, and a name between', pages('a', 'a.b', 'a/b'), ['files[0].path']],
    ['with a file that is a folder in another Unicode form', pages('\u00fc', 'u\u0308/b'), ['files[0].path']],
    ['with names that begin alike', pages('a', 'ab', 'a.b', 'a-b/c')],
    ['with names that differ in case', pages('README', 'readme', 'Readme/a')],
  ]
  test('has from 1 to 1,000 files, whose paths are distinct in any Unicode form', async () => {
    for (const [sentence, files, wrong] of cases) {
      const answer = await send(files)
      if (wrong) assertInvalid(answer, ...wrong)
      else assert.equal(answer.status, 201, `${sentence}: ${answer.text}`)
    }
  })

  const TOO_MANY = 'body: must have at most 50000 members and elements in total'
  for (const [what, entry, count, status, sentence] of [
    ['numbers', 0, 20_000, 400, 'files: must contain at most 1,000 files, not 20,000'],
    ['numbers', 0, 1_000_000, 400, TOO_MANY],
    ['empty objects', {}, 690_000, 400, TOO_MANY],
    ['nothing', null, 400_000, 400, TOO_MANY],
  ] as const) {
    test(`of ${count} entries, all of them ${what}, is refused without memory for each`, async () => {
      const before = process.resourceUsage().maxRSS
      const answer = await send(Array(count).fill(entry))
      assert.deepEqual([answer.status, answer.json.error], [status, sentence])
      const grown = (process.resourceUsage().maxRSS - before) / 1024
      assert.ok(grown < 300, `${Math.round(grown)} MiB more`)
    })
  }

  test('nested more than 32 levels deep is refused before it is parsed', async () => {
    const { status, json } = await send([JSON.parse(`${'['.repeat(40)}${']'.repeat(40)}`)])
    assert.deepEqual([status, json.error], [400, 'body: must not be nested more than 32 levels deep'])
  })

  test('is refused with all errors together, in the order of the files', async () => {
    const answer = await send(
      [
        { path: '/a', size: 0, contentType: 'x', hash: 'X' },
        PAGE,
        { path: 'b\\', size: 5, contentType: 'text/html' },
        { ...PAGE },
        { path: 'd', size: 5, contentType: 'text/html' },
        { path: 'd/e', size: 5, contentType: 'text/html' },
      ],
      {
        title: 5,
        ogImagePath: 7,
        spaMode: 'yes',
        baseVersionId: 1,
        viewer: { description: [], ttlSeconds: 1 },
      },
    )
    const first = ['path', 'size', 'contentType', 'hash'].map((field) => `files[0].${field}`)
    const paths = [2, 3, 4].map((number) => `files[${number}].path`)
    const metadata = ['baseVersionId', 'ogImagePath', 'spaMode', 'title']
    assertInvalid(answer, ...first, ...paths, ...metadata, 'viewer.description', 'viewer.ttlSeconds')
  })

  test('with a thousand errors is refused with the first twenty and their number', async () => {
    const files = Array.from({ length: 1000 }, (_, number) => ({ ...PAGE, path: `${number}`, size: 0 }))
    const answer = await send(files)
    assertInvalid(answer, ...Array.from({ length: 20 }, (_, number) => `files[${number}].size`))
    assert.match(answer.json.error, /999/)
  })
})

describe('the metadata of a site', () => {
  const picture = { path: 'card.png', size: 3, contentType: 'image/png' }
  const details = async (more: object) => {
    const answer = await send([PAGE, picture], more)
    assert.equal(answer.status, 201, answer.text)
    const { slug, upload } = answer.json
    await api.upload(upload, { 'index.html': 'hello', 'card.png': 'png' })
    await owner.client.finalize(slug, upload)
    const { title, description, ogImagePath, spaMode } = await owner.client.details(slug)
    return { title, description, ogImagePath, spaMode }
  }

  const metadata = { title: 'T', description: 'D', ogImagePath: 'card.png', spaMode: true }
  const other = { title: 'other', description: 'other', ogImagePath: 'nowhere.png', spaMode: false }
  const nothing = { title: null, description: null, ogImagePath: null, spaMode: false }

  test('is read at the top level before viewer, and empty by default', async () => {
    const cases: [sent: object, read: object][] = [
      [metadata, metadata],
      [{ viewer: metadata }, metadata],
      [{ ...metadata, viewer: other }, metadata],
      [{ title: 'T', viewer: { ...metadata, title: 'no' } }, metadata],
      [{}, nothing],
      [{ title: null, description: null, ogImagePath: null }, nothing],
      [{ title: null, viewer: { title: 'T' } }, nothing],
    ]
    for (const [sent, read] of cases) assert.deepEqual(await details(sent), read)
  })

  const limits: [field: string, value: unknown, valid: boolean][] = [
    ['title', 't'.repeat(200), true],
    ['title', 't'.repeat(201), false],
    ['title', EMOJI.repeat(200), true],
    ['title', EMOJI.repeat(201), false],
    ['title', 5, false],
    ['description', 'd'.repeat(500), true],
    ['description', 'd'.repeat(501), false],
    ['ogImagePath', 'card.png', true],
    ['ogImagePath', 'index.html', false],
    ['ogImagePath', 'nowhere.png', false],
    ['spaMode', 'true', false],
    ['ttlSeconds', 60, true],
    ['ttlSeconds', 59, false],
    ['ttlSeconds', 31_536_000, true],
    ['ttlSeconds', 31_536_001, false],
    ['ttlSeconds', 60.5, false],
    ['ttlSeconds', null, true],
    ['baseVersionId', 5, false],
    ['claimToken', 5, false],
    ['viewer', [], false],
  ]
  test('is limited, at the top level and in viewer', async () => {
    for (const [field, value, valid] of limits) {
      const isTop = ['baseVersionId', 'claimToken', 'viewer'].includes(field)
      for (const place of isTop
        ? [{ [field]: value }]
        : [{ [field]: value }, { viewer: { [field]: value } }]) {
        const answer = await send([PAGE, picture], place)
        assert.equal(answer.status, valid ? 201 : 400, answer.text)
        if (!valid) assert.match(answer.json.details[0].field, new RegExp(`^(viewer\\.)?${field}$`))
      }
    }
  })
})

/** Two combining marks that Unicode NFC reorders. */
const MARKS = '\u0301\u0323'
const ORDERED = '\u0323\u0301'

/** A letter with `count` pairs of marks, in both orders. */
const equivalentNames = (pairs: number) => [`x${MARKS.repeat(pairs)}`, `x${ORDERED.repeat(pairs)}`] as const

test('a path is normalized, except for a letter with more combining marks than any script uses, whose sorting would block other requests', async () => {
  const [one, other] = equivalentNames(20)
  const contents = { [one]: 'one', [other]: 'the other' }
  const pending = await createPending(owner, contents)
  assert.equal((await sendBundle(api, pending.bundle, buildTar(contents))).status, 200)
  await assertPublished(api, owner, pending, contents)
  const files = equivalentNames(2).map((path) => toEntry(path, 'x'))
  await expectFailure(api.anonymous.create({ files }), 'VALIDATION_ERROR')
})
