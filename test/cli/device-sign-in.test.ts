import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { describe, it } from 'node:test'
import { startForEachTest } from '../support/each-test.ts'
import { errorResponse } from './fake-server.ts'
import { useRealService } from './real-cli.ts'
import { KEY, startScriptedCli } from './scripted-cli.ts'

const REQUEST = 'POST /api/auth/device'
const device = (server: string) => ({
  deviceCode: 'a device code',
  userCode: 'ABCD-EFGH',
  verificationUrl: `${server}/device`,
  verificationUrlComplete: `${server}/device?code=ABCD-EFGH`,
  expiresInSeconds: 600,
  intervalSeconds: 5,
})
const TOKEN = { apiKey: KEY, email: 'ann@example.test', plan: 'free', keyName: 'ann@desk', warning: '' }
const EXCHANGE = 'POST /api/auth/device/token'

describe('login in a browser', () => {
  const fixture = startForEachTest(async () => {
    const scripted = await startScriptedCli({ [EXCHANGE]: TOKEN })
    scripted.responses[REQUEST] = device(scripted.server.url)
    return scripted
  })

  /** Answers these errors to the first requests for the key. */
  function refuseFirst(...errors: ReturnType<typeof errorResponse>[]): void {
    fixture.server.reply(/./, ({ method, path }) => {
      if (`${method} ${path}` === EXCHANGE && errors.length > 0) return errors.shift()
      const body = fixture.responses[`${method} ${path}`]
      return body === undefined ? errorResponse(404, 'NOT_FOUND') : [200, body]
    })
  }

  it('shows a code and a link, waits for the decision, and stores a named key only its owner can read', async () => {
    refuseFirst(
      errorResponse(400, 'AUTHORIZATION_PENDING'),
      errorResponse(400, 'SLOW_DOWN'),
      errorResponse(503, 'UNAVAILABLE'),
    )
    const { code, stdout, stderr } = await fixture.cli.run(['login', '--key-name', 'ann@desk'])
    assert.equal(code, 0, stderr)
    assert.match(stderr, /http:\S+\/device\?code=ABCD-EFGH\n {2}Code: ABCD-EFGH\n/)
    assert.match(stderr, /login .*--email ADDRESS/)
    assert.match(stderr, /Signed in to http:\S+ as ann@example\.test\n/)
    assert.ok(!`${stdout}${stderr}`.includes(KEY))
    assert.deepEqual(fixture.bodies()[0], { program: 'Slipway command line', machine: 'ann@desk' })
    assert.deepEqual(fixture.cli.pauses.slice(0, 2), [5000, 5000])
    assert.ok(fixture.cli.pauses.includes(10_000), 'slower after SLOW_DOWN')
    const { server, keys } = JSON.parse(readFileSync(fixture.config, 'utf8'))
    assert.deepEqual(keys[server], { key: KEY, email: 'ann@example.test', name: 'ann@desk' })
    assert.equal(statSync(fixture.config).mode & 0o777, 0o600)
    assert.deepEqual(fixture.cli.launched, [], 'no browser without a terminal')
  })

  it('opens the page on a terminal with a browser', async () => {
    await fixture.cli.run(['login'], { typed: [], env: { DISPLAY: ':0' } })
    assert.deepEqual(fixture.cli.launched, [['xdg-open', `${fixture.server.url}/device?code=ABCD-EFGH`]])
  })

  it('is refused when the page is on another server, which a relay would name', async () => {
    for (const page of ['https://slipway.test/device?code=ABCD-EFGH', 'javascript:alert(1)', 'not a URL']) {
      fixture.responses[REQUEST] = { ...device(fixture.server.url), verificationUrlComplete: page }
      const { code, stderr } = await fixture.cli.run(['login'], { typed: [], env: { DISPLAY: ':0' } })
      assert.equal(code, 6, stderr)
      assert.match(stderr, /sent the address of a page on another server/)
      assert.doesNotMatch(stderr, /ABCD-EFGH/)
    }
    assert.deepEqual(fixture.cli.launched, [])
    assert.ok(!fixture.server.log.includes(EXCHANGE))
  })

  it('ends with the reason when it is refused, and when the code expires', async () => {
    refuseFirst(errorResponse(400, 'ACCESS_DENIED'))
    const refused = await fixture.cli.run(['login'])
    assert.equal(refused.code, 3)
    assert.match(refused.stderr, /Start again: slipway login/)
    fixture.server.reply(/./, ({ path }) => {
      if (path === '/api/auth/device') return [200, device(fixture.server.url)]
      fixture.cli.now += 60_000
      return errorResponse(400, 'AUTHORIZATION_PENDING')
    })
    const late = await fixture.cli.run(['login'])
    assert.equal(late.code, 3)
    assert.match(late.stderr, /The code has expired/)
    assert.equal(fixture.server.log.filter((line) => line === EXCHANGE).length, 1 + 10)
  })
})

describe('a machine without a browser', () => {
  const start = useRealService()

  it('signs in, publishes, creates a key of one site that can do nothing else, and signs out', async () => {
    using real = start({ 'index.html': 'home' })
    const { cli, service } = real
    const owner = service.client(await service.signIn('device-owner@example.test'))
    let allowed: Promise<unknown> | undefined
    const login = await cli.run(['login', '--key-name', 'ann@desk'], {
      onStderr(stderr) {
        const [, code] = /Code: (\S+)\n/.exec(stderr) ?? []
        if (code !== undefined) allowed ??= owner.decideDevice(code, true)
      },
    })
    assert.equal(login.code, 0, login.stderr)
    await allowed
    assert.match((await cli.run(['whoami'])).stderr, /Key ann@desk · scope manage/)
    const { stdout } = await cli.run(['publish', '--json'])
    const { slug } = JSON.parse(stdout)
    const limits = ['--scope', 'publish', '--site', slug]
    const { stdout: printed } = await cli.run(['keys', 'create', 'ci', ...limits])
    const ci = { env: { SLIPWAY_KEY: printed.trim() } }
    cli.write({ 'index.html': 'second' })
    assert.equal((await cli.run(['publish', '--site', slug], ci)).code, 0)
    const refused = await cli.run(['delete', '--site', slug, '--yes'], ci)
    assert.equal(refused.code, 3)
    assert.match(refused.stderr, /needs a key of scope manage.*\n.*keys create NAME/)
    assert.equal((await cli.run(['keys', 'revoke', 'ci'])).code, 0)
    assert.equal((await cli.run(['whoami'], ci)).code, 3)
    assert.equal((await cli.run(['logout'])).code, 0)
    assert.deepEqual((await owner.keys()).keys, [])
  })
})
