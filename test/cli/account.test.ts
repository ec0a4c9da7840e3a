import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { describe, it } from 'node:test'
import { startForEachTest } from '../support/each-test.ts'
import { CliHarness } from './cli-harness.ts'
import { errorResponse, sendJson } from './fake-server.ts'
import { KEY, startScriptedCli } from './scripted-cli.ts'

const fixture = startForEachTest(startScriptedCli)

describe('login', () => {
  it('asks for email and code, and stores the key for this server', async () => {
    const { code, stderr } = await fixture.cli.run(['login'], { typed: ['ann@example.test', 'ABCD-EFGH'] })
    assert.equal(code, 0)
    assert.match(stderr, /We sent a code to ann@example\.test\. It expires in 10 min\./)
    assert.match(stderr, /Welcome! Signed in to http:\S+ as ann@example\.test\n/)
    const { keyName, ...sent } = fixture.bodies()[1]
    assert.deepEqual(sent, { email: 'ann@example.test', code: 'ABCD-EFGH', attempt: 'an-attempt' })
    assert.match(keyName, /^\S+@\S+$/)
    const { server, keys } = JSON.parse(readFileSync(fixture.config, 'utf8'))
    assert.equal(server, fixture.server.url)
    assert.equal(keys[fixture.server.url].key, KEY)
    assert.equal(statSync(fixture.config).mode & 0o777, 0o600)
  })

  it('never shows the key', async () => {
    const { stdout, stderr } = await fixture.cli.run(['login'], { typed: ['ann@example.test', 'ABCD-EFGH'] })
    assert.ok(!`${stdout}${stderr}`.includes(KEY))
  })

  it('works in two steps without a terminal', async () => {
    const first = await fixture.cli.run(['login', '--email', 'ann@example.test'])
    assert.equal(first.code, 0)
    assert.match(first.stderr, /Then run: slipway login --email ann@example\.test --code CODE/)
    const second = await fixture.cli.run(['login', '--email', 'ann@example.test', '--code', 'ABCD-EFGH'])
    assert.equal(second.code, 0)
    assert.deepEqual(fixture.server.log, [
      'POST /api/auth/agent/request-code',
      'POST /api/auth/agent/verify-code',
    ])
    assert.equal(JSON.parse(fixture.server.calls.at(-1)!.body.toString()).attempt, 'an-attempt')
  })

  it('does not wait for input without a terminal', async () => {
    const { code, stderr } = await fixture.cli.run(['login'])
    assert.equal(code, 2)
    assert.match(stderr, /slipway login --email ADDRESS/)
  })

  it('explains what to do after a wrong code', async () => {
    fixture.server.reply(/./, errorResponse(400, 'INVALID_CODE'))
    const { code, stderr } = await fixture.cli.run(['login', '--email', 'a@b.test', '--code', 'XXXX-XXXX'])
    assert.equal(code, 3)
    assert.match(stderr, /A code is valid for 10 minutes and works once/)
  })

  it('asks again after a mistyped code, a limited number of times', async () => {
    const wellBehaved = fixture.server.intercept
    fixture.server.intercept = (call, request, response) => {
      if (!call.body.includes('"XXXX')) return wellBehaved(call, request, response)
      sendJson(response, ...errorResponse(400, 'INVALID_CODE'))
      return true
    }
    const second = await fixture.cli.run(['login'], { typed: ['a@b.test', 'XXXX-XXXX', 'ABCD-EFGH'] })
    assert.equal(second.code, 0)
    assert.match(second.stderr, /Incorrect code\. Enter it exactly as in the email\./)
    const never = await fixture.cli.run(['login'], { typed: ['a@b.test', ...Array(9).fill('XXXX-XXXX')] })
    assert.equal(never.code, 3)
    assert.equal(fixture.server.log.filter((line) => line.endsWith('verify-code')).length, 2 + 3)
  })

  it('stops when its input ends', async () => {
    const { code, stderr } = await fixture.cli.run(['login'], { typed: [] })
    assert.equal(code, 1)
    assert.match(stderr, /No input/)
  })

  it('stores the server and its key for later commands', async () => {
    fixture.responses['GET /api/v1/publishes?limit=100'] = { publishes: [], nextCursor: null }
    await fixture.cli.run(['login'], { typed: ['ann@example.test', 'ABCD-EFGH'] })
    fixture.cli.env = {}
    const { code, stderr } = await fixture.cli.run(['sites'])
    assert.equal(code, 0)
    assert.match(stderr, /You have no sites yet/)
    assert.equal(fixture.server.calls.at(-1)!.key, KEY)
  })

  it('is suggested for the server of the command, if it is not the default one', async () => {
    fixture.cli.env = {}
    const elsewhere = await fixture.cli.run(['sites', '--server', 'https://other.test'])
    assert.match(elsewhere.stderr, /Sign in: slipway login --server https:\/\/other\.test\n/)
    fixture.remember('otter')
    assert.match((await fixture.cli.run(['sites'])).stderr, /Sign in: slipway login\n/)
  })

  it('uses the server that the folder remembers', async () => {
    fixture.remember('otter')
    fixture.cli.env = {}
    const { stderr } = await fixture.cli.run(['login'], { typed: ['ann@example.test', 'ABCD-EFGH'] })
    assert.ok(stderr.includes(`Signed in to ${fixture.server.url} `))
  })

  it('says where the code is on a server that sends no email', async () => {
    const sent = fixture.responses['POST /api/auth/agent/request-code'] as object
    fixture.responses['POST /api/auth/agent/request-code'] = { ...sent, delivery: 'log' }
    const { stderr } = await fixture.cli.run(['login', '--email', 'ann@example.test'])
    assert.match(stderr, /doesn't send email\. The code is in the terminal where Slipway runs/)
    assert.doesNotMatch(stderr, /We sent/)
  })

  it('is undone by logout, which ends the key of this machine on the server too', async () => {
    fixture.responses['DELETE /api/v1/me/key'] = { ended: true }
    const ci = await fixture.cli.run(['login', '--key-name', 'ci', '--print-key'], {
      typed: ['ann@example.test', 'ABCD-EFGH'],
    })
    assert.match(ci.stdout, /^sl_live_[0-9a-f]{32}\n$/)
    await fixture.cli.run(['login', '--key-name', 'desk'], { typed: ['ann@example.test', 'ABCD-EFGH'] })
    assert.match((await fixture.cli.run(['logout'])).stderr, /Signed out of http/)
    const { method, path, key } = fixture.server.calls.at(-1)!
    assert.deepEqual([method, path, key], ['DELETE', '/api/v1/me/key', KEY])
    assert.match((await fixture.cli.run(['logout'])).stderr, /You weren't signed in to http/)
    const { code, stderr } = await fixture.cli.run(['sites'])
    assert.equal(code, 3)
    assert.match(stderr, /You're not signed in to http\S+\n {2}Sign in: slipway login/)
  })

  it('is undone on this machine even when the server cannot end the key', async () => {
    await fixture.cli.run(['login'], { typed: ['ann@example.test', 'ABCD-EFGH'] })
    const { code, stderr } = await fixture.cli.run(['logout'])
    assert.equal(code, 0)
    assert.match(stderr, /The key is still valid on the server: .*\nSigned out of http/)
    assert.equal((await fixture.cli.run(['sites'])).code, 3)
  })

  it('leaves a key without a name valid at logout, because other machines may use it', async () => {
    fixture.responses['POST /api/auth/agent/verify-code'] = { apiKey: KEY, email: 'ann@example.test' }
    await fixture.cli.run(['login'], { typed: ['ann@example.test', 'ABCD-EFGH'] })
    await fixture.cli.run(['logout'])
    assert.equal(fixture.server.log.length, 2)
  })
})

describe('sites', () => {
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
  const answer = { publishes: [summary], nextCursor: null }

  it('are printed on stdout', async () => {
    fixture.responses['GET /api/v1/publishes?limit=100'] = answer
    const { stdout } = await fixture.cli.run(['sites'], { env: { SLIPWAY_KEY: KEY } })
    const [head, row] = stdout.split('\n')
    assert.match(head!, /^NAME +URL +FILES +SIZE +UPDATED +EXPIRES +TITLE$/)
    assert.match(
      row!,
      /^calm-otter +http:\/\/calm-otter\.sites\.test\/ +1,200 +3\.9 MB +1 Jan, 11:20 +never +Otters$/,
    )
  })

  it('are printed as JSON with --json', async () => {
    fixture.responses['GET /api/v1/publishes?limit=100'] = answer
    const { stdout } = await fixture.cli.run(['sites', '--json'], { env: { SLIPWAY_KEY: KEY } })
    assert.deepEqual(JSON.parse(stdout), [summary])
  })

  it('are refused with different messages for an invalid and a missing key', async () => {
    fixture.server.reply(/./, errorResponse(401, 'UNAUTHORIZED'))
    const { stderr } = await fixture.cli.run(['sites'], { env: { SLIPWAY_KEY: KEY } })
    assert.match(stderr, /SLIPWAY_KEY is not a valid key of this server/)
  })
})

describe('the program', () => {
  it('prints its help on stdout', async () => {
    using cli = new CliHarness()
    const { code, stdout, stderr } = await cli.run([])
    assert.equal(code, 0)
    assert.equal(stderr, '')
    for (const name of [
      'publish',
      'login',
      'logout',
      'sites',
      'open',
      'versions',
      'restore',
      'delete',
      'claim',
    ]) {
      assert.match(stdout, new RegExp(`^ {2}${name} `, 'm'))
    }
  })

  it('prints the help of each command, with help and with --help', async () => {
    using cli = new CliHarness()
    const { stdout } = await cli.run(['help', 'publish'])
    assert.match(stdout, /--ttl TIME/)
    assert.equal((await cli.run(['publish', '--help'])).stdout, stdout)
    assert.equal((await cli.run(['--help', 'publish'])).stdout, stdout)
  })

  it('prints its version', async () => {
    using cli = new CliHarness()
    for (const name of ['--version', '-v', '-V', 'version'])
      assert.equal((await cli.run([name])).stdout, '1.2.3\n')
  })

  it('prints every failure as JSON with --json, and exits with the code of its kind', async () => {
    const cases: [args: string[], reply: [number, string] | 'cut', exit: number, code: string][] = [
      [['sites', '--wat'], 'cut', 2, 'USAGE'],
      [['frobnicate'], 'cut', 2, 'USAGE'],
      [['delete', '--site', 'otter'], 'cut', 2, 'USAGE'],
      [['open', '--server', 'http://other.test', '--site', 'x'], 'cut', 3, 'UNAUTHORIZED'],
      [['sites'], [401, 'UNAUTHORIZED'], 3, 'UNAUTHORIZED'],
      [['claim', '--site', 'otter'], 'cut', 1, 'FAILED'],
      [['rm', '--yes', '--site', 'otter'], [404, 'NOT_FOUND'], 6, 'NOT_FOUND'],
      [['restore', 'a'.repeat(26), '--site', 'otter'], [429, 'RATE_LIMITED'], 4, 'RATE_LIMITED'],
      [
        ['domains', 'add', 'a.test', '--site', 'otter'],
        [403, 'DOMAIN_LIMIT_REACHED'],
        4,
        'DOMAIN_LIMIT_REACHED',
      ],
      [['whoami'], [503, 'UNAVAILABLE'], 5, 'UNAVAILABLE'],
      [['visits', '--site', 'otter'], 'cut', 5, 'NETWORK'],
      [['publish', 'missing'], 'cut', 2, 'USAGE'],
    ]
    for (const [args, reply, exit, name] of cases) {
      fixture.server.reply(/./, reply === 'cut' ? 'cut' : errorResponse(...reply))
      const { code, stdout } = await fixture.cli.run([...args, '--json'], { env: { SLIPWAY_KEY: KEY } })
      const { error, hint, ...rest } = JSON.parse(stdout)
      const status = reply === 'cut' ? 0 : reply[0]
      assert.deepEqual([code, rest], [exit, { code: name, status }], args.join(' '))
      assert.ok(error !== '' && hint !== undefined, args.join(' '))
    }
  })

  it('completes commands and options in bash', async () => {
    using cli = new CliHarness()
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
    for (const shell of ['zsh', 'fish']) {
      const { code, stdout: script } = await cli.run(['completion', shell])
      assert.deepEqual([code, script.includes('rollback')], [0, true])
    }
    assert.equal((await cli.run(['completion', 'tcsh'])).code, 2)
  })

  it('suggests the intended command', async () => {
    using cli = new CliHarness()
    const typo = await cli.run(['pubilsh'])
    assert.equal(typo.code, 2)
    assert.match(typo.stderr, /Did you mean: slipway publish/)
    assert.match((await cli.run(['./dist'])).stderr, /To publish a folder: slipway publish \.\/dist/)
    assert.match((await cli.run(['frobnicate'])).stderr, /See: slipway help/)
    assert.match((await cli.run(['sites', '--wat'])).stderr, /'--wat'\n {2}See: slipway help sites/)
    assert.match((await cli.run(['open', 'my-site'])).stderr, /Did you mean: --site my-site\n/)
    assert.match((await cli.run(['publish', '--url', 'x'])).stderr, /'--url'\n {2}See: slipway help publish/)
    const option = await cli.run(['publish', '--pasword'])
    assert.equal(option.code, 2)
    assert.match(option.stderr, /Did you mean: --password\n {2}See: slipway help publish\n/)
  })

  it('names the missing value of an option, also when the next argument begins with a dash', async () => {
    using cli = new CliHarness()
    for (const args of [['--title'], ['--title', '-5'], ['--title', '--spa']]) {
      const { code, stderr } = await cli.run(['publish', ...args])
      assert.equal(code, 2)
      assert.equal(stderr, 'Error: --title needs a value: --title=TEXT\n  See: slipway help publish\n')
    }
  })
})
