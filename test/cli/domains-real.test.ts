import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { PROXY, PROXY_ADDRESSES, startTestDns, type TestDns } from '../domains/domain-fixture.ts'
import { type RunningService, startTestService } from '../support/service.ts'
import { requires } from '../tools/part.ts'
import { CliHarness } from './cli-harness.ts'

describe('a domain, with a real service and a real DNS', requires('knot', 'unbound'), () => {
  let internet: TestDns
  let service: RunningService
  before(async () => {
    internet = await startTestDns()
    service = await startTestService({ PROXY_HOST: PROXY, DNS_SERVERS: internet.servers })
  })
  after(async () => {
    await service[Symbol.asyncDispose]()
    await internet[Symbol.asyncDispose]()
  })

  /** A new account with a site; pauses of its CLI move the clock of the service. */
  const publisher = async (email: string) => {
    const cli = new CliHarness()
    const key = await service.signIn(email)
    cli.env = { SLIPWAY_URL: service.baseUrl, SLIPWAY_KEY: key }
    cli.retryPolicy.wait = async (milliseconds) => {
      service.clock.now += milliseconds
    }
    cli.write({ 'site/index.html': '<h1>otters</h1>' })
    assert.equal((await cli.run(['publish', 'site'])).code, 0)
    return { cli, client: service.client(key) }
  }

  it('is added, corrected after a check, becomes active, is listed and removed', async () => {
    const { cli } = await publisher('ann@example.test')
    using _cli = cli
    const shown = await cli.run(['domains', 'add', 'www.otters.test'])
    assert.match(shown.stderr, /at the DNS provider of otters\.test:/)
    const [, cname, txt] = shown.stdout.split('\n').map((line) => line.split(/ {2,}/))
    await internet.zone.set(`${cname![1]}.otters.test`, 'CNAME', `${cname![2]}.`)
    await internet.zone.set(`${txt![1]}.otters.test`, 'TXT', 'something else')

    // The service may have checked by itself a moment ago, and would not check again immediately.
    service.clock.now += 60_000
    const wrong = await cli.run(['domains', 'check', 'www.otters.test'])
    assert.match(wrong.stdout, /^✓ CNAME www: edge\.slipway\.test$/m)
    assert.match(wrong.stdout, /^✗ TXT _slipway\.www\n {4}found: {4}something else\n {4}expected: slipway-/m)

    await internet.zone.set(`${txt![1]}.otters.test`, 'TXT', txt![2]!)
    const waited = await cli.run(['domains', 'add', 'www.otters.test'], { typed: ['n'] })
    assert.equal(waited.code, 0, waited.stderr)
    // A domain may become active between two checks: then only that is printed.
    assert.match(waited.stderr, / www\.otters\.test is active$/m)
    assert.match(waited.stdout, /http:\/\/www\.otters\.test:\d+\/\n$/)

    assert.match((await cli.run(['domains'])).stdout, /^www\.otters\.test +\S+ +active /m)
    const typed = ['www.otters.test']
    assert.equal((await cli.run(['domains', 'remove', 'www.otters.test'], { typed })).code, 0)
    assert.match((await cli.run(['domains'])).stderr, /You have no domains yet/)
  })

  it('is added together with its root domain, and waits for both', async () => {
    const { cli, client } = await publisher('bob@example.test')
    using _cli = cli
    const { wait } = cli.retryPolicy
    cli.retryPolicy.wait = async (milliseconds) => {
      cli.retryPolicy.wait = wait
      const { domains } = await client.domains()
      for (const { type, name, value } of domains.flatMap(({ records }) => records)) {
        const whole = name === '@' ? 'badgers.test' : `${name}.badgers.test`
        if (type === 'TXT') await internet.zone.set(whole, 'TXT', value)
        else if (type === 'CNAME') await internet.zone.set(whole, 'CNAME', `${value}.`)
        else await internet.zone.set(whole, 'A', PROXY_ADDRESSES[0])
      }
      await wait(milliseconds)
    }
    const { code, stdout, stderr } = await cli.run(['domains', 'add', 'www.badgers.test'], { typed: ['y'] })
    assert.equal(code, 0, stderr)
    assert.match(stderr, / badgers\.test is active and redirects to www\.badgers\.test$/m)
    assert.match(stdout, /http:\/\/www\.badgers\.test:\d+\/\n$/)
    assert.match((await cli.run(['domains', 'check', 'badgers.test'])).stdout, /^✓ ALIAS @: 192\.0\.2\.1$/m)
  })
})
