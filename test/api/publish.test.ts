import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Account, Api, DAY, refused } from './api.ts'
import { type Contents, entryOf, manifestOf, plainManifestOf, sha256 } from './content.ts'
import { publishLikeAnyone } from './foreign-client.ts'

const MIB = 2 ** 20

let api: Api
let owner: Account
before(async () => {
  api = await Api.start({
    ANONYMOUS_FILE_BYTES: `${2 * MIB}`,
    ANONYMOUS_SITE_BYTES: `${3 * MIB}`,
    FILE_BYTES: `${2 ** 30}`,
    SITE_BYTES: `${1.5 * 2 ** 30}`,
  })
  owner = await api.account()
})
after(() => api[Symbol.asyncDispose]())

const PAGE = { path: 'index.html', size: 5, contentType: 'text/html' }

/** What a manifest of these entries is answered with. */
function send(files: unknown, more: object = {}, key: string | undefined = owner.key) {
  return api.ask('POST', '/api/v1/publish', { key, json: { files, ...more } })
}

describe('a new site', () => {
  test('is answered with where it will be, what to upload, where, and how to end', async () => {
    const contents = { 'index.html': '<h1>hi</h1>', 'css/style.css': 'h1 {}', 'a b/ü&?.txt': 'x' }
    const created = await owner.client.create({ files: manifestOf(contents) })
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
      manifestOf(contents).map(({ path, contentType }) => {
        return { path, method: 'PUT', headers: { 'Content-Type': contentType } }
      }),
    )
  })

  test('gets addresses for its uploads that name slug, version and path, with token, type and expiry', async () => {
    const path = 'a b/ü&?#%.txt'
    const { slug, upload } = await owner.client.create({ files: [entryOf(path, 'x')] })
    const url = new URL(upload.uploads[0]!.url)
    assert.equal(url.origin, api.baseUrl)
    const key = `${slug}/${upload.versionId}/a%20b/%C3%BC%26%3F%23%25.txt`
    assert.equal(url.pathname, `/api/v1/_upload/${key}`)
    assert.deepEqual([...url.searchParams.keys()].sort(), ['ct', 'exp', 'token'])
    assert.equal(url.searchParams.get('ct'), entryOf(path, '').contentType)
    assert.equal(Number(url.searchParams.get('exp')), Math.floor(api.clock.now / 1000) + 3600)
  })

  test('is shown to nobody before it is finalized', async () => {
    const contents = { 'index.html': 'soon' }
    const { siteUrl, upload } = await api.create(owner.client, contents)
    await api.upload(upload, contents)
    const visit = await api.visit(siteUrl)
    assert.equal(visit.status, 404)
    assert.doesNotMatch(visit.text, /soon/)
  })

  test('gets a slug of its own each time', async () => {
    const slugs = new Set<string>()
    for (let round = 0; round < 50; round++) {
      slugs.add((await owner.client.create({ files: [PAGE] })).slug)
    }
    assert.equal(slugs.size, 50)
  })

  test('is published by a client that only follows the answers', async () => {
    const files = {
      'index.html': { type: 'text/html', bytes: Buffer.from('<h1>hi</h1>') },
      'data.json': { type: 'application/json', bytes: Buffer.from('{"a":[1,2]}') },
      'deep/er/ü b.bin': { type: 'application/octet-stream', bytes: Buffer.from([0, 1, 2, 255]) },
    }
    const { siteUrl } = await publishLikeAnyone(api.baseUrl, files)
    for (const [path, { type, bytes }] of Object.entries(files)) {
      const visit = await api.visit(siteUrl, `/${encodeURI(path)}`)
      assert.equal(visit.status, 200, path)
      assert.equal(visit.headers['content-type'], type)
      assert.deepEqual(visit.body, bytes)
    }
  })

  test('has every file back byte for byte, whatever it is called and of whatever type it is', async () => {
    const contents: Contents = { 'index.html': '<h1>hi</h1>' }
    for (const name of STRANGE_NAMES) contents[name] = `contents of ${name}`
    const { siteUrl } = await api.publish(owner.client, contents)
    for (const [path, content] of Object.entries(contents)) {
      const visit = await api.visit(siteUrl, `/${path.split('/').map(encodeURIComponent).join('/')}`)
      assert.equal(visit.text, content, path)
    }
  })

  test('may have a thousand files', async () => {
    const contents: Contents = {}
    for (let number = 0; number < 1000; number++) contents[`${number % 7}/file-${number}.txt`] = `${number}`
    const { siteUrl, uploaded } = await api.publish(owner.client, contents)
    assert.equal(uploaded, 1000)
    assert.equal((await api.visit(siteUrl, '/5/file-999.txt')).text, '999')
  })
})

const STRANGE_NAMES = [
  'data.json',
  'data.JSON',
  'feed.xml',
  'app.webmanifest',
  'no-extension',
  '.well-known/security.txt',
  'notes..txt',
  '..notes',
  'notes..',
  '.../a',
  'a b.txt',
  'a+b.txt',
  '100%.txt',
  'a%20b.txt',
  'a%2Fb.txt',
  '%2e%2e',
  'a#b.txt',
  'a?b.txt',
  'a;b.txt',
  'a&b=c.txt',
  'a:b.txt',
  "it's.txt",
  '"quoted".txt',
  '<b>.txt',
  'ünïcödé.txt',
  '日本/語.txt',
  '😀.txt',
  '__proto__',
  'constructor',
  'toString/hasOwnProperty',
  'x'.repeat(500),
  `${'y'.repeat(250)}/${'z'.repeat(249)}`,
]

describe('without an account', () => {
  test('a site comes with the means to claim it, once, and the time it ends', async () => {
    const created = await api.anonymous.create({ files: manifestOf({ 'index.html': 'x' }) })
    const { slug, claimToken, claimUrl, expiresAt, anonymous, warning } = created
    assert.match(claimToken!, /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/)
    assert.equal(claimUrl, `${api.baseUrl}/claim?slug=${slug}&token=${claimToken}`)
    assert.equal(expiresAt, new Date(api.clock.now + DAY).toISOString())
    assert.equal(anonymous, true)
    assert.match(warning!, /claimToken/)
    assert.match(warning!, /claimUrl/)
  })

  test('a site is not told its claim token again', async () => {
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

  test('a key that is not valid is refused, and not taken for none', async () => {
    const answer = await send([PAGE], {}, 'sl_live_00000000000000000000000000000000')
    assert.equal(answer.status, 401)
    assert.equal(answer.json.code, 'UNAUTHORIZED')
  })

  test('a site has no time to live of its own', async () => {
    const answer = await send([PAGE], { ttlSeconds: 3600 }, '')
    assert.equal(answer.status, 401)
    const anonymous = await api.ask('POST', '/api/v1/publish', { json: { files: [PAGE], ttlSeconds: 3600 } })
    assert.equal(anonymous.status, 400)
    assert.equal(anonymous.json.details[0].field, 'ttlSeconds')
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
    test(`of a ${what} ${whose} may be as large as the limit and not a byte larger`, async () => {
      const files = (last: number) =>
        Array.from({ length: count }, (_, index) => ({
          ...PAGE,
          path: `${index}.bin`,
          size: index === count - 1 ? last : size,
        }))
      const whole = { files: files(size) }
      const over = { files: files(size + 1) }
      const asked = { key: key && owner.key }
      assert.equal((await api.ask('POST', '/api/v1/publish', { ...asked, json: whole })).status, 201)
      const { status, json } = await api.ask('POST', '/api/v1/publish', { ...asked, json: over })
      assert.equal(status, 400)
      assert.equal(json.code, 'VALIDATION_ERROR')
      const limit = { file: size, site: size * count }[what]
      assert.ok(json.error.includes(`${limit}`), `names the limit: ${json.error}`)
      assert.equal(json.details[0].field, what === 'file' ? 'files[0].size' : 'files')
    })
  }
})

/** A manifest entry, and the field of it that must be named as wrong; none when it must be accepted. */
type EntryCase = [sentence: string, entry: unknown, wrong?: 'path' | 'size' | 'contentType' | 'hash' | '']

const HASH = sha256('hello')
const EMOJI = '😀'

const entries: EntryCase[] = [
  ['a path of 500 characters', { ...PAGE, path: 'a'.repeat(500) }],
  ['a path of 501 characters', { ...PAGE, path: 'a'.repeat(501) }, 'path'],
  ['a path of 500 characters outside the basic plane', { ...PAGE, path: EMOJI.repeat(500) }],
  ['a path of 501 characters outside the basic plane', { ...PAGE, path: EMOJI.repeat(501) }, 'path'],
  ['a path of 500 characters of two bytes', { ...PAGE, path: 'ü'.repeat(500) }],
  ['a path of a million characters', { ...PAGE, path: 'a/'.repeat(500_000) }, 'path'],
  ['an empty path', { ...PAGE, path: '' }, 'path'],
  ['no path', { size: 5, contentType: 'text/html' }, 'path'],
  ['a path that is null', { ...PAGE, path: null }, 'path'],
  ['a path that is a number', { ...PAGE, path: 7 }, 'path'],
  ['a path that is a list', { ...PAGE, path: ['a'] }, 'path'],
  ['a path from the root', { ...PAGE, path: '/index.html' }, 'path'],
  ['a path of a slash', { ...PAGE, path: '/' }, 'path'],
  ['a path to another host', { ...PAGE, path: '//evil.example/a' }, 'path'],
  ['a path with an empty segment', { ...PAGE, path: 'a//b' }, 'path'],
  ['a path that ends with a slash', { ...PAGE, path: 'a/' }, 'path'],
  ["a path that is '..'", { ...PAGE, path: '..' }, 'path'],
  ["a path that begins with a '..' segment", { ...PAGE, path: '../a' }, 'path'],
  ["a path with a '..' segment", { ...PAGE, path: 'a/../b' }, 'path'],
  ["a path that ends with a '..' segment", { ...PAGE, path: 'a/..' }, 'path'],
  ['a name with two dots in it', { ...PAGE, path: 'notes..txt' }],
  ['a name that begins with two dots', { ...PAGE, path: '..notes/a' }],
  ['a name that ends with two dots', { ...PAGE, path: 'a../b' }],
  ['a name of three dots', { ...PAGE, path: '.../a' }],
  ["a path that is '.'", { ...PAGE, path: '.' }, 'path'],
  ["a path with a '.' segment", { ...PAGE, path: './index.html' }, 'path'],
  ['a hidden name', { ...PAGE, path: '.well-known/acme' }],
  ['a backslash', { ...PAGE, path: 'a\\b' }, 'path'],
  ['a null byte', { ...PAGE, path: 'a\u0000b' }, 'path'],
  ['a null byte at the end', { ...PAGE, path: 'index.html\u0000' }, 'path'],
  ['a line break', { ...PAGE, path: 'a\nb' }, 'path'],
  ['a carriage return', { ...PAGE, path: 'a\rb' }, 'path'],
  ['a tab', { ...PAGE, path: 'a\tb' }, 'path'],
  ['an escape', { ...PAGE, path: 'a\u001bb' }, 'path'],
  ['a delete', { ...PAGE, path: 'a\u007fb' }, 'path'],
  ['a control character of Latin 1', { ...PAGE, path: 'a\u0085b' }, 'path'],
  ['half a character', { ...PAGE, path: 'a\ud83d' }, 'path'],
  ['a space', { ...PAGE, path: 'a b.html' }],
  ['a percent sign', { ...PAGE, path: '100%25.html' }],
  ['a name of every kind of letter', { ...PAGE, path: 'ü/日本/😀.html' }],
  ['a decomposed letter', { ...PAGE, path: 'u\u0308.html' }],
  ['a size of one byte', { ...PAGE, size: 1 }],
  ['a size of 0', { ...PAGE, size: 0 }, 'size'],
  ['a size of -1', { ...PAGE, size: -1 }, 'size'],
  ['a size of 1.5', { ...PAGE, size: 1.5 }, 'size'],
  ['a size written 5.0', { ...PAGE, size: 5.0 }],
  ['a size that is a string', { ...PAGE, size: '5' }, 'size'],
  ['a size that is true', { ...PAGE, size: true }, 'size'],
  ['a size that is null', { ...PAGE, size: null }, 'size'],
  ['a size that is a list', { ...PAGE, size: [5] }, 'size'],
  ['no size', { path: 'a', contentType: 'text/html' }, 'size'],
  ['a size of 2^53', { ...PAGE, size: 2 ** 53 }, 'size'],
  ['a size of 1e300', { ...PAGE, size: 1e300 }, 'size'],
  ['a size over the limit of a file', { ...PAGE, size: 2 ** 30 + 1 }, 'size'],
  ['no content type', { path: 'a', size: 5 }, 'contentType'],
  ['a content type that is null', { ...PAGE, contentType: null }, 'contentType'],
  ['a content type that is a number', { ...PAGE, contentType: 1 }, 'contentType'],
  ['an empty content type', { ...PAGE, contentType: '' }, 'contentType'],
  ['a content type without a slash', { ...PAGE, contentType: 'html' }, 'contentType'],
  ['a content type without a subtype', { ...PAGE, contentType: 'text/' }, 'contentType'],
  ['a content type without a type', { ...PAGE, contentType: '/html' }, 'contentType'],
  ['a content type with two slashes', { ...PAGE, contentType: 'text/html/x' }, 'contentType'],
  ['a content type with a space in it', { ...PAGE, contentType: 'text/ht ml' }, 'contentType'],
  [
    'a content type with a line break',
    { ...PAGE, contentType: 'text/html\r\nSet-Cookie: a=b' },
    'contentType',
  ],
  ['a content type with a letter beyond ASCII', { ...PAGE, contentType: 'text/hütte' }, 'contentType'],
  ['two content types', { ...PAGE, contentType: 'text/html, text/plain' }, 'contentType'],
  ['a parameter without a value', { ...PAGE, contentType: 'text/html; charset' }, 'contentType'],
  [
    'a parameter with a line break in its quotes',
    { ...PAGE, contentType: 'text/html; a="\n"' },
    'contentType',
  ],
  ['a content type with a charset', { ...PAGE, contentType: 'text/html; charset=utf-8' }],
  ['a content type with a charset and no space', { ...PAGE, contentType: 'text/html;charset=UTF-8' }],
  ['a content type with a quoted parameter', { ...PAGE, contentType: 'text/html; a="b; c"; d=e' }],
  ['a content type with a suffix', { ...PAGE, contentType: 'image/svg+xml' }],
  ['a content type of a vendor', { ...PAGE, contentType: 'application/vnd.ms-excel.sheet.1' }],
  ['a content type in capitals', { ...PAGE, contentType: 'TEXT/HTML' }],
  ['a content type of 255 characters', { ...PAGE, contentType: `text/${'x'.repeat(250)}` }],
  ['a content type of 256 characters', { ...PAGE, contentType: `text/${'x'.repeat(251)}` }, 'contentType'],
  ['a hash', { ...PAGE, hash: HASH }],
  ['a hash of 63 characters', { ...PAGE, hash: HASH.slice(1) }, 'hash'],
  ['a hash of 65 characters', { ...PAGE, hash: `${HASH}0` }, 'hash'],
  ['a hash in capitals', { ...PAGE, hash: 'A'.repeat(64) }, 'hash'],
  ['a hash with a letter that is not hex', { ...PAGE, hash: `${HASH.slice(1)}g` }, 'hash'],
  ['a hash with a line break behind it', { ...PAGE, hash: `${HASH}\n` }, 'hash'],
  ['a hash with its name before it', { ...PAGE, hash: `sha256:${HASH}` }, 'hash'],
  ['an empty hash', { ...PAGE, hash: '' }, 'hash'],
  ['a hash that is a number', { ...PAGE, hash: 5 }, 'hash'],
  ['fields nobody knows', { ...PAGE, mode: 0o644, mtime: null, known: true, __proto__x: {} }],
  ['a file that is a string', 'index.html', ''],
  ['a file that is null', null, ''],
  ['a file that is a list', [PAGE], ''],
  ['a file that is a number', 5, ''],
]

describe('a manifest entry', () => {
  for (const [sentence, entry, wrong] of entries) {
    if (wrong === undefined) {
      test(`with ${sentence} is accepted`, async () => {
        const answer = await send([entry])
        assert.equal(answer.status, 201, answer.text)
        assert.equal(answer.json.upload.uploads.length, 1)
      })
    } else {
      test(`with ${sentence} is refused, and so named`, async () => {
        const { status, json, text } = await send([{ ...PAGE, path: 'before' }, entry])
        assert.equal(status, 400, text)
        assert.equal(json.code, 'VALIDATION_ERROR')
        const field = wrong === '' ? 'files[1]' : `files[1].${wrong}`
        const fields = json.details.map((detail: { field: string }) => detail.field)
        // A size beyond all measure is too much for the whole site, too.
        assert.deepEqual(
          fields.filter((name: string) => name !== 'files'),
          [field],
        )
        assert.ok(json.error.startsWith(`${field}: `), json.error)
        assert.ok(json.error.length < 400, 'one sentence')
      })
    }
  }
})

describe('a manifest', () => {
  const pages = (...paths: string[]) => paths.map((path) => ({ ...PAGE, path }))
  const many = (count: number) => pages(...Array.from({ length: count }, (_, number) => `${number}.html`))
  const cases: [sentence: string, files: unknown, wrong?: string[]][] = [
    ['without files', undefined, ['files']],
    ['with no file', [], ['files']],
    ['whose files are null', null, ['files']],
    ['whose files are an object', { 0: PAGE }, ['files']],
    ['whose files are a text', 'index.html', ['files']],
    ['of 1,000 files', many(1000)],
    ['of 1,001 files', many(1001), ['files']],
    ['of a million entries that are none', Array(800_000).fill(0), ['files']],
    ['with a path twice', pages('a.html', 'b.html', 'a.html'), ['files[2].path']],
    ['with a path three times', pages('a', 'a', 'a'), ['files[1].path', 'files[2].path']],
    ['with a path in two writings of Unicode', pages('\u00fc.html', 'u\u0308.html'), ['files[1].path']],
    ['with a file that is a folder too', pages('a', 'a/b'), ['files[0].path']],
    ['with a folder that is a file too', pages('a/b/c', 'a/b'), ['files[1].path']],
    ['with a file that is a folder in another writing', pages('\u00fc', 'u\u0308/b'), ['files[0].path']],
    ['with names that begin alike', pages('a', 'ab', 'a.b', 'a-b/c')],
    ['with names that differ in case', pages('README', 'readme', 'Readme/a')],
    ['with a name like a folder elsewhere', pages('a/b', 'b/a', 'c/a/b')],
  ]
  for (const [sentence, files, wrong] of cases) {
    test(`${sentence} is ${wrong ? 'refused' : 'accepted'}`, async () => {
      const { status, json, text } = await send(files)
      if (!wrong) return assert.equal(status, 201, text)
      assert.equal(status, 400, text)
      assert.equal(json.code, 'VALIDATION_ERROR')
      assert.deepEqual(
        json.details.map((detail: { field: string }) => detail.field),
        wrong,
      )
    })
  }

  test('tells all that is wrong at once, in the order of the files', async () => {
    const { json } = await send(
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
    assert.deepEqual(
      json.details.map((detail: { field: string }) => detail.field).sort(),
      [
        'baseVersionId',
        'files[0].contentType',
        'files[0].hash',
        'files[0].path',
        'files[0].size',
        'files[2].path',
        'files[3].path',
        'files[4].path',
        'ogImagePath',
        'spaMode',
        'title',
        'viewer.description',
        'viewer.ttlSeconds',
      ].sort(),
    )
  })

  test('that is wrong in a thousand places names the first twenty and says how many there are', async () => {
    const files = Array.from({ length: 1000 }, (_, number) => ({ ...PAGE, path: `${number}`, size: 0 }))
    const { json } = await send(files)
    assert.equal(json.details.length, 20)
    assert.deepEqual(
      json.details.map((detail: { field: string }) => detail.field),
      Array.from({ length: 20 }, (_, number) => `files[${number}].size`),
    )
    assert.match(json.error, /999/)
  })

  test('that is refused leaves nothing behind', async () => {
    const account = await api.account()
    const answer = await send([PAGE, PAGE], {}, account.key)
    assert.equal(answer.status, 400)
    assert.deepEqual((await account.client.list()).publishes, [])
  })

  test('may be written with fields nobody knows, everywhere', async () => {
    const answer = await send([{ ...PAGE, x: 1 }], { x: { y: [] }, viewer: { x: 1 }, files2: [] })
    assert.equal(answer.status, 201, answer.text)
  })
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
    ['of a kind of archive nobody reads', 'application/x-7z-compressed', '7z', 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['of no type', undefined, '{"files":[]}', 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['of a type that is none', 'json', '{"files":[]}', 415, 'UNSUPPORTED_MEDIA_TYPE'],
  ]
  for (const [sentence, type, body, status, code] of bodies) {
    test(`${sentence} is ${code}`, async () => {
      const headers = type === undefined ? undefined : { 'content-type': type }
      const answer = await api.ask('POST', '/api/v1/publish', { key: owner.key, body, headers })
      assert.equal(answer.status, status, answer.text)
      assert.equal(answer.json.code, code)
    })
  }

  for (const type of [
    'application/json; charset=utf-8',
    'Application/JSON',
    'application/json;charset=UTF-8',
  ]) {
    test(`of ${type} is JSON`, async () => {
      const headers = { 'content-type': type }
      const body = JSON.stringify({ files: [PAGE] })
      const answer = await api.ask('POST', '/api/v1/publish', { key: owner.key, body, headers })
      assert.equal(answer.status, 201, answer.text)
    })
  }

  test('of more than 2 MiB is PAYLOAD_TOO_LARGE and told so, and the limit with it', async () => {
    const filled = (length: number) => {
      const empty = JSON.stringify({ files: [PAGE], filler: '' })
      return JSON.stringify({ files: [PAGE], filler: 'x'.repeat(length - empty.length) })
    }
    const headers = { 'content-type': 'application/json' }
    const fits = { key: owner.key, headers, body: filled(2 * MIB) }
    assert.equal((await api.ask('POST', '/api/v1/publish', fits)).status, 201)
    for (const length of [2 * MIB + 1, 9 * MIB]) {
      const over = { key: owner.key, headers, body: filled(length) }
      const answer = await api.ask('POST', '/api/v1/publish', over)
      assert.equal(answer.status, 413)
      assert.match(answer.json.error, /2097152/)
    }
  })
})

describe('what is said of a site', () => {
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

  const said = { title: 'T', description: 'D', ogImagePath: 'card.png', spaMode: true }
  const other = { title: 'other', description: 'other', ogImagePath: 'nowhere.png', spaMode: false }
  const nothing = { title: null, description: null, ogImagePath: null, spaMode: false }

  test('is read at the top level', async () => assert.deepEqual(await details(said), said))
  test('is read in viewer', async () => assert.deepEqual(await details({ viewer: said }), said))
  test('is taken from the top level where both say something', async () => {
    assert.deepEqual(await details({ ...said, viewer: other }), said)
    assert.deepEqual(await details({ title: 'T', viewer: { ...said, title: 'no' } }), said)
  })
  test('is nothing when nothing is said', async () => assert.deepEqual(await details({}), nothing))
  test('may be null, which is nothing', async () => {
    assert.deepEqual(await details({ title: null, description: null, ogImagePath: null }), nothing)
    assert.deepEqual(await details({ title: null, viewer: { title: 'T' } }), nothing)
  })

  const limits: [field: string, value: unknown, valid: boolean][] = [
    ['title', 't'.repeat(200), true],
    ['title', 't'.repeat(201), false],
    ['title', EMOJI.repeat(200), true],
    ['title', EMOJI.repeat(201), false],
    ['title', 5, false],
    ['title', ['t'], false],
    ['description', 'd'.repeat(500), true],
    ['description', 'd'.repeat(501), false],
    ['description', EMOJI.repeat(500), true],
    ['description', {}, false],
    ['ogImagePath', 'card.png', true],
    ['ogImagePath', 'index.html', false],
    ['ogImagePath', 'nowhere.png', false],
    ['ogImagePath', '/card.png', false],
    ['ogImagePath', 5, false],
    ['spaMode', true, true],
    ['spaMode', 'true', false],
    ['spaMode', 1, false],
    ['ttlSeconds', 60, true],
    ['ttlSeconds', 59, false],
    ['ttlSeconds', 31_536_000, true],
    ['ttlSeconds', 31_536_001, false],
    ['ttlSeconds', 60.5, false],
    ['ttlSeconds', '60', false],
    ['ttlSeconds', null, true],
    ['baseVersionId', 5, false],
    ['claimToken', 5, false],
    ['viewer', 'T', false],
    ['viewer', [], false],
  ]
  for (const [field, value, valid] of limits) {
    const shown = JSON.stringify(value)
    test(`${field}: ${shown.length > 30 ? `${[...shown].length - 2} characters` : shown} is ${valid ? 'fine' : 'refused'}`, async () => {
      const isTop = ['baseVersionId', 'claimToken', 'viewer'].includes(field)
      const places = isTop ? [{ [field]: value }] : [{ [field]: value }, { viewer: { [field]: value } }]
      for (const place of places) {
        const answer = await send([PAGE, picture], place)
        assert.equal(answer.status, valid ? 201 : 400, answer.text)
        if (!valid) assert.match(answer.json.details[0].field, new RegExp(`^(viewer\\.)?${field}$`))
      }
    })
  }
})

describe('bytes', () => {
  const secret = 'what nobody else may read'

  test('are not had by naming their hash', async () => {
    await api.publish(owner.client, { 'secret.txt': secret })
    const thief = await api.account()
    const files = [entryOf('mine.txt', secret)]
    const { slug, upload } = await thief.client.create({ files })
    assert.deepEqual(
      upload.uploads.map(({ path }) => path),
      ['mine.txt'],
    )
    await refused(thief.client.finalize(slug, upload), 'UPLOADS_MISSING')
  })

  test('are not had by claiming that the service knows them', async () => {
    await api.publish(owner.client, { 'secret.txt': secret })
    const thief = await api.account()
    for (const claim of [{ known: true }, { arrived: true }, { skipped: true }, { state: 'ready' }]) {
      const { json } = await send([{ ...entryOf('mine.txt', secret), ...claim }], {}, thief.key)
      await refused(thief.client.finalize(json.slug, json.upload), 'UPLOADS_MISSING')
      const { slug } = await api.publish(thief.client, { 'a.txt': 'a' })
      const files = [{ ...entryOf('mine.txt', secret), ...claim }]
      const update = await api.ask('PUT', `/api/v1/publish/${slug}`, { key: thief.key, json: { files } })
      assert.equal(update.json.upload.uploads.length, 1)
      await refused(thief.client.finalize(slug, update.json.upload), 'UPLOADS_MISSING')
    }
  })

  test('need no hash', async () => {
    const contents = { 'index.html': 'no hash' }
    const { slug, siteUrl, upload } = await owner.client.create({ files: plainManifestOf(contents) })
    await api.upload(upload, contents)
    await owner.client.finalize(slug, upload)
    assert.equal((await api.visit(siteUrl)).text, 'no hash')
    assert.equal((await owner.client.details(slug)).files[0]!.hash, sha256('no hash'))
  })
})
