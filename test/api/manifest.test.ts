import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { pluck } from '../support/pluck.ts'
import { MIB } from '../support/units.ts'
import { expectFailure, startApi } from './api.ts'
import { assertInvalid } from './api-response.ts'
import { assertPublished, buildTar, createPending, send as sendBundle } from './bundle-fixture.ts'
import { sha256, toEntry } from './content.ts'

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

  test('is refused with all errors at once, in the order of the files', async () => {
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

  test('can have unknown fields everywhere', async () => {
    const answer = await send([{ ...PAGE, x: 1 }], { x: { y: [] }, viewer: { x: 1 }, files2: [] })
    assert.equal(answer.status, 201, answer.text)
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
  assert.equal((await sendBundle(api, pending, buildTar(contents))).status, 200)
  await assertPublished(api, owner, pending, contents)
  const files = equivalentNames(2).map((path) => toEntry(path, 'x'))
  await expectFailure(api.anonymous.create({ files }), 'VALIDATION_ERROR')
})
