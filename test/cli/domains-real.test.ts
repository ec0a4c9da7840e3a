import assert from 'node:assert/strict'
import { it } from 'node:test'
import { PROXY, startInternet } from '../domains/town.ts'
import { startTestService } from '../service.ts'
import { needs } from '../tools/part.ts'
import { Desk } from './desk.ts'

it(
  'a domain is added, entered in DNS as it is shown, seen to become active, checked and removed',
  needs('knot', 'unbound'),
  async () => {
    await using internet = await startInternet()
    await using service = await startTestService({ PROXY_HOST: PROXY, DNS_SERVERS: internet.servers })
    using desk = new Desk()
    desk.env = { SLIPWAY_URL: service.baseUrl, SLIPWAY_KEY: await service.signIn('ann@example.test') }
    desk.patience.wait = async (milliseconds) => {
      service.clock.now += milliseconds
    }
    desk.write({ 'site/index.html': '<h1>otters</h1>' })
    assert.equal((await desk.run(['publish', 'site'])).code, 0)

    const shown = await desk.run(['domains', 'add', 'www.otters.test'])
    assert.equal(shown.code, 0)
    assert.match(shown.stderr, /at whoever runs the DNS of otters\.test:/)
    const [, cname, txt] = shown.stdout.split('\n').map((line) => line.split(/ {2,}/))
    await internet.zone.set(`${cname![1]}.otters.test`, 'CNAME', `${cname![2]}.`)
    await internet.zone.set(`${txt![1]}.otters.test`, 'TXT', 'something else')

    const wrong = await desk.run(['domains', 'check', 'www.otters.test'])
    assert.match(wrong.stdout, /^✓ CNAME www: /m)
    assert.match(wrong.stdout, /^✗ TXT _slipway\.www\n {4}found: {4}something else\n {4}expected: slipway-/m)

    await internet.zone.set(`${txt![1]}.otters.test`, 'TXT', txt![2]!)
    const waited = await desk.run(['domains', 'add', 'www.otters.test'], { typed: ['n'] })
    assert.equal(waited.code, 0, waited.stderr)
    assert.match(waited.stderr, /TXT _slipway\.www is there\.[\s\S]*www\.otters\.test is active\./)
    assert.match(waited.stdout, /http:\/\/www\.otters\.test:\d+\/\n$/)

    assert.match((await desk.run(['domains'])).stdout, /^www\.otters\.test +\S+ +active /m)
    const removed = await desk.run(['domains', 'remove', 'www.otters.test'], { typed: ['www.otters.test'] })
    assert.equal(removed.code, 0)
    assert.match((await desk.run(['domains'])).stderr, /You have no domains yet/)
  },
)
