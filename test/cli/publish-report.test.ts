import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { errorResponse } from './fake-server.ts'
import { useSiteCli } from './site-cli-harness.ts'

const fixture = useSiteCli()

const ESCAPE = '\u001b'

describe('what cannot be published', () => {
  it('is reported with names before anything is sent', async () => {
    fixture.cli.write(
      Object.fromEntries(Array.from({ length: 5001 }, (_, at) => [`site/img/${at}.png`, 'x'])),
    )
    const { code, stderr } = await fixture.publish()
    assert.equal(code, 6)
    assert.match(stderr, /5,003 files\. The limit is 5,000 per site \(img\/ has 5,001\)/)
    assert.equal(fixture.server.calls.length, 0)
  })

  it('includes an empty folder, a missing one, and the home folder', async () => {
    fixture.cli.write({ 'empty/.keep': 'x', 'void/nothing.txt': '' })
    assert.match((await fixture.cli.run(['publish', 'empty'])).stderr, /No files to publish in /)
    assert.match((await fixture.cli.run(['publish', 'void'])).stderr, /Skipped 1 empty file: nothing\.txt/)
    assert.match((await fixture.cli.run(['publish', 'missing'])).stderr, /Folder not found: missing/)
    assert.match((await fixture.cli.run(['publish', fixture.cli.home])).stderr, /Refusing to publish \//)
    assert.equal(fixture.server.calls.length, 0)
  })
})

describe('what is left out', () => {
  it('is listed in a short line', async () => {
    fixture.cli.write({
      'site/.env': 'SECRET=1',
      'site/node_modules/a.js': 'x',
      'site/empty.txt': '',
      'site/draft.md': 'x',
      'site/.slipwayignore': 'draft.md\n',
      'site/.well-known/security.txt': 'Contact: us',
    })
    const { stderr } = await fixture.publish()
    assert.match(
      stderr,
      /Skipped 4 private or system files: \.env, \.slipwayignore, draft\.md, node_modules\/\n/,
    )
    assert.match(stderr, /Skipped 1 empty file: empty\.txt\n/)
    assert.deepEqual([...fixture.server.live('site-1').keys()].sort(), [
      '.well-known/security.txt',
      'index.html',
      'style.css',
    ])
  })

  it('is listed in full by --dry-run, which a shortened line mentions', async () => {
    const secrets = Array.from({ length: 10 }, (_, at) => `keys/${at}.pem`)
    fixture.cli.write(Object.fromEntries(secrets.map((path) => [`site/${path}`, 'x'])))
    fixture.cli.write({ 'site/void/empty.txt': '' })
    assert.match((await fixture.publish()).stderr, /keys\/7\.pem and 2 more \(list all: --dry-run\)\n/)
    const { stderr } = await fixture.publish('--dry-run')
    assert.ok(
      stderr.includes(
        `Skipped 10 private or system files: ${secrets.join(', ')}\nSkipped 1 empty file: void/empty.txt\n`,
      ),
    )
  })

  it('--dry-run lists what would be published, and sends nothing', async () => {
    fixture.cli.write({ 'site/.env': 'SECRET=1' })
    const { code, stdout, stderr } = await fixture.publish('--dry-run')
    assert.equal(code, 0)
    assert.equal(stdout, 'index.html\nstyle.css\n')
    assert.match(stderr, /Skipped 1 private or system file: \.env\n2 files \(16 bytes\) would be published\./)
    assert.equal(fixture.server.calls.length, 0)
  })

  it('a folder without index.html gets a hint to its build folder', async () => {
    fixture.cli.write({ 'project/package.json': '{}', 'project/a.js': 'x', 'project/dist/index.html': 'x' })
    const { stderr } = await fixture.cli.run(['publish', 'project'])
    assert.match(stderr, /Did you mean the folder \S+project\/dist\?/)
  })

  it('a folder without index.html gets a hint to what visitors will see', async () => {
    const below = 'No index.html in the top folder. Visitors will be redirected to /app/'
    const cases: [files: string[], hint: string | undefined][] = [
      [['a.txt', 'b.txt'], 'No index.html found. Visitors will see a list of files.'],
      [['a.txt', 'app/index.html'], `${below}.`],
      [['a.txt', 'app/index.html', '_redirects'], `${below}, unless _redirects has a rule for /.`],
      [['photo.jpg', '_redirects', '_headers'], undefined],
      [['index.html', 'b.txt'], undefined],
    ]
    for (const [at, [files, hint]] of cases.entries()) {
      fixture.cli.write(Object.fromEntries(files.map((name) => [`odd-${at}/${name}`, 'x'])))
      const { stderr } = await fixture.cli.run(['publish', `odd-${at}`])
      assert.equal(/(No index\.html .*)\n/.exec(stderr)?.[1], hint, files.join(', '))
    }
  })
})

describe('options', () => {
  it('are sent with the manifest', async () => {
    fixture.cli.env.SLIPWAY_KEY = fixture.server.key
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
    fixture.cli.env.SLIPWAY_KEY = fixture.server.key
    const owned = await fixture.publish('--draft', '--new')
    assert.match(owned.stderr, /Make it live: slipway restore \S+\n/)
  })

  it('--json prints the whole result in place of the address', async () => {
    const { siteUrl, claimUrl, files, live } = JSON.parse((await fixture.publish('--json')).stdout)
    assert.deepEqual({ siteUrl, files, live }, { siteUrl: 'http://site-1.sites.test/', files: 2, live: true })
    assert.match(claimUrl, /\/claim\?/)
  })

  it('--password asks on a terminal without echo, and is set before the site is visible', async () => {
    fixture.cli.env.SLIPWAY_KEY = fixture.server.key
    let change: unknown
    fixture.server.reply(/^PATCH/, ({ path, body }) => {
      change = [path, JSON.parse(body.toString()), fixture.server.sites.get('site-1')!.live]
      return [200, {}]
    })
    const { code, stderr } = await fixture.cli.run(['publish', 'site', '--password'], {
      typed: ['open sesame'],
    })
    assert.equal(code, 0)
    assert.doesNotMatch(stderr, /sesame/)
    assert.match(stderr, /Password: On\n/)
    assert.deepEqual(change, ['/api/v1/publish/site-1/metadata', { password: 'open sesame' }, undefined])
  })

  it('--password that is refused publishes nothing', async () => {
    fixture.cli.env.SLIPWAY_KEY = fixture.server.key
    fixture.server.reply(/^PATCH/, errorResponse(400, 'VALIDATION_ERROR'))
    const env = { SLIPWAY_SITE_PASSWORD: 'x' }
    assert.equal((await fixture.cli.run(['publish', 'site', '--password'], { env })).code, 6)
    assert.equal(fixture.server.sites.get('site-1')!.live, undefined)
  })

  it('--no-password removes it once the new version is live', async () => {
    fixture.cli.env.SLIPWAY_KEY = fixture.server.key
    let change: unknown
    fixture.server.reply(/^PATCH/, ({ body }) => {
      change = [JSON.parse(body.toString()), fixture.server.sites.get('site-1')!.live !== undefined]
      return [200, {}]
    })
    const { stderr } = await fixture.publish('--no-password')
    assert.match(stderr, /Password: Off\n/)
    assert.deepEqual(change, [{ password: null }, true])
  })

  it('--password without an account is refused before anything is sent', async () => {
    const { code, stderr } = await fixture.publish('--password')
    assert.equal(code, 3)
    assert.match(stderr, /Only sites with an owner can have a password/)
    assert.equal(fixture.server.calls.length, 0)
  })

  it('that are invalid exit with 2', async () => {
    for (const args of [
      ['--ttl', 'soon'],
      ['--spa', '--no-spa'],
      ['--new', '--site', 'x'],
      ['--wat'],
      ['a', 'b'],
    ]) {
      const { code, stdout } = await fixture.publish(...args)
      assert.equal(code, 2, args.join(' '))
      assert.equal(stdout, '')
    }
    assert.equal(fixture.server.calls.length, 0)
  })
})

describe('a message of the server', () => {
  it('is printed unchanged, with all details', async () => {
    const details = [
      { field: 'files[0].path', message: 'is odd' },
      { field: 'title', message: 'is too long' },
    ]
    fixture.server.reply(/./, errorResponse(400, 'VALIDATION_ERROR', details))
    const { stderr } = await fixture.publish()
    assert.match(
      stderr,
      /Error: The server says VALIDATION_ERROR\n {2}files\[0\]\.path: is odd\n {2}title: is too long\n/,
    )
  })

  it('about a rate limit is printed with the time of its reset', async () => {
    fixture.server.reply(/./, [...errorResponse(429, 'RATE_LIMITED'), { 'Retry-After': '1500' }])
    const { code, stderr } = await fixture.publish()
    assert.equal(code, 4)
    assert.match(
      stderr,
      /Try again in 25 min \(1 Jan, 01:25\)\. Your sites stay online\.\n {2}Sign in for a higher limit: slipway login/,
    )
    fixture.cli.env.SLIPWAY_KEY = fixture.server.key
    assert.doesNotMatch((await fixture.publish()).stderr, /higher limit/)
  })

  it('about the files, such as a broken redirect, is printed', async () => {
    const warnings = [
      { file: '_headers', message: 'is too long' },
      { file: '_redirects', line: 3, message: 'has no target' },
    ]
    const site = { slug: 'site-1', siteUrl: 'http://site-1.sites.test/', versionId: 'v' }
    fixture.server.reply(/finalize$/, [200, { ...site, warnings }])
    const { stderr } = await fixture.publish()
    assert.match(stderr, /Warning: _headers: is too long\nWarning: _redirects:3: has no target\n/)
  })

  it('that does not arrive is replaced by the next step', async () => {
    await fixture.server[Symbol.asyncDispose]()
    const { code, stderr } = await fixture.publish()
    assert.equal(code, 5)
    assert.match(
      stderr,
      /Error: Can't reach http\S+ \(connection refused\)\n {2}Check that the server is running/,
    )
  })

  it('cannot move the cursor', async () => {
    fixture.server.reply(/./, [400, { error: '\u001b[2Jgone', code: 'VALIDATION_ERROR', status: 400 }])
    assert.ok(!(await fixture.publish()).stderr.includes(ESCAPE))
  })
})

describe('the progress on a terminal', () => {
  it('is a bar on stderr that is cleared before the address is printed', async () => {
    const { stdout, stderr } = await fixture.cli.run(['publish', 'site'], { typed: [] })
    assert.ok(stderr.includes(`\r${ESCAPE}[KUploading █`))
    assert.ok(stderr.includes(`\r${ESCAPE}[K${ESCAPE}[32m✓${ESCAPE}[39m Published`))
    assert.equal(stdout, 'http://site-1.sites.test/\n')
  })

  it('has no colors with NO_COLOR', async () => {
    const { stderr } = await fixture.cli.run(['publish', 'site'], { typed: [], env: { NO_COLOR: '1' } })
    assert.ok(!stderr.includes(`${ESCAPE}[3`))
  })
})
