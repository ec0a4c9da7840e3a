import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import type { ArchiveResponse } from '../../protocol/api/publish.ts'
import { requires } from '../tools/part.ts'
import { type Account, Api, DAY_MS, expectFailure, HOUR_MS } from './api.ts'
import { type Kind, make, send, TYPES } from './archive-requests.ts'
import { type Contents, toEntry } from './content.ts'

const MIB = 2 ** 20

let api: Api
let owner: Account
before(async () => {
  api = await Api.start({ ANONYMOUS_FILE_BYTES: `${2 * MIB}`, ANONYMOUS_SITE_BYTES: `${3 * MIB}` })
  owner = await api.account()
})
after(() => api[Symbol.asyncDispose]())

const SITE: Contents = {
  'index.html': '<h1>home</h1>',
  'css/style.css': 'h1 { color: red }',
  'data/a b.json': '{"a": 1}',
  'ünï/日本.txt': 'text',
  'large.bin': randomBytes(700_000),
  [`${'long/'.repeat(60)}name.txt`]: 'a long way down',
}

async function serves(siteUrl: string, contents: Contents): Promise<void> {
  for (const [path, content] of Object.entries(contents)) {
    const visit = await api.visit(siteUrl, `/${path.split('/').map(encodeURIComponent).join('/')}`)
    assert.deepEqual(visit.body, Buffer.from(content), path)
    assert.equal(visit.headers['content-type'], toEntry(path, '').contentType, path)
  }
}

describe('a folder packed by common archivers', requires('archivers'), () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'slipway-site-'))
    for (const [path, content] of Object.entries(SITE)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), content)
    }
  })
  after(() => rmSync(folder, { recursive: true }))

  const run = (program: string, ...args: string[]) =>
    execFileSync(program, args, { cwd: folder, maxBuffer: 2 ** 28 })
  const PYTHON_ZIP = `
import os, sys, zipfile
with zipfile.ZipFile(sys.stdout.buffer, 'w', zipfile.ZIP_DEFLATED) as archive:
    for folder, _, names in os.walk('.'):
        for name in names: archive.write(os.path.join(folder, name))`
  const PYTHON_TAR = `
import sys, tarfile
with tarfile.open(fileobj=sys.stdout.buffer, mode='w|gz') as archive: archive.add('.')`

  const archivers: [name: string, kind: Kind, pack: () => Buffer][] = [
    ['tar', 'tar', () => run('tar', '-cf', '-', '.')],
    ['tar -z', 'tar.gz', () => run('tar', '-czf', '-', '.')],
    ['tar --format=pax', 'tar', () => run('tar', '--format=pax', '-cf', '-', '.')],
    ['zip', 'zip', () => run('zip', '-qr', '-', '.')],
    ['python’s zipfile', 'zip', () => run('python3', '-c', PYTHON_ZIP)],
    ['python’s tarfile', 'tar.gz', () => run('python3', '-c', PYTHON_TAR)],
  ]
  for (const [name, kind, pack] of archivers) {
    test(`is published in one request: ${name}`, async () => {
      const { status, json } = await send(api, kind, pack(), { key: owner.key })
      assert.equal(status, 201)
      await serves(json.siteUrl, SITE)
      const { files } = await owner.client.details(json.slug)
      assert.deepEqual(files.map(({ path }) => path).sort(), Object.keys(SITE).sort())
    })
  }
})

describe('an archive', () => {
  for (const kind of Object.keys(TYPES) as Kind[]) {
    test(`of ${kind} is answered like a finalize, with the received files`, async () => {
      const { status, json } = await send(api, kind, make(kind, SITE), { key: owner.key })
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
      })
      await serves(siteUrl, SITE)
    })

    test(`of ${kind} can be sent in chunks without a Content-Length`, async () => {
      const bytes = make(kind, SITE)
      const pieces = Array.from({ length: Math.ceil(bytes.length / 10_007) }, (_, at) =>
        bytes.subarray(at * 10_007, (at + 1) * 10_007),
      )
      const { json } = await send(api, kind, Readable.from(pieces), { key: owner.key })
      await serves(json.siteUrl, SITE)
    })
  }

  for (const [type, kind] of [
    ['application/zip; charset=binary', 'zip'],
    ['Application/Zip', 'zip'],
    ['application/x-zip-compressed', 'zip'],
    ['application/x-gzip', 'tar.gz'],
  ] as const) {
    test(`can have the type ${type}`, async () => {
      const { status } = await send(api, type, make(kind, { 'index.html': 'x' }), { key: owner.key })
      assert.equal(status, 201)
    })
  }

  test('without an account returns the claim token and URL, as a manifest does', async () => {
    const { json } = await send(api, 'tar', make('tar', SITE))
    const { claimToken, claimUrl, expiresAt, anonymous, warning, slug } = json
    assert.equal(anonymous, true)
    assert.equal(claimUrl, `${api.baseUrl}/claim?slug=${slug}&token=${claimToken}`)
    assert.equal(expiresAt, new Date(api.clock.now + DAY_MS).toISOString())
    assert.ok(warning.length > 10)
    await owner.client.claim(slug, claimToken)
  })

  test('sets the metadata in its query', async () => {
    const contents = { 'index.html': 'home', 'card.png': 'png' }
    const metadata = {
      title: 'Ä & B',
      description: 'D',
      ogImagePath: 'card.png',
      spaMode: true,
      ttlSeconds: 3600,
    }
    const options = { contentType: TYPES.zip, ...metadata }
    const { slug, siteUrl } = await owner.client.publishArchive(make('zip', contents), options)
    const { title, description, ogImagePath, spaMode, expiresAt } = await owner.client.details(slug)
    assert.deepEqual([title, description, ogImagePath, spaMode], ['Ä & B', 'D', 'card.png', true])
    assert.equal(expiresAt, new Date(api.clock.now + HOUR_MS).toISOString())
    assert.equal((await api.visit(siteUrl)).status, 200)
  })

  describe('a folder with secrets, hidden files, packages and empty files', () => {
    const contents = {
      'index.html': 'home',
      '.well-known/security.txt': 'contact',
      '.nojekyll': 'x',
      '.env': 'DB_PASSWORD=hunter2',
      '.git/HEAD': 'ref',
      '.ssh/id_rsa': 'key',
      'tls.pem': 'key',
      'node_modules/a/index.js': 'a',
      '.DS_Store': 'view',
      'empty.txt': '',
    }
    const always = [
      ['.git/', 'repository'],
      ['node_modules/', 'dependencies'],
      ['.DS_Store', 'system'],
      ['empty.txt', 'empty'],
    ]
    const secrets = [
      ['.env', 'secret'],
      ['.ssh/', 'secret'],
      ['tls.pem', 'secret'],
    ]
    for (const [query, published, excluded] of [
      ['', ['index.html', '.well-known/security.txt'], [...always, ...secrets, ['.nojekyll', 'dotfile']]],
      ['?include=dotfiles', ['.nojekyll'], [...always, ...secrets]],
      [
        '?include=secrets',
        ['tls.pem'],
        [...always, ['.env', 'dotfile'], ['.ssh/', 'dotfile'], ['.nojekyll', 'dotfile']],
      ],
      ['?include=dotfiles,secrets', ['.env', '.ssh/id_rsa', 'tls.pem', '.nojekyll'], always],
    ] as [string, string[], string[][]][]) {
      for (const kind of Object.keys(TYPES) as Kind[]) {
        test(`as ${kind} with '${query}' publishes what the command would, and lists the rest`, async () => {
          const { json } = await send(api, kind, make(kind, contents), { key: owner.key, query })
          const found = json.excluded.map((one: { path: string; reason: string }) => [one.path, one.reason])
          assert.deepEqual(found.sort(), excluded.toSorted())
          for (const path of published)
            assert.equal((await api.visit(json.siteUrl, `/${path}`)).status, 200, path)
          for (const path of [
            '.git/HEAD',
            'node_modules/a/index.js',
            ...(query === '' ? ['.env', '.ssh/id_rsa'] : []),
          ])
            assert.equal((await api.visit(json.siteUrl, `/${path}`)).status, 404, path)
        })
      }
    }

    test('is refused when nothing of it may be published, with the names', async () => {
      const body = make('zip', { '.env': 'x', 'empty.txt': '' })
      const { status, json } = await send(api, 'zip', body, { key: owner.key })
      assert.equal(status, 400)
      assert.match(
        json.details[0].message,
        /^holds no file that can be published; excluded: \.env \(secret\), empty/,
      )
    })

    test('is refused when include names something else', async () => {
      const { json } = await send(api, 'zip', make('zip', contents), {
        key: owner.key,
        query: '?include=all',
      })
      assert.deepEqual(json.details, [
        { field: 'include', message: 'must be dotfiles, secrets, or both with a comma' },
      ])
    })
  })

  describe('one top folder that all files share', () => {
    const contents = {
      'mysite/index.html': 'home',
      'mysite/menu/index.html': 'menu',
      '__MACOSX/._mysite': 'fork',
    }
    for (const kind of Object.keys(TYPES) as Kind[]) {
      test(`as ${kind} is removed from the paths, and named`, async () => {
        const { json } = await send(api, kind, make(kind, contents), { key: owner.key })
        assert.equal(json.removedFolder, 'mysite/')
        assert.equal((await api.visit(json.siteUrl, '/')).text, 'home')
        assert.equal((await api.visit(json.siteUrl, '/menu/')).text, 'menu')
      })
    }

    test('stays with keepTopFolder=true', async () => {
      const { json } = await send(api, 'zip', make('zip', contents), {
        key: owner.key,
        query: '?keepTopFolder=true',
      })
      assert.equal(json.removedFolder, undefined)
      assert.equal((await api.visit(json.siteUrl, '/mysite/')).text, 'home')
    })

    test('is not removed when a file is beside it', async () => {
      const { json } = await send(api, 'tar', make('tar', { 'a/x.txt': 'x', 'b.txt': 'b' }), {
        key: owner.key,
      })
      assert.equal((await api.visit(json.siteUrl, '/a/x.txt')).text, 'x')
    })
  })

  test('can have 1,000 files', async () => {
    const contents: Contents = {}
    for (let number = 0; number < 1000; number++) contents[`${number % 9}/${number}.txt`] = `${number}`
    for (const kind of ['zip', 'tar.gz'] as const) {
      const { json } = await send(api, kind, make(kind, contents), { key: owner.key })
      assert.equal(json.fileCount, 1000)
      assert.equal((await api.visit(json.siteUrl, '/0/999.txt')).text, '999')
    }
  })

  test('is the version that the next manifest is compared with', async () => {
    const { json } = await send(api, 'tar', make('tar', { 'index.html': 'home', 'a.txt': 'a' }), {
      key: owner.key,
    })
    const { upload } = await api.update(owner.client, json.slug, { 'index.html': 'new', 'a.txt': 'a' })
    assert.deepEqual(
      upload.skipped.map(({ path }) => path),
      ['a.txt'],
    )
  })
})

test('many archives are published independently at the same time', async () => {
  const names = Array.from({ length: 8 }, (_, number) => `site ${number}`)
  const answers = await Promise.all(
    names.map((name, number) => {
      const kind = (['zip', 'tar', 'tar.gz'] as const)[number % 3]!
      return send(api, kind, make(kind, { 'index.html': name, 'shared.txt': 'shared' }), { key: owner.key })
    }),
  )
  for (const [number, { json }] of answers.entries()) {
    assert.equal((await api.visit(json.siteUrl)).text, names[number])
    assert.equal((await api.visit(json.siteUrl, '/shared.txt')).text, 'shared')
  }
})

test('an archive costs one request, and one over the rate limit is refused before its body is read', async () => {
  await using few = await Api.start({ RATE_ANONYMOUS: '5' })
  const archive = make('tar', { 'index.html': 'x' })
  const headers = { 'content-type': TYPES.tar }
  for (const remaining of ['4', '3', '2', '1', '0']) {
    const answer = await few.request('POST', '/api/v1/publish', { body: archive, headers })
    assert.equal(answer.status, 201)
    assert.equal(answer.headers['x-ratelimit-remaining'], remaining)
  }
  await expectFailure(few.anonymous.publishArchive(archive, { contentType: TYPES.tar }), 'RATE_LIMITED')
})
