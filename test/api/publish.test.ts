import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { formatNumber } from '../../protocol/format.ts'
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
    const { slug, siteUrl, status, upload } = await owner.client.create({ files: toManifest(contents) })
    assert.match(slug, /^[a-z0-9]+(-[a-z0-9]+)*$/)
    assert.ok(slug.length <= 35)
    assert.deepEqual([siteUrl, status], [`http://${slug}.localhost:${api.port}/`, 'pending'])
    assert.equal(upload.finalizeUrl, `${api.baseUrl}/api/v1/publish/${slug}/finalize`)
    assert.equal(upload.expiresInSeconds, 3600)
    assert.match(upload.versionId, /^[0-9a-z]{20,}$/)
    assert.deepEqual(
      upload.uploads.map(({ path, headers }) => [path, headers['Content-Type']]),
      toManifest(contents).map(({ path, contentType }) => [path, contentType]),
    )
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
    const { slug, claimToken, versionId } = await api.publish(api.anonymous, { 'index.html': 'x' })
    const { upload } = await api.update(api.anonymous, slug, { 'a.txt': 'x' }, { claimToken: claimToken! })
    for (const answer of [
      await api.anonymous.finalize(slug, { versionId }),
      await api.anonymous.refresh(slug, { versionId: upload.versionId, claimToken }),
      await api.anonymous.claimPreview(slug, claimToken!),
    ])
      assert.equal(JSON.stringify(answer).includes(claimToken!), false)
  })
})

test('a size of a file or a site can equal the limit and not exceed it, with an account or without', async () => {
  for (const [key, size, count] of [
    [undefined, 2 * MIB, 1],
    [owner.key, 2 ** 30, 1],
    [undefined, 1.5 * MIB, 2],
    [owner.key, 0.75 * 2 ** 30, 2],
  ] as const) {
    const create = (last: number) => {
      const sizes = [...Array(count - 1).fill(size), last]
      const files = sizes.map((size, at) => ({ ...PAGE, path: `${at}.bin`, size }))
      return api.request('POST', '/api/v1/publish', { key, json: { files } })
    }
    assert.equal((await create(size)).status, 201)
    const refused = await create(size + 1)
    assertInvalid(refused, count === 1 ? 'files[0].size' : 'files')
    assert.ok(
      refused.json.error.includes(formatNumber(size * count)),
      `names the limit: ${refused.json.error}`,
    )
  }
})

describe('a body', () => {
  const bodies: [
    ...[sentence: string, type: string | undefined, body: string | Buffer, status: number, code: string],
  ][] = [
    ['that is not JSON', 'application/json', '{"files":', 400, 'INVALID_JSON'],
    [
      'whose text is Latin-1',
      'application/json',
      Buffer.from('{"title":"é"}', 'latin1'),
      400,
      'INVALID_JSON',
    ],
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

  test('that is coded is refused, also one of an upload, whose bytes would be published as they are', async () => {
    const coded = gzipSync(JSON.stringify({ files: [PAGE] }))
    const { upload } = await api.create(owner.client, { 'index.html': coded })
    const [target] = upload.uploads
    const { pathname, search } = new URL(target!.url)
    const requests = [
      ['POST', '/api/v1/publish', { 'content-type': 'application/json' }],
      ['POST', '/api/v1/publish', { 'content-type': 'application/x-tar' }],
      ['PUT', pathname + search, target!.headers],
    ] as const
    for (const [method, path, type] of requests) {
      const headers = { ...type, 'content-encoding': 'gzip' }
      const { status, json } = await api.request(method, path, { key: owner.key, body: coded, headers })
      assert.deepEqual([status, json.code], [415, 'UNSUPPORTED_MEDIA_TYPE'], path)
      assert.match(json.hint, /no Content-Encoding/)
    }
    const headers = { ...target!.headers, 'content-encoding': 'identity' }
    assert.equal((await api.request('PUT', pathname + search, { body: coded, headers })).status, 200)
  })

  test('may begin with a byte order mark, which editors on Windows write', async () => {
    const headers = { 'content-type': 'application/json' }
    const body = `\ufeff${JSON.stringify({ files: [PAGE] })}`
    assert.equal(
      (await api.request('POST', '/api/v1/publish', { key: owner.key, body, headers })).status,
      201,
    )
  })

  test('that is no JSON says where, if the parser knows it', async () => {
    const headers = { 'content-type': 'application/json' }
    for (const [body, place] of [
      ['{"a" 1}', 'line 1 column 6'],
      ['{"files":', 'it ends early'],
    ] as const) {
      const { json } = await api.request('POST', '/api/v1/publish', { key: owner.key, body, headers })
      assert.equal(json.error, `The body is not valid JSON: ${place}`)
    }
  })

  test('of more than 2 MiB beside contents, or 5 MiB, is PAYLOAD_TOO_LARGE, with the limit in the error and a hint for those without an account', async () => {
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
      const hints = [answer, await api.request('POST', '/api/v1/publish', { headers, body: over.body })]
      assert.deepEqual(
        hints.map(({ json }) => /Accounts have higher limits/.test(json.hint)),
        [false, true],
      )
    }
  })
})

const secret = 'confidential content'

test('the contents of a file cannot be obtained by naming their hash, or by marking them as uploaded', async () => {
  await api.publish(owner.client, { 'secret.txt': secret })
  const { client, key } = await api.account()
  for (const claim of [{}, { known: true }, { arrived: true }, { skipped: true }, { state: 'ready' }]) {
    const files = [{ ...toEntry('mine.txt', secret), ...claim }]
    const { json } = await send(files, {}, key)
    await expectFailure(client.finalize(json.slug, json.upload), 'UPLOADS_MISSING')
    const { slug } = await api.publish(client, { 'a.txt': 'a' })
    const update = await client.update(slug, { files })
    assert.deepEqual(pluck(update.upload.uploads, 'path'), ['mine.txt'])
    await expectFailure(client.finalize(slug, update.upload), 'UPLOADS_MISSING')
  }
})

const HASH = sha256('hello')
const EMOJI = '😀'

/** Values of the fields of a manifest entry; undefined is an absent one. */
// biome-ignore format: lists of values
const FIELDS: Record<'path' | 'size' | 'contentType' | 'hash', { valid: unknown[]; invalid: unknown[] }> = {
  path: {
    valid: ['a'.repeat(500), 'notes..txt', '.../a', '.well-known/acme', 'a b.html', 'ü/日本/😀.html'],
    invalid: [
      ...['a'.repeat(501), EMOJI.repeat(501), 'a/'.repeat(500_000), '', undefined, ['a'], '/index.html', 'a//b', 'a/'],
      ...['a/../b', './index.html', 'a\\b', 'a\u0000b', 'a\nb', 'a\u0085b', 'a\ud83d'],
    ],
  },
  size: { valid: [1], invalid: [0, 1.5, '5', undefined, 2 ** 53, 2 ** 30 + 1] },
  contentType: {
    valid: ['text/html; charset=utf-8', 'text/html;charset=UTF-8', 'text/html; a="b; c"; d=e', 'TEXT/HTML', `text/${'x'.repeat(250)}`],
    invalid: [
      ...[undefined, 1, 'html', 'text/ht ml', 'text/html\r\nSet-Cookie: a=b', 'text/html, text/plain'],
      ...['*/*', 'text/*', '*', 'text/html; a="\n"', `text/${'x'.repeat(251)}`],
    ],
  },
  hash: { valid: [HASH], invalid: [`${HASH}0`, 'A'.repeat(64), `${HASH.slice(1)}g`, `${HASH}\n`, 5] },
}

describe('a manifest entry', () => {
  const sendEntry = (entry: unknown) => send([{ ...PAGE, path: 'before' }, entry])

  test('is accepted with each valid value of a field, and with unknown fields', async () => {
    const entries = Object.entries(FIELDS).flatMap(([field, { valid }]) =>
      valid.map((value) => ({ ...PAGE, [field]: value })),
    )
    for (const entry of [...entries, { ...PAGE, mode: 0o644, mtime: null, known: true, __proto__x: {} }])
      assert.equal((await sendEntry(entry)).status, 201, JSON.stringify(entry).slice(0, 200))
  })

  test('is refused with its field for each invalid value', async () => {
    const assertNamed = async (entry: unknown, field: string) => {
      const { json, text } = await sendEntry(entry)
      assert.equal(json.code, 'VALIDATION_ERROR', `${JSON.stringify(entry).slice(0, 200)}: ${text}`)
      // A size over the limit of a file also exceeds the limit of the site.
      const named = pluck<{ field: string }, 'field'>(json.details, 'field').filter(
        (name) => name !== 'files',
      )
      assert.deepEqual(named, [field], json.error)
      assert.ok(json.error.startsWith(`${field}: `), json.error)
    }
    for (const [field, { invalid }] of Object.entries(FIELDS))
      for (const value of invalid) await assertNamed({ ...PAGE, [field]: value }, `files[1].${field}`)
    for (const entry of [null, [PAGE]]) await assertNamed(entry, 'files[1]')
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
    ['numbers', 0, 20_000, 400, 'files: 20,000 files. The limit is 1,000 per site'],
    ['empty objects', {}, 690_000, 400, TOO_MANY],
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
        live: false,
        viewer: { description: [], ttlSeconds: 1 },
      },
    )
    const first = ['path', 'size', 'contentType', 'hash'].map((field) => `files[0].${field}`)
    const paths = [2, 3, 4].map((number) => `files[${number}].path`)
    const metadata = ['baseVersionId', 'ogImagePath', 'spaMode', 'title']
    assertInvalid(answer, ...first, ...paths, ...metadata, 'viewer.description', 'viewer.ttlSeconds', 'live')
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

  test('is refused when a site cannot have it', async () => {
    for (const wrong of [
      ...[{ title: 't'.repeat(201) }, { ogImagePath: 'index.html' }, { ogImagePath: 'nowhere.png' }],
      ...[{ ttlSeconds: 59 }, { ttlSeconds: 60.5 }, { baseVersionId: 5 }, { claimToken: 5 }, { viewer: [] }],
    ])
      assertInvalid(await send([PAGE, picture], wrong), Object.keys(wrong)[0]!)
    const { slug } = await api.publish(api.anonymous, { 'index.html': 'x' })
    const json = { files: [], claimToken: null }
    assertInvalid(await api.request('PUT', `/api/v1/publish/${slug}`, { json }), 'claimToken', 'files')
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
