import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { ArchiveResponse } from '../../protocol/api/publish.schema.ts'
import { KINDS } from '../archive/build-archive.ts'
import type { Part } from '../archive/part.ts'
import { TAR_END, tar, tarPart } from '../archive/tar-file.ts'
import { zip } from '../archive/zip-file.ts'
import { numbers } from '../support/random.ts'
import { KIB, MIB } from '../support/units.ts'
import { waitFor } from '../support/wait-for.ts'
import { HOUR_MS, startApi } from './api.ts'
import { type ApiResponse, assertInvalid } from './api-response.ts'
import { assertKeepsNothing, type Kind, make, part, send, TYPES } from './archive-requests.ts'
import { type Contents, toEntry } from './content.ts'

const api = await startApi({ ANONYMOUS_FILE_BYTES: `${2 * MIB}`, ANONYMOUS_SITE_BYTES: `${3 * MIB}` })
const owner = await api.account()

const SITE: Contents = {
  'index.html': '<h1>home</h1>',
  'css/style.css': 'h1 { color: red }',
  'data/a b.json': '{"a": 1}',
  'ünï/日本.txt': 'text',
  'large.bin': randomBytes(700_000),
  'empty.css': '',
  'site/NEWS': 'Grüße',
  'large-text': 'Grüße '.repeat(50_000),
  'large-binary': randomBytes(300_000),
  '.well-known/matrix/client': '{}',
  [`${'long/'.repeat(60)}name.txt`]: 'a long way down',
}

/** Publishes an archive of these files for the owner. */
function publishArchive(kind: Kind, contents: Contents, query = ''): Promise<ApiResponse> {
  return send(api, kind, make(kind, contents), { key: owner.key, query })
}

async function serves(siteUrl: string, contents: Contents): Promise<void> {
  for (const [path, content] of Object.entries(contents)) {
    const visit = await api.visit(siteUrl, `/${path.split('/').map(encodeURIComponent).join('/')}`)
    assert.deepEqual(visit.body, Buffer.from(content), path)
    assert.equal(visit.headers['content-type'], toEntry(path, content).contentType, path)
  }
}

describe('an archive', () => {
  for (const kind of KINDS) {
    test(`of ${kind}, in chunks without a Content-Length, is answered like a finalize with the received files`, async () => {
      const bytes = make(kind, SITE)
      const pieces = Array.from({ length: Math.ceil(bytes.length / 10_007) }, (_, at) =>
        bytes.subarray(at * 10_007, (at + 1) * 10_007),
      )
      const { status, json } = await send(api, kind, Readable.from(pieces), { key: owner.key })
      assert.equal(status, 201)
      const { slug, siteUrl, versionId } = json as ArchiveResponse
      assert.deepEqual(json, {
        success: true,
        slug,
        siteUrl,
        status: 'active',
        versionId,
        currentVersionId: versionId,
        previousVersionId: null,
        previewUrl: siteUrl.replace('://', `://${versionId}--`),
        fileCount: Object.keys(SITE).length,
        totalBytes: Object.values(SITE).reduce((sum, content) => sum + Buffer.byteLength(content), 0),
        excluded: [],
        title: null,
      })
      await serves(siteUrl, SITE)
    })
  }

  describe('a folder with secrets, hidden files and packages', () => {
    const contents: Contents = {
      'index.html': 'home',
      '.DS_Store': 'view',
      '.nojekyll': 'x',
    }
    for (const path of [
      '.well-known/security.txt',
      '.env',
      '.git/HEAD',
      '.ssh/id_rsa',
      'tls.pem',
      'node_modules/a/b',
    ])
      contents[path] = 'x'
    const always = ['.git/ repository', 'node_modules/ dependencies', '.DS_Store system']
    const secrets = ['.env secret', '.ssh/ secret', 'tls.pem secret']
    const dotfiles = ['.env dotfile', '.ssh/ dotfile', '.nojekyll dotfile']
    const cases: [query: string, published: string[], excluded: string[]][] = [
      ['', ['index.html', '.well-known/security.txt'], [...always, ...secrets, '.nojekyll dotfile']],
      ['?include=dotfiles', ['.nojekyll'], [...always, ...secrets]],
      ['?include=secrets', ['tls.pem'], [...always, ...dotfiles]],
      ['?include=dotfiles,secrets', ['.env', '.ssh/id_rsa', 'tls.pem', '.nojekyll'], always],
    ]
    test('publishes what the command would, and lists the rest', async () => {
      for (const [query, published, excluded] of cases) {
        const { json } = await publishArchive('zip', contents, query)
        const found = (json as ArchiveResponse).excluded.map(({ path, reason }) => `${path} ${reason}`)
        assert.deepEqual(found.toSorted(), excluded.toSorted(), query)
        const status = async (path: string) => (await api.visit(json.siteUrl, `/${path}`)).status
        for (const path of published) assert.equal(await status(path), 200, `${path} ${query}`)
        const hidden = ['.git/HEAD', 'node_modules/a/b', ...(query === '' ? ['.env', '.ssh/id_rsa'] : [])]
        for (const path of hidden) assert.equal(await status(path), 404, `${path} ${query}`)
      }
    })

    test('is refused when nothing of it may be published, or include names something else', async () => {
      const nothing = (await publishArchive('zip', { '.env': 'x' })).json
      assert.match(nothing.error, /contains no files to publish\. Skipped 1 file: \.env \(secret\)/)
      const { json } = await publishArchive('zip', contents, '?include=all')
      const message = 'must be dotfiles, secrets or dotfiles,secrets'
      assert.deepEqual(json.details, [{ field: 'include', message }])
    })
  })

  const contents = {
    'mysite/index.html': 'home',
    'mysite/menu/index.html': 'menu',
    '__MACOSX/._mysite': 'fork',
  }
  test('one top folder that all files share is removed from the paths and named, unless keepTopFolder=true or a file is beside it', async () => {
    const { json } = await publishArchive('tar', contents)
    assert.equal(json.removedFolder, 'mysite/')
    assert.equal((await api.visit(json.siteUrl, '/')).text, 'home')
    assert.equal((await api.visit(json.siteUrl, '/menu/')).text, 'menu')
    const kept = (await publishArchive('zip', contents, '?keepTopFolder=true')).json
    assert.equal(kept.removedFolder, undefined)
    assert.equal((await api.visit(kept.siteUrl, '/mysite/')).text, 'home')
    const beside = await publishArchive('tar', { 'a/x.txt': 'x', 'b.txt': 'b' })
    assert.equal((await api.visit(beside.json.siteUrl, '/a/x.txt')).text, 'x')
  })
})

describe('an archive as an update', () => {
  const old = { 'index.html': 'old', 'old.txt': 'old' }
  const fresh = make('tar.gz', { 'index.html': 'new' })

  test('replaces the whole version in one request', async () => {
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

  test('is refused without storing anything when another version than its base is live', async () => {
    const { slug, siteUrl, versionId } = await api.publish(owner.client, old)
    const query = (base: string) => ({ slug, query: `?baseVersionId=${base}`, key: owner.key })
    const right = await send(api, 'tar.gz', fresh, query(versionId))
    assert.equal(right.status, 200)
    const late = await assertKeepsNothing(api, owner, () =>
      send(api, 'zip', make('zip', { 'late.txt': 'late' }), query(versionId)),
    )
    assert.equal(late.status, 409)
    assert.partialDeepStrictEqual(late.json.details, { currentVersionId: right.json.versionId })
    assert.equal((await api.visit(siteUrl)).text, 'new')
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
    const refused = await assertKeepsNothing(api, owner, () =>
      send(api, 'tar.gz', fresh, { slug, headers: { 'x-slipway-claim-token': 'x' } }),
    )
    assert.equal(refused.json.code, 'INVALID_CLAIM_TOKEN')
    for (const [query, code] of [
      ['', 'UNAUTHORIZED'],
      ['?claimToken=', 'INVALID_CLAIM_TOKEN'],
      [`?claimToken=${claimToken}&claimToken=x`, 'VALIDATION_ERROR'],
    ] as const)
      assert.equal((await send(api, 'tar.gz', fresh, { slug, query })).json.code, code, query)
    api.clock.now = Date.parse(expiresAt!)
    const late = await send(api, 'tar.gz', fresh, { slug, query: `?claimToken=${claimToken}` })
    assert.equal(late.json.code, 'SITE_EXPIRED')
  })

  const queries: [string, string[]][] = [
    ['?live=&spaMode=1', ['live', 'spaMode']],
    ['?title=a&title=b', ['title']],
    ['?ttlSeconds=soon', ['ttlSeconds']],
  ]
  test('is refused for each invalid field of its query, without storing anything', async () => {
    const { slug } = await api.publish(owner.client, old)
    await assertKeepsNothing(api, owner, async () => {
      for (const [query, fields] of queries)
        assertInvalid(await send(api, 'tar.gz', fresh, { slug, query, key: owner.key }), ...fields)
    })
  })
})

describe('an archive is refused without leaving files or rows when it', () => {
  const both = (...parts: Part[]): [Kind, Buffer][] => [
    ['tar', tar(parts)],
    ['tar.gz', gzipSync(tar(parts))],
    ['zip', zip(parts)],
  ]
  const good = part('index.html', 'good')
  const many = Array.from({ length: 1001 }, (_, number) => part(`${number}.txt`, `${number}`))
  const broken = [part('broken', 'content'), part('broken', Buffer.alloc(600_000, 'content'))]
  const refusals: [sentence: string, archives: [Kind, Buffer][], message: RegExp, code?: string][] = [
    ['climbs out', both(good, part('../x')), /'\.\.'/],
    ['has no files', both(), /at least 1/],
    ['has 1,001 files', [['tar', tar(many)]], /limit is 1,000 per site/, 'PAYLOAD_TOO_LARGE'],
    [
      'declares a wrong checksum',
      broken.map((part) => ['zip', zip([good, { ...part, crc32: 1 }])]),
      /broken/,
    ],
    ['is truncated', [['tar.gz', gzipSync(tar([good])).subarray(0, -9)]], /./],
  ]
  for (const [sentence, archives, message, code = 'VALIDATION_ERROR'] of refusals) {
    test(sentence, async () => {
      await assertKeepsNothing(api, owner, async () => {
        for (const [kind, bytes] of archives) {
          const answer = await send(api, kind, bytes, { key: owner.key })
          assert.equal(answer.json.code, code, `${kind}: ${answer.text}`)
          assert.match(answer.json.error, message, kind)
        }
      })
    })
  }

  test('has a file or a site over the limit, which the error names', async () => {
    const [file, site] = [2 * MIB, 3 * MIB]
    const whole = { 'a.bin': randomBytes(file), 'b.bin': randomBytes(site - file) }
    for (const kind of KINDS) {
      assert.equal((await send(api, kind, make(kind, whole))).status, 201, kind)
      const over = { file: { 'a.bin': Buffer.alloc(file + 1, 'x') }, site: { ...whole, 'c.bin': 'x' } }
      for (const [what, contents] of Object.entries(over)) {
        const answer = await assertKeepsNothing(api, owner, () => send(api, kind, make(kind, contents)))
        assert.equal(answer.status, 413, `${kind} ${what}`)
        assert.match(
          answer.json.error,
          what === 'file' ? /limit is 2 MB per file/ : /limit is 3.1 MB per site/,
        )
      }
    }
  })

  test('loses its connection at any byte', async (context) => {
    const next = numbers(context)
    const contents = { 'index.html': 'home', 'a.bin': randomBytes(400_000), 'b.bin': randomBytes(50_000) }
    for (const kind of KINDS) {
      const bytes = make(kind, contents)
      const head = [
        'POST /api/v1/publish HTTP/1.1',
        'Host: localhost',
        `Authorization: Bearer ${owner.key}`,
        `Content-Type: ${TYPES[kind]}`,
        `Content-Length: ${bytes.length}`,
      ].join('\r\n')
      const requestBytes = Buffer.concat([Buffer.from(`${head}\r\n\r\n`), bytes])
      await assertKeepsNothing(api, owner, async () => {
        for (let round = 0; round < 12; round++) {
          const answer = await api.cutOff(requestBytes.subarray(0, 1 + next(requestBytes.length - 1)))
          assert.doesNotMatch(answer, /^HTTP\/1\.1 2/)
        }
      })
    }
  })
})

test('an archive that takes longer than an upload may is refused, and leaves nothing behind', async () => {
  await using slow = await startApi({ PENDING_LIFETIME: '60s', RATE_ANONYMOUS: '100' })
  const account = await slow.account()
  async function* body() {
    for (const [index, name] of ['a', 'b', 'c', 'd'].entries()) {
      yield tarPart(part(`${name}.bin`, randomBytes(100 * KIB)))
      await waitFor(() => slow.begunPuts > index)
      // The minimum rate allows this pause.
      slow.pass(25_000)
    }
    yield TAR_END
  }
  const { status, json } = await assertKeepsNothing(slow, account, () =>
    send(slow, 'tar', Readable.from(body()), { key: account.key }),
  )
  assert.deepEqual([status, json.code], [408, 'REQUEST_TIMEOUT'])
  assert.match(json.error, /^The archive took longer/)
})
