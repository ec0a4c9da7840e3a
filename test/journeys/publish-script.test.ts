import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { CliHarness } from '../cli/cli-harness.ts'
import { errorResponse, FakeServer } from '../cli/fake-server.ts'
import { getUrl } from '../support/http-client.ts'
import { type RunningService, startTestService } from '../support/service.ts'
import { startForAllTests } from '../support/started-fixture.ts'
import { ALL_VARIANTS } from '../support/variants.ts'
import { requires } from '../tools/part.ts'
import { mountSmallDisk } from '../tools/small-disk.ts'

const SHELLS = {
  dash: { path: '/usr/bin/dash', applets: [] },
  busybox: { path: '/bin/busybox', applets: ['sh', 'tar', 'gzip', 'sed', 'tr', 'cat', 'rm', 'mktemp'] },
}

describe('curl {base_url}/publish.sh | sh -s ./folder', requires('busybox'), () => {
  const service = startForAllTests(() => startTestService())

  it('asks the tar of macOS for a format in which files with holes have all of their bytes', async () => {
    using user = new Machine('busybox')
    user.write({ 'site/index.html': 'x' })
    const tar = join(user.home, 'bin/tar')
    rmSync(tar)
    const log = join(user.home, 'arguments')
    writeFileSync(
      tar,
      `#!/bin/busybox sh
if [ "$1" = --version ]; then echo 'bsdtar 3.7.4 - libarchive 3.7.4'; exit; fi
echo "$@" >${log}`,
      { mode: 0o755 },
    )
    await user.publish(service, './site')
    assert.match(readFileSync(log, 'utf8'), /^-czf \S+ --format=gnutar \.\/index\.html$/m)
  })

  it('ends with a message when the server does not respond', async () => {
    await using server = await FakeServer.start()
    server.intercept = () => true
    using user = new Machine('busybox')
    user.write({ 'index.html': 'x' })
    const curl = join(user.home, 'bin/curl')
    rmSync(curl)
    writeFileSync(curl, '#!/bin/busybox sh\nexec /usr/bin/curl "$@" --speed-time 1\n', { mode: 0o755 })
    const { code, stderr } = await user.publish(service, '.', {}, server.url)
    assert.match(stderr, /^slipway: http:\S+ did not respond in time\. Try again later$/m)
    assert.equal(code, 5)
  })

  for (const shell of ['dash', 'busybox'] as const) {
    it(`publishes, updates and keeps secrets with ${shell}`, async () => {
      using user = new Machine(shell)
      user.write({
        'a b/index.html': '<h1>One</h1>',
        'a b/.env': 'SECRET',
        'a b/tls.pem': 'SECRET',
        'a b/.\\033[2J': 'x',
        'a b/.c\u009b2J': 'x',
        'a b/-x.txt': 'x',
        'a b/css/s.css': 'a{}',
        'a b/css/.DS_Store': 'x',
        'a b/empty.css': '',
      })
      symlinkSync('css/s.css', join(user.cwd, 'a b/linked.css'))
      symlinkSync('/etc/hostname', join(user.cwd, 'a b/outside.txt'))
      const first = await user.publish(service, './a b')
      assert.equal(first.code, 0, first.stderr)
      const url = first.stdout.trim()
      assert.equal((await getUrl(url)).text, '<h1>One</h1>')
      assert.deepEqual(
        [(await getUrl(`${url}-x.txt`)).status, (await getUrl(`${url}.env`)).status],
        [200, 404],
      )
      assert.equal((await getUrl(`${url}linked.css`)).text, 'a{}')
      assert.equal((await getUrl(`${url}empty.css`)).status, 200)
      assert.match(
        first.stderr,
        /^Skipped 4 files: tls\.pem \(secret\), \.\\033\[2J \(hidden\), \.c\?\?2J \(hidden\), \.env \(secret\)$/m,
      )
      assert.match(
        first.stderr,
        /^Skipped 2 files: css\/\.DS_Store \(system file\), outside\.txt \(link to a file that is not published\)$/m,
      )
      assert.match(first.stderr, /^Expires: \d{4}-\d\d-\d\d \d\d:\d\d UTC$/m)
      assert.match(first.stderr, /^Keep it: http\S+\/claim\?\S+$/m)
      const [, slug = '', token = ''] =
        /SLIPWAY_SITE=(\S+) SLIPWAY_CLAIM_TOKEN=(\S+)/.exec(first.stderr) ?? []
      user.write({ 'a b/index.html': '<h1>Two</h1>' })
      const owner = { SLIPWAY_SITE: slug, SLIPWAY_CLAIM_TOKEN: token }
      const second = await user.publish(service, './a b', owner)
      assert.deepEqual([second.code, second.stdout], [0, first.stdout])
      assert.match(second.stderr, /^(Skipped .*\n){2}Expires: .*\n$/)
      assert.equal((await getUrl(url)).text, '<h1>Two</h1>')
      assert.deepEqual(readdirSync(user.temporary), [])
    })

    // Of the other cases those with another shell are variants.
    if (shell !== 'dash' && !ALL_VARIANTS) continue

    it(`publishes to the account of a key, and one folder keeps its name, with ${shell}`, async () => {
      using user = new Machine(shell)
      user.write({ '-site/blog/index.html': 'blog' })
      const key = await service.signIn(`${shell}@example.test`)
      const run = await user.publish(service, '-site', { SLIPWAY_KEY: `${key}\r\n` })
      assert.equal(run.code, 0, run.stderr)
      assert.match(run.stderr, /^Update it: .* SLIPWAY_SITE=\S+ sh -s FOLDER\n$/)
      assert.equal((await getUrl(`${run.stdout.trim()}blog/`)).text, 'blog')
    })

    it(`publishes to a preview, which leaves the site as it is, with ${shell}`, async () => {
      using user = new Machine(shell)
      user.write({ 'index.html': 'live' })
      const key = await service.signIn(`preview-${shell}@example.test`)
      const url = (await user.publish(service, '.', { SLIPWAY_KEY: key })).stdout.trim()
      const slug = new URL(url).hostname.split('.')[0]!
      user.write({ 'index.html': 'preview' })
      const env = { SLIPWAY_KEY: key, SLIPWAY_SITE: slug }
      const { stdout, stderr } = await user.publish(service, ['.', '--preview', 'pr-1'], env)
      assert.equal(stdout, `${url.replace('//', '//pr-1--')}\n`, stderr)
      assert.deepEqual([(await getUrl(stdout.trim())).text, (await getUrl(url)).text], ['preview', 'live'])
    })

    it(`creates the site of a name the first time, and updates it afterwards, with ${shell}`, async () => {
      using user = new Machine(shell)
      const key = await service.signIn(`name-${shell}@example.test`)
      const env = { SLIPWAY_KEY: key, SLIPWAY_SITE: `bakery-${shell}` }
      for (const content of ['one', 'two']) {
        user.write({ 'index.html': content })
        const { stdout, stderr } = await user.publish(service, ['.', '--create'], env)
        assert.equal(new URL(stdout).hostname, `bakery-${shell}.localhost`, stderr)
        assert.equal((await getUrl(stdout.trim())).text, content)
      }
    })

    it(`fails with the exit code of the command for each error of the server, with ${shell}`, async () => {
      await using server = await FakeServer.start()
      using user = new Machine(shell)
      user.write({ 'index.html': 'x' })
      for (const [status, code, exitCode] of [
        [401, 'UNAUTHORIZED', 3],
        [403, 'INSUFFICIENT_SCOPE', 3],
        [403, 'CONTENT_REFUSED', 6],
        [403, 'PREVIEW_LIMIT_REACHED', 4],
        [408, 'REQUEST_TIMEOUT', 5],
        [413, 'QUOTA_EXCEEDED', 4],
        [413, 'PAYLOAD_TOO_LARGE', 6],
        [429, 'RATE_LIMITED', 4],
        [422, 'SECRET_DETECTED', 6],
        [503, 'UNAVAILABLE', 5],
      ] as const) {
        server.reply(/./, errorResponse(status, code))
        const run = await user.publish(service, '.', {}, server.url)
        assert.equal(run.code, exitCode, code)
        assert.equal(run.stderr.includes('Set SLIPWAY_KEY'), exitCode === 3, run.stderr)
      }
      for (const status of [200, 302]) {
        server.reply(/./, [status, { portal: 'Sign in' }])
        const run = await user.publish(service, '.', {}, server.url)
        assert.deepEqual([run.code, run.stdout], [5, ''], run.stderr)
      }
      for (const field of ['preview', 'name']) {
        server.reply(/./, [400, { error: `${field}: must be a name`, code: 'VALIDATION_ERROR' }])
        assert.equal((await user.publish(service, '.', {}, server.url)).code, 2)
      }
    })

    it(`asks for space where its archive has none, with ${shell}`, requires('small-disk'), async () => {
      await using disk = await mountSmallDisk(64 * 1024)
      using user = new Machine(shell)
      user.write({ 'index.html': randomBytes(64 * 1024) })
      const run = await user.publish(service, '.', { TMPDIR: disk.folder })
      assert.deepEqual([run.code, run.stdout], [1, ''], run.stderr)
      assert.match(run.stderr, /TMPDIR needs space/)
      assert.deepEqual(readdirSync(disk.folder), [])
    })

    const failures: [
      name: string,
      folder: string,
      env: Record<string, string>,
      code: number,
      message: RegExp,
    ][] = [
      ['a folder that does not exist', './none', {}, 2, /^slipway: Folder not found: \.\/none\n$/],
      ['the name of a site that is a path', '.', { SLIPWAY_SITE: '../x' }, 2, /must be the name of a site/],
      ['an invalid key', '.', { SLIPWAY_KEY: 'sl_live_no' }, 3, /^slipway: .+\n {2}.+\n$/],
      ['an empty key', '.', { SLIPWAY_KEY: '' }, 3, /^slipway: SLIPWAY_KEY is empty.+\n {2}.+SLIPWAY_KEY\n$/],
      [
        'a site of an account without a key',
        '.',
        { SLIPWAY_SITE: 'otter' },
        3,
        /^slipway: .+\n {2}Set SLIPWAY_KEY to an API key .+, SLIPWAY_CLAIM_TOKEN\n$/,
      ],
      ['an empty name of a site', '.', { SLIPWAY_SITE: '' }, 2, /SLIPWAY_SITE is empty.*unset SLIPWAY_SITE/],
      ['a preview without a site', '. --preview pr-1', {}, 2, /Set SLIPWAY_SITE/],
      ['a site to create without a name', '. --create', {}, 2, /Set SLIPWAY_SITE/],
      ['a preview without a name', '. --preview', {}, 2, /--preview needs a name/],
      ['a preview with an empty name', '. --preview ', { SLIPWAY_SITE: 'a' }, 2, /--preview needs a name/],
      ['two folders', '. linked', {}, 2, /Name one folder/],
      [
        'an unknown option',
        '. --creat',
        {},
        2,
        /Unknown option: --creat\. Usage: sh -s \.\/folder \[--preview NAME\]/,
      ],
      ['help', '--help', {}, 2, /Unknown option: --help\. Usage: /],
      [
        'a link that leads out of its folder',
        'out',
        {},
        2,
        /out is a link to \/usr\/share, which is outside/,
      ],
      [
        'a folder behind such a link',
        './/out//doc/',
        {},
        2,
        /out is a link to \/usr\/share, which is outside/,
      ],
      [
        'a link to a folder with control characters',
        'linked/up',
        {},
        2,
        /^slipway: \.\/linked\/up is a link to \S+\/b\?\]0;x\?, which is outside/,
      ],
      [
        'a missing folder with control characters',
        './\u001b[31m',
        {},
        2,
        /^slipway: Folder .+: \.\/\?\[31m\n$/,
      ],
      ['the data of a repository', '.git', {}, 6, /^slipway: Refusing to publish \.\/\.git: name the folder/],
      ['a folder of secrets', '.AWS/cli', {}, 6, /^slipway: Refusing to publish /],
      ['a link to one', 'logs', {}, 6, /^slipway: Refusing to publish /],
      ['the data of a process', '/proc/self', {}, 6, /^slipway: Refusing to publish \/proc\/self: /],
      ['the home folder', '.', { HOME: '.' }, 6, /^slipway: Refusing to publish /],
      ['a folder that has the home folder', '.', { HOME: 'linked' }, 6, /^slipway: Refusing to publish /],
      ['the root folder', '/', {}, 6, /^slipway: Refusing to publish \/: /],
      ['a folder without content', 'empty', {}, 6, /^slipway: files: must contain .+\n$/],
      ['a name with a backslash', 'odd', {}, 6, /^slipway: a\\b\.txt: must not contain a backslash; .+\n$/],
      ['a key with a line break', '.', { SLIPWAY_KEY: 'a\nb' }, 3, /has invalid characters/],
      ['a site of another account', '.', { SLIPWAY_SITE: 'otter', SLIPWAY_KEY: 'KEY' }, 2, /^slipway: .+\n/],
      [
        'a server that is away',
        '.',
        { SERVER: 'http://127.0.0.1:1' },
        5,
        /Cannot reach http:\/\/127\.0\.0\.1:1\n/,
      ],
    ]
    for (const [name, folder, { SERVER: server, ...env }, code, message] of failures) {
      it(`fails with exit code ${code} for ${name}, with ${shell}`, async () => {
        using user = new Machine(shell)
        user.write({
          'index.html': 'x',
          'linked/index.html': 'x',
          'empty/index.html': '',
          'odd/a\\b.txt': 'x',
          '.git/logs/HEAD': 'x',
          '.AWS/cli/x': 'x',
          'b\u001b]0;x\u0007/index.html': 'x',
        })
        symlinkSync('/usr/share', join(user.cwd, 'out'))
        symlinkSync('.git/logs', join(user.cwd, 'logs'))
        symlinkSync('../b\u001b]0;x\u0007', join(user.cwd, 'linked/up'))
        if (env.SLIPWAY_KEY === 'KEY') env.SLIPWAY_KEY = await service.signIn(`other-${shell}@example.test`)
        const run = await user.publish(service, folder.split(' '), env, server)
        assert.deepEqual([run.code, run.stdout], [code, ''], run.stderr)
        assert.match(run.stderr, message)
        assert.deepEqual(readdirSync(user.temporary), [])
      })
    }
  }
})

/** A machine with this shell and curl, whose other programs are those of busybox in its case. */
class Machine extends CliHarness {
  readonly temporary: string = join(this.home, 'tmp')
  readonly #shell: keyof typeof SHELLS

  constructor(shell: keyof typeof SHELLS) {
    super()
    this.#shell = shell
    mkdirSync(this.temporary)
    mkdirSync(join(this.home, 'bin'))
    for (const applet of SHELLS[shell].applets) {
      symlinkSync('/bin/busybox', join(this.home, 'bin', applet))
    }
    if (shell === 'busybox') symlinkSync('/usr/bin/curl', join(this.home, 'bin/curl'))
  }

  async publish(
    service: RunningService,
    folder: string | string[],
    env: Record<string, string> = {},
    server?: string,
  ) {
    const { text } = await getUrl(`${service.baseUrl}/publish.sh`)
    const script = server === undefined ? text : text.replace(/^server=.*$/m, `server=${server}`)
    const { path } = SHELLS[this.#shell]
    const PATH = this.#shell === 'busybox' ? join(this.home, 'bin') : process.env.PATH
    const args = [...(this.#shell === 'busybox' ? ['sh'] : []), '-s', '--', ...[folder].flat()]
    const options = { cwd: this.cwd, env: { PATH, TMPDIR: this.temporary, ...env } }
    const { promise, resolve } = Promise.withResolvers<{
      code: number | null
      stdout: string
      stderr: string
    }>()
    const child = execFile(path, args, options, (_, stdout, stderr) => {
      resolve({ code: child.exitCode, stdout, stderr })
    })
    child.stdin!.end(script)
    return promise
  }
}
