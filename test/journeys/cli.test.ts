import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { lastingPort, ServerProcess } from '../faults/server-process.ts'
import { type RunningService, startTestService } from '../support/service.ts'
import { CliUser, root } from './cli-user.ts'
import { FlakyProxy } from './flaky-proxy.ts'
import { httpGet, toUrl } from './http-get.ts'

/** A service, and a user with a small site in `site/`. */
async function startFixture(settings: Record<string, string> = {}) {
  const service = await startTestService(settings)
  const user = new CliUser(service.baseUrl)
  user.write({ 'site/index.html': '<h1>one</h1>', 'site/style.css': 'h1 { color: red }' })
  return {
    service,
    user,
    async [Symbol.asyncDispose]() {
      user[Symbol.dispose]()
      await service[Symbol.asyncDispose]()
    },
  }
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
      /To keep it, open http:\/\/localhost:\d+\/claim\?slug=\S+&token=\S+\nor: slipway claim\n$/,
    )
    assert.equal(await textAt(stdout.trim()), '<h1>one</h1>')
    assert.equal(
      (await httpGet(toUrl(stdout.trim(), 'style.css'))).headers['content-type'],
      'text/css; charset=utf-8',
    )
  })

  it('keeps its address when it is published again, and only changed files are uploaded', async () => {
    await using fixture = await startFixture()
    const first = await fixture.user.slipway('publish', 'site')
    assert.match(first.stderr, /Published 2 files/)
    fixture.user.write({ 'site/index.html': '<h1>two</h1>' })
    const second = await fixture.user.slipway('publish', 'site')
    assert.equal(second.stdout, first.stdout)
    assert.match(second.stderr, /; 1 file \(.*\) uploaded, the rest was there already/)
    assert.equal(await textAt(second.stdout.trim()), '<h1>two</h1>')
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

  it('is published without junk and secrets, which are listed', async () => {
    await using fixture = await startFixture()
    const kept = ['.env', '.env.local', '.git/config', '.DS_Store', 'node_modules/a/index.js', 'server.key']
    fixture.user.write(Object.fromEntries(kept.map((path) => [path, 'secret'])))
    fixture.user.write({
      'index.html': 'home',
      'notes/plan.md': 'secret',
      'void.txt': '',
      '.slipwayignore': 'notes/\n',
      '.well-known/security.txt': 'Contact: us',
    })
    const { code, stdout, stderr } = await fixture.user.slipway('publish', '.')
    assert.equal(code, 0)
    assert.match(
      stderr,
      /^Left out: \.DS_Store, \.env, \.env\.local, \.git\/, \.slipwayignore, node_modules\/, notes\/, server\.key\nLeft out, being empty: void\.txt\n/,
    )
    assert.equal((await httpGet(toUrl(stdout.trim(), '.well-known/security.txt'))).status, 200)
    const again = await fixture.user.slipway('publish', '.')
    assert.match(again.stderr, /\.slipway\//)
    for (const path of [...kept, 'notes/plan.md', 'void.txt', '.slipwayignore', '.slipway/site.json']) {
      assert.equal((await httpGet(toUrl(stdout.trim(), path))).status, 404, path)
    }
  })

  it('is remembered in files that only their owner can read', async () => {
    await using fixture = await startFixture()
    await fixture.user.slipway('publish', 'site')
    const { mode } = await stat(join(fixture.user.folder, '.slipway', 'site.json'))
    assert.equal(mode & 0o777, 0o600)
    assert.equal((await stat(join(fixture.user.folder, '.slipway'))).mode & 0o777, 0o700)
  })

  it('has a preview URL as a draft until it is restored', async () => {
    await using fixture = await startFixture()
    await signIn(fixture.user, fixture.service, 'ann@example.test')
    const { stdout: live } = await fixture.user.slipway('publish', 'site')
    fixture.user.write({ 'site/index.html': '<h1>draft</h1>' })
    const { stdout: draft, stderr } = await fixture.user.slipway('publish', 'site', '--draft')
    assert.equal(await textAt(draft.trim()), '<h1>draft</h1>')
    assert.equal(await textAt(live.trim()), '<h1>one</h1>')
    const restore = /To make it live: slipway (restore \S+)/.exec(stderr)![1]!.split(' ')
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
    const [, there] = /Going on where it was: (\d+) files of 122 are there/.exec(stderr)!
    const [, uploaded] = /; (\d+) files \(.*\) uploaded, the rest was there already/.exec(stderr)!
    assert.equal(Number(there) + Number(uploaded), 122)
    await assertAllServed(stdout.trim())
  })

  it('ends cleanly at Ctrl-C with a message, and resumes', async () => {
    await using proxy = await FlakyProxy.build()
    await using fixture = await startFixture({ BASE_URL: proxy.url })
    proxy.forwardTo(fixture.service.port)
    fixture.user.write(many)
    const blocked = proxy.blockAfter(HALF)
    const { child, ended } = fixture.user.start('publish', 'site')
    await blocked
    child.kill('SIGINT')
    const { code, stdout, stderr } = await ended
    assert.deepEqual({ code, stdout }, { code: 1, stdout: '' })
    assert.match(stderr, /Stopped\n {2}Run the same command again: it goes on where it was\.\n$/)
    proxy.open()
    const again = await fixture.user.slipway('publish', 'site')
    assert.match(again.stderr, /Going on where it was/)
    await assertAllServed(again.stdout.trim())
  })

  it('continues by itself when a killed server is back soon', async () => {
    await using proxy = await FlakyProxy.build()
    const data = await mkdtemp(join(tmpdir(), 'slipway-killed-'))
    await using cleaning = new AsyncDisposableStack()
    cleaning.defer(() => rm(data, { recursive: true, force: true }))
    const port = await lastingPort()
    const options = { data, settings: { BASE_URL: proxy.url, PORT: String(port) } }
    proxy.forwardTo(port)
    const server = cleaning.use(await ServerProcess.start(options))
    using user = new CliUser(proxy.url)
    user.write(many)
    const blocked = proxy.blockAfter(HALF)
    const { ended } = user.start('publish', 'site')
    await blocked
    await server.kill()
    proxy.open()
    cleaning.use(await ServerProcess.start(options))
    const { code, stdout, stderr } = await ended
    assert.equal(code, 0, stderr)
    assert.match(stderr, /; trying again\n/)
    await assertAllServed(stdout.trim())
  })
})

describe('the lifecycle of a site', () => {
  it('is claimed, listed, updated, restored and deleted', async () => {
    await using fixture = await startFixture()
    const { user } = fixture
    const siteUrl = (await user.slipway('publish', 'site')).stdout.trim()
    const { slug, claimToken } = user.sites[0]!

    const early = await user.slipway('versions')
    assert.equal(early.code, 1)
    assert.match(early.stderr, /has no owner yet\n {2}Make it yours first: slipway claim/)
    assert.equal((await user.slipway('sites')).code, 1)

    await signIn(user, fixture.service, 'ann@example.test')
    assert.match((await user.slipway('sites')).stderr, /You have no sites yet/)
    const claim = await user.slipway('claim')
    assert.deepEqual([claim.code, claim.stdout], [0, `${siteUrl}\n`])
    assert.ok(claimToken)
    assert.equal(user.sites[0]!.claimToken, undefined)
    const [listed] = JSON.parse((await user.slipway('sites', '--json')).stdout)
    assert.deepEqual([listed.slug, listed.expiresAt], [slug, null])
    assert.equal((await user.slipway('open')).stdout, `${siteUrl}\n`)

    fixture.service.clock.now += 60_000
    user.write({ 'site/index.html': '<h1>worse</h1>' })
    await user.slipway('publish', 'site')
    assert.equal(await textAt(siteUrl), '<h1>worse</h1>')
    const versions = JSON.parse((await user.slipway('versions', '--json')).stdout)
    assert.deepEqual(
      versions.map(({ current }: { current: boolean }) => current),
      [true, false],
    )
    const restored = await user.slipway('restore', versions[1].versionId)
    assert.deepEqual([restored.code, restored.stdout], [0, `${siteUrl}\n`])
    assert.equal(await textAt(siteUrl), '<h1>one</h1>')

    assert.equal((await user.slipway('delete')).code, 2)
    assert.equal((await user.slipway('delete', '--yes')).code, 0)
    assert.equal((await httpGet(siteUrl)).status, 404)
    assert.equal((await user.slipway('open')).code, 1)
    assert.equal((await user.slipway('sites', '--json')).stdout, '[]\n')
  })

  it('expires after a day, and the folder is published as a new site', async () => {
    await using fixture = await startFixture()
    const siteUrl = (await fixture.user.slipway('publish', 'site')).stdout.trim()
    fixture.service.clock.now += 24 * 3_600_000
    assert.equal((await httpGet(siteUrl)).status, 410)
    const claim = await fixture.user.slipway('claim', fixture.user.sites[0]!.claimUrl!)
    assert.equal(claim.code, 1)
    const again = await fixture.user.slipway('publish', 'site')
    assert.equal(again.code, 0)
    assert.ok(again.stderr.startsWith(`${siteUrl} has expired. This becomes a new site.\n`))
    assert.equal(await textAt(again.stdout.trim()), '<h1>one</h1>')
  })

  it('is replaced by a new one when it was deleted elsewhere', async () => {
    await using fixture = await startFixture()
    await signIn(fixture.user, fixture.service, 'ann@example.test')
    const siteUrl = (await fixture.user.slipway('publish', 'site')).stdout.trim()
    await fixture.user.shell('mv .slipway remembered')
    await fixture.user.slipway('delete', '--yes', '--site', new URL(siteUrl).hostname.split('.')[0]!)
    await fixture.user.shell('mv remembered .slipway')
    const again = await fixture.user.slipway('publish', 'site')
    assert.ok(again.stderr.startsWith(`${siteUrl} is gone, or belongs to somebody else.`), again.stderr)
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

describe('a reached rate limit', () => {
  it('is reported with its reset, and does not affect admitted publishes', async () => {
    await using fixture = await startFixture({ RATE_ANONYMOUS: '1' })
    assert.equal((await fixture.user.slipway('publish', 'site')).code, 0)
    const refused = await fixture.user.slipway('publish', 'site', '--new')
    assert.deepEqual([refused.code, refused.stdout], [1, ''])
    assert.match(refused.stderr, /The limit of 1 requests an hour is reached/)
    assert.match(
      refused.stderr,
      /Try again in \d+ (s|min), at \d{4}-\d\d-\d\d \d\d:\d\d UTC\n {2}An account can do more: slipway login\n$/,
    )
    await signIn(fixture.user, fixture.service, 'ann@example.test')
    assert.equal((await fixture.user.slipway('publish', 'site', '--new')).code, 0)
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
    assert.deepEqual([code, stdout], [1, ''])
    assert.ok(stderr.includes(`${url}/api/v1/publish answered 404, and not like a Slipway server`), stderr)
    assert.match(stderr, /Another one: --server URL/)
  })

  it('reports at once that nothing listens at the address', async () => {
    using user = new CliUser(`http://localhost:${await lastingPort()}`)
    user.write({ 'site/index.html': 'x' })
    const { code, stderr } = await user.slipway('publish', 'site')
    assert.equal(code, 1)
    assert.match(
      stderr,
      /Nothing answers at http:\/\/localhost:\d+ \(connection refused\)\n {2}Is the server running/,
    )
  })

  it('exits with 2 when it is invalid, and with 1 when it fails', async () => {
    await using fixture = await startFixture()
    for (const line of ['pubilsh', 'publish a b', 'publish --what', 'restore', 'login', 'claim nonsense']) {
      const { code, stdout } = await fixture.user.slipway(...line.split(' '))
      assert.deepEqual([code, stdout], [2, ''], line)
    }
    for (const line of ['publish missing', 'open', 'sites', 'delete --yes --site nobody']) {
      const { code, stdout } = await fixture.user.slipway(...line.split(' '))
      assert.deepEqual([code, stdout], [1, ''], line)
    }
    assert.equal(fixture.service.log.filter(({ path }) => path !== undefined).length, 0)
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
