import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { answer, failure } from './peer.ts'
import { SiteCliHarness } from './site-desk.ts'

const ESCAPE = '\u001b'

describe('what cannot be published', () => {
  it('is said before anything is sent, with names', async () => {
    await using all = await SiteCliHarness.start()
    all.desk.write(Object.fromEntries(Array.from({ length: 1001 }, (_, at) => [`site/img/${at}.png`, 'x'])))
    const { code, stderr } = await all.publish()
    assert.equal(code, 1)
    assert.match(stderr, /1,003 files; a site can have at most 1,000 \(img\/ has 1,001\)/)
    assert.equal(all.peer.calls.length, 0)
  })

  it('an empty folder, a missing one, and the home folder', async () => {
    await using all = await SiteCliHarness.start()
    all.desk.write({ 'empty/.keep': 'x', 'void/nothing.txt': '' })
    assert.match((await all.desk.run(['publish', 'empty'])).stderr, /There is nothing to publish in /)
    assert.match((await all.desk.run(['publish', 'void'])).stderr, /Left out, being empty: nothing\.txt/)
    assert.match((await all.desk.run(['publish', 'missing'])).stderr, /There is no missing here/)
    assert.match((await all.desk.run(['publish', all.desk.home])).stderr, /holds more than a site/)
    assert.equal(all.peer.calls.length, 0)
  })
})

describe('what is left out', () => {
  it('is named in a short line', async () => {
    await using all = await SiteCliHarness.start()
    all.desk.write({
      'site/.env': 'SECRET=1',
      'site/node_modules/a.js': 'x',
      'site/empty.txt': '',
      'site/draft.md': 'x',
      'site/.slipwayignore': 'draft.md\n',
      'site/.well-known/security.txt': 'Contact: us',
    })
    const { stderr } = await all.publish()
    assert.match(stderr, /Left out: \.env, \.slipwayignore, draft\.md, node_modules\/\n/)
    assert.match(stderr, /Left out, being empty: empty\.txt\n/)
    assert.deepEqual([...all.peer.live('site-1').keys()].sort(), [
      '.well-known/security.txt',
      'index.html',
      'style.css',
    ])
  })

  it('is named in full by --dry-run, and a line that says only some of it points there', async () => {
    await using all = await SiteCliHarness.start()
    const secrets = Array.from({ length: 10 }, (_, at) => `keys/${at}.pem`)
    all.desk.write(Object.fromEntries(secrets.map((path) => [`site/${path}`, 'x'])))
    all.desk.write({ 'site/void/empty.txt': '' })
    assert.match((await all.publish()).stderr, /7\.pem and 2 more \(--dry-run names them all\)\n/)
    const { stderr } = await all.publish('--dry-run')
    assert.ok(stderr.includes(`Left out: ${secrets.join(', ')}\nLeft out, being empty: void/empty.txt\n`))
  })

  it('--dry-run lists what would be published, and sends nothing', async () => {
    await using all = await SiteCliHarness.start()
    all.desk.write({ 'site/.env': 'SECRET=1' })
    const { code, stdout, stderr } = await all.publish('--dry-run')
    assert.equal(code, 0)
    assert.equal(stdout, 'index.html\nstyle.css\n')
    assert.match(stderr, /Left out: \.env\n2 files \(16 bytes\) would be published\./)
    assert.equal(all.peer.calls.length, 0)
  })

  it('a folder without index.html is pointed to the built one', async () => {
    await using all = await SiteCliHarness.start()
    all.desk.write({ 'project/package.json': '{}', 'project/a.js': 'x', 'project/dist/index.html': 'x' })
    const { stderr } = await all.desk.run(['publish', 'project'])
    assert.match(stderr, /Did you mean the folder \S+project\/dist\?/)
  })

  it('and it is said what visitors get there instead', async () => {
    const below = 'visitors are led to the first one below'
    const cases: [files: string[], says: string | undefined][] = [
      [['a.txt', 'b.txt'], 'visitors get a list of the files.'],
      [['a.txt', 'app/index.html'], `${below}.`],
      [['a.txt', 'app/index.html', '_redirects'], `${below}, unless _redirects leads them elsewhere.`],
      [['photo.jpg', '_redirects', '_headers'], undefined],
      [['index.html', 'b.txt'], undefined],
    ]
    for (const [files, says] of cases) {
      await using all = await SiteCliHarness.start()
      all.desk.write(Object.fromEntries(files.map((name) => [`odd/${name}`, 'x'])))
      const { stderr } = await all.desk.run(['publish', 'odd'])
      assert.equal(/There is no index\.html at the top: (.*)\n/.exec(stderr)?.[1], says, files.join(', '))
    }
  })
})

describe('options', () => {
  it('travel with the manifest', async () => {
    await using all = await SiteCliHarness.start()
    all.desk.env.SLIPWAY_KEY = all.peer.key
    await all.publish('--title', 'Hello', '--description', '', '--spa', '--ttl', '3600')
    const { files, ...viewer } = JSON.parse(all.peer.calls[0]!.body.toString())
    assert.equal(files.length, 2)
    assert.deepEqual(viewer, { title: 'Hello', description: null, spaMode: true, ttlSeconds: 3600 })
  })

  it('--draft prints the address of the version and how to make it live', async () => {
    await using all = await SiteCliHarness.start()
    const { stdout, stderr } = await all.publish('--draft')
    assert.match(stdout, /^http:\/\/\S+--site-1\.sites\.test\/\n$/)
    assert.match(stderr, /To make it live: publish it again without --draft\n/)
    assert.equal(all.peer.sites.get('site-1')!.live, undefined)
    all.desk.env.SLIPWAY_KEY = all.peer.key
    const owned = await all.publish('--draft', '--new')
    assert.match(owned.stderr, /To make it live: slipway restore \S+\n/)
  })

  it('--json prints all of it in place of the address', async () => {
    await using all = await SiteCliHarness.start()
    const { siteUrl, claimUrl, files, live } = JSON.parse((await all.publish('--json')).stdout)
    assert.deepEqual({ siteUrl, files, live }, { siteUrl: 'http://site-1.sites.test/', files: 2, live: true })
    assert.match(claimUrl, /\/claim\?/)
  })

  it('--password asks on a terminal, without showing it, and is set before anybody can see the site', async () => {
    await using all = await SiteCliHarness.start()
    all.desk.env.SLIPWAY_KEY = all.peer.key
    let change: unknown
    all.peer.misbehave = ({ method, path, body }, _request, response) => {
      if (method !== 'PATCH') return false
      change = [path, JSON.parse(body.toString()), all.peer.sites.get('site-1')!.live]
      answer(response, 200, {})
      return true
    }
    const { code, stderr } = await all.desk.run(['publish', 'site', '--password'], { typed: ['open sesame'] })
    assert.equal(code, 0)
    assert.doesNotMatch(stderr, /sesame/)
    assert.match(stderr, /Visitors need the password\.\n/)
    assert.deepEqual(change, ['/api/v1/publish/site-1/metadata', { password: 'open sesame' }, undefined])
  })

  it('--password that is refused leaves nothing to see', async () => {
    await using all = await SiteCliHarness.start()
    all.desk.env.SLIPWAY_KEY = all.peer.key
    all.peer.misbehave = ({ method }, _request, response) => {
      if (method === 'PATCH') answer(response, ...failure(400, 'VALIDATION_ERROR'))
      return method === 'PATCH'
    }
    const env = { SLIPWAY_SITE_PASSWORD: 'x' }
    assert.equal((await all.desk.run(['publish', 'site', '--password'], { env })).code, 1)
    assert.equal(all.peer.sites.get('site-1')!.live, undefined)
  })

  it('--no-password takes it away once the new version is live', async () => {
    await using all = await SiteCliHarness.start()
    all.desk.env.SLIPWAY_KEY = all.peer.key
    let change: unknown
    all.peer.misbehave = ({ method, body }, _request, response) => {
      if (method !== 'PATCH') return false
      change = [JSON.parse(body.toString()), all.peer.sites.get('site-1')!.live !== undefined]
      answer(response, 200, {})
      return true
    }
    const { stderr } = await all.publish('--no-password')
    assert.match(stderr, /Visitors need no password\.\n/)
    assert.deepEqual(change, [{ password: null }, true])
  })

  it('--password needs an account, and says so before anything is sent', async () => {
    await using all = await SiteCliHarness.start()
    const { code, stderr } = await all.publish('--password')
    assert.equal(code, 1)
    assert.match(stderr, /Only a site with an owner can have a password/)
    assert.equal(all.peer.calls.length, 0)
  })

  it('that make no sense give exit code 2', async () => {
    await using all = await SiteCliHarness.start()
    for (const args of [
      ['--ttl', 'soon'],
      ['--spa', '--no-spa'],
      ['--new', '--site', 'x'],
      ['--wat'],
      ['a', 'b'],
    ]) {
      const { code, stdout } = await all.publish(...args)
      assert.equal(code, 2, args.join(' '))
      assert.equal(stdout, '')
    }
    assert.equal(all.peer.calls.length, 0)
  })
})

describe('what the server says', () => {
  it('is repeated in its own words, every point of it', async () => {
    await using all = await SiteCliHarness.start()
    all.peer.misbehave = (_call, _request, response) => {
      const details = [
        { field: 'files[0].path', message: 'is odd' },
        { field: 'title', message: 'is too long' },
      ]
      answer(response, ...failure(400, 'VALIDATION_ERROR', details))
      return true
    }
    const { stderr } = await all.publish()
    assert.match(
      stderr,
      /Error: The peer says VALIDATION_ERROR\n {2}files\[0\]\.path: is odd\n {2}title: is too long\n/,
    )
  })

  it('about a rate limit comes with the time when it ends', async () => {
    await using all = await SiteCliHarness.start()
    all.peer.misbehave = (_call, _request, response) => {
      answer(response, ...failure(429, 'RATE_LIMITED'), { 'Retry-After': '1500' })
      return true
    }
    const { code, stderr } = await all.publish()
    assert.equal(code, 1)
    assert.match(
      stderr,
      /Try again in 25 min, at 2030-01-01 00:25 UTC\n {2}An account can do more: slipway login/,
    )
    all.desk.env.SLIPWAY_KEY = all.peer.key
    assert.doesNotMatch((await all.publish()).stderr, /An account can do more/)
  })

  it('about the files, such as a broken redirect, is passed on', async () => {
    await using all = await SiteCliHarness.start()
    all.peer.misbehave = ({ path }, _request, response) => {
      if (!path.endsWith('/finalize')) return false
      const warnings = [
        { file: '_headers', message: 'is too long' },
        { file: '_redirects', line: 3, message: 'has no target' },
      ]
      answer(response, 200, {
        slug: 'site-1',
        siteUrl: 'http://site-1.sites.test/',
        versionId: 'v',
        warnings,
      })
      return true
    }
    const { stderr } = await all.publish()
    assert.match(stderr, /Careful: _headers: is too long\nCareful: _redirects:3: has no target\n/)
  })

  it('when nothing answers, the next step is said', async () => {
    await using all = await SiteCliHarness.start()
    await all.peer[Symbol.asyncDispose]()
    const { code, stderr } = await all.publish()
    assert.equal(code, 1)
    assert.match(
      stderr,
      /Error: Nothing answers at http\S+ \(connection refused\)\n {2}Is the server running/,
    )
  })

  it('cannot move the cursor', async () => {
    await using all = await SiteCliHarness.start()
    all.peer.misbehave = (_call, _request, response) => {
      answer(response, 400, { error: '\u001b[2Jgone', code: 'VALIDATION_ERROR', status: 400 })
      return true
    }
    assert.ok(!(await all.publish()).stderr.includes(ESCAPE))
  })
})

describe('on a terminal', () => {
  it('a bar is drawn on stderr and wiped away before the address', async () => {
    await using all = await SiteCliHarness.start()
    const { stdout, stderr } = await all.desk.run(['publish', 'site'], { typed: [] })
    assert.ok(stderr.includes(`\r${ESCAPE}[KUploading █`))
    assert.ok(stderr.includes(`\r${ESCAPE}[K${ESCAPE}[32m✓${ESCAPE}[39m Published`))
    assert.equal(stdout, 'http://site-1.sites.test/\n')
  })

  it('NO_COLOR means no colours', async () => {
    await using all = await SiteCliHarness.start()
    const { stderr } = await all.desk.run(['publish', 'site'], { typed: [], env: { NO_COLOR: '1' } })
    assert.ok(!stderr.includes(`${ESCAPE}[3`))
  })
})
