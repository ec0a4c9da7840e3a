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

  it('is added with its root domain, becomes active once its records are in DNS, and is listed and removed', async () => {
    using cli = new CliHarness()
    const key = await service.signIn('ann@example.test')
    cli.env = { SLIPWAY_URL: service.baseUrl, SLIPWAY_KEY: key }
    cli.write({ 'site/index.html': '<h1>badgers</h1>' })
    assert.equal((await cli.run(['publish', 'site'])).code, 0)
    let isEntered = false
    cli.retryPolicy.wait = async (milliseconds) => {
      service.clock.now += milliseconds
      if (isEntered) return
      isEntered = true
      const { domains } = await service.client(key).domains()
      for (const { type, name, value } of domains.flatMap(({ records }) => records)) {
        const whole = name === '@' ? 'badgers.test' : `${name}.badgers.test`
        if (type === 'TXT') await internet.zone.set(whole, 'TXT', value)
        else if (type === 'CNAME') await internet.zone.set(whole, 'CNAME', `${value}.`)
        else await internet.zone.set(whole, 'A', PROXY_ADDRESSES[0])
      }
    }
    const { code, stdout, stderr } = await cli.run(['domains', 'add', 'www.badgers.test'], { typed: ['y'] })
    assert.equal(code, 0, stderr)
    assert.match(stderr, / badgers\.test is active and redirects to www\.badgers\.test$/m)
    assert.match(stdout, /http:\/\/www\.badgers\.test:\d+\/\n$/)
    assert.match((await cli.run(['domains', 'check', 'badgers.test'])).stdout, /^✓ ALIAS @: 192\.0\.2\.1$/m)
    assert.match((await cli.run(['domains'])).stdout, /^www\.badgers\.test +\S+ +active /m)
    const typed = ['y']
    assert.equal((await cli.run(['domains', 'remove', 'www.badgers.test'], { typed })).code, 0)
    assert.doesNotMatch((await cli.run(['domains'])).stdout, /www\.badgers/)
  })
})
