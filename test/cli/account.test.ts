import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { after, describe, it } from 'node:test'
import { COMMANDS } from '../../client/cli/command-line.ts'
import { formatCountLimit, UNLIMITED } from '../../protocol/format.ts'
import { startForEachTest } from '../support/started-fixture.ts'
import { requires } from '../tools/part.ts'
import { mountSmallDisk } from '../tools/small-disk.ts'
import { CliHarness } from './cli-harness.ts'
import { errorResponse, sendJson } from './fake-server.ts'
import { KEY, startScriptedCli } from './scripted-cli.ts'

const EMAIL = ['--email', 'ann@example.test']
const SIGN_IN = ['ABCD-EFGH']
const LIST = 'GET /api/v1/publishes?limit=100'
const keyed = { env: { SLIPWAY_KEY: KEY } }

describe('login', () => {
  const fixture = startForEachTest(startScriptedCli)
  const login = (...args: string[]) => fixture.cli.run(['login', ...EMAIL, ...args], { typed: SIGN_IN })

  it('asks for the code from an email, and stores the key for this server, which it never shows', async () => {
    const { code, stdout, stderr } = await login()
    assert.equal(code, 0)
    assert.match(stderr, /We sent a code to ann@example\.test\. It expires in 10 min\./)
    assert.match(stderr, /Welcome! Signed in to http:\S+ as ann@example\.test\n/)
    assert.ok(!`${stdout}${stderr}`.includes(KEY))
    const { keyName, ...sent } = fixture.bodies()[1]
    assert.deepEqual(sent, { email: 'ann@example.test', code: 'ABCD-EFGH', attempt: 'an-attempt' })
    assert.match(keyName, /^\S+@\S+$/)
    const { server, keys } = JSON.parse(readFileSync(fixture.config, 'utf8'))
    assert.deepEqual([server, keys[server].key], [fixture.server.url, KEY])
    assert.equal(statSync(fixture.config).mode & 0o777, 0o600)
  })

  it('works in two steps without a terminal, where it does not wait for input', async () => {
    const none = await fixture.cli.run(['login', '--code', 'ABCD-EFGH'])
    assert.equal(none.code, 2)
    assert.match(none.stderr, /slipway login --email ADDRESS/)
    const first = await fixture.cli.run(['login', '--email', 'ann@example.test'])
    assert.equal(first.code, 0)
    assert.match(first.stderr, /Then run: slipway login --email ann@example\.test --code CODE/)
    const second = await fixture.cli.run(['login', '--email', 'ann@example.test', '--code', 'ABCD-EFGH'])
    assert.equal(second.code, 0)
    const steps = ['POST /api/auth/agent/request-code', 'POST /api/auth/agent/verify-code']
    assert.deepEqual(fixture.server.log, steps)
    assert.equal(fixture.bodies().at(-1).attempt, 'an-attempt')
    fixture.server.reply(/./, errorResponse(400, 'INVALID_CODE'))
    const wrong = await fixture.cli.run(['login', '--email', 'a@b.test', '--code', 'XXXX-XXXX'])
    assert.equal(wrong.code, 3)
    assert.match(wrong.stderr, /A code is valid for 10 minutes and works once/)
  })

  it('asks again after a mistyped code, a limited number of times, and stops when its input ends', async () => {
    const wellBehaved = fixture.server.intercept
    fixture.server.intercept = (call, request, response) => {
      if (!call.body.includes('"XXXX')) return wellBehaved(call, request, response)
      sendJson(response, ...errorResponse(400, 'INVALID_CODE'))
      return true
    }
    const second = await fixture.cli.run(['login', ...EMAIL], { typed: ['XXXX-XXXX', 'ABCD-EFGH'] })
    assert.equal(second.code, 0)
    assert.match(second.stderr, /Incorrect code\. Enter it exactly as in the email\./)
    const never = await fixture.cli.run(['login', ...EMAIL], { typed: Array(9).fill('XXXX-XXXX') })
    assert.equal(never.code, 3)
    assert.equal(fixture.server.log.filter((line) => line.endsWith('verify-code')).length, 2 + 3)
    const { code, stderr } = await fixture.cli.run(['login', ...EMAIL], { typed: [] })
    assert.equal(code, 1)
    assert.match(stderr, /No input/)
  })

  it(
    'makes no key where none can be stored, which would end the one before',
    requires('small-disk'),
    async () => {
      await using disk = await mountSmallDisk(64 * 1024)
      const home = { env: { HOME: disk.folder } }
      const signIn = (...args: string[]) => fixture.cli.run(['login', ...EMAIL, ...args], home)
      await disk.fill()
      for (const args of [[], ['--code', 'ABCD-EFGH']]) {
        const { code, stderr } = await signIn(...args)
        assert.deepEqual([code, fixture.server.log], [1, []], stderr)
        assert.match(stderr, /slipway: no space left on device\n {2}Free space on its disk/)
      }
      await disk.readOnly(true)
      assert.match((await signIn()).stderr, /read-only file system\n {2}Make it writable/)
      const printed = await signIn('--print-key', '--key-name', 'ci')
      assert.deepEqual([printed.code, /Then run: /.test(printed.stderr)], [0, true], printed.stderr)
      await disk.readOnly(false)
      await disk.clear()
      assert.equal((await signIn('--code', 'ABCD-EFGH')).code, 0)
    },
  )

  it('stores the server and its key for later commands', async () => {
    fixture.responses[LIST] = { publishes: [], nextCursor: null }
    await login()
    fixture.cli.env = {}
    const { code, stderr } = await fixture.cli.run(['sites'])
    assert.equal(code, 0)
    assert.match(stderr, /You have no sites yet/)
    assert.equal(fixture.server.calls.at(-1)!.key, KEY)
  })

  it('sends nothing when a proxy variable is invalid', async () => {
    const { code, stderr } = await fixture.cli.run(['login'], {
      env: { SLIPWAY_URL: 'http://slipway.test', HTTP_PROXY: 'socks5://proxy:1080' },
      typed: SIGN_IN,
    })
    assert.equal(code, 2)
    assert.match(stderr, /HTTP_PROXY must be the http or https URL of a proxy, not socks5/)
    assert.equal(fixture.server.calls.length, 0)
  })

  it('is suggested for the server of the command', async () => {
    fixture.cli.env = {}
    const elsewhere = await fixture.cli.run(['sites', '--server', 'https://other.test'])
    assert.match(elsewhere.stderr, /Sign in: slipway login --server https:\/\/other\.test\n/)
    await fixture.cli.run(['login', ...EMAIL, '--server', fixture.server.url], { typed: SIGN_IN })
    await fixture.cli.run(['logout'])
    assert.match((await fixture.cli.run(['sites'])).stderr, /Sign in: slipway login\n/)
  })

  it('says where the code is on a server that sends no email', async () => {
    const sent = fixture.responses['POST /api/auth/agent/request-code'] as object
    fixture.responses['POST /api/auth/agent/request-code'] = { ...sent, delivery: 'log' }
    const { stderr } = await fixture.cli.run(['login', '--email', 'ann@example.test'])
    assert.match(stderr, /doesn't send email\. The code is in the terminal or the log of the service/)
    assert.doesNotMatch(stderr, /We sent/)
  })

  it('is undone by logout, which ends the key of this machine on the server too', async () => {
    fixture.responses['DELETE /api/v1/me/key'] = { ended: true }
    const ci = await login('--key-name', 'ci', '--print-key')
    assert.match(ci.stdout, /^sl_live_[0-9a-f]{32}\n$/)
    assert.equal((await fixture.cli.run(['sites'])).code, 3, 'the printed key is not stored')
    await login('--key-name', 'desk')
    assert.match((await fixture.cli.run(['logout'])).stderr, /Signed out of http/)
    const { method, path, key } = fixture.server.calls.at(-1)!
    assert.deepEqual([method, path, key], ['DELETE', '/api/v1/me/key', KEY])
    assert.match((await fixture.cli.run(['logout'])).stderr, /You weren't signed in to http/)
    const { code, stderr } = await fixture.cli.run(['sites'])
    assert.equal(code, 3)
    assert.match(stderr, /You're not signed in to http\S+\n {2}Sign in: slipway login/)
  })

  it('is undone on this machine even when the server cannot end the key', async () => {
    await login()
    const { code, stderr } = await fixture.cli.run(['logout'])
    assert.equal(code, 0)
    assert.match(stderr, /The key is still valid on the server: .*\nSigned out of http/)
    assert.equal((await fixture.cli.run(['sites'])).code, 3)
  })

  it('leaves a key without a name valid at logout, because other machines may use it', async () => {
    fixture.responses['POST /api/auth/agent/verify-code'] = { apiKey: KEY, email: 'ann@example.test' }
    await login()
    await fixture.cli.run(['logout'])
    assert.equal(fixture.server.log.length, 2)
  })
})

describe('whoami', () => {
  const fixture = startForEachTest(startScriptedCli)
  const usages: [used: number, limit: number, text: RegExp][] = [
    [1, 60, /· 1 of 60 requests used this hour ·/],
    [62, UNLIMITED, /· 62 requests this hour, no limit ·/],
  ]
  for (const [requestsThisHour, requestsPerHour, text] of usages) {
    it(`shows ${requestsThisHour} of ${formatCountLimit(requestsPerHour)} requests`, async () => {
      fixture.responses['GET /api/v1/me'] = {
        email: 'ann@example.test',
        usage: { requestsThisHour, heldBytes: 0 },
        limits: { requestsPerHour, bytes: UNLIMITED },
      }
      assert.match((await fixture.cli.run(['whoami'], keyed)).stderr, text)
    })
  }
})

describe('sites', () => {
  const fixture = startForEachTest(startScriptedCli)

  it('are printed on stdout, as JSON with --json', async () => {
    const summary = {
      slug: 'calm-otter',
      siteUrl: 'http://calm-otter.sites.test/',
      status: 'active',
      title: 'Otters',
      fileCount: 1200,
      totalBytes: 3_900_000,
      updatedAt: '2030-01-01T10:20:30.000Z',
      expiresAt: null,
    }
    fixture.responses[LIST] = { publishes: [summary], nextCursor: null }
    const [head, row] = (await fixture.cli.run(['sites'], keyed)).stdout.split('\n')
    assert.match(head!, /^NAME +URL +FILES +SIZE +UPDATED +EXPIRES +TITLE$/)
    const cells = ['calm-otter', summary.siteUrl, '1,200', '3.9 MB', '1 Jan, 11:20', 'never', 'Otters']
    assert.deepEqual(row!.split(/ {2,}/), cells)
    assert.deepEqual(JSON.parse((await fixture.cli.run(['sites', '--json'], keyed)).stdout).sites, [summary])
  })

  it('are refused with another message for an invalid key than for a missing one', async () => {
    fixture.server.reply(/./, errorResponse(401, 'UNAUTHORIZED'))
    const { stderr } = await fixture.cli.run(['sites'], keyed)
    assert.match(stderr, /Set SLIPWAY_KEY to a valid key of this server/)
    assert.doesNotMatch(stderr, /expired/, 'the server says whether it is invalid or has expired')
  })

  it('and every other command print a failure, or a question, as JSON with --json, and exit with the code of its kind', async () => {
    type Case = [args: string, reply: [number, string] | 'cut', exit: number, code: string, error?: RegExp]
    const cases: Case[] = [
      ['sites --wat', 'cut', 2, 'USAGE'],
      ['frobnicate', 'cut', 2, 'USAGE'],
      ['delete --site otter', 'cut', 2, 'USAGE', /Confirmation required/],
      ['restore --site otter', 'cut', 2, 'USAGE', /^Name a version/],
      ['promote --site otter', 'cut', 2, 'USAGE', /^Name a preview/],
      ['link', 'cut', 2, 'USAGE', /^Name a site/],
      ['domains remove a.example', 'cut', 2, 'USAGE', /Confirmation required/],
      ['settings --password --site otter', 'cut', 2, 'USAGE', /password/i],
      ['open --server http://other.test --site x', 'cut', 3, 'UNAUTHORIZED'],
      ['sites', [401, 'UNAUTHORIZED'], 3, 'UNAUTHORIZED'],
      ['claim --site otter', 'cut', 1, 'FAILED'],
      ['rm --yes --site otter', [404, 'NOT_FOUND'], 2, 'NOT_FOUND'],
      [`restore ${'a'.repeat(26)} --site otter`, [429, 'RATE_LIMITED'], 4, 'RATE_LIMITED'],
      ['domains add a.test --site otter', [403, 'DOMAIN_LIMIT_REACHED'], 4, 'DOMAIN_LIMIT_REACHED'],
      ['whoami', [503, 'UNAVAILABLE'], 5, 'UNAVAILABLE'],
      ['visits --site otter', 'cut', 5, 'NETWORK'],
      ['publish missing', 'cut', 2, 'USAGE'],
    ]
    for (const [args, reply, exit, name, message = /./] of cases) {
      fixture.server.reply(/./, reply === 'cut' ? 'cut' : errorResponse(...reply))
      const { code, stdout } = await fixture.cli.run([...args.split(' '), '--json'], keyed)
      const { error, hint, ...rest } = JSON.parse(stdout)
      assert.deepEqual([code, rest], [exit, { code: name, status: reply === 'cut' ? 0 : reply[0] }], args)
      assert.match(error, message, args)
      assert.notEqual(hint, undefined, args)
    }
  })

  it('never advise to repeat a rollback whose response was lost, which would go back twice', async () => {
    for (const lost of ['cut', errorResponse(503, 'UNAVAILABLE')] as const) {
      fixture.server.reply(/./, ({ method }) => (method === 'GET' ? [200, { versions: [] }] : lost))
      const { code, stderr } = await fixture.cli.run(['rollback', '--site', 'otter'], keyed)
      assert.deepEqual([code, /see which version is live: slipway versions/.test(stderr)], [5, true], stderr)
      assert.doesNotMatch(stderr, /same command/)
    }
    const stop = new AbortController()
    fixture.server.reply(/./, ({ method }) => {
      if (method === 'GET') return [200, { versions: [] }]
      stop.abort()
      return 'cut'
    })
    const session = { ...keyed, signal: stop.signal }
    const { code, stderr } = await fixture.cli.run(['rollback', '--site', 'otter'], session)
    assert.deepEqual([code, /see which version is live: slipway versions/.test(stderr)], [130, true], stderr)
  })
})

describe('the program', () => {
  const cli = new CliHarness()
  after(() => cli[Symbol.dispose]())

  it('prints on stdout its help, that of a command, and its version', async () => {
    const { code, stdout, stderr } = await cli.run([])
    assert.deepEqual([code, stderr], [0, ''])
    const commands = ['publish', 'login', 'logout', 'sites', 'open', 'versions', 'restore', 'delete', 'claim']
    for (const name of commands) assert.match(stdout, new RegExp(`^ {2}${name} `, 'm'))
    const help = (await cli.run(['help', 'publish'])).stdout
    assert.match(help, /--ttl TIME/)
    assert.equal((await cli.run(['publish', '--help'])).stdout, help)
    assert.equal((await cli.run(['--help', 'publish'])).stdout, help)
    const [{ name }] = JSON.parse((await cli.run(['publish', '--help', '--json'])).stdout).commands
    assert.equal(name, 'publish')
    for (const name of ['--version', '-v', '-V', 'version']) {
      assert.equal((await cli.run([name])).stdout, '1.2.3\n')
    }
  })

  it('fits its help into the width of the terminal, without breaking a word', async () => {
    for (const columns of [40, 60, 80]) {
      for (const name of Object.keys(COMMANDS)) {
        const { stdout } = await cli.run(['help', name], { columns })
        for (const line of stdout.split('\n'))
          assert.ok(line.length <= columns || !line.trim().includes(' '), `${columns}, ${name}: ${line}`)
      }
    }
  })

  it('completes commands, actions, shells and options in bash', async () => {
    const { stdout } = await cli.run(['completion', 'bash'])
    const complete = (...words: string[]) => {
      const line = `COMP_WORDS=(slipway ${words.join(' ')}); COMP_CWORD=${words.length}; _slipway`
      const script = `${stdout}\n${line}\necho "\${COMPREPLY[@]}"`
      return execFileSync('bash', ['-c', script], { encoding: 'utf8' }).trim()
    }
    assert.equal(complete('dep'), 'deploy')
    assert.equal(complete('ro'), 'rollback')
    assert.equal(complete('deploy', '--tit'), '--title')
    assert.equal(complete('rm', '--y'), '--yes')
    assert.deepEqual([complete('people', 'a'), complete('people', 'add', 'a')], ['add', ''])
    assert.deepEqual([complete('completion', 'z'), complete('help', 'roll')], ['zsh', 'rollback'])
    for (const shell of ['zsh', 'fish']) {
      const { code, stdout: script } = await cli.run(['completion', shell])
      assert.deepEqual([code, /rollback/.test(script), /list add remove/.test(script)], [0, true, true])
    }
    assert.equal((await cli.run(['completion', 'tcsh'])).code, 2)
  })

  const MISSING = /^Error: --title needs a value: --title=TEXT\n {2}See: slipway help publish\n$/
  const NO_VALUE =
    /--password'? (?:takes no value|does not take an argument)\n {2}The command asks for the password, or uses SLIPWAY_SITE_PASSWORD\n {2}See: slipway help settings\n$/
  const PUBLISH_NO_VALUE =
    /--password takes no value\n {2}The command asks for the password, or uses SLIPWAY_SITE_PASSWORD\n {2}See: slipway help publish\n$/
  const mistakes: [args: string, hint: RegExp][] = [
    ['pubilsh', /Did you mean: slipway publish/],
    ['password', /Did you mean: slipway settings --password\n/],
    ['./dist', /To publish a folder: slipway publish \.\/dist/],
    ['frobnicate', /See: slipway help/],
    ['sites --wat', /'--wat'\n {2}See: slipway help sites/],
    ['open my-site', /Did you mean: --site my-site\n/],
    ['publish --url x', /'--url'\n {2}See: slipway help publish/],
    ['publish --pasword', /Did you mean: --password\n {2}See: slipway help publish\n/],
    ['publish --expires tomorrow', /Did you mean: --ttl\n/],
    ['sites --expires tomorrow', /'--expires'\n {2}See: slipway help sites/],
    ['settings --title X --password sourdough', NO_VALUE],
    ['settings --password=sourdough', NO_VALUE],
    ['publish --password sourdough', PUBLISH_NO_VALUE],
    ['publish --watch dsit', /--watch takes no value\n {2}There is no file or folder dsit to publish\n/],
    ['diff --json dsit', /--json takes no value\n {2}There is no file or folder dsit to diff\n/],
    ['publish --title X dsit', /Folder not found: dsit\n/],
    ['versions --json --site a my-site', /Unexpected argument "my-site"/],
    ['publish --title', MISSING],
    ['publish --title -5', MISSING],
    ['publish --title --spa', MISSING],
    ['domains www.example.test', /Did you mean: slipway domains add www\.example\.test\n/],
    ['domains chekc www.example.test', /Did you mean: slipway domains check\n/],
    ['people ad', /Did you mean: slipway people add\n/],
    ['domains add', /Such as: slipway domains add www\.example\.com\n/],
    ['publish ', /An argument is empty\. publish takes one folder\.\n/],
    ['pull ', /An argument is empty\. pull takes one folder\.\n/],
    ['restore ', /An argument is empty\. restore takes one version\.\n/],
    ['delete --yes --site ', /--site needs a value: --site=SLUG\n/],
    ['publish --preview= .', /--preview needs a value: --preview=NAME\n/],
    ['publish --allow-secret= .', /--allow-secret needs a value: --allow-secret=FINGERPRINT\n/],
    ['previews list my-site', /Did you mean: --site my-site\n/],
  ]
  it('suggests the intended variable', async () => {
    for (const name of ['SLIPWAY_KYE', 'SLIPWAY_API_KEY']) {
      const { stderr } = await cli.run(['help'], { env: { [name]: 'x', SLIPWAY_PORT: '1' } })
      assert.equal(stderr, `${name} is not a setting. Did you mean SLIPWAY_KEY?\n`)
    }
  })

  for (const [command, load] of Object.entries(COMMANDS))
    it(`refuses an argument too many of slipway ${command}`, async () => {
      const { operands, actions } = await load()
      const simple: Record<string, { operands: string }> = { '': { operands } }
      for (const [action, taking] of Object.entries(actions ?? simple)) {
        const name = `${command} ${action}`.trim()
        const count = taking.operands === '' ? 0 : taking.operands.split(' ').length
        const taken = Array.from({ length: count }, () => 'taken')
        const { code, stderr } = await cli.run([...name.split(' '), ...taken, 'surplus'])
        assert.match(
          stderr,
          new RegExp(`^Error: Unexpected argument "surplus"\\. ${name} takes (no|one) `),
          name,
        )
        assert.equal(code, 2, name)
      }
    })

  for (const [line, ...errors] of [
    ['keys create ci --scope all --expires soon', /--scope must be/, /--expires must be a time/],
    ['settings --ttl 1s --spa --no-spa --password', /--ttl must be from/, /--spa and --no-spa can't/],
    ['publish . --watch --draft --json --create --merge --replace', /--create needs/, /--watch and --draft/],
  ] as const) {
    it(`lists all that is wrong with slipway ${line}`, async () => {
      const { code, stderr } = await cli.run(line.split(' '), { typed: [] })
      assert.equal(code, 2)
      for (const error of errors) assert.match(stderr, error)
    })
  }

  it('shows the help of a command whatever else is typed', async () => {
    const { code, stdout } = await cli.run(['keys', 'lits', 'x', 'y', '--help'])
    assert.deepEqual([code, stdout.split('\n')[0]], [0, 'slipway keys [action] [name]'])
  })

  for (const [args, hint] of mistakes) {
    it(`suggests the intended command for slipway ${args}`, async () => {
      const { code, stderr } = await cli.run(args.split(' '))
      assert.equal(code, 2)
      assert.match(stderr, hint)
    })
  }
})
