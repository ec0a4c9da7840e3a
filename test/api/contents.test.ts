import assert from 'node:assert/strict'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { MIB } from '../support/units.ts'
import { startApi } from './api.ts'
import { assertInvalid } from './api-response.ts'
import { assertKeepsNothing, make } from './archive-requests.ts'
import { toManifest } from './content.ts'

const api = await startApi()
const owner = await api.account()

const publish = (json: object, { key = owner.key, slug = '', query = '' } = {}) => {
  api.pass()
  const target = slug === '' ? '/api/v1/publish' : `/api/v1/publish/${slug}`
  return api.request(slug === '' ? 'POST' : 'PUT', target + query, { key, json })
}

describe('files with their contents in the request', () => {
  const image = randomBytes(500)
  const files = [
    { path: 'index.html', content: '<h1>Hi, 日本</h1>' },
    { path: 'img/a.png', contentBase64: image.toString('base64') },
    { path: 'feed', content: '{}', contentType: 'application/feed+json' },
  ]

  test('are a live site after one call, with types by their extensions', async () => {
    const { status, json } = await publish({ files, title: 'Hi', message: 'first' })
    assert.deepEqual([status, json.status, json.fileCount, json.excluded], [201, 'active', 3, []])
    const page = await api.visit(json.siteUrl)
    assert.match(page.text, /<title>Hi<\/title>.*<h1>Hi, 日本<\/h1>/s)
    const { headers, body } = await api.visit(json.siteUrl, '/img/a.png')
    assert.deepEqual([headers['content-type'], body], ['image/png', image])
    assert.equal((await api.visit(json.siteUrl, '/feed')).headers['content-type'], 'application/feed+json')
  })

  test('update a site: whole, merged with deletions, as a draft, or only if something changed', async () => {
    const { slug, siteUrl } = (await publish({ files })).json
    const text = { path: 'a.txt', content: 'a' }
    await publish({ files: [text], merge: true, delete: ['feed'] }, { slug })
    const paths = (await owner.client.details(slug)).files.map(({ path }) => path).toSorted()
    assert.deepEqual(paths, ['a.txt', 'img/a.png', 'index.html'])
    const draft = await publish({ files: [text], live: false }, { slug })
    assert.equal(draft.json.status, 'active')
    assert.notEqual(draft.json.versionId, draft.json.currentVersionId)
    await publish({ files: [text] }, { slug })
    assert.equal((await publish({ files: [text], ifChanged: true }, { slug })).json.unchanged, true)
    assert.equal((await api.visit(siteUrl, '/a.txt')).text, 'a')
    assert.deepEqual((await owner.client.details(slug)).files.length, 1)
  })

  test('leave out secrets, as an archive does, unless they are included', async () => {
    const secret = [{ path: '.env', content: 'A=1' }, ...files]
    const { excluded } = (await publish({ files: secret })).json
    assert.deepEqual(excluded, [{ path: '.env', reason: 'secret' }])
    const included = await publish({ files: secret }, { query: '?include=dotfiles,secrets' })
    assert.deepEqual(included.json.excluded, [])
  })

  test('keep the rules of a manifest, and a refused request keeps nothing', async () => {
    const page = { path: 'index.html', content: 'x' }
    const hash = createHash('sha256').update('y').digest('hex')
    const refused: [files: unknown[], ...fields: string[]][] = [
      [[page, { path: 'b', size: 1, contentType: 'text/plain' }], 'files[1]'],
      [[page, { path: 'b', content: 'x', contentBase64: 'eA==' }], 'files[1]'],
      [[page, { content: 'x' }, null], 'files[1].path', 'files[2].path'],
      [[{ path: 'b', contentBase64: 'e!==' }], 'files[0].contentBase64'],
      [[{ path: 'b', content: '\ud800' }], 'files[0].content'],
      [
        [
          { ...page, size: 2 },
          { path: 'b', content: 'x', hash },
        ],
        'files[0].size',
        'files[1].hash',
      ],
      [[page, { path: '../b', content: 'x' }], 'files[1].path'],
      [[page, page], 'files[1].path'],
      [[{ ...page, contentType: 'html' }], 'files[0].contentType'],
      [[{ path: '.env', content: 'x' }], 'files'],
    ]
    const unsized = await publish({ files: [{ path: 'b' }] })
    assert.match(unsized.json.error, /or send content or contentBase64/)
    for (const [entries, ...fields] of refused) {
      const answer = await assertKeepsNothing(api, owner, () => publish({ files: entries }))
      assertInvalid(answer, ...fields)
    }
    const large = [page, { path: 'b', content: 'x'.repeat(2 * MIB) }]
    const tooLarge = await assertKeepsNothing(api, owner, () => publish({ files: large }))
    assert.deepEqual([tooLarge.status, tooLarge.json.code], [413, 'PAYLOAD_TOO_LARGE'])
  })
})

/** The first bytes of other formats, with the command that makes one that is accepted. */
const OTHER_FORMATS = {
  plain: 'Send a Content-Type that the message lists, and no Content-Encoding.',
  '7z\xbc\xaf\x27\x1c': 'It is a 7z archive. With 7-Zip, create a zip: 7z a -tzip site.zip',
  'Rar!\x1a': 'It is a RAR archive. With WinRAR, choose the format ZIP.',
  '\xfd7zXZ\0': 'It is compressed with xz. With tar, use gzip: tar -czf site.tar.gz',
  BZh9: 'It is compressed with bzip2. With tar, use gzip: tar -czf site.tar.gz',
  '\x28\xb5\x2f\xfd': 'It is compressed with zstd. With tar, use gzip: tar -czf site.tar.gz',
  '070701': 'It is a cpio archive. With cpio, use the format ustar: cpio -o -H ustar',
}

test('an HTML body is a site of one page', async () => {
  const html = { 'content-type': 'text/html' }
  const { status, json } = await api.request('POST', '/api/v1/publish', { headers: html, body: '<p>one</p>' })
  assert.deepEqual([status, json.status, json.fileCount], [201, 'active', 1])
  assert.equal((await api.visit(json.siteUrl)).text, '<p>one</p>')
  assertInvalid(await api.request('POST', '/api/v1/publish', { headers: html, body: '' }), 'files')
  const body = 'x'.repeat(2 * MIB + 1)
  assert.equal((await api.request('POST', '/api/v1/publish', { headers: html, body })).status, 413)
})

test('a publish as a new site is refused when it is about another one, in whatever way it is sent', async () => {
  const token = { 'x-slipway-claim-token': randomUUID() }
  const claimToken = randomUUID()
  const name = `new-${claimToken.slice(0, 8)}`
  const staged = { files: toManifest({ 'index.html': 'x' }) }
  const inline = { files: [{ path: 'index.html', content: 'x' }] }
  const zip = { body: make('zip', { 'index.html': 'x' }), headers: { 'content-type': 'application/zip' } }
  const requests: [field: string, request: object, query?: string][] = [
    ['merge', { json: { ...staged, merge: true } }],
    ['claimToken', { json: { ...staged, claimToken } }],
    ['claimToken', { json: staged, headers: token }],
    ['claimToken', { json: { ...inline, claimToken } }],
    ['claimToken', { ...zip, headers: { ...zip.headers, ...token } }],
    ['claimToken', zip, `?claimToken=${claimToken}`],
    ['baseVersionId', { json: { ...staged, baseVersionId: 'x' } }],
    ['baseVersionId', { json: { ...inline, baseVersionId: 'x' } }],
    ['baseVersionId', { json: { ...inline, baseVersionId: 'x', name, update: true }, key: owner.key }],
    ['baseVersionId', zip, '?baseVersionId=x'],
  ]
  for (const [field, request, query = ''] of requests) {
    api.pass()
    assertInvalid(await api.request('POST', `/api/v1/publish${query}`, request), field)
  }
})

describe('an upload to the address of the service', () => {
  const contents = { 'index.html': 'home', 'a.txt': 'a' }
  const put = (target: string, body: string | Buffer, headers: Record<string, string> = {}, key?: string) =>
    api.request('PUT', target, { body, headers, key })

  const uploads: [what: string, target: string, body: string | Buffer, headers?: Record<string, string>][] = [
    ['a zip', '/site.zip', make('zip', contents)],
    ['a tar without a name', '/', make('tar', contents)],
    ['a tar.gz with another name', '/site.dat', make('tar.gz', contents)],
    ['a page', '/page.html', ' <!doctype html><h1>home</h1>'],
    ['a page of plain text, by its name', '/page.htm', 'home'],
    ['a page, by its type', '/', 'home', { 'content-type': 'text/html' }],
    [
      'a form, as curl calls a zip',
      '/',
      make('zip', contents),
      { 'content-type': 'application/x-www-form-urlencoded' },
    ],
  ]
  test('publishes an archive or a page of any name, and responds with its URL in the first line', async () => {
    for (const [what, target, body, headers] of uploads) {
      const answer = await put(target, body, headers)
      assert.equal(answer.status, 201, `${what}: ${answer.text}`)
      assert.match(answer.headers['content-type']!, /^text\/plain/)
      assert.match(answer.text, /^http:\/\/[\w-]+\.localhost:\d+\/\n/)
      const { 'x-slipway-claim-url': claimUrl, 'x-slipway-claim-token': claimToken } = answer.headers
      assert.match(String(claimUrl), /\/claim\?slug=/)
      assert.equal(new URL(String(claimUrl)).searchParams.get('token'), claimToken)
      assert.match(answer.headers['x-ratelimit-remaining'] as string, /^\d+$/)
      assert.match((await api.visit(answer.text.split('\n')[0]!)).text, /home/, what)
    }
  })

  test('responds with JSON to a client that accepts it, and takes the options of an archive', async () => {
    const { json } = await put('/?title=Zipped', make('zip', contents), { accept: 'application/json' })
    assert.equal(json.fileCount, 2)
    assert.match((await api.visit(json.siteUrl)).text, /<title>Zipped/)
  })

  test('updates the site that the path names, with its key or its claim token', async () => {
    const created = (await put('/', 'x', { 'content-type': 'text/html', accept: 'application/json' })).json
    const { slug, siteUrl, claimToken } = created
    const zip = make('zip', contents)
    const withoutToken = await put(`/${slug}`, zip)
    assert.equal(withoutToken.status, 401)
    assert.match(withoutToken.json.hint, /X-Slipway-Claim-Token/)
    const withoutDot = await put('/page', '<p>x')
    assert.equal(withoutDot.status, 401)
    assert.match(withoutDot.json.hint, /For a new site, add an extension, such as page\.html\./)
    const withoutSlug = await put('/', zip, { 'x-slipway-claim-token': claimToken })
    assert.equal(withoutSlug.status, 400)
    assert.match(withoutSlug.text, /add its slug/)
    const updated = await put(`/${slug}`, zip, { 'x-slipway-claim-token': claimToken })
    assert.deepEqual([updated.status, updated.text.split('\n')[0]], [200, siteUrl])
    await owner.client.claim(slug, claimToken)
    assert.equal((await put(`/${slug}`, '<p>mine</p>', {}, owner.key)).status, 200)
    assert.equal((await api.visit(siteUrl)).text, '<p>mine</p>')
    assert.equal((await put('/sites', zip, {}, owner.key)).json.code, 'NOT_FOUND')
  })

  test('is refused without bytes, of an unknown format, or damaged', async () => {
    for (const [format, remedy] of Object.entries(OTHER_FORMATS)) {
      const { json } = await put('/site.dat', Buffer.from(format, 'latin1'))
      assert.deepEqual([json.code, json.hint], ['UNSUPPORTED_MEDIA_TYPE', remedy])
      assert.match(json.error, /application\/zip, application\/x-tar, application\/gzip or text\/html/)
    }
    assert.equal((await put('/site.zip', '')).status >= 400, true)
    const damaged = make('zip', contents).subarray(0, -30)
    const answer = await put('/site.zip', damaged)
    assertInvalid(answer, 'archive')
    assert.match(answer.json.hint, /^Create the archive again/)
  })
})
