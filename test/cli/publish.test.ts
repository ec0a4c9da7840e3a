import assert from 'node:assert/strict'
import { chmodSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import type { RememberedSite, SiteMemory } from '../../client/cli/state/site-memory.ts'
import { startForEachTest } from '../support/started-fixture.ts'
import { CliHarness } from './cli-harness.ts'
import { errorResponse, FakeServer } from './fake-server.ts'

const ESCAPE = '\u001b'
const ADDRESS = 'http://site-1.sites.test/\n'

/** A CLI with a small site in `site/` and a fake server to publish it to. */
async function startSiteCli() {
  const server = await FakeServer.start()
  const cli = new CliHarness()
  cli.env.SLIPWAY_URL = server.url
  cli.write({ 'site/index.html': '<h1>hi</h1>', 'site/style.css': 'h1 {}' })
  return {
    server,
    cli,
    publish: (...args: string[]) => cli.run(['publish', 'site', ...args]),
    signIn() {
      cli.env.SLIPWAY_KEY = server.key
    },
    remembered(): RememberedSite[] {
      return JSON.parse(readFileSync(join(cli.cwd, '.slipway/site.json'), 'utf8')).sites
    },
    async [Symbol.asyncDispose]() {
      cli[Symbol.dispose]()
      await server[Symbol.asyncDispose]()
    },
  }
}

describe('publish', () => {
  const fixture = startForEachTest(startSiteCli)

  it('prints only the address on stdout, and on stderr the result, the expiry and how to keep the site', async () => {
    const { code, stdout, stderr } = await fixture.publish()
    assert.deepEqual([code, stdout], [0, ADDRESS])
    assert.equal(fixture.server.live('site-1').get('index.html')!.toString(), '<h1>hi</h1>')
    assert.match(stderr, /Uploading 2 files \(16 bytes\) to http/)
    assert.match(stderr, /✓ Published 2 files \(16 bytes\) in 0\.0 s\n/)
    assert.match(
      stderr,
      /^Expires: in 24 hours \(2 Jan, 01:00\)\nKeep it: slipway claim, or open http.*\nUpdate it: slipway publish\n/m,
    )
    assert.match(stderr, /or open http:\S+\/claim\?slug=site-1&token=\S+\n/)
  })

  it('keeps what other commands store about the site while it runs', async () => {
    const { server, cli } = fixture
    await fixture.publish()
    const cases: [what: string, change: (memory: SiteMemory) => void, stored: [string, boolean]][] = [
      ['claimed', (memory) => memory.markClaimed('site-1', server.url), ['site-1', false]],
      ['renamed', (memory) => memory.rename('site-1', server.url, 'otter'), ['otter', true]],
    ]
    for (const request of [/^PUT .*site-1$/, /finalize$/]) {
      for (const [what, change, stored] of cases) {
        const before = readFileSync(join(cli.cwd, '.slipway/site.json'))
        cli.write({ 'site/style.css': `${what} ${request}` })
        server.reply(request, () => change(cli.siteMemory) as undefined)
        assert.equal((await fixture.publish()).code, 0)
        const [{ slug, claimToken, pending }, ...others] = fixture.remembered() as [RememberedSite]
        assert.deepEqual([slug, claimToken !== undefined, pending, others], [...stored, undefined, []], what)
        cli.write({ '.slipway/site.json': before })
      }
    }
  })

  it('creates a new site for another folder and with --new, which explains how to keep the old one', async () => {
    fixture.cli.write({ 'other/index.html': 'other' })
    await fixture.publish()
    assert.match((await fixture.cli.run(['publish', 'other'])).stdout, /\/site-2\./)
    const { stdout, stderr } = await fixture.publish('--new')
    assert.match(stdout, /\/site-3\./)
    const noteOf = (slug: string) =>
      new RegExp(
        `The previous site of this folder may be unclaimed: ${slug} at http:\\S+\\. To keep it: http`,
      )
    assert.match(stderr, noteOf('site-1'))
    fixture.signIn()
    assert.match((await fixture.cli.run(['publish', 'other', '--new'])).stderr, noteOf('site-2'))
    assert.match((await fixture.publish('--site', 'site-4')).stderr, noteOf('site-3'))
    assert.doesNotMatch((await fixture.publish('--site', 'site-4')).stderr, /unclaimed/)
  })

  for (const [code, status, reason] of [
    ['NOT_FOUND', 404, "doesn't exist, or belongs to another account"],
    ['SITE_EXPIRED', 410, 'has expired'],
  ] as const) {
    it(`reports that the site ${reason}, and creates a new one`, async () => {
      await fixture.publish()
      fixture.server.reply(/^PUT \/api\/v1\/publish\/site-1$/, errorResponse(status, code))
      const { stdout, stderr } = await fixture.publish()
      assert.match(stdout, /\/site-2\./)
      assert.ok(stderr.includes(`site-1 at ${fixture.server.url} ${reason}. Publishing a new site.\n`))
      const [site, ...others] = fixture.remembered()
      assert.deepEqual([site!.slug, others], ['site-2', []])
    })
  }

  it('asks before it creates a new site in place of one of the account that expired, which may have had a password', async () => {
    fixture.signIn()
    await fixture.publish()
    fixture.server.reply(/^PUT \/api\/v1\/publish\/site-1$/, errorResponse(410, 'SITE_EXPIRED'))
    const script = await fixture.publish()
    assert.deepEqual([script.code, script.stdout], [2, ''])
    assert.match(script.stderr, /site-1 at http:\S+ has expired\n {2}To publish a new site: --new\n/)
    assert.equal((await fixture.cli.run(['publish', 'site'], { typed: ['n'] })).code, 6)
    const confirmed = await fixture.cli.run(['publish', 'site'], { typed: ['y'] })
    assert.match(confirmed.stdout, /\/site-2\./)
  })

  describe('of a site of the account that was deleted', () => {
    const trashed = errorResponse(404, 'NOT_FOUND', { deletedUntil: '2030-02-01T00:00:00.000Z' })
    const cases: [name: string, typed: string[] | undefined, code: number, url: string, message: RegExp][] = [
      ['fails in a script', undefined, 2, '', /restore it: slipway undelete site-1\n.*: --new\n/],
      ['creates a new site after a yes', ['y'], 0, 'site-2', /slipway undelete site-1\nPublish a new site\?/],
      ['publishes nothing after a no', ['n'], 6, '', /Nothing was published/],
    ]
    for (const [name, typed, expected, url, message] of cases) {
      it(name, async () => {
        fixture.signIn()
        await fixture.publish()
        fixture.server.reply(/^PUT \/api\/v1\/publish\/site-1$/, trashed)
        const run = await fixture.cli.run(['publish', 'site'], { ...(typed && { typed }) })
        assert.match(run.stderr, /site-1 at http:\S+ was deleted\n/)
        assert.match(run.stderr, message)
        assert.deepEqual([run.code, run.stdout.includes(url)], [expected, true])
        assert.equal(fixture.remembered()[0]!.slug, url || 'site-1')
      })
    }
  })

  it('with a key creates a site without an expiry and a claim token', async () => {
    fixture.signIn()
    const { stderr } = await fixture.publish()
    assert.doesNotMatch(stderr, /Expires|claim/)
    assert.equal(fixture.remembered()[0]!.claimToken, undefined)
  })

  it('keeps the live version that another command of the folder has stored since it began', async () => {
    fixture.signIn()
    await fixture.publish()
    fixture.cli.write({ 'site/style.css': 'draft' })
    fixture.server.reply(/finalize$/, () => {
      fixture.cli.siteMemory.setLiveVersion('site-1', fixture.server.url, 'later')
      return undefined
    })
    await fixture.publish('--draft')
    assert.equal(fixture.remembered()[0]!.liveVersionId, 'later')
  })

  it('in CI updates the same site from a fresh checkout, with the command of docs/command.md', async () => {
    fixture.signIn()
    await fixture.publish()
    const document = readFileSync(new URL('../../docs/command.md', import.meta.url), 'utf8')
    const [, command = ''] = /cli\.tgz" (publish .*--site .*)$/m.exec(document) ?? []
    using ci = new CliHarness()
    Object.assign(ci.env, { SLIPWAY_URL: fixture.server.url, SLIPWAY_KEY: fixture.server.key })
    ci.write({ 'dist/about.html': 'new' })
    const { code, stdout } = await ci.run(command.replace('bakery', 'site-1').split(' '))
    assert.deepEqual([code, stdout], [0, ADDRESS])
    assert.deepEqual([...fixture.server.live('site-1').keys()], ['about.html'])
    const unknown = await ci.run(['publish', 'dist', '--site', 'nope'])
    assert.equal(unknown.code, 2)
    assert.match(unknown.stderr, /To create it: add --create$/m)
  })

  it('without a key is refused for a site with an owner, with a hint to sign in', async () => {
    await fixture.publish()
    fixture.server.sites.get('site-1')!.claimToken = undefined
    const claimed = await fixture.publish()
    const hint = /site-1 at http:\S+ was claimed by another account\n {2}Sign in as its owner: slipway login/
    assert.equal(claimed.code, 3)
    assert.match(claimed.stderr, hint)
    fixture.signIn()
    await fixture.publish('--new')
    delete fixture.cli.env.SLIPWAY_KEY
    const { code, stderr } = await fixture.publish()
    assert.equal(code, 3)
    assert.match(stderr, /belongs to an account\n {2}Sign in: slipway login/)
    assert.equal(fixture.server.sites.size, 2)
  })

  it('with an empty key, as from a secret that is not set, is no site that everyone can see', async () => {
    fixture.cli.env.SLIPWAY_KEY = ''
    const { code, stderr } = await fixture.publish()
    assert.equal(code, 3)
    assert.match(stderr, /SLIPWAY_KEY is empty, .*\n {2}.* without an account: unset SLIPWAY_KEY/)
    assert.equal(fixture.server.sites.size, 0)
  })

  describe('that is interrupted', () => {
    const cases = {
      'by Ctrl-C': { code: 130, message: /Error: Interrupted\n {2}Run the same command to resume\./ },
      'by a network failure': { code: 5, message: /The connection to http\S+ was lost/ },
    }
    for (const [how, { code, message }] of Object.entries(cases)) {
      it(`${how} explains what to do, and resumes when it is run again`, async () => {
        const stop = new AbortController()
        fixture.server.reply(/_upload.*style\.css/, () => {
          if (code === 130) stop.abort()
          return code === 130 ? 'none' : 'cut'
        })
        const first = await fixture.cli.run(['publish', 'site'], { signal: stop.signal })
        assert.deepEqual([first.code, first.stdout], [code, ''])
        assert.match(first.stderr, message)
        fixture.server.intercept = () => false
        fixture.server.calls.length = 0
        assert.equal((await fixture.publish()).stdout, ADDRESS)
        assert.equal(fixture.server.log[0], 'POST /api/v1/publish/site-1/uploads/refresh')
        assert.equal(fixture.server.sites.get('site-1')!.versions.size, 1)
      })
    }

    it('leaves the folder with its site when another one is named, and resumes when it is run again', async () => {
      const { cli, server } = fixture
      fixture.signIn()
      cli.write({ 'other/index.html': 'other' })
      await fixture.publish()
      await cli.run(['publish', 'other'])
      const siteOf = (folder: string) => cli.siteMemory.find(join(cli.cwd, folder))?.slug
      server.reply(/_upload.*style\.css/, 'cut')
      assert.equal((await fixture.publish('--site', 'site-2')).code, 5)
      assert.deepEqual([siteOf('site'), siteOf('other')], ['site-1', 'site-2'])
      server.intercept = () => false
      server.calls.length = 0
      assert.equal((await fixture.publish('--site', 'site-2')).code, 0)
      assert.equal(server.log[0], 'POST /api/v1/publish/site-2/uploads/refresh')
      assert.deepEqual([siteOf('site'), siteOf('other')], ['site-2', 'site-2'])
    })

    it('leaves the folder with its site when the version of another one is not live', async () => {
      const { cli, server } = fixture
      await fixture.publish()
      fixture.signIn()
      cli.write({ 'other/index.html': 'other' })
      await cli.run(['publish', 'other'])
      const publish = (option: string) => cli.run(['publish', 'site', '--site', 'site-2', option])
      const site = () => cli.siteMemory.find(join(cli.cwd, 'site'))
      assert.equal((await publish('--draft')).code, 0)
      const warnings = [{ file: '_headers', message: 'is too long' }]
      const version = { slug: 'site-2', siteUrl: ADDRESS.trim(), versionId: 'v', warnings }
      server.reply(/finalize$/, [200, version])
      assert.equal((await publish('--strict')).code, 6)
      assert.deepEqual([site()?.slug, site()?.claimToken !== undefined], ['site-1', true])
      server.intercept = () => false
      cli.write({ 'site/style.css': 'changed' })
      assert.equal((await publish('--strict')).code, 0)
      assert.equal(site()?.slug, 'site-2')
    })
  })

  describe('of files that change', () => {
    it('reads them again, once', async () => {
      const path = join(fixture.cli.cwd, 'site/index.html')
      fixture.server.intercept = (call) => {
        if (fixture.server.calls.length === 1 && call.method === 'POST') writeFileSync(path, 'changed')
        return false
      }
      const { code, stdout, stderr } = await fixture.publish()
      assert.deepEqual([code, stdout], [0, ADDRESS])
      assert.match(stderr, /index\.html changed while it was being published\. Reading the files again…/)
      assert.equal(fixture.server.live('site-1').get('index.html')!.toString(), 'changed')
    })

    it('gives up when they keep changing', async () => {
      const path = join(fixture.cli.cwd, 'site/index.html')
      fixture.server.intercept = (call) => {
        if (!call.path.includes('/_upload/')) writeFileSync(path, 'x'.repeat(fixture.server.calls.length))
        return false
      }
      const { code, stderr } = await fixture.publish()
      assert.equal(code, 1)
      assert.match(stderr, /The file keeps changing\. Publish again when no program is writing to it\./)
    })
  })

  describe('from a folder that cannot be written', () => {
    it('says that the next publish from there creates a new site', async () => {
      const site = join(fixture.cli.cwd, 'site')
      // No user can write there.
      const { code, stdout, stderr } = await fixture.cli.run(['publish', site], { cwd: '/sys' })
      assert.deepEqual([code, stdout], [0, ADDRESS], stderr)
      assert.match(
        stderr,
        /Can't write \/sys\/\.slipway \(E\w+\)\. The next publish from here creates a new site unless you claim/,
      )
      assert.match(stderr, /Keep it: open http/)
      assert.doesNotMatch(stderr, /Update it: /)
    })

    it('or whose user has no home', async () => {
      const { cli } = fixture
      const long = join(cli.home, 'x'.repeat(300))
      symlinkSync('loop', join(cli.home, 'loop'))
      symlinkSync('/nowhere/at/all', join(cli.home, 'dangling'))
      const homes = {
        '/dev/null': 'EEXIST',
        '/proc': 'ENOENT',
        '/proc/self': 'ENOENT',
        [long]: 'ENAMETOOLONG',
        [join(cli.home, 'loop')]: 'ELOOP',
        [join(cli.home, 'dangling')]: 'EEXIST',
      }
      for (const [HOME, problem] of Object.entries(homes)) {
        const { code, stdout, stderr } = await cli.run(['publish', 'site', '--new'], { env: { HOME } })
        assert.equal(code, 0, stderr)
        assert.match(stdout, /^http:/)
        assert.ok(stderr.includes(`Can't write ${join(HOME, '.config/slipway')} (${problem})`), stderr)
      }
    })

    it('updates the site of its state, unless that is of another user', {
      skip: process.getuid?.() !== 0,
    }, async () => {
      await fixture.publish()
      const state = join(fixture.cli.cwd, '.slipway')
      const config = join(fixture.cli.home, '.config/slipway')
      const readable = [fixture.cli.cwd, fixture.cli.home, dirname(config), config, state]
      for (const folder of readable) chmodSync(folder, 0o755)
      for (const file of [join(config, 'config.json'), join(state, 'site.json'), join(state, '.gitignore')])
        chmodSync(file, 0o644)
      fixture.cli.write({ 'site/index.html': 'changed' })
      process.seteuid!(65_534)
      try {
        const updated = await fixture.publish()
        assert.deepEqual([updated.code, updated.stdout], [0, ADDRESS], updated.stderr)
        assert.equal(updated.stderr.match(/Can't write \S+\.slipway \(E\w+\)/g)?.length, 1, updated.stderr)
        process.seteuid!(0)
        chmodSync(state, 0o700)
        process.seteuid!(65_534)
        const refused = await fixture.publish()
        assert.equal(refused.code, 1)
        assert.match(refused.stderr, /site\.json: permission denied\n {2}Another user published from here: /)
      } finally {
        process.seteuid!(0)
      }
    })
  })

  describe('of a single-page application', () => {
    it('names the option that serves its routes, once', async () => {
      fixture.cli.write({ 'app/index.html': 'x', 'app/assets/index-BX3k9a2c.js': 'x' })
      const hint = /Single-page app\? With --spa, index\.html is served for unknown paths, too\./
      const publish = (...options: string[]) => fixture.cli.run(['publish', 'app', ...options])
      assert.match((await publish()).stderr, hint)
      assert.doesNotMatch((await publish()).stderr, hint)
      assert.doesNotMatch((await publish('--new', '--no-spa')).stderr, hint)
      for (const path of ['app/about.html', 'app/_redirects']) {
        fixture.cli.write({ [path]: '/a /b\n' })
        assert.doesNotMatch((await publish('--new')).stderr, hint, path)
        rmSync(join(fixture.cli.cwd, path))
      }
    })
  })

  describe('of what cannot be published', () => {
    it('names all files whose names are not UTF-8', async () => {
      for (const name of ['caf\xe9.html', '\xff.txt'])
        writeFileSync(
          Buffer.concat([Buffer.from(`${fixture.cli.cwd}/site/`), Buffer.from(name, 'latin1')]),
          'x',
        )
      const { code, stderr } = await fixture.publish()
      assert.equal(code, 6)
      for (const name of ['caf\uFFFD.html', '\uFFFD.txt'])
        assert.ok(stderr.includes(`${name}: the name is not UTF-8; rename it`), stderr)
    })

    it('sends nothing, and names invalid files, private ones, an empty folder, a missing one, and the home folder', async () => {
      fixture.cli.write({ 'empty/.keep': 'x', 'bad/a\\b.txt': 'x' })
      fixture.cli.write({ 'site/.env': 'SECRET=1', 'site/.git/config': 'x' })
      symlinkSync('site/.env', join(fixture.cli.cwd, 'link.txt'))
      for (const [folder, code, message] of [
        ['empty', 6, /No files to publish in /],
        ['missing', 2, /Folder not found: missing/],
        [
          'site/.env',
          6,
          /Refusing to publish \.env: .*\n {2}To publish it, pass --include-secrets, and add .*\/\.slipwayignore: !\.env\n/,
        ],
        ['site/.git/config', 6, /Refusing to publish config: .*\.slipwayignore\n$/],
        ['link.txt', 6, /Refusing to publish link\.txt: /],
        ['bad', 6, /a\\b\.txt: must not contain a backslash/],
        [fixture.cli.home, 6, /Refusing to publish \//],
      ] as const) {
        const run = await fixture.cli.run(['publish', folder])
        assert.match(run.stderr, message)
        assert.equal(run.code, code, folder)
      }
      assert.equal(fixture.server.calls.length, 0)
    })
  })

  it('lists private and system files, which it leaves out, in full with --dry-run, with what would be published, and sends nothing', async () => {
    const secrets = Array.from({ length: 10 }, (_, at) => `keys/${at}.pem`)
    fixture.cli.write(Object.fromEntries(secrets.map((path) => [`site/${path}`, 'x'])))
    const { code, stdout, stderr } = await fixture.publish('--dry-run')
    assert.deepEqual([code, stdout], [0, 'index.html\nstyle.css\n'])
    assert.ok(stderr.includes(`Skipped 10 files: ${secrets.map((path) => `${path} (secret)`).join(', ')}\n`))
    assert.match(stderr, /2 files \(16 bytes\) would be published\./)
    assert.equal(fixture.server.calls.length, 0)
    assert.match(
      (await fixture.publish()).stderr,
      /keys\/7\.pem \(secret\) and 2 more \(list all: --dry-run\)\n/,
    )
  })

  it('of a folder without index.html gets a hint to its build folder, or to what visitors will see', async () => {
    const below = 'No index.html in the top folder. Visitors will be redirected to /app/'
    const cases: [files: string[], hint: string | undefined][] = [
      [['a.txt', 'b.txt'], 'No index.html found. Visitors will see a list of files.'],
      [['a.jpg', 'b.PNG', 'c.txt'], 'No index.html found. Visitors will see a gallery of the pictures.'],
      [['a.jpg', 'b.png', 'README.md'], 'No index.html found. Visitors will see README.md.'],
      [['a.txt', 'app/index.html'], `${below}.`],
      [['a.txt', 'app/index.html', '_redirects'], `${below}, unless _redirects has a rule for /.`],
      [['photo.jpg', '_redirects', '_headers'], undefined],
      [['index.html', 'b.txt'], undefined],
      [['INDEX.HTML', 'b.txt'], 'INDEX.HTML is also published as index.html'],
    ]
    for (const [at, [files, hint]] of cases.entries()) {
      fixture.cli.write(Object.fromEntries(files.map((name) => [`odd-${at}/${name}`, 'x'])))
      const { stderr } = await fixture.cli.run(['publish', `odd-${at}`])
      assert.equal(
        /(No index\.html .*|.* is also published as .*)\n/.exec(stderr)?.[1],
        hint,
        files.join(', '),
      )
    }
    fixture.cli.write({ 'project/package.json': '{}', 'project/a.js': 'x', 'project/dist/index.html': 'x' })
    const { stderr } = await fixture.cli.run(['publish', 'project'])
    assert.match(stderr, /Did you mean the folder \S+project\/dist\?/)
  })

  describe('with options', () => {
    it('sends them with the manifest', async () => {
      fixture.signIn()
      await fixture.publish('--title', 'Hello', '--description', '', '--spa', '--ttl', '1h')
      const { files, ...viewer } = JSON.parse(fixture.server.calls[0]!.body.toString())
      assert.equal(files.length, 2)
      assert.deepEqual(viewer, { title: 'Hello', description: null, spaMode: true, ttlSeconds: 3600 })
    })

    it('--draft prints the address of the version and how to make it live', async () => {
      const { stdout, stderr } = await fixture.publish('--draft')
      assert.match(stdout, /^http:\/\/\S+--site-1\.sites\.test\/\n$/)
      assert.match(stderr, /Make it live: slipway publish\n/)
      assert.equal(fixture.server.sites.get('site-1')!.live, undefined)
      fixture.signIn()
      const owned = await fixture.publish('--draft', '--new')
      assert.match(owned.stderr, /Make it live: slipway restore \S{1,10}\n/)
    })

    it('--json prints the whole result in place of the address', async () => {
      const { siteUrl, claimUrl, files, live } = JSON.parse((await fixture.publish('--json')).stdout)
      assert.deepEqual([siteUrl, files, live], [ADDRESS.trim(), 2, true])
      assert.match(claimUrl, /\/claim\?/)
    })

    for (const [option, typed, password, isLive, line] of [
      ['--password', ['open sesame'], 'open sesame', false, /Password: On\n/],
      ['--no-password', [], null, true, /Password: Off\n/],
    ] as const) {
      it(`${option} ${isLive ? 'removes it once the new version is' : 'asks without echo, and sets it before the site is'} live`, async () => {
        fixture.signIn()
        let change: unknown
        fixture.server.reply(/^PATCH/, ({ path, body }) => {
          const { live } = fixture.server.sites.get('site-1')!
          change = [path, JSON.parse(body.toString()), live !== undefined]
          return [200, {}]
        })
        const { code, stderr } = await fixture.cli.run(['publish', 'site', option], { typed: [...typed] })
        assert.equal(code, 0)
        assert.doesNotMatch(stderr, /sesame/)
        assert.match(stderr, line)
        assert.deepEqual(change, ['/api/v1/publish/site-1/metadata', { password }, isLive])
      })
    }

    it('--password that is refused publishes nothing, and sends nothing without an account', async () => {
      fixture.server.reply(/^PATCH/, errorResponse(400, 'VALIDATION_ERROR'))
      const { code, stderr } = await fixture.publish('--password')
      assert.equal(code, 3)
      assert.match(stderr, /Only sites with an owner can have a password/)
      assert.equal(fixture.server.calls.length, 0)
      fixture.signIn()
      const env = { SLIPWAY_SITE_PASSWORD: 'x' }
      assert.equal((await fixture.cli.run(['publish', 'site', '--password'], { env })).code, 6)
      assert.equal(fixture.server.sites.get('site-1')!.live, undefined)
    })

    it('that are invalid exits with 2', async () => {
      const invalid = [
        '--ttl soon',
        '--ttl 5',
        '--ttl 9999d',
        '--spa --no-spa',
        '--new --site x',
        '--wat',
        'a b',
      ]
      for (const args of invalid) {
        const { code, stdout } = await fixture.publish(...args.split(' '))
        assert.deepEqual([code, stdout], [2, ''], args)
      }
      assert.equal(fixture.server.calls.length, 0)
    })
  })

  describe('prints a message of the server', () => {
    it('unchanged, with all details', async () => {
      const details = [
        { field: 'files[0].path', message: 'is odd' },
        { field: 'title', message: 'is too long' },
      ]
      fixture.server.reply(/./, errorResponse(400, 'VALIDATION_ERROR', details))
      const message =
        'Error: The server says VALIDATION_ERROR\n  files[0].path: is odd\n  title: is too long\n'
      const { code, stderr } = await fixture.publish()
      assert.equal(code, 6)
      assert.ok(stderr.includes(message))
    })

    it('about an option only, and exits as for an invalid one', async () => {
      const details = [{ field: 'title', message: 'is too long' }]
      fixture.server.reply(/./, errorResponse(400, 'VALIDATION_ERROR', details))
      assert.equal((await fixture.publish('--title', 'x')).code, 2)
    })

    it('about files that are too large, and exits as when it refuses them itself', async () => {
      fixture.server.reply(/./, errorResponse(413, 'PAYLOAD_TOO_LARGE'))
      const { code, stderr } = await fixture.publish()
      assert.equal(code, 6)
      assert.match(stderr, /Publish fewer or smaller files\.\n {2}Sign in for higher limits: slipway login/)
      fixture.server.reply(/./, [413, '<h1>413 Too Large</h1>', { 'Content-Type': 'text/html' }])
      assert.equal((await fixture.publish()).code, 6)
    })

    it('about a limit of the plan, with the command that makes room', async () => {
      const ofOwner = { error: 'Full', code: 'QUOTA_EXCEEDED', details: { quota: 'account-bytes' } }
      const full: [number, object] = [413, { ...ofOwner, hint: 'Ask the owner.' }]
      for (const [error, hint] of [
        [errorResponse(403, 'PREVIEW_LIMIT_REACHED'), 'Delete one first: slipway previews delete NAME'],
        [
          errorResponse(413, 'QUOTA_EXCEEDED', { quota: 'accountSites' }),
          'Delete what you no longer need: slipway delete --site NAME, slipway versions, slipway previews',
        ],
        [full, 'Ask the owner.'],
      ] as const) {
        fixture.server.reply(/./, error)
        const { code, stderr } = await fixture.publish()
        assert.deepEqual([code, stderr.includes(`\n  ${hint}\n`)], [4, true], stderr)
      }
    })

    it('about a rate limit with the time of its reset, once and in local time', async () => {
      const error = 'Hourly limit reached (5 requests). Try again at 2030-01-01 00:25 UTC.'
      fixture.server.reply(/./, [429, { error, code: 'RATE_LIMITED' }, { 'Retry-After': '1500' }])
      const { code, stderr } = await fixture.publish()
      assert.equal(code, 4)
      assert.match(stderr, /Hourly limit reached \(5 requests\)\n/)
      assert.match(stderr, /Try again in 25 min \(1 Jan, 01:25\)\. Your sites stay online\.\n/)
      assert.match(stderr, /^ {2}Sign in for a higher limit: slipway login/m)
      fixture.signIn()
      assert.doesNotMatch((await fixture.publish()).stderr, /higher limit/)
    })

    it('about the files, such as a broken redirect', async () => {
      const warnings = [
        { file: '_headers', message: 'is too long' },
        { file: '_redirects', line: 3, message: 'has no target' },
      ]
      const site = { slug: 'site-1', siteUrl: ADDRESS.trim(), versionId: 'v' }
      fixture.server.reply(/finalize$/, [200, { ...site, warnings }])
      const { stderr } = await fixture.publish()
      assert.match(stderr, /Warning: _headers: is too long\nWarning: _redirects:3: has no target\n/)
    })

    it('or the next step when none arrives', async () => {
      await fixture.server[Symbol.asyncDispose]()
      const { code, stderr } = await fixture.publish()
      assert.equal(code, 5)
      assert.match(
        stderr,
        /Error: Can't reach http\S+ \(connection refused\)\n {2}Check that the server is run/,
      )
    })

    it('or the address when it is not one of a Slipway server', async () => {
      fixture.server.reply(/./, [404, '<h1>no</h1>', { 'Content-Type': 'text/html' }])
      const { code, stdout, stderr } = await fixture.publish()
      assert.deepEqual([code, stdout], [5, ''])
      const url = `${fixture.server.url}/api/v1/publish`
      assert.ok(stderr.includes(`${url} returned 404, which is not a response of a Slipway server`), stderr)
      assert.match(stderr, /To use another server: --server URL/)
    })

    it('without control characters, which could move the cursor', async () => {
      fixture.server.reply(/./, [400, { error: `${ESCAPE}[2Jgone`, code: 'VALIDATION_ERROR', status: 400 }])
      assert.ok(!(await fixture.publish()).stderr.includes(ESCAPE))
    })
  })

  it('on a terminal shows a bar that is cleared before the address is printed, without colors with NO_COLOR', async () => {
    const { stdout, stderr } = await fixture.cli.run(['publish', 'site'], { typed: [] })
    assert.ok(stderr.includes(`\r${ESCAPE}[KUploading █`))
    assert.ok(stderr.includes(`\r${ESCAPE}[K${ESCAPE}[32m✓${ESCAPE}[39m Published`))
    assert.equal(stdout, ADDRESS)
    const plain = await fixture.cli.run(['publish', 'site'], { typed: [], env: { NO_COLOR: '1' } })
    assert.ok(!plain.stderr.includes(`${ESCAPE}[3`))
  })
})
