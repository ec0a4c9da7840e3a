import assert from 'node:assert/strict'
import { existsSync, mkdirSync, renameSync, symlinkSync } from 'node:fs'
import { isAbsolute, join, relative } from 'node:path'
import { describe, it } from 'node:test'
import { COMMANDS } from '../../client/cli/command-line.ts'
import { readSettings } from '../../client/cli/settings.ts'
import { CredentialStore } from '../../client/cli/state/credentials.ts'
import { startTestService } from '../support/service.ts'
import { startForEachTest } from '../support/started-fixture.ts'
import { CliHarness } from './cli-harness.ts'
import { errorResponse, FakeServer } from './fake-server.ts'

const KEY = 'sl_live_0123456789abcdef0123456789abcdef'

/** A cloned repository whose state names a site of its author's server, and a user who is signed in elsewhere. */
async function startClone() {
  const [author, own] = await Promise.all([FakeServer.start(), FakeServer.start()])
  author.reply(/./, errorResponse(404, 'NOT_FOUND'))
  const cli = new CliHarness()
  const credentials = new CredentialStore(join(cli.home, '.config/slipway/config.json'))
  const signIn = () => credentials.remember(own.url, { key: KEY, email: 'ann@example.test' })
  signIn()
  const writeState = (change: object = {}) => {
    const site = {
      folder: 'site',
      server: author.url,
      slug: 'otter',
      siteUrl: 'http://bank.test/',
      ...change,
    }
    cli.write({ '.slipway/site.json': JSON.stringify({ sites: [site] }) })
  }
  writeState()
  cli.write({ 'site/index.html': 'home' })
  return {
    author,
    own,
    cli,
    signIn,
    writeState,
    async [Symbol.asyncDispose]() {
      cli[Symbol.dispose]()
      await Promise.all([author, own].map((server) => server[Symbol.asyncDispose]()))
    },
  }
}

describe('a folder that a stranger wrote', () => {
  const fixture = startForEachTest(startClone)

  describe('sends nothing to a server that the user has not used', () => {
    /** Commands about a site, which stop; the others use the server of the user. */
    const aboutSite = [
      'publish',
      'publish site',
      'publish site --new',
      'publish --dry-run',
      'publish --site otter',
      'settings',
      'open',
      'versions',
      'restore v1',
      'previews',
      'feedback',
      'promote pr-1',
      'rollback',
      'diff',
      'pull copy',
      'visits',
      'domains add www.example.test',
      'people',
      'claim',
      'delete --yes',
      'trust github ann/site --branch main',
    ]
    const aboutAccount = [
      'sites',
      'link otter site',
      'domains',
      'trash',
      'undelete otter',
      'keys',
      'whoami',
      'trust',
      'logout',
      'login --email ann@example.test',
      'login',
      'mcp',
    ]

    it('with any command', async () => {
      const { author, own, cli } = fixture
      for (const claimToken of [undefined, 'secret']) {
        fixture.writeState({ claimToken })
        for (const line of [...aboutSite, ...aboutAccount]) {
          fixture.signIn()
          const { code, stderr } = await cli.run(line.split(' '))
          if (aboutSite.includes(line)) {
            assert.equal(code, 2, `${line}: ${stderr}`)
            assert.match(
              stderr,
              new RegExp(`haven't used on this machine: ${author.url}\n.* --server ${author.url}\n`),
            )
          }
          assert.deepEqual(author.log, [], line)
          assert.ok(!stderr.includes('bank.test'), line)
        }
      }
      assert.ok(own.log.includes('POST /api/auth/agent/request-code'))
      const names = new Set([...aboutSite, ...aboutAccount].map((line) => line.split(' ')[0]!))
      const untested = Object.keys(COMMANDS).filter((name) => !names.has(name))
      assert.deepEqual(untested, ['completion', 'help'], 'commands without a request')
    })

    it('through the tools of an agent', async () => {
      const { author, own, cli } = fixture
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
      const call = {
        ...message,
        method: 'tools/call',
        params: { name: 'publish_folder', arguments: { path: 'site' } },
      }
      await cli.run(['mcp'], { typed: [message, call].map((one) => JSON.stringify(one)) })
      assert.deepEqual(author.log, [])
      assert.ok(own.log.includes('POST /mcp') && own.log.includes('POST /api/v1/publish'))
    })
  })

  it('may name a server after a yes on a terminal to a question that names it, which is asked once', async () => {
    const { author, cli } = fixture
    for (const typed of [[''], ['n']]) {
      const refused = await cli.run(['publish'], { typed })
      assert.equal(refused.code, 6)
      assert.ok(refused.stderr.includes(`${author.url}\nUse this server? [y/N] `), refused.stderr)
    }
    assert.deepEqual(author.log, [])
    author.intercept = () => false
    const accepted = await cli.run(['publish', 'site', '--new'], { typed: ['y'] })
    assert.equal(accepted.code, 0, accepted.stderr)
    assert.ok(author.calls.every(({ key }) => key === undefined))
    const again = await cli.run(['publish', 'site', '--new'])
    assert.equal(again.code, 0, again.stderr)
  })

  it('may name a server that the user has named in a publish before', async () => {
    const { own, cli } = fixture
    using other = new CliHarness()
    other.write({ 'index.html': 'x' })
    const session = { env: { HOME: cli.home } }
    const first = await other.run(['publish', '--server', fixture.author.url], session)
    assert.match(first.stderr, /The server says NOT_FOUND/)
    fixture.author.intercept = () => false
    assert.equal((await other.run(['publish', '--server', fixture.author.url], session)).code, 0)
    assert.equal((await cli.run(['publish', 'site', '--new'])).code, 0)
    assert.deepEqual(own.log, [])
    fixture.writeState()
    fixture.author.calls.length = 0
    for (const command of ['keys create ci --scope manage', 'trust', 'undelete otter', 'link otter site'])
      await cli.run(command.split(' '))
    assert.deepEqual(fixture.author.log, [], 'which is not that of commands about the account')
    assert.equal(own.log[0], 'POST /api/v1/me/keys')
  })

  it('is not read in place of the settings of the user, whatever the environment is', async () => {
    const { author, own, cli } = fixture
    const file = JSON.stringify({ server: author.url, servers: [author.url] })
    cli.write({ '.config/slipway/config.json': file, 'config/slipway/config.json': file })
    author.intercept = own.intercept = () => false
    const { code, stderr } = await cli.run(['publish', 'site', '--new'], {
      env: { XDG_CONFIG_HOME: 'config' },
    })
    assert.equal(code, 2, stderr)
    assert.deepEqual(author.log, [])
    const { HOME: home } = process.env
    try {
      for (const path of ['', '.', 'config']) {
        process.env.HOME = path
        assert.ok(isAbsolute(readSettings({ HOME: path, XDG_CONFIG_HOME: path }).keysFile), path)
      }
    } finally {
      process.env.HOME = home
    }
  })

  it('does not control the terminal', async () => {
    const folder = 'site\u001b[31mx\u009b2J\u202e'
    fixture.writeState({ folder, server: fixture.own.url })
    for (const line of ['publish', 'publish --json', 'open']) {
      const { stdout, stderr } = await fixture.cli.run(line.split(' '), { env: { NO_COLOR: '1' } })
      assert.doesNotMatch(stdout + stderr, /[^\P{C}\n]/u, line)
    }
    fixture.cli.write({ '.slipway/site.json': '\u001b[31m' })
    assert.doesNotMatch((await fixture.cli.run(['open'])).stderr, /[^\P{C}\n]/u)
  })

  it('does not choose a folder outside of it to publish', async () => {
    const { own, cli } = fixture
    using victim = new CliHarness()
    victim.write({ 'private.txt': 'private' })
    symlinkSync(victim.cwd, join(cli.cwd, 'linked'))
    mkdirSync(join(cli.cwd, 'inner'))
    symlinkSync(victim.cwd, join(cli.cwd, 'inner/linked'))
    for (const folder of [victim.cwd, join('..', victim.cwd.split('/').at(-1)!), 'linked', 'inner/linked']) {
      fixture.writeState({ folder, server: own.url })
      const { code, stderr } = await cli.run(['publish'])
      assert.equal(code, 2, stderr)
      assert.match(stderr, /which is outside this folder\n.*name it: slipway publish /)
    }
    assert.deepEqual(own.log, [])
  })

  it('does not choose what is in it to publish to a site that the user names', async () => {
    const { own, cli } = fixture
    cli.write({ '.terraform/state.json': 'password', '.terraform/index.html': 'x' })
    fixture.writeState({ folder: '.terraform', server: own.url })
    for (const args of [['--new'], ['--site', 'otter']]) {
      const { stdout, stderr } = await cli.run(['publish', '--dry-run', '--server', own.url, ...args])
      assert.ok(!(stdout + stderr).includes('state.json'), stdout)
    }
  })

  it('does not lead out of it by a link that comes while it is watched', async () => {
    const { own, cli } = fixture
    using victim = new CliHarness()
    victim.write({ 'index.html': 'private' })
    const stop = new AbortController()
    let isSwapped = false
    const { stderr } = await cli.run(['publish', 'site', '--new', '--server', own.url, '--watch'], {
      env: { HOME: victim.home },
      signal: stop.signal,
      onStderr(text) {
        if (!isSwapped && text.includes('Watching')) {
          isSwapped = true
          renameSync(join(cli.cwd, 'site'), join(cli.cwd, 'before'))
          symlinkSync(victim.cwd, join(cli.cwd, 'site'))
        }
        if (/has become a link|1 file changed/.test(text)) stop.abort()
      },
    })
    assert.match(stderr, /site has become a link to /)
    assert.equal(own.live('site-1').get('index.html')?.toString(), 'home')
  })

  it('does not lead out of it by a link in place of the folder or file that is named', async () => {
    const { own, cli } = fixture
    using victim = new CliHarness()
    victim.write({ 'index.html': 'private', 'inner/notes.txt': 'private' })
    cli.write({ 'package.json': '{}', 'inner/x.txt': 'x' })
    fixture.writeState({ server: own.url })
    const links = { dist: '', page: 'index.html', 'inner/up': 'inner', 'to$(id)': '' }
    for (const [link, target] of Object.entries(links))
      symlinkSync(join(victim.cwd, target), join(cli.cwd, link))
    for (const link of Object.keys(links)) {
      for (const command of ['publish', 'diff']) {
        const { code, stderr } = await cli.run([command, link])
        assert.equal(code, 2, stderr)
        assert.ok(stderr.includes(`${link} is a link to ${join(victim.cwd, links[link as 'dist'])}`), stderr)
      }
      const call = { name: 'publish_folder', arguments: { path: join(cli.cwd, link) } }
      const line = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call })
      assert.match(
        (await cli.run(['mcp'], { typed: [line] })).stdout,
        /USAGE: .* is a link to .*"isError":true/,
      )
    }
    using elsewhere = new CliHarness()
    elsewhere.env = { HOME: cli.home }
    for (const path of [join(cli.cwd, 'dist/inner'), relative(elsewhere.cwd, join(cli.cwd, 'dist'))]) {
      const { code, stderr } = await elsewhere.run(['publish', path])
      assert.deepEqual(
        [code, /is a link to .* outside the folder of the link\n/.test(stderr)],
        [2, true],
        stderr,
      )
      const call = { name: 'publish_folder', arguments: { path } }
      const line = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call })
      assert.match((await elsewhere.run(['mcp'], { typed: [line] })).stdout, /"isError":true/)
    }
    assert.equal(existsSync(join(victim.cwd, '.slipway')), false)
    cli.write({ '.slipway/site.json': '{}' })
    assert.equal((await cli.run(['publish'], { typed: ['1'] })).code, 2, 'the built site of a project')
    assert.deepEqual(own.log, [])
    cli.env.HOME = victim.cwd
    assert.equal((await cli.run(['publish', victim.cwd])).code, 6, 'the home folder')
    symlinkSync(victim.cwd, join(cli.home, 'home'))
    cli.env.HOME = join(cli.home, 'home')
    assert.equal((await cli.run(['publish', victim.cwd])).code, 6, 'the home folder by a link')
    cli.env.HOME = join(victim.cwd, 'ann')
    mkdirSync(cli.env.HOME)
    const { code, stderr } = await cli.run(['publish', victim.cwd])
    assert.equal(code, 6, 'a folder that has the home folder')
    assert.match(stderr, /it has your home folder/)
  })

  it('does not choose the data of a repository or a folder of secrets to publish', async () => {
    const { own, cli } = fixture
    cli.write({ '.git/config': 'x', '.git/hooks/x': 'x', 'a/.ssh/config': 'x' })
    symlinkSync('.git', join(cli.cwd, 'linked'))
    for (const folder of ['.git', '.git/hooks', 'a/.ssh', 'linked']) {
      fixture.writeState({ folder, server: own.url, claimToken: 'secret' })
      for (const args of [['publish'], ['publish', folder]]) {
        const { code, stderr } = await cli.run(args)
        assert.equal(code, 6, stderr)
        assert.match(stderr, /Refusing to publish .*: it .* belongs to a repository, to stored keys/)
      }
    }
    assert.deepEqual(own.log, [])
  })

  it('puts no commands for a shell into the hints', async () => {
    fixture.writeState({ folder: '../;id', server: fixture.own.url })
    assert.match((await fixture.cli.run(['publish'])).stderr, /name it: slipway publish '\/\S+\/;id'\n/)
    fixture.writeState({ folder: '--server=http://bank.test/../../../..', server: fixture.own.url })
    assert.doesNotMatch((await fixture.cli.run(['publish'])).stderr, /publish '?-/)
    fixture.writeState({ server: 'http://bank.test;id' })
    assert.match((await fixture.cli.run(['publish'])).stderr, /--server 'http:\/\/bank.test;id'\n/)
    const keyed = await fixture.cli.run(['publish'], { env: { SLIPWAY_KEY: KEY } })
    assert.match(keyed.stderr, /If you trust it with SLIPWAY_KEY: --server /)
  })

  it('does not choose another site of the user to replace without a question', async () => {
    await using service = await startTestService()
    const key = await service.signIn('owner-of-a-blog@example.test')
    using blog = new CliHarness()
    using clone = new CliHarness()
    blog.env = { SLIPWAY_KEY: key, HOME: clone.home }
    new CredentialStore(join(clone.home, '.config/slipway/config.json')).remember(service.baseUrl, {
      key,
      email: 'owner-of-a-blog@example.test',
    })
    blog.write({ 'index.html': 'mine' })
    const published = await blog.run(['publish', '--json', '.'])
    const { slug, versionId } = JSON.parse(published.stdout) as { slug: string; versionId: string }
    const writeState = (change: object) => {
      const site = { folder: '.', server: service.baseUrl, slug, ...change }
      clone.write({ '.slipway/site.json': JSON.stringify({ sites: [site] }) })
    }
    const commands = [
      'publish',
      'publish --merge',
      'publish --draft',
      'publish --preview pr-1',
      'settings --title x',
      'rollback',
      'diff',
      'pull copy',
      'people add mallory@example.test',
      'trust github mallory/x --branch main',
      'delete --yes',
    ]
    clone.write({ 'index.html': 'of a stranger', 'fs/index.html': 'x' })
    const pending = { versionId: 'x', manifest: 'x' }
    for (const change of [{}, { liveVersionId: versionId, pending, seal: 'f'.repeat(64) }]) {
      writeState(change)
      for (const command of commands) {
        const { code, stderr } = await clone.run(command.split(' '))
        assert.equal(code, 2, `${command}: ${stderr}`)
        assert.match(stderr, new RegExp(`names a site that you haven't published from it: ${slug} at`))
      }
      assert.equal((await clone.run(['publish'], { typed: ['3'] })).code, 6)
      assert.equal((await clone.run(['delete', '--yes'], { typed: ['n'] })).code, 6)
      assert.equal((await clone.run(['rollback', '--site', slug])).code, 6, 'there is no version before')
      await clone.run(['restore', versionId, '--site', slug])
      assert.equal((await clone.run(['publish'])).code, 2, 'the site was named for another command')
      const asked = await clone.run(['publish'], { typed: ['2', 'n', '3'] })
      assert.match(asked.stderr, new RegExp(`Another version of ${slug} at ${service.baseUrl} is live`))
      assert.equal(asked.code, 6)
    }
    writeState({ folder: 'otter' })
    const ofName = await clone.run(['delete', '--site', 'otter', '--yes'])
    assert.deepEqual([ofName.code, ofName.stderr.includes(slug)], [2, false], 'it is another site')
    assert.equal((await clone.run(['delete', '--site', './otter', '--yes'])).code, 2)
    assert.equal((await blog.run(['publish'])).code, 0, 'the folder of the site itself')
    const named = await clone.run(['publish', '.', '--site', slug])
    assert.deepEqual([named.code, /in a repository: git rm -r --cached/.test(named.stderr)], [0, true])
    const again = await clone.run(['publish', '.'])
    assert.deepEqual([again.code, /git rm/.test(again.stderr)], [0, false])
  })

  it('does not choose a site without an owner, which its author can claim, without a question', async () => {
    const { cli, own, writeState } = fixture
    const key = { env: { SLIPWAY_KEY: own.key, SLIPWAY_URL: own.url } }
    using author = new CliHarness()
    author.write({ 'index.html': 'x' })
    await author.run(['publish', '--server', own.url])
    const claimToken = own.sites.get('site-1')!.claimToken!
    for (const [session, seal] of [[{}], [key], [{}, 'f'.repeat(64)]] as const) {
      writeState({ server: own.url, slug: 'site-1', claimToken, ...(seal && { seal }) })
      own.calls.length = 0
      const run = await cli.run(['publish', '--server', own.url], session)
      assert.equal(run.code, 2, run.stderr)
      assert.match(run.stderr, /names a site without an owner that you haven't published from it: site-1 at/)
      const asked = await cli.run(['publish', '--server', own.url], { ...session, typed: ['3'] })
      assert.equal(asked.code, 6, asked.stderr)
      assert.deepEqual(own.log, [])
    }
    const named = await cli.run(['publish', '--server', own.url, '--site', 'site-1', '--replace'], {
      env: { HOME: author.home },
    })
    assert.equal(named.code, 0, named.stderr)
    const isNew = await cli.run(['publish', '--server', own.url], {
      typed: ['1'],
      env: { HOME: author.home },
    })
    assert.equal(isNew.code, 0, 'the user who published it is not asked')
    assert.equal(own.sites.size, 1)
  })

  it('does not publish its secrets, whatever its .slipwayignore includes', async () => {
    const { cli, own } = fixture
    const secrets = ['.env', '.ssh/id_rsa', 'server.key']
    for (const path of secrets) cli.write({ [`site/${path}`]: 'SECRET=1' })
    cli.write({ 'site/.slipwayignore': '!*\n!.env\n!.ssh\n!id_rsa\n!**\n', 'site/.note': 'x' })
    const publish = ['publish', 'site', '--new', '--server', own.url, '--dry-run']
    assert.equal((await cli.run(publish)).stdout, '.note\nindex.html\n')
    const wanted = await cli.run([...publish, '--include-secrets'])
    assert.deepEqual(wanted.stdout.trim().split('\n').sort(), ['.note', 'index.html', ...secrets].sort())
  })
})
