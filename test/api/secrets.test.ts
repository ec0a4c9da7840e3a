import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import type { SecretFinding } from '../../protocol/api/errors.schema.ts'
import { example } from '../../protocol/api/examples.ts'
import { BlobReader } from '../../server/blobs/blob-reader.ts'
import type { ApiError } from '../../server/lib/errors.ts'
import { Metrics } from '../../server/lib/metrics.ts'
import type { Secrets } from '../../server/lib/tokens.ts'
import { findSecrets } from '../../server/publish/secrets/secret-rules.ts'
import { type FileToScan, SecretScan } from '../../server/publish/secrets/secret-scan.ts'
import { PATIENT } from '../support/patient.ts'
import { silentLog } from '../support/silent-log.ts'
import { Api, expectFailure, startApi } from './api.ts'
import type { ApiResponse } from './api-response.ts'
import { assertKeepsNothing, make, send } from './archive-requests.ts'
import { sha256 } from './content.ts'
import { makeSecret, PUBLIC, SECRETS } from './planted-secrets.ts'

const api = await startApi()
const owner = await api.account()

/** A file of two lines, whose second one has the secret. */
const withSecret = (secret: string) => ({
  'app.js': `// A build\nconst token="${secret}"`,
  'index.html': '<p>home',
})

describe('a planted secret', () => {
  const containers: Record<string, (secret: string) => [text: string, line: number]> = {
    HTML: (secret) => [`<!doctype html>\n<p>x</p>\n<script>var k = '${secret}'</script>\n`, 3],
    'minified JavaScript': (secret) => [
      `${'!function(){return 1}();'.repeat(4000)}const a=${JSON.stringify(secret)};`,
      1,
    ],
    'a source map': (secret) => [JSON.stringify({ version: 3, sourcesContent: [`a\n${secret}\n`] }), 1],
    JSON: (secret) => [JSON.stringify({ a: 1, key: secret }, null, 2), 3],
  }

  test('is found with its kind and line, in HTML, minified JavaScript, source maps and JSON', () => {
    let found = 0
    for (const [round, [kind, make]] of [...SECRETS, ...SECRETS].entries()) {
      const name = Object.keys(containers)[round % 4]!
      const [text, line] = containers[name]!(make())
      const secrets = findSecrets(text).map((one) => [
        one.kind,
        one.line,
        text.includes(one.excerpt.slice(0, -1)),
      ])
      assert.deepEqual(secrets, [[kind, line, true]], `${kind} in ${name}`)
      found++
    }
    assert.ok(found >= 60)
  })

  const escapes: Record<string, (secret: string) => string> = {
    'the JSON of a page': (secret) => `JSON.parse("{\\u0022t\\u0022:\\u0022${secret}\\u0022}")`,
    'a string of hexadecimal escapes': (secret) => `'\\x22${secret}\\x22'`,
    'a URL': (secret) => `https%3A%2F%2Fuser%3A${secret}%40host%2f`,
    'a URL in a URL': (secret) => `?to=https%253A%252F%252F%2522${secret}%2522`,
    'the colors of a terminal': (secret) => `\x1b[32m${secret}\x1b[0m`,
    'the recording of a terminal': (secret) => JSON.stringify([1, 'o', `\x1b[1;38;2;255;128;0m${secret}`]),
    'PHP JSON': (secret) => JSON.stringify({ t: secret }).replaceAll('/', '\\/'),
  }

  for (const [name, write] of Object.entries(escapes))
    test(`is found behind the escapes of ${name}`, () => {
      for (const kind of ['GitHub token', 'Slipway key', 'AWS access key'])
        assert.deepEqual(
          findSecrets(write(makeSecret(kind))).map((found) => found.kind),
          [kind],
        )
    })

  test('is found with its slashes escaped', () => {
    const slashed = { 'AWS access key': /(?<==.{9})./g, 'Azure key': /(?<==.{40})./g }
    for (const [kind, place] of Object.entries(slashed)) {
      const written = makeSecret(kind)
        .replace(place, '\\/')
        .replace(/=(?=\w{9}\\)/, ':\\n')
      assert.deepEqual(
        findSecrets(written).map((found) => found.kind),
        [kind],
        written,
      )
    }
    const [webhook] = findSecrets(`"${makeSecret('Slack webhook').replaceAll('/', '\\/')}\\n"`)
    assert.match(webhook!.value, /^hooks.+\w$/)
    const claim = makeSecret('Slipway claim token').replace('&', '\\u0026')
    assert.equal(findSecrets(claim).length, 1)
  })

  test('is found in JSON that is written into HTML, a URL or other JSON, if it is a claim token', () => {
    const [, makeToken] = SECRETS.findLast(([kind]) => kind === 'Slipway claim token')!
    const token = makeToken().match(/[0-9a-f-]{36}/)![0]
    const json = JSON.stringify({ claimToken: token })
    const writings = {
      HTML: json.replaceAll('"', '&quot;'),
      'numeric entities': json.replaceAll('"', '&#34;'),
      'a URL': encodeURIComponent(json),
      'JSON in JSON': JSON.stringify(JSON.stringify(json)),
    }
    for (const [name, text] of Object.entries(writings)) assert.equal(findSecrets(text).length, 1, name)
    const documented = JSON.stringify({ claimToken: example({ type: 'string' }, 'claimToken') })
    assert.deepEqual(findSecrets(documented), [], 'the documentation has an example')
  })

  test('is distinguished from public identifiers, examples and parts of other words', () => {
    for (const text of PUBLIC) assert.deepEqual(findSecrets(`x = "${text}"`), [], text)
  })

  test('is found in a text that is made to take long, within its bounds', () => {
    const line = `${'npm_'.repeat(5000)} ${'a'.repeat(5 * 2 ** 20)} ${makeSecret()}`
    assert.equal(findSecrets(line).length, 1)
    assert.throws(() => findSecrets('npm_'.repeat(2 ** 20)), /too many places/)
  })
})

describe('a version with a secret', () => {
  const ways: Record<
    string,
    (secret: string, allowSecrets?: string[]) => Promise<{ code?: string; details: SecretFinding[] }>
  > = {
    manifest: (secret, allowSecrets) => publish(secret, { allowSecrets }),
    preview: (secret, allowSecrets) =>
      publish(secret, { allowSecrets, preview: 'pr-1', slug: siteOf('preview') }),
    draft: (secret, allowSecrets) => publish(secret, { allowSecrets, live: false }),
    merge: (secret, allowSecrets) => publish(secret, { allowSecrets, merge: true, slug: siteOf('merge') }),
    contents: (secret, allowSecrets) => post({ files: toContents(secret), allowSecrets }),
    zip: async (secret, allowSecrets) => (await sendZip(secret, allowSecrets)).json,
    'direct upload': async (secret, allowSecrets) => {
      const query = allowSecrets ? `?allowSecrets=${allowSecrets}` : ''
      const headers = { accept: 'application/json' }
      return (await api.request('PUT', `/${query}`, { headers, body: make('zip', withSecret(secret)) })).json
    },
  }
  const sites = new Map<string, string>()
  const siteOf = (way: string) => sites.get(way)!
  const toContents = (secret: string) =>
    Object.entries(withSecret(secret)).map(([path, content]) => ({ path, content }))
  const publish = (secret: string, options: object) =>
    api.publish(owner.client, withSecret(secret), options).then(
      () => ({ details: [] }),
      ({ code, details }) => ({ code, details }),
    )
  const post = async (body: object) =>
    (await api.request('POST', '/api/v1/publish', { key: owner.key, json: body })).json
  const sendZip = (secret: string, allowSecrets?: string[]): Promise<ApiResponse> =>
    send(api, 'zip', make('zip', withSecret(secret)), {
      key: owner.key,
      query: allowSecrets ? `?allowSecrets=${allowSecrets.join(',')}` : '',
    })

  for (const [way, publishIt] of Object.entries(ways))
    test(`is refused with the place of the secret, and accepted with its fingerprint, by ${way}`, async () => {
      sites.set(way, (await api.publish(owner.client, { 'index.html': `<p>${way}` })).slug)
      const secret = makeSecret()
      const refused = await publishIt(secret)
      assert.equal(refused.code, 'SECRET_DETECTED')
      const [finding, ...others] = refused.details
      const { fingerprint, ...place } = finding!
      assert.deepEqual(
        [place, others],
        [{ path: 'app.js', line: 2, kind: 'GitHub token', excerpt: `${secret.slice(0, 4)}…` }, []],
      )
      assert.match(fingerprint, /^[0-9a-f]{20}$/)
      assert.equal((await publishIt(makeSecret(), [fingerprint])).code, 'SECRET_DETECTED')
      assert.equal((await publishIt(secret, [fingerprint])).code, undefined)
    })

  test('is refused whatever the number of its secrets', async () => {
    const secrets = Array.from({ length: 1001 }, () => makeSecret()).join('\n')
    const files = { 'index.html': secrets, 'last.txt': makeSecret() }
    const { details } = await expectFailure(api.publish(owner.client, files), 'SECRET_DETECTED')
    assert.equal((details as SecretFinding[]).length, 50)
  })

  test('leaves the site as it is, and nothing of an archive behind', async () => {
    const { slug, siteUrl } = await api.publish(owner.client, { 'app.js': 'x', 'index.html': 'live' })
    await expectFailure(api.publish(owner.client, withSecret(makeSecret()), { slug }), 'SECRET_DETECTED')
    assert.equal((await api.visit(siteUrl, '/app.js')).text, 'x')
    const { status, text } = await assertKeepsNothing(api, owner, () => sendZip(makeSecret()))
    assert.deepEqual([status, text.includes('app.js:2 (GitHub token)')], [422, true], text)
  })

  test('is published again without a question once the site accepts the secret, in any file', async () => {
    const secret = makeSecret()
    const { details } = await expectFailure(api.publish(owner.client, withSecret(secret)), 'SECRET_DETECTED')
    const [{ fingerprint }] = details as [SecretFinding]
    const { slug } = await api.publish(owner.client, withSecret(secret), { allowSecrets: [fingerprint] })
    await api.publish(owner.client, { 'other.js': `x("${secret}")` }, { slug })
    await api.publish(owner.client, { 'index.html': 'without' }, { slug })
    await api.publish(owner.client, withSecret(secret), { slug })
    await expectFailure(api.publish(owner.client, withSecret(secret)), 'SECRET_DETECTED')
  })

  test('is accepted in place of the one that was accepted first, when the site accepts 200', async () => {
    const { slug } = await api.publish(owner.client, { 'index.html': 'without' })
    const { store } = await api.operator()
    const known = Array.from({ length: 200 }, (_, number) => `fingerprint ${number}`)
    await store.write('durable', { site: slug }, (tx) => tx.sites.update(slug, { allowedSecrets: known }))
    const contents = withSecret(makeSecret())
    const { details } = await expectFailure(api.publish(owner.client, contents, { slug }), 'SECRET_DETECTED')
    const [{ fingerprint }] = details as [SecretFinding]
    await api.publish(owner.client, contents, { slug, allowSecrets: [fingerprint] })
    const { allowedSecrets } = (await store.read.sites.find(slug))!
    assert.deepEqual(allowedSecrets, [...known.slice(1), fingerprint])
  })

  test('is accepted for a preview by a key of previews, and still refused for the site', async () => {
    const secret = makeSecret()
    const { slug } = await api.publish(owner.client, { 'index.html': 'live' })
    const { apiKey } = await owner.client.createKey({ name: `ci-${slug}`, scope: 'preview', sites: [slug] })
    const job = api.client(apiKey)
    const shown = { slug, preview: 'pr-1' }
    const { details } = await expectFailure(api.publish(job, withSecret(secret), shown), 'SECRET_DETECTED')
    const [{ fingerprint }] = details as [SecretFinding]
    await api.publish(job, withSecret(secret), { ...shown, allowSecrets: [fingerprint] })
    await api.publish(job, withSecret(secret), shown)
    await expectFailure(api.publish(owner.client, withSecret(secret), { slug }), 'SECRET_DETECTED')
  })

  test('finalizes with the fingerprint after a refusal, without uploading again, also beside a request without', async () => {
    const contents = withSecret(makeSecret())
    const { slug, upload } = await api.create(owner.client, contents)
    await api.upload(upload, contents)
    const { versionId } = upload
    const { details } = await expectFailure(owner.client.finalize(slug, { versionId }), 'SECRET_DETECTED')
    const allowSecrets = (details as SecretFinding[]).map(({ fingerprint }) => fingerprint)
    const without = owner.client.finalize(slug, { versionId }).catch(({ code }) => code)
    assert.equal((await owner.client.finalize(slug, { versionId, allowSecrets })).status, 'active')
    // A node that begins it when the version is live answers as to a repetition.
    const answer = await without
    assert.ok(answer === 'SECRET_DETECTED' || answer.replayed, JSON.stringify(answer))
  })

  for (const [coding, named, encode] of [
    ['gzip', 'lib.js.gz', gzipSync],
    ['br', 'lib.js.br', brotliCompressSync],
  ] as const)
    test(`is refused in text that is published with ${coding}, also when only its coding is new`, async () => {
      const rest = Array.from({ length: 300 }, (_, index) => `f(${index})`).join('\n')
      const script = () => encode(`${withSecret(makeSecret())['app.js']}\n${rest}`)
      const app = script()
      const scripts = { 'app.js': app, [named]: script(), 'index.html': 'x', 'uncoded.js': app }
      const rules = ['app.js', named].map((path) => `/${path}\n  Content-Encoding: ${coding}\n`)
      const coded = { ...scripts, _headers: rules.join('') }
      const refused = async (slug?: string) => {
        const { details } = await expectFailure(api.publish(owner.client, coded, { slug }), 'SECRET_DETECTED')
        return (details as SecretFinding[]).map(({ path, line, kind }) => [path, line, kind])
      }
      const { slug } = await api.publish(owner.client, scripts)
      const found = ['app.js', named].map((path) => [path, 2, 'GitHub token'])
      for (const site of [undefined, slug]) assert.deepEqual(await refused(site), found)
    })

  test('is refused in each text, also of TypeScript and of types that say nothing of text', async () => {
    const names = ['a.dart', 'config.mts', 'config.ts', 'data.bin', 'deploy.bat', 'inbox.mbox', 'setup.pl']
    const files = Object.fromEntries(names.map((name) => [name, `a\n"${makeSecret()}"`]))
    const { details } = await expectFailure(api.publish(owner.client, files), 'SECRET_DETECTED')
    assert.deepEqual(
      (details as SecretFinding[]).map(({ path, line }) => [path, line]),
      names.map((name) => [name, 2]),
    )
  })

  test('is refused in UTF-16 with a byte order mark, as Windows PowerShell writes it', async () => {
    const write = () => Buffer.from(`\ufeffa\r\nTOKEN=é${makeSecret()}\r\n`, 'utf16le')
    const names = ['big.bin', 'big.txt', 'little.bin', 'little.txt']
    const files = Object.fromEntries(
      names.map((name) => [name, name.startsWith('big') ? write().swap16() : write()]),
    )
    const { details } = await expectFailure(api.publish(owner.client, files), 'SECRET_DETECTED')
    assert.deepEqual(
      (details as SecretFinding[]).map(({ path, line }) => [path, line]),
      names.map((name) => [name, 2]),
    )
  })

  test('is not scanned in files that are not text', async () => {
    const binary = (secret: string) => Buffer.from(`\0\n${secret}`)
    const large = `${makeSecret()}\n`.padEnd(2 ** 20 + 1, '\n')
    const files = { 'a.png': makeSecret(), 'a.mts': binary(makeSecret()), 'b.mts': large, 'index.html': 'x' }
    await api.publish(owner.client, files)
    await expectFailure(api.publish(owner.client, { 'b.mts': large.slice(0, 2 ** 20) }), 'SECRET_DETECTED')
  })

  test('is scanned in contents that the site has when it had them as another type', async () => {
    const secret = makeSecret()
    const { slug } = await api.publish(owner.client, { 'a.png': secret, 'index.html': 'x' })
    for (const name of ['a.js', 'a.mts'])
      await expectFailure(
        api.publish(owner.client, { [name]: secret, 'index.html': 'y' }, { slug }),
        'SECRET_DETECTED',
      )
    await api.publish(owner.client, { 'b.png': secret, 'index.html': 'y' }, { slug })
  })
})

describe('by the setting', () => {
  test('secrets are warnings, or not looked for', async () => {
    for (const [SECRET_SCAN, count] of Object.entries({ warn: 1, off: 0 })) {
      await using other = await Api.start({ SECRET_SCAN })
      const { warnings = [] } = await other.publish(other.anonymous, withSecret(makeSecret()))
      assert.equal(warnings.length, count)
      if (count === 0) continue
      const [{ file, line, message }] = warnings as [{ file: string; line: number; message: string }]
      assert.deepEqual([file, line], ['app.js', 2])
      assert.match(message, /^may be a secret \(GitHub token\); fingerprint [0-9a-f]{20}$/)
    }
  })

  test('is still accepted after the secret of the server was replaced, while the earlier one is accepted', async () => {
    const text = makeSecret()
    const reader = new BlobReader(
      { bytes: async () => Buffer.from(text), read: async () => undefined },
      { find: async (hash) => ({ hash, size: text.length, object: '', offset: 0, piecesHash: null }) },
    )
    const check = async (secrets: Secrets, allowed: readonly string[]) => {
      using scan = new SecretScan({
        ...{ secrets, mode: 'refuse', onFailure: 'refuse', log: silentLog, timeoutMs: PATIENT.secretScan },
        telemetry: { metrics: new Metrics() },
      })
      const file = { path: 'a.txt', size: text.length, contentType: 'text/plain', hash: sha256(text) }
      return await scan.check([file], { reader, publisher: 'account', allowed: new Set(allowed) })
    }
    const [old, current] = ['o'.repeat(32), 'n'.repeat(32)]
    const refusal = await check(old, []).catch((error: ApiError) => error.details as SecretFinding[])
    const fingerprints = (refusal as SecretFinding[]).map(({ fingerprint }) => fingerprint)
    assert.deepEqual((await check([current, old], fingerprints)).allowed, fingerprints)
    await assert.rejects(check(current, fingerprints), { code: 'SECRET_DETECTED' })
  })

  for (const onFailure of ['pass', 'refuse'] as const)
    test(`a scan that does not end, or cannot read a text, ends with ${onFailure}, and the next one works`, async () => {
      const metrics = new Metrics()
      const start = (timeoutMs: number) =>
        new SecretScan({
          ...{ secrets: 'x'.repeat(32), mode: 'refuse', onFailure, log: silentLog, timeoutMs },
          telemetry: { metrics },
        })
      using scan = start(0)
      using patient = start(PATIENT.secretScan)
      const reader = (text: string) =>
        new BlobReader(
          { bytes: async () => Buffer.from(text), read: async () => undefined },
          {
            find: async (hash) => ({ hash, size: text.length, object: '', offset: 0, piecesHash: null }),
          },
        )
      const check = (one: SecretScan, text: string, size = text.length, coded?: FileToScan['coded']) =>
        one.check(
          [{ path: 'a.txt', size, contentType: 'text/plain', hash: sha256(text), ...(coded && { coded }) }],
          {
            reader: reader(text),
            publisher: 'account',
            allowed: new Set(),
          },
        )
      const long = (text: string) => text.padEnd(20_000, '\n')
      const texts: [SecretScan, string, number?, FileToScan['coded']?][] = [
        [scan, long('x')],
        [patient, `${'glpat-aaaa '.repeat(30_000)}`],
        [patient, 'x', 17 * 2 ** 20],
        [patient, 'x', 17 * 2 ** 20, { coding: 'gzip', decodedSize: 1 }],
      ]
      for (const [one, text, size, coded] of texts)
        if (onFailure === 'refuse') {
          const code = size === undefined ? 'SCAN_UNAVAILABLE' : 'CONTENT_REFUSED'
          await assert.rejects(check(one, text, size, coded), { code })
        } else
          assert.deepEqual(await check(one, text, size, coded), {
            warnings: [{ file: 'a.txt', message: 'not scanned for secrets' }],
            allowed: [],
          })
      assert.equal(metrics.counter('slipway_scans_total', { outcome: 'failed' }).value, 1)
      await assert.rejects(check(patient, long(makeSecret())), { code: 'SECRET_DETECTED' })
      const crowded = `${'glpat-\n'.repeat(30)}${makeSecret()}`
      await assert.rejects(check(patient, crowded), { code: 'SECRET_DETECTED' })
      assert.deepEqual((await check(patient, long('x'))).warnings, [])
      const last = check(patient, long('y'))
      patient[Symbol.dispose]()
      await assert.rejects(last, { code: 'UNAVAILABLE' }, 'what a stop interrupts is not published')
    })
})
