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
import { type RunningService, startTestService } from '../service.ts'
import { CliUser, root } from './person.ts'
import { FlakyProxy } from './road.ts'
import { served, toUrl } from './served.ts'

/** A service and somebody with a small site in `site/`. */
async function setting(settings: Record<string, string> = {}) {
  const service = await startTestService(settings)
  const person = new CliUser(service.baseUrl)
  person.write({ 'site/index.html': '<h1>one</h1>', 'site/style.css': 'h1 { color: red }' })
  return {
    service,
    person,
    async [Symbol.asyncDispose]() {
      person[Symbol.dispose]()
      await service[Symbol.asyncDispose]()
    },
  }
}

/** Signs in as a program does, with the code from the letter. */
async function signIn(person: CliUser, service: RunningService, email: string): Promise<void> {
  assert.equal((await person.slipway('login', '--email', email)).code, 0)
  const code = await service.mailedCode(email)
  assert.equal((await person.slipway('login', '--email', email, '--code', code)).code, 0)
}

async function textAt(address: string): Promise<string> {
  return (await served(address)).body.toString()
}

describe('a folder that is published', () => {
  it('is served at the address that stands alone on stdout', async () => {
    await using all = await setting()
    const { code, stdout, stderr } = await all.person.slipway('publish', 'site')
    assert.equal(code, 0)
    assert.match(stdout, /^http:\/\/[a-z0-9-]+\.localhost:\d+\/\n$/)
    assert.match(stderr, /Published 2 files/)
    assert.match(
      stderr,
      /To keep it, open http:\/\/localhost:\d+\/claim\?slug=\S+&token=\S+\nor: slipway claim\n$/,
    )
    assert.equal(await textAt(stdout.trim()), '<h1>one</h1>')
    assert.equal(
      (await served(toUrl(stdout.trim(), 'style.css'))).headers['content-type'],
      'text/css; charset=utf-8',
    )
  })

  it('stays where it is when it is published again, and only what changed travels', async () => {
    await using all = await setting()
    const first = await all.person.slipway('publish', 'site')
    assert.match(first.stderr, /Published 2 files/)
    all.person.write({ 'site/index.html': '<h1>two</h1>' })
    const second = await all.person.slipway('publish', 'site')
    assert.equal(second.stdout, first.stdout)
    assert.match(second.stderr, /; 1 file \(.*\) uploaded, the rest was there already/)
    assert.equal(await textAt(second.stdout.trim()), '<h1>two</h1>')
  })

  it('arrives whole, whatever its files are called and call themselves', async () => {
    await using all = await setting()
    const files = {
      'broken.json': '{',
      'großes & kleines #1?.html': 'ü',
      '100%.txt': 'all',
      '_headers.d/+plus': 'plus',
      'deep/er/.well-known/security.txt': 'Contact: us',
      'app.wasm': randomBytes(3_000_000),
    }
    all.person.write(Object.fromEntries(Object.entries(files).map(([path, body]) => [`site/${path}`, body])))
    const { code, stdout } = await all.person.slipway('publish', 'site')
    assert.equal(code, 0)
    for (const [path, body] of Object.entries(files)) {
      const { status, body: came } = await served(toUrl(stdout.trim(), path))
      assert.equal(status, 200, path)
      assert.ok(came.equals(Buffer.from(body)), path)
    }
  })

  it('leaves junk and secrets at home, and names them', async () => {
    await using all = await setting()
    const kept = ['.env', '.env.local', '.git/config', '.DS_Store', 'node_modules/a/index.js', 'server.key']
    all.person.write(Object.fromEntries(kept.map((path) => [path, 'secret'])))
    all.person.write({
      'index.html': 'home',
      'notes/plan.md': 'secret',
      'void.txt': '',
      '.slipwayignore': 'notes/\n',
      '.well-known/security.txt': 'Contact: us',
    })
    const { code, stdout, stderr } = await all.person.slipway('publish', '.')
    assert.equal(code, 0)
    assert.match(
      stderr,
      /^Left out: \.DS_Store, \.env, \.env\.local, \.git\/, \.slipwayignore, node_modules\/, notes\/, server\.key\nLeft out, being empty: void\.txt\n/,
    )
    assert.equal((await served(toUrl(stdout.trim(), '.well-known/security.txt'))).status, 200)
    const again = await all.person.slipway('publish', '.')
    assert.match(again.stderr, /\.slipway\//)
    for (const path of [...kept, 'notes/plan.md', 'void.txt', '.slipwayignore', '.slipway/site.json']) {
      assert.equal((await served(toUrl(stdout.trim(), path))).status, 404, path)
    }
  })

  it('is remembered where only its owner can look', async () => {
    await using all = await setting()
    await all.person.slipway('publish', 'site')
    const { mode } = await stat(join(all.person.folder, '.slipway', 'site.json'))
    assert.equal(mode & 0o777, 0o600)
    assert.equal((await stat(join(all.person.folder, '.slipway'))).mode & 0o777, 0o700)
  })

  it('as a draft has an address of its own until it is restored', async () => {
    await using all = await setting()
    await signIn(all.person, all.service, 'ann@example.test')
    const { stdout: live } = await all.person.slipway('publish', 'site')
    all.person.write({ 'site/index.html': '<h1>draft</h1>' })
    const { stdout: draft, stderr } = await all.person.slipway('publish', 'site', '--draft')
    assert.equal(await textAt(draft.trim()), '<h1>draft</h1>')
    assert.equal(await textAt(live.trim()), '<h1>one</h1>')
    const restore = /To make it live: slipway (restore \S+)/.exec(stderr)![1]!.split(' ')
    assert.equal((await all.person.slipway(...restore)).stdout, live)
    assert.equal(await textAt(live.trim()), '<h1>draft</h1>')
  })
})

describe('a publish that is cut short', () => {
  const many = Object.fromEntries(
    Array.from({ length: 120 }, (_, at) => [`site/${at}.bin`, randomBytes(20_000)]),
  )
  const HALF = 1_200_000

  async function assertAllServed(siteUrl: string): Promise<void> {
    for (const [path, body] of Object.entries(many)) {
      const { status, body: came } = await served(toUrl(siteUrl, path.slice('site/'.length)))
      assert.ok(status === 200 && came.equals(body), path)
    }
  }

  it('by the end of the command goes on where it was', async () => {
    await using road = await FlakyProxy.build()
    await using all = await setting({ BASE_URL: road.url })
    road.leadTo(all.service.port)
    all.person.write(many)
    const blocked = road.blockAfter(HALF)
    const { child, ended } = all.person.start('publish', 'site')
    await blocked
    child.kill('SIGKILL')
    assert.equal((await ended).code, null)
    road.open()
    const { code, stdout, stderr } = await all.person.slipway('publish', 'site')
    assert.equal(code, 0)
    const [, there] = /Going on where it was: (\d+) files of 122 are there/.exec(stderr)!
    const [, uploaded] = /; (\d+) files \(.*\) uploaded, the rest was there already/.exec(stderr)!
    assert.equal(Number(there) + Number(uploaded), 122)
    await assertAllServed(stdout.trim())
  })

  it('by Ctrl-C ends in good order, says so, and goes on where it was', async () => {
    await using road = await FlakyProxy.build()
    await using all = await setting({ BASE_URL: road.url })
    road.leadTo(all.service.port)
    all.person.write(many)
    const blocked = road.blockAfter(HALF)
    const { child, ended } = all.person.start('publish', 'site')
    await blocked
    child.kill('SIGINT')
    const { code, stdout, stderr } = await ended
    assert.deepEqual({ code, stdout }, { code: 1, stdout: '' })
    assert.match(stderr, /Stopped\n {2}Run the same command again: it goes on where it was\.\n$/)
    road.open()
    const again = await all.person.slipway('publish', 'site')
    assert.match(again.stderr, /Going on where it was/)
    await assertAllServed(again.stdout.trim())
  })

  it('by a kill of the server outlasts it, when the server comes back soon', async () => {
    await using road = await FlakyProxy.build()
    const data = await mkdtemp(join(tmpdir(), 'slipway-killed-'))
    await using cleaning = new AsyncDisposableStack()
    cleaning.defer(() => rm(data, { recursive: true, force: true }))
    const port = await lastingPort()
    const options = { data, settings: { BASE_URL: road.url, PORT: String(port) } }
    road.leadTo(port)
    const server = cleaning.use(await ServerProcess.start(options))
    using person = new CliUser(road.url)
    person.write(many)
    const blocked = road.blockAfter(HALF)
    const { ended } = person.start('publish', 'site')
    await blocked
    await server.kill()
    road.open()
    cleaning.use(await ServerProcess.start(options))
    const { code, stdout, stderr } = await ended
    assert.equal(code, 0, stderr)
    assert.match(stderr, /; trying again\n/)
    await assertAllServed(stdout.trim())
  })
})

describe('a site through its life', () => {
  it('is claimed, listed, updated, taken back and deleted', async () => {
    await using all = await setting()
    const { person } = all
    const siteUrl = (await person.slipway('publish', 'site')).stdout.trim()
    const { slug, claimToken } = person.sites[0]!

    const early = await person.slipway('versions')
    assert.equal(early.code, 1)
    assert.match(early.stderr, /has no owner yet\n {2}Make it yours first: slipway claim/)
    assert.equal((await person.slipway('sites')).code, 1)

    await signIn(person, all.service, 'ann@example.test')
    assert.match((await person.slipway('sites')).stderr, /You have no sites yet/)
    const claim = await person.slipway('claim')
    assert.deepEqual([claim.code, claim.stdout], [0, `${siteUrl}\n`])
    assert.ok(claimToken)
    assert.equal(person.sites[0]!.claimToken, undefined)
    const [listed] = JSON.parse((await person.slipway('sites', '--json')).stdout)
    assert.deepEqual([listed.slug, listed.expiresAt], [slug, null])
    assert.equal((await person.slipway('open')).stdout, `${siteUrl}\n`)

    all.service.clock.now += 60_000
    person.write({ 'site/index.html': '<h1>worse</h1>' })
    await person.slipway('publish', 'site')
    assert.equal(await textAt(siteUrl), '<h1>worse</h1>')
    const versions = JSON.parse((await person.slipway('versions', '--json')).stdout)
    assert.deepEqual(
      versions.map(({ current }: { current: boolean }) => current),
      [true, false],
    )
    const restored = await person.slipway('restore', versions[1].versionId)
    assert.deepEqual([restored.code, restored.stdout], [0, `${siteUrl}\n`])
    assert.equal(await textAt(siteUrl), '<h1>one</h1>')

    assert.equal((await person.slipway('delete')).code, 2)
    assert.equal((await person.slipway('delete', '--yes')).code, 0)
    assert.equal((await served(siteUrl)).status, 404)
    assert.equal((await person.slipway('open')).code, 1)
    assert.equal((await person.slipway('sites', '--json')).stdout, '[]\n')
  })

  it('ends when its day is over, and the folder becomes a new one', async () => {
    await using all = await setting()
    const siteUrl = (await all.person.slipway('publish', 'site')).stdout.trim()
    all.service.clock.now += 24 * 3_600_000
    assert.equal((await served(siteUrl)).status, 410)
    const claim = await all.person.slipway('claim', all.person.sites[0]!.claimUrl!)
    assert.equal(claim.code, 1)
    const again = await all.person.slipway('publish', 'site')
    assert.equal(again.code, 0)
    assert.ok(again.stderr.startsWith(`${siteUrl} has expired. This becomes a new site.\n`))
    assert.equal(await textAt(again.stdout.trim()), '<h1>one</h1>')
  })

  it('that somebody deleted elsewhere becomes a new one', async () => {
    await using all = await setting()
    await signIn(all.person, all.service, 'ann@example.test')
    const siteUrl = (await all.person.slipway('publish', 'site')).stdout.trim()
    await all.person.shell('mv .slipway remembered')
    await all.person.slipway('delete', '--yes', '--site', new URL(siteUrl).hostname.split('.')[0]!)
    await all.person.shell('mv remembered .slipway')
    const again = await all.person.slipway('publish', 'site')
    assert.ok(again.stderr.startsWith(`${siteUrl} is gone, or belongs to somebody else.`), again.stderr)
    assert.equal(await textAt(again.stdout.trim()), '<h1>one</h1>')
  })

  it('has a password from the first moment that it is there', async () => {
    await using all = await setting()
    await signIn(all.person, all.service, 'ann@example.test')
    const { code, stdout } = await all.person.shell(
      `SLIPWAY_SITE_PASSWORD='open sesame' ${slipwayLine('publish site --password')}`,
    )
    assert.equal(code, 0)
    assert.equal((await served(stdout.trim())).status, 401)
    const paths = all.service.log.map(({ path }) => String(path))
    assert.ok(
      paths.findIndex((path) => path.endsWith('/metadata')) <
        paths.findIndex((path) => path.endsWith('/finalize')),
    )
    await all.person.slipway('publish', 'site', '--no-password')
    assert.equal(await textAt(stdout.trim()), '<h1>one</h1>')
  })
})

describe('a limit that is reached', () => {
  it('says when to go on, and leaves what was admitted alone', async () => {
    await using all = await setting({ RATE_ANONYMOUS: '1' })
    assert.equal((await all.person.slipway('publish', 'site')).code, 0)
    const refused = await all.person.slipway('publish', 'site', '--new')
    assert.deepEqual([refused.code, refused.stdout], [1, ''])
    assert.match(refused.stderr, /The limit of 1 requests an hour is reached/)
    assert.match(
      refused.stderr,
      /Try again in \d+ (s|min), at \d{4}-\d\d-\d\d \d\d:\d\d UTC\n {2}An account can do more: slipway login\n$/,
    )
    await signIn(all.person, all.service, 'ann@example.test')
    assert.equal((await all.person.slipway('publish', 'site', '--new')).code, 0)
  })
})

describe('a command that cannot work', () => {
  it('against what is no Slipway server says which address answered', async () => {
    await using other = createServer((_request, response) => response.writeHead(404).end('<h1>no</h1>'))
    other.listen(0, 'localhost')
    await once(other, 'listening')
    const url = `http://localhost:${(other.address() as AddressInfo).port}`
    using person = new CliUser(url)
    person.write({ 'site/index.html': 'x' })
    const { code, stdout, stderr } = await person.slipway('publish', 'site')
    assert.deepEqual([code, stdout], [1, ''])
    assert.ok(stderr.includes(`${url}/api/v1/publish answered 404, and not like a Slipway server`), stderr)
    assert.match(stderr, /Another one: --server URL/)
  })

  it('against nobody says so at once', async () => {
    using person = new CliUser(`http://localhost:${await lastingPort()}`)
    person.write({ 'site/index.html': 'x' })
    const { code, stderr } = await person.slipway('publish', 'site')
    assert.equal(code, 1)
    assert.match(
      stderr,
      /Nothing answers at http:\/\/localhost:\d+ \(connection refused\)\n {2}Is the server running/,
    )
  })

  it('ends with 2 when it makes no sense, and with 1 when it makes sense', async () => {
    await using all = await setting()
    for (const line of ['pubilsh', 'publish a b', 'publish --what', 'restore', 'login', 'claim nonsense']) {
      const { code, stdout } = await all.person.slipway(...line.split(' '))
      assert.deepEqual([code, stdout], [2, ''], line)
    }
    for (const line of ['publish missing', 'open', 'sites', 'delete --yes --site nobody']) {
      const { code, stdout } = await all.person.slipway(...line.split(' '))
      assert.deepEqual([code, stdout], [1, ''], line)
    }
    assert.equal(all.service.log.filter(({ path }) => path !== undefined).length, 0)
  })

  it('fails when the address cannot be written, and not when nobody reads on', async () => {
    await using all = await setting()
    assert.equal((await all.person.shell(`${slipwayLine('publish site')} > /dev/full`)).code, 1)
    assert.equal((await all.person.shell(`${slipwayLine('help')} | head -n 1`)).code, 0)
  })
})

describe('npx slipway', () => {
  it('works in the folder of the repository, and names commands as they are typed there', async () => {
    await using all = await setting()
    const line = `npx slipway publish ${join(all.person.folder, 'nowhere')}`
    const { code, stderr } = await all.person.shell(line, root)
    assert.equal(code, 1)
    assert.match(stderr, /or a dot for this one: npx slipway publish \.\n/)
    const help = await all.person.shell('npx slipway help', root)
    assert.match(help.stdout, /^ {2}npx slipway publish \.\/folder$/m)
  })
})

function slipwayLine(args: string): string {
  return `'${process.execPath}' '${join(root, 'client/bin/slipway.js')}' ${args}`
}
