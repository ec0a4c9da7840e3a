import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { describe, it } from 'node:test'
import { browse } from '../../client/cli/terminal/browser.ts'
import { DEVICE_GRANT_TYPE } from '../../protocol/api/device.ts'
import { startForEachTest } from '../support/started-fixture.ts'
import { errorResponse, type Reply } from './fake-server.ts'
import { useRealService } from './real-cli.ts'
import { KEY, startScriptedCli } from './scripted-cli.ts'

const device = (server: string) => ({
  device_code: 'a device code',
  user_code: 'ABCD-EFGH',
  verification_uri: `${server}/device`,
  verification_uri_complete: `${server}/device?code=ABCD-EFGH`,
  expires_in: 600,
  interval: 5,
})
const TOKEN = {
  ...{ access_token: KEY, token_type: 'Bearer', scope: 'read publish manage' },
  ...{ email: 'ann@example.test', plan: 'free', key_name: 'ann@desk' },
}
const REQUEST = 'POST /oauth/device_authorization'
const EXCHANGE = 'POST /oauth/token'

/** RFC 8628, section 3.5. */
function refusal(error: string): [number, unknown] {
  return [400, { error, error_description: `The server says ${error}` }]
}

describe('login in a browser', () => {
  const fixture = startForEachTest(async () => {
    const scripted = await startScriptedCli({ [EXCHANGE]: TOKEN })
    scripted.responses[REQUEST] = device(scripted.server.url)
    return scripted
  })

  /** Answers these errors to the first requests for the key. */
  function refuseFirst(...errors: Reply[]): void {
    fixture.server.reply(/./, ({ method, path }) => {
      if (`${method} ${path}` === EXCHANGE && errors.length > 0) return errors.shift()
      const body = fixture.responses[`${method} ${path}`]
      return body === undefined ? errorResponse(404, 'NOT_FOUND') : [200, body]
    })
  }

  it('shows a code and a link, waits for the decision, and stores a named key only its owner can read', async () => {
    const proxyPage: ReturnType<typeof errorResponse> = [502, '<h1>Bad gateway</h1>']
    const faults = [errorResponse(503, 'UNAVAILABLE'), errorResponse(500, 'INTERNAL'), proxyPage]
    refuseFirst(refusal('authorization_pending'), refusal('slow_down'), ...faults)
    const { code, stdout, stderr } = await fixture.cli.run(['login', '--key-name', 'ann@desk'])
    assert.equal(code, 0, stderr)
    assert.match(stderr, /http:\S+\/device\?code=ABCD-EFGH\n {2}Code: ABCD-EFGH\n/)
    assert.match(stderr, /login .*--email ADDRESS/)
    assert.match(stderr, /Signed in to http:\S+ as ann@example\.test\n/)
    assert.ok(!`${stdout}${stderr}`.includes(KEY))
    const [request, exchange] = fixture.server.calls.map(({ body }) => `${body}`)
    assert.equal(request, 'client_id=slipway-cli&machine=ann%40desk')
    const grant = encodeURIComponent(DEVICE_GRANT_TYPE)
    assert.equal(exchange, `grant_type=${grant}&client_id=slipway-cli&device_code=a+device+code`)
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

  it('starts the program of Windows by its full path, and none of the working folder', async () => {
    const launched: string[] = []
    const launch = async (program: string) => launched.push(program) > 0
    for (const env of [{ SystemRoot: 'D:\\Win' }, {}])
      await browse('https://slipway.test/', { platform: 'win32', env, launch })
    assert.deepEqual(launched, ['D:\\Win\\System32\\rundll32.exe', 'C:\\Windows\\System32\\rundll32.exe'])
  })

  it('waits a second at least and a minute at most between its requests, whatever the server says', async () => {
    for (const [interval, waited] of [
      [0, 1000],
      [1e9, 60_000],
      [undefined, 5000],
      ['soon', 5000],
    ] as const) {
      fixture.responses[REQUEST] = { ...device(fixture.server.url), interval }
      await fixture.cli.run(['login'])
      assert.equal(fixture.cli.pauses.at(-1), waited)
    }
  })

  it('waits as long as a rate limit says before its next request', async () => {
    refuseFirst([429, { code: 'RATE_LIMITED', error: 'Hourly limit reached' }, { 'Retry-After': '90' }])
    assert.equal((await fixture.cli.run(['login'])).code, 0)
    assert.deepEqual(fixture.cli.pauses, [5000, 90_000, 5000])
  })

  it('is refused when the page is on another server, which a relay would name', async () => {
    for (const page of ['https://slipway.test/device?code=ABCD-EFGH', 'javascript:alert(1)', 'not a URL']) {
      fixture.responses[REQUEST] = { ...device(fixture.server.url), verification_uri_complete: page }
      const { code, stderr } = await fixture.cli.run(['login'], { typed: [], env: { DISPLAY: ':0' } })
      assert.equal(code, 6, stderr)
      assert.match(stderr, /sent the address of a page on another server/)
      assert.doesNotMatch(stderr, /ABCD-EFGH/)
    }
    assert.deepEqual(fixture.cli.launched, [])
    assert.ok(!fixture.server.log.includes(EXCHANGE))
  })

  it('ends with the reason when it is refused, and when the code expires', async () => {
    refuseFirst(refusal('access_denied'))
    const refused = await fixture.cli.run(['login'])
    assert.equal(refused.code, 3)
    assert.match(refused.stderr, /Start again: slipway login/)
    fixture.server.reply(/./, ({ path }) => {
      if (path === '/oauth/device_authorization') return [200, device(fixture.server.url)]
      fixture.cli.now += 60_000
      return refusal('authorization_pending')
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
