import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createGzip, gzipSync } from 'node:zlib'
import type { ArchiveAnswer } from '../../client/wire.ts'
import type { Part } from '../archive/part.ts'
import { tar, tarHeader, tarPart } from '../archive/tar-file.ts'
import { zip } from '../archive/zip-file.ts'
import { needs } from '../tools/part.ts'
import type { Answer } from './answer.ts'
import { type Account, Api, DAY, HOUR, refused } from './api.ts'
import { type Contents, entryOf } from './content.ts'
import { numbers } from './random.ts'

const MIB = 2 ** 20
const TYPES = { zip: 'application/zip', tar: 'application/x-tar', 'tar.gz': 'application/gzip' } as const
type Kind = keyof typeof TYPES

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

const part = (name: string, data: string | Buffer = 'x'): Part => ({ name, data: Buffer.from(data) })

function make(kind: Kind, contents: Contents): Buffer {
  const parts = Object.entries(contents).map(([name, data]) => part(name, data))
  if (kind === 'zip') return zip(parts)
  return kind === 'tar' ? tar(parts) : gzipSync(tar(parts))
}

/** Sends an archive, as a new site or to one that is there. */
function send(
  kind: Kind | string,
  body: Buffer | Readable,
  { slug, query = '', key }: { slug?: string; query?: string; key?: string | undefined } = {},
): Promise<Answer> {
  api.pass()
  const type = TYPES[kind as Kind] ?? kind
  const [method, path] = slug === undefined ? ['POST', '/api/v1/publish'] : ['PUT', `/api/v1/publish/${slug}`]
  return api.ask(method!, path + query, { key, body, headers: { 'content-type': type } })
}

async function serves(siteUrl: string, contents: Contents): Promise<void> {
  for (const [path, content] of Object.entries(contents)) {
    const visit = await api.visit(siteUrl, `/${path.split('/').map(encodeURIComponent).join('/')}`)
    assert.deepEqual(visit.body, Buffer.from(content), path)
    assert.equal(visit.headers['content-type'], entryOf(path, '').contentType, path)
  }
}

/** The files below folders of the service, as they are now. */
async function filesIn(...folders: string[]): Promise<string[]> {
  const found = await Promise.all(
    folders.map((name) => readdir(join(api.data, name), { recursive: true, withFileTypes: true })),
  )
  const files = found.flat().filter((entry) => entry.isFile())
  return files.map((entry) => join(entry.parentPath, entry.name).slice(api.data.length + 1))
}

/** All bytes that are kept, once none are under way any more: what follows an answer may take a moment. */
async function bytesAtRest(): Promise<Set<string>> {
  for (let round = 0; round < 500 && (await filesIn('blobs/staged', 'spool')).length > 0; round++) {
    await setImmediate()
  }
  return new Set(await filesIn('blobs', 'spool'))
}

/** What the database knows that could belong to an archive. */
async function knownOf(account: Account) {
  const house = await api.inside()
  const { versions, blobNames } = house.store.read
  const pending = (await versions.abandoned(api.clock.now + DAY, 1000)).length
  const sites = await Array.fromAsync(account.client.sites())
  return { pending, sites, named: await blobNames.count() }
}

/** Runs what must be refused and sees to it that neither the disk nor the database has anything of it afterwards. */
async function keepsNothing<T>(account: Account, work: () => Promise<T>): Promise<T> {
  const before = { bytes: await bytesAtRest(), known: await knownOf(account) }
  const outcome = await work()
  const after = { bytes: await bytesAtRest(), known: await knownOf(account) }
  assert.deepEqual(
    [...after.bytes].filter((path) => !before.bytes.has(path)),
    [],
  )
  assert.deepEqual(after.known.sites, before.known.sites)
  // A sweep may have taken something of earlier tests meanwhile.
  assert.ok(after.known.pending <= before.known.pending, 'no version is waiting')
  assert.ok(after.known.named <= before.known.named, 'no bytes are named')
  return outcome
}

describe('a folder as real archivers pack it', needs('archivers'), () => {
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
    test(`is live in one request: ${name}`, async () => {
      const { status, json } = await send(kind, pack(), { key: owner.key })
      assert.equal(status, 201)
      await serves(json.siteUrl, SITE)
      const { files } = await owner.client.details(json.slug)
      assert.deepEqual(files.map(({ path }) => path).sort(), Object.keys(SITE).sort())
    })
  }
})

describe('an archive', () => {
  for (const kind of Object.keys(TYPES) as Kind[]) {
    test(`of ${kind} is answered like a finalize, with what came`, async () => {
      const { status, json } = await send(kind, make(kind, SITE), { key: owner.key })
      assert.equal(status, 201)
      const { slug, siteUrl, versionId } = json as ArchiveAnswer
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
        skipped: [],
      })
      await serves(siteUrl, SITE)
    })

    test(`of ${kind} may come in pieces without a length`, async () => {
      const bytes = make(kind, SITE)
      const pieces = Array.from({ length: Math.ceil(bytes.length / 10_007) }, (_, at) =>
        bytes.subarray(at * 10_007, (at + 1) * 10_007),
      )
      const { json } = await send(kind, Readable.from(pieces), { key: owner.key })
      await serves(json.siteUrl, SITE)
    })
  }

  for (const [type, kind] of [
    ['application/zip; charset=binary', 'zip'],
    ['Application/Zip', 'zip'],
    ['application/x-zip-compressed', 'zip'],
    ['application/x-gzip', 'tar.gz'],
  ] as const) {
    test(`may be called ${type}`, async () => {
      const { status } = await send(type, make(kind, { 'index.html': 'x' }), { key: owner.key })
      assert.equal(status, 201)
    })
  }

  test('without an account comes with the means to claim the site, as a manifest does', async () => {
    const { json } = await send('tar', make('tar', SITE))
    const { claimToken, claimUrl, expiresAt, anonymous, warning, slug } = json
    assert.equal(anonymous, true)
    assert.equal(claimUrl, `${api.baseUrl}/claim?slug=${slug}&token=${claimToken}`)
    assert.equal(expiresAt, new Date(api.clock.now + DAY).toISOString())
    assert.ok(warning.length > 10)
    await owner.client.claim(slug, claimToken)
  })

  test('says of the site what its query says', async () => {
    const contents = { 'index.html': 'home', 'card.png': 'png' }
    const said = {
      title: 'Ä & B',
      description: 'D',
      ogImagePath: 'card.png',
      spaMode: true,
      ttlSeconds: 3600,
    }
    const options = { contentType: TYPES.zip, ...said }
    const { slug, siteUrl } = await owner.client.publishArchive(make('zip', contents), options)
    const { title, description, ogImagePath, spaMode, expiresAt } = await owner.client.details(slug)
    assert.deepEqual([title, description, ogImagePath, spaMode], ['Ä & B', 'D', 'card.png', true])
    assert.equal(expiresAt, new Date(api.clock.now + HOUR).toISOString())
    assert.equal((await api.visit(siteUrl)).status, 200)
  })

  test('leaves out the litter of archivers, and says so', async () => {
    const contents = {
      'index.html': 'home',
      '__MACOSX/._index.html': 'junk',
      'a/.DS_Store': 'junk',
      '._x': 'junk',
    }
    const { json } = await send('zip', make('zip', contents), { key: owner.key })
    assert.equal(json.fileCount, 1)
    assert.deepEqual(json.skipped, [
      { path: '__MACOSX/._index.html', reason: 'junk' },
      { path: 'a/.DS_Store', reason: 'junk' },
      { path: '._x', reason: 'junk' },
    ])
  })

  test('keeps .well-known and other names that begin with a dot', async () => {
    const contents = { '.well-known/security.txt': 'x', '.nojekyll': 'x' }
    const { json } = await send('tar', make('tar', contents), { key: owner.key })
    assert.equal(json.fileCount, 2)
  })

  test('may have a thousand files', async () => {
    const contents: Contents = {}
    for (let number = 0; number < 1000; number++) contents[`${number % 9}/${number}.txt`] = `${number}`
    for (const kind of ['zip', 'tar.gz'] as const) {
      const { json } = await send(kind, make(kind, contents), { key: owner.key })
      assert.equal(json.fileCount, 1000)
      assert.equal((await api.visit(json.siteUrl, '/0/999.txt')).text, '999')
    }
  })

  test('is what the next manifest is compared with', async () => {
    const { json } = await send('tar', make('tar', { 'index.html': 'home', 'a.txt': 'a' }), {
      key: owner.key,
    })
    const { upload } = await api.update(owner.client, json.slug, { 'index.html': 'new', 'a.txt': 'a' })
    assert.deepEqual(
      upload.skipped.map(({ path }) => path),
      ['a.txt'],
    )
  })
})

describe('an archive as an update', () => {
  const old = { 'index.html': 'old', 'old.txt': 'old' }
  const fresh = make('tar.gz', { 'index.html': 'new' })

  test('takes the place of the whole version at once', async () => {
    const first = await api.publish(owner.client, old, { title: 'T' })
    const { slug, siteUrl } = first
    const { status, json } = await send('tar.gz', fresh, { slug, key: owner.key })
    assert.equal(status, 200)
    assert.equal(json.previousVersionId, first.versionId)
    assert.equal(json.currentVersionId, json.versionId)
    assert.equal((await api.visit(siteUrl)).text, 'new')
    assert.equal((await owner.client.details(slug)).title, 'T')
    assert.equal((await owner.client.details(slug)).files.length, 1)
  })

  test('may be kept as a draft', async () => {
    const { slug, siteUrl } = await api.publish(owner.client, old)
    const { json } = await send('tar.gz', fresh, { slug, query: '?live=false', key: owner.key })
    assert.equal((await api.visit(siteUrl)).text, 'old')
    assert.equal((await api.visit(json.previewUrl)).text, 'new')
    await owner.client.restore(slug, json.versionId)
    assert.equal((await api.visit(siteUrl)).text, 'new')
  })

  test('is refused when another version is live than the one it was based on, and keeps nothing', async () => {
    const { slug, siteUrl, versionId } = await api.publish(owner.client, old)
    const query = (base: string) => ({ slug, query: `?baseVersionId=${base}`, key: owner.key })
    const right = await send('tar.gz', fresh, query(versionId))
    assert.equal(right.status, 200)
    const late = await keepsNothing(owner, () =>
      send('zip', make('zip', { 'late.txt': 'late' }), query(versionId)),
    )
    assert.equal(late.status, 409)
    assert.deepEqual(late.json.details, { currentVersionId: right.json.versionId })
    assert.equal((await api.visit(siteUrl)).text, 'new')
  })

  test('wins or loses as a whole when several are based on the same version, and nothing waits afterwards', async () => {
    const { slug, siteUrl, versionId } = await api.publish(owner.client, old)
    const names = ['one', 'two', 'three', 'four']
    const query = { slug, query: `?baseVersionId=${versionId}`, key: owner.key }
    const answers = await Promise.all(
      names.map((name) => send('tar', make('tar', { 'index.html': name }), query)),
    )
    const winners = names.filter((_, at) => answers[at]!.status === 200)
    assert.equal(winners.length, 1)
    assert.equal((await api.visit(siteUrl)).text, winners[0])
    for (const { status, json } of answers) if (status !== 200) assert.equal(json.code, 'VERSION_CONFLICT')
    assert.equal((await owner.client.details(slug)).pendingVersionId, null)
    assert.equal((await owner.client.versions(slug)).versions.length, 2)
    await bytesAtRest()
    assert.deepEqual(await filesIn('blobs/staged', 'spool'), [])
  })

  test('of an anonymous site needs its claim token, and does not move its end', async () => {
    const site = await api.publish(api.anonymous, old)
    const { slug, siteUrl, claimToken, expiresAt } = site
    api.pass(HOUR)
    const options = { contentType: TYPES['tar.gz'], slug, claimToken: claimToken! }
    const answer = await owner.client.publishArchive(fresh, options)
    assert.equal(answer.claimToken, undefined)
    assert.equal((await api.visit(siteUrl)).text, 'new')
    assert.equal((await api.anonymous.claimPreview(slug, claimToken!)).expiresAt, expiresAt)
    const wrongly = [
      ['', 401, 'UNAUTHORIZED'],
      ['?claimToken=', 403, 'INVALID_CLAIM_TOKEN'],
      ['?claimToken=x', 403, 'INVALID_CLAIM_TOKEN'],
      [`?claimToken=${claimToken}&claimToken=x`, 400, 'VALIDATION_ERROR'],
    ] as const
    for (const [query, status, code] of wrongly) {
      const refusal = await keepsNothing(owner, () => send('tar.gz', fresh, { slug, query }))
      assert.equal(refusal.status, status, query)
      assert.equal(refusal.json.code, code)
    }
    api.clock.now = Date.parse(expiresAt!)
    const late = await send('tar.gz', fresh, { slug, query: `?claimToken=${claimToken}` })
    assert.equal(late.json.code, 'SITE_EXPIRED')
  })

  test('is for the owner alone, and refused before its bytes are taken', async () => {
    const { slug } = await api.publish(owner.client, old)
    const stranger = await api.account()
    const body = () =>
      Readable.from(
        (async function* () {
          for (let piece = 0; piece < 50; piece++) yield randomBytes(64 * 1024)
        })(),
      )
    const theirs = await keepsNothing(owner, () => send('tar', body(), { slug, key: stranger.key }))
    assert.equal(theirs.json.code, 'NOT_FOUND')
    const nobodys = await keepsNothing(owner, () => send('tar', body(), { slug }))
    assert.equal(nobodys.json.code, 'UNAUTHORIZED')
    const missing = await send('tar', body(), { slug: 'no-such-site-234567', key: owner.key })
    assert.equal(missing.json.code, 'NOT_FOUND')
  })

  const queries: [string, string[]][] = [
    ['?live=no', ['live']],
    ['?spaMode=yes', ['spaMode']],
    ['?live=&spaMode=1', ['live', 'spaMode']],
    [`?title=${'t'.repeat(201)}`, ['title']],
    [`?description=${'d'.repeat(501)}`, ['description']],
    ['?title=a&title=b', ['title']],
    ['?ttlSeconds=59', ['ttlSeconds']],
    ['?ttlSeconds=soon', ['ttlSeconds']],
    ['?ttlSeconds=', ['ttlSeconds']],
    ['?ogImagePath=nowhere.png', ['ogImagePath']],
    ['?ogImagePath=index.html', ['ogImagePath']],
    ['?baseVersionId=a&baseVersionId=b', ['baseVersionId']],
  ]
  for (const [query, fields] of queries) {
    test(`is refused for what it says: ${query.slice(0, 40)}`, async () => {
      const { slug } = await api.publish(owner.client, old)
      const answer = await keepsNothing(owner, () => send('tar.gz', fresh, { slug, query, key: owner.key }))
      assert.equal(answer.status, 400, answer.text)
      assert.deepEqual(answer.json.details.map(({ field }: { field: string }) => field).sort(), fields)
    })
  }
})

describe('nothing is kept of an archive that', () => {
  const both = (parts: Part[]): [Kind, Buffer][] => [
    ['tar', tar(parts)],
    ['tar.gz', gzipSync(tar(parts))],
    ['zip', zip(parts)],
  ]
  const good = part('index.html', 'good')
  const refusals: [sentence: string, archives: [Kind, Buffer][], code: string, says?: RegExp][] = [
    ['climbs out', both([good, part('../x')]), 'VALIDATION_ERROR', /'\.\.'/],
    ['climbs in between', both([good, part('a/../../x')]), 'VALIDATION_ERROR', /'\.\.'/],
    ['begins at the root', both([good, part('/etc/passwd')]), 'VALIDATION_ERROR', /relative/],
    ['has a backslash', both([good, part('a\\b')]), 'VALIDATION_ERROR', /backslash/],
    ['has a control character', both([good, part('a\nb')]), 'VALIDATION_ERROR', /control/],
    ['has an empty segment', both([good, part('a//b')]), 'VALIDATION_ERROR', /empty segment/],
    ['has a path of 501 characters', both([good, part('x'.repeat(501))]), 'VALIDATION_ERROR', /500/],
    ['has a path twice', both([good, good]), 'VALIDATION_ERROR', /repeats/],
    ['has a path in two writings', both([part('ü'), part('u\u0308')]), 'VALIDATION_ERROR', /repeats/],
    ['has a file that is a folder', both([part('a'), part('a/b')]), 'VALIDATION_ERROR', /folder/],
    ['has an empty file', both([good, part('empty', '')]), 'VALIDATION_ERROR', /positive/],
    ['has no files', both([]), 'VALIDATION_ERROR', /at least 1/],
    ['has only folders', both([part('a/', ''), part('b/c/', '')]), 'VALIDATION_ERROR', /at least 1/],
    ['has only litter', both([part('__MACOSX/x')]), 'VALIDATION_ERROR', /at least 1/],
    [
      'has 1,001 files',
      both(Array.from({ length: 1001 }, (_, number) => part(`${number}.txt`, `${number}`))),
      'PAYLOAD_TOO_LARGE',
      /1000/,
    ],
    [
      'has a link',
      [
        [
          'tar',
          Buffer.concat([
            tarPart(good),
            tarPart({ name: 'link', type: '2', data: Buffer.alloc(0) }),
            Buffer.alloc(1024),
          ]),
        ],
        ['zip', zip([good, { ...part('link', '/etc/passwd'), mode: 0o120777 }])],
      ],
      'VALIDATION_ERROR',
      /link/,
    ],
    [
      'has a device',
      [
        [
          'tar',
          Buffer.concat([
            tarPart(good),
            tarPart({ name: 'null', type: '3', data: Buffer.alloc(0) }),
            Buffer.alloc(1024),
          ]),
        ],
      ],
      'VALIDATION_ERROR',
      /device/,
    ],
    [
      'is encrypted',
      [['zip', zip([good, { ...part('secret'), flags: 1 }])]],
      'VALIDATION_ERROR',
      /encrypted/,
    ],
    [
      'lies about a checksum',
      [['zip', zip([good, { ...part('lie', 'truth'), crc32: 1 }])]],
      'VALIDATION_ERROR',
    ],
    [
      'is cut off',
      [
        ['tar', tar([good, part('b', randomBytes(5000))]).subarray(0, 3000)],
        ['zip', zip([good]).subarray(0, -5)],
        ['tar.gz', gzipSync(tar([good])).subarray(0, -9)],
      ],
      'VALIDATION_ERROR',
    ],
    ['is none', (Object.keys(TYPES) as Kind[]).map((kind) => [kind, randomBytes(5000)]), 'VALIDATION_ERROR'],
    ['is empty', (Object.keys(TYPES) as Kind[]).map((kind) => [kind, Buffer.alloc(0)]), 'VALIDATION_ERROR'],
    [
      'is of another kind',
      [
        ['zip', tar([good])],
        ['tar', zip([good])],
        ['tar.gz', tar([good])],
      ],
      'VALIDATION_ERROR',
    ],
    [
      'is JSON',
      [
        ['tar', Buffer.from('{"files":[]}')],
        ['zip', Buffer.from('{"files":[]}')],
      ],
      'VALIDATION_ERROR',
    ],
  ]
  for (const [sentence, archives, code, says] of refusals) {
    test(sentence, async () => {
      const account = await api.account()
      for (const [kind, bytes] of archives) {
        const answer = await keepsNothing(account, () => send(kind, bytes, { key: account.key }))
        assert.equal(answer.json.code, code, `${kind}: ${answer.text}`)
        if (says) assert.match(answer.json.error, says, kind)
      }
    })
  }

  test('has a file or a site over the limit, and the limit is named', async () => {
    const account = await api.account()
    const [file, site] = [2 * MIB, 3 * MIB]
    const whole = { 'a.bin': randomBytes(file), 'b.bin': randomBytes(site - file) }
    for (const kind of Object.keys(TYPES) as Kind[]) {
      assert.equal((await send(kind, make(kind, whole))).status, 201, kind)
      const over = { file: { 'a.bin': Buffer.alloc(file + 1, 'x') }, site: { ...whole, 'c.bin': 'x' } }
      for (const [what, contents] of Object.entries(over)) {
        const answer = await keepsNothing(account, () => send(kind, make(kind, contents)))
        assert.equal(answer.status, 413, `${kind} ${what}`)
        assert.match(answer.json.error, new RegExp(`${what === 'file' ? file : site}`))
      }
    }
  })

  test('unpacks to far more than it is: a bomb is cut off', async () => {
    const account = await api.account()
    const zeros = Buffer.alloc(MIB)
    let fed = 0
    const bomb = Readable.from(
      (async function* () {
        yield tarHeader({ name: 'bomb', declares: 2 * MIB })
        for (; fed < 4096; fed++) yield zeros
      })(),
    ).pipe(createGzip({ level: 1 }))
    bomb.on('error', () => undefined)
    const gz = await keepsNothing(account, () => send('tar.gz', bomb).catch(() => undefined))
    if (gz) assert.ok(gz.status === 400 || gz.status === 413, gz.text)
    assert.ok(fed < 2048, `${fed} MiB were taken`)
    const inflating = zip([part('a'), { ...part('bomb', Buffer.alloc(64 * MIB)), size: 1000 }])
    const lie = await keepsNothing(account, () => send('zip', inflating))
    assert.equal(lie.json.code, 'VALIDATION_ERROR')
    const honest = zip([part('bomb', Buffer.alloc(64 * MIB))])
    assert.equal((await keepsNothing(account, () => send('zip', honest))).status, 413)
  })

  test('is cut off with its connection, at any place', async (context) => {
    const account = await api.account()
    const next = numbers(context)
    const contents = { 'index.html': 'home', 'a.bin': randomBytes(400_000), 'b.bin': randomBytes(50_000) }
    for (const kind of Object.keys(TYPES) as Kind[]) {
      const bytes = make(kind, contents)
      const head = [
        'POST /api/v1/publish HTTP/1.1',
        'Host: localhost',
        `Authorization: Bearer ${account.key}`,
        `Content-Type: ${TYPES[kind]}`,
        `Content-Length: ${bytes.length}`,
      ].join('\r\n')
      const wire = Buffer.concat([Buffer.from(`${head}\r\n\r\n`), bytes])
      await keepsNothing(account, async () => {
        for (let round = 0; round < 12; round++) {
          const answer = await api.cutOff(wire.subarray(0, 1 + next(wire.length - 1)))
          assert.doesNotMatch(answer, /^HTTP\/1\.1 2/)
        }
      })
    }
  })
})

test('many archives at once are published each on its own', async () => {
  const names = Array.from({ length: 8 }, (_, number) => `site ${number}`)
  const answers = await Promise.all(
    names.map((name, number) => {
      const kind = (['zip', 'tar', 'tar.gz'] as const)[number % 3]!
      return send(kind, make(kind, { 'index.html': name, 'shared.txt': 'shared' }), { key: owner.key })
    }),
  )
  for (const [number, { json }] of answers.entries()) {
    assert.equal((await api.visit(json.siteUrl)).text, names[number])
    assert.equal((await api.visit(json.siteUrl, '/shared.txt')).text, 'shared')
  }
})

test('an archive is one request, and one that is too many is refused before it is read', async () => {
  await using few = await Api.start({ RATE_ANONYMOUS: '5' })
  const archive = make('tar', { 'index.html': 'x' })
  const headers = { 'content-type': TYPES.tar }
  for (const remaining of ['4', '3', '2', '1', '0']) {
    const answer = await few.ask('POST', '/api/v1/publish', { body: archive, headers })
    assert.equal(answer.status, 201)
    assert.equal(answer.headers['x-ratelimit-remaining'], remaining)
  }
  await refused(few.anonymous.publishArchive(archive, { contentType: TYPES.tar }), 'RATE_LIMITED')
})
