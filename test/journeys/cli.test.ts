import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { lastingPort, Program } from '../operator/program.ts'
import { type RunningService, startTestService } from '../support/service.ts'
import { CliUser, root } from './cli-user.ts'
import { FlakyProxy } from './flaky-proxy.ts'
import { httpGet, toUrl } from './http-get.ts'

/** A service, and a user with a small site in `site/`. */
async function startFixture(settings: Record<string, string> = {}) {
  await using started = new AsyncDisposableStack()
  const service = started.use(await startTestService(settings))
  const user = started.use(new CliUser(service.baseUrl))
  user.write({ 'site/index.html': '<h1>one</h1>', 'site/style.css': 'h1 { color: red }' })
  const owned = started.move()
  return { service, user, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Signs in without a terminal, with the mailed code. */
async function signIn(user: CliUser, service: RunningService, email: string): Promise<void> {
  assert.equal((await user.slipway('login', '--email', email)).code, 0)
  const code = await service.mailedCode(email)
  assert.equal((await user.slipway('login', '--email', email, '--code', code)).code, 0)
}

async function textAt(address: string): Promise<string> {
  return (await httpGet(address)).body.toString()
}

describe('a folder that is published', () => {
  it('is served at the address that is printed alone on stdout', async () => {
    await using fixture = await startFixture()
    const { code, stdout, stderr } = await fixture.user.slipway('publish', 'site')
    assert.equal(code, 0)
    assert.match(stdout, /^http:\/\/[a-z0-9-]+\.localhost:\d+\/\n$/)
    assert.match(stderr, /Published 2 files/)
    assert.match(
      stderr,
      /Keep it: slipway claim, or open http:\/\/localhost:\d+\/claim\?slug=\S+&token=\S+\n$/,
    )
    assert.equal(await textAt(stdout.trim()), '<h1>one</h1>')
    assert.equal(
      (await httpGet(toUrl(stdout.trim(), 'style.css'))).headers['content-type'],
      'text/css; charset=utf-8',
    )
  })

  it('is served completely, whatever the names and types of its files', async () => {
    await using fixture = await startFixture()
    const files = {
      'broken.json': '{',
      'großes & kleines #1?.html': 'ü',
      '100%.txt': 'all',
      '_headers.d/+plus': 'plus',
      'deep/er/.well-known/security.txt': 'Contact: us',
      'app.wasm': randomBytes(3_000_000),
    }
    fixture.user.write(
      Object.fromEntries(Object.entries(files).map(([path, body]) => [`site/${path}`, body])),
    )
    const { code, stdout } = await fixture.user.slipway('publish', 'site')
    assert.equal(code, 0)
    for (const [path, body] of Object.entries(files)) {
      const { status, body: came } = await httpGet(toUrl(stdout.trim(), path))
      assert.equal(status, 200, path)
      assert.ok(came.equals(Buffer.from(body)), path)
    }
  })

  it('has a preview URL as a draft until it is restored', async () => {
    await using fixture = await startFixture()
    await signIn(fixture.user, fixture.service, 'ann@example.test')
    const { stdout: live } = await fixture.user.slipway('publish', 'site')
    fixture.user.write({ 'site/index.html': '<h1>draft</h1>' })
    const { stdout: draft, stderr } = await fixture.user.slipway('publish', 'site', '--draft')
    assert.equal(await textAt(draft.trim()), '<h1>draft</h1>')
    assert.equal(await textAt(live.trim()), '<h1>one</h1>')
    const restore = /Make it live: slipway (restore \S+)/.exec(stderr)![1]!.split(' ')
    assert.equal((await fixture.user.slipway(...restore)).stdout, live)
    assert.equal(await textAt(live.trim()), '<h1>draft</h1>')
  })
})

describe('an interrupted publish', () => {
  const many = Object.fromEntries(
    Array.from({ length: 120 }, (_, at) => [`site/${at}.bin`, randomBytes(20_000)]),
  )
  const HALF = 1_200_000

  async function assertAllServed(siteUrl: string): Promise<void> {
    for (const [path, body] of Object.entries(many)) {
      const { status, body: came } = await httpGet(toUrl(siteUrl, path.slice('site/'.length)))
      assert.ok(status === 200 && came.equals(body), path)
    }
  }

  it('resumes after the command was killed', async () => {
    await using proxy = await FlakyProxy.build()
    await using fixture = await startFixture({ BASE_URL: proxy.url })
    proxy.forwardTo(fixture.service.port)
    fixture.user.write(many)
    const blocked = proxy.blockAfter(HALF)
    const { child, ended } = fixture.user.start('publish', 'site')
    await blocked
    child.kill('SIGKILL')
    assert.equal((await ended).code, null)
    proxy.open()
    const { code, stdout, stderr } = await fixture.user.slipway('publish', 'site')
    assert.equal(code, 0)
    const [, there] = /Resuming: (\d+) of 122 files already uploaded/.exec(stderr)!
    const [, uploaded] = / s \((\d+) uploaded, /.exec(stderr)!
    assert.equal(Number(there) + Number(uploaded), 122)
    await assertAllServed(stdout.trim())
  })

  it('continues by itself when a killed server is back soon', async () => {
    await using proxy = await FlakyProxy.build()
    const data = await mkdtemp(join(tmpdir(), 'slipway-killed-'))
    await using cleaning = new AsyncDisposableStack()
    cleaning.defer(() => rm(data, { recursive: true, force: true }))
    const port = await lastingPort()
    const settings = { DATA: data, BASE_URL: proxy.url, PORT: String(port) }
    proxy.forwardTo(port)
    const server = cleaning.use(await Program.serve(settings))
    using user = new CliUser(proxy.url)
    user.write(many)
    const blocked = proxy.blockAfter(HALF)
    const { ended } = user.start('publish', 'site')
    await blocked
    await server.kill()
    proxy.open()
    cleaning.use(await Program.serve(settings))
    const { code, stdout, stderr } = await ended
    assert.equal(code, 0, stderr)
    assert.match(stderr, /\. Retrying…\n/)
    await assertAllServed(stdout.trim())
  })
})

describe('the lifecycle of a site', () => {
  it('expires after a day, and the folder is published as a new site', async () => {
    await using fixture = await startFixture()
    const siteUrl = (await fixture.user.slipway('publish', 'site')).stdout.trim()
    fixture.service.clock.now += 24 * 3_600_000
    assert.equal((await httpGet(siteUrl)).status, 410)
    const claim = await fixture.user.slipway('claim', fixture.user.sites[0]!.claimUrl!)
    assert.equal(claim.code, 3)
    const again = await fixture.user.slipway('publish', 'site')
    assert.equal(again.code, 0)
    assert.ok(again.stderr.startsWith(`${siteUrl} has expired. Publishing a new site.\n`))
    assert.equal(await textAt(again.stdout.trim()), '<h1>one</h1>')
  })

  it('has its password from the first moment', async () => {
    await using fixture = await startFixture()
    await signIn(fixture.user, fixture.service, 'ann@example.test')
    const { code, stdout } = await fixture.user.shell(
      `SLIPWAY_SITE_PASSWORD='open sesame' ${slipwayLine('publish site --password')}`,
    )
    assert.equal(code, 0)
    assert.equal((await httpGet(stdout.trim())).status, 401)
    const paths = fixture.service.log.map(({ path }) => String(path))
    assert.ok(
      paths.findIndex((path) => path.endsWith('/metadata')) <
        paths.findIndex((path) => path.endsWith('/finalize')),
    )
    await fixture.user.slipway('publish', 'site', '--no-password')
    assert.equal(await textAt(stdout.trim()), '<h1>one</h1>')
  })
})

describe('a failing command', () => {
  it('names the address when it is not a Slipway server', async () => {
    await using other = createServer((_request, response) => response.writeHead(404).end('<h1>no</h1>'))
    other.listen(0, 'localhost')
    await once(other, 'listening')
    const url = `http://localhost:${(other.address() as AddressInfo).port}`
    using user = new CliUser(url)
    user.write({ 'site/index.html': 'x' })
    const { code, stdout, stderr } = await user.slipway('publish', 'site')
    assert.deepEqual([code, stdout], [5, ''])
    assert.ok(stderr.includes(`${url}/api/v1/publish answered 404, which no Slipway server sends`), stderr)
    assert.match(stderr, /To use another server: --server URL/)
  })

  it('fails when stdout cannot be written, and not when its reader has closed it', async () => {
    await using fixture = await startFixture()
    assert.equal((await fixture.user.shell(`${slipwayLine('publish site')} > /dev/full`)).code, 1)
    assert.equal((await fixture.user.shell(`${slipwayLine('help')} | head -n 1`)).code, 0)
  })
})

function slipwayLine(args: string): string {
  return `'${process.execPath}' '${join(root, 'client/bin/slipway.js')}' ${args}`
}
