import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { describe, it } from 'node:test'
import { KEY, startAnsweringCli } from './answering-desk.ts'
import { CliHarness } from './desk.ts'
import { answer, failure } from './peer.ts'

describe('login', () => {
  it('asks for the address and the code, and remembers the key for this server', async () => {
    await using all = await startAnsweringCli()
    const { code, stderr } = await all.desk.run(['login'], { typed: ['ann@example.test', 'ABCD-EFGH'] })
    assert.equal(code, 0)
    assert.match(stderr, /A code is on its way to ann@example\.test\. It lasts 10 min\./)
    assert.match(stderr, /Welcome\. You are signed in at http:\S+ as ann@example\.test\./)
    assert.deepEqual(all.bodies()[1], { email: 'ann@example.test', code: 'ABCD-EFGH', attempt: 'an-attempt' })
    const { server, keys } = JSON.parse(readFileSync(all.config, 'utf8'))
    assert.equal(server, all.peer.url)
    assert.equal(keys[all.peer.url].key, KEY)
    assert.equal(statSync(all.config).mode & 0o777, 0o600)
  })

  it('never shows the key', async () => {
    await using all = await startAnsweringCli()
    const { stdout, stderr } = await all.desk.run(['login'], { typed: ['ann@example.test', 'ABCD-EFGH'] })
    assert.ok(!`${stdout}${stderr}`.includes(KEY))
  })

  it('goes in two steps for a program', async () => {
    await using all = await startAnsweringCli()
    const first = await all.desk.run(['login', '--email', 'ann@example.test'])
    assert.equal(first.code, 0)
    assert.match(first.stderr, /Then: slipway login --email ann@example\.test --code CODE/)
    const second = await all.desk.run(['login', '--email', 'ann@example.test', '--code', 'ABCD-EFGH'])
    assert.equal(second.code, 0)
    assert.deepEqual(all.peer.log, ['POST /api/auth/agent/request-code', 'POST /api/auth/agent/verify-code'])
    assert.equal(JSON.parse(all.peer.calls.at(-1)!.body.toString()).attempt, 'an-attempt')
  })

  it('does not wait for an answer where nobody is', async () => {
    await using all = await startAnsweringCli()
    const { code, stderr } = await all.desk.run(['login'])
    assert.equal(code, 2)
    assert.match(stderr, /slipway login --email ADDRESS/)
  })

  it('says what to do about a wrong code', async () => {
    await using all = await startAnsweringCli()
    all.peer.misbehave = (_call, _request, response) => {
      answer(response, ...failure(400, 'INVALID_CODE'))
      return true
    }
    const { code, stderr } = await all.desk.run(['login', '--email', 'a@b.test', '--code', 'XXXX-XXXX'])
    assert.equal(code, 1)
    assert.match(stderr, /A code lasts 10 minutes and works once/)
  })

  it('asks again for a mistyped code, and not for ever', async () => {
    await using all = await startAnsweringCli()
    const wellBehaved = all.peer.misbehave
    all.peer.misbehave = (call, request, response) => {
      if (!call.body.includes('"XXXX')) return wellBehaved(call, request, response)
      answer(response, ...failure(400, 'INVALID_CODE'))
      return true
    }
    const second = await all.desk.run(['login'], { typed: ['a@b.test', 'XXXX-XXXX', 'ABCD-EFGH'] })
    assert.equal(second.code, 0)
    assert.match(second.stderr, /That is not the code/)
    const never = await all.desk.run(['login'], { typed: ['a@b.test', ...Array(9).fill('XXXX-XXXX')] })
    assert.equal(never.code, 1)
    assert.equal(all.peer.log.filter((line) => line.endsWith('verify-code')).length, 2 + 3)
  })

  it('stops when the keyboard goes away', async () => {
    await using all = await startAnsweringCli()
    const { code, stderr } = await all.desk.run(['login'], { typed: [] })
    assert.equal(code, 1)
    assert.match(stderr, /There was no answer/)
  })

  it('is what later commands go by: the server and its key', async () => {
    await using all = await startAnsweringCli({
      'GET /api/v1/publishes?limit=100': { publishes: [], nextCursor: null },
    })
    await all.desk.run(['login'], { typed: ['ann@example.test', 'ABCD-EFGH'] })
    all.desk.env = {}
    const { code, stderr } = await all.desk.run(['sites'])
    assert.equal(code, 0)
    assert.match(stderr, /You have no sites yet/)
    assert.equal(all.peer.calls.at(-1)!.key, KEY)
  })

  it('is offered for the server that is meant, where that is another than the usual one', async () => {
    await using all = await startAnsweringCli()
    all.desk.env = {}
    const elsewhere = await all.desk.run(['sites', '--server', 'https://other.test'])
    assert.match(elsewhere.stderr, /Sign in: slipway login --server https:\/\/other\.test\n/)
    all.remember('otter')
    assert.match((await all.desk.run(['sites'])).stderr, /Sign in: slipway login\n/)
  })

  it('is for the server that the folder remembers', async () => {
    await using all = await startAnsweringCli()
    all.remember('otter')
    all.desk.env = {}
    const { stderr } = await all.desk.run(['login'], { typed: ['ann@example.test', 'ABCD-EFGH'] })
    assert.ok(stderr.includes(`You are signed in at ${all.peer.url} `))
  })

  it('and logout ends it', async () => {
    await using all = await startAnsweringCli()
    await all.desk.run(['login'], { typed: ['ann@example.test', 'ABCD-EFGH'] })
    assert.match((await all.desk.run(['logout'])).stderr, /Signed out of http/)
    assert.match((await all.desk.run(['logout'])).stderr, /You were not signed in at http/)
    const { code, stderr } = await all.desk.run(['sites'])
    assert.equal(code, 1)
    assert.match(stderr, /You are not signed in at http\S+\n {2}Sign in: slipway login/)
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
  const answers = { 'GET /api/v1/publishes?limit=100': { publishes: [summary], nextCursor: null } }

  it('are listed on stdout', async () => {
    await using all = await startAnsweringCli(answers)
    const { stdout } = await all.desk.run(['sites'], { env: { SLIPWAY_KEY: KEY } })
    const [head, row] = stdout.split('\n')
    assert.match(head!, /^SLUG +ADDRESS +FILES +SIZE +CHANGED +EXPIRES +TITLE$/)
    assert.match(
      row!,
      /^calm-otter +http:\/\/calm-otter\.sites\.test\/ +1,200 +3\.9 MB +2030-01-01 10:20 UTC +never +Otters$/,
    )
  })

  it('are JSON when asked for', async () => {
    await using all = await startAnsweringCli(answers)
    const { stdout } = await all.desk.run(['sites', '--json'], { env: { SLIPWAY_KEY: KEY } })
    assert.deepEqual(JSON.parse(stdout), [summary])
  })

  it('and a key that has ended is told from no key', async () => {
    await using all = await startAnsweringCli()
    all.peer.misbehave = (_call, _request, response) => {
      answer(response, ...failure(401, 'UNAUTHORIZED'))
      return true
    }
    const { stderr } = await all.desk.run(['sites'], { env: { SLIPWAY_KEY: KEY } })
    assert.match(stderr, /The key is the one in SLIPWAY_KEY/)
  })
})

describe('the program', () => {
  it('explains itself on stdout', async () => {
    using desk = new CliHarness()
    const { code, stdout, stderr } = await desk.run([])
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

  it('explains each command, by help and by --help', async () => {
    using desk = new CliHarness()
    const { stdout } = await desk.run(['help', 'publish'])
    assert.match(stdout, /--ttl SECONDS/)
    assert.equal((await desk.run(['publish', '--help'])).stdout, stdout)
    assert.equal((await desk.run(['--help', 'publish'])).stdout, stdout)
  })

  it('says its version', async () => {
    using desk = new CliHarness()
    assert.equal((await desk.run(['--version'])).stdout, '1.2.3\n')
  })

  it('names commands as they are typed where npx runs it', async () => {
    using desk = new CliHarness()
    desk.env.npm_command = 'exec'
    assert.match((await desk.run(['help'])).stdout, /^ {2}npx slipway publish \.\/folder$/m)
    assert.match((await desk.run(['sites'])).stderr, /Sign in: npx slipway login\n/)
    assert.match((await desk.run(['pubilsh'])).stderr, /Did you mean: npx slipway publish\n/)
  })

  it('guesses what was meant', async () => {
    using desk = new CliHarness()
    const typo = await desk.run(['pubilsh'])
    assert.equal(typo.code, 2)
    assert.match(typo.stderr, /Did you mean: slipway publish/)
    assert.match((await desk.run(['./dist'])).stderr, /To publish a folder: slipway publish \.\/dist/)
    assert.match((await desk.run(['frobnicate'])).stderr, /See: slipway help/)
    assert.match((await desk.run(['sites', '--wat'])).stderr, /'--wat'\n {2}See: slipway help sites/)
    assert.match((await desk.run(['open', 'my-site'])).stderr, /Did you mean: --site my-site\n/)
    assert.match((await desk.run(['publish', '--url', 'x'])).stderr, /'--url'\n {2}See: slipway help publish/)
    const option = await desk.run(['publish', '--pasword'])
    assert.equal(option.code, 2)
    assert.match(option.stderr, /Did you mean: --password\n {2}See: slipway help publish\n/)
  })

  it('says which value an option lacks, also when the next word begins with a dash', async () => {
    using desk = new CliHarness()
    for (const args of [['--title'], ['--title', '-5'], ['--title', '--spa']]) {
      const { code, stderr } = await desk.run(['publish', ...args])
      assert.equal(code, 2)
      assert.equal(stderr, 'Error: --title needs a value: --title=TEXT\n  See: slipway help publish\n')
    }
  })
})
