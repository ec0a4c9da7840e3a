import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { DomainRecord } from '../../protocol/api/domains.ts'
import { SECOND_MS } from '../../server/lib/time.ts'
import { PROXY, PROXY_ADDRESSES, startTestDns, type TestDns } from '../domains/domain-fixture.ts'
import { requires } from '../tools/part.ts'
import { type Account, Api, DAY_MS, expectFailure, HOUR_MS } from './api.ts'

describe('a custom domain', requires('knot', 'unbound'), () => {
  let internet: TestDns
  let api: Api
  before(async () => {
    internet = await startTestDns()
    api = await Api.start({
      SITE_DOMAIN: 'pages.slipway-test.net',
      PROXY_HOST: PROXY,
      DNS_SERVERS: internet.servers,
    })
  })
  after(async () => {
    await api[Symbol.asyncDispose]()
    await internet[Symbol.asyncDispose]()
  })

  const publisher = async (content: string): Promise<Account & { slug: string }> => {
    const account = await api.account()
    await api.setPlan(account.email, 'hobby')
    return { ...account, ...(await api.publish(account.client, { 'index.html': content })) }
  }

  /** Enters the records as they are shown, in the zone of that root domain. */
  const enter = async ({ records }: DomainRecord, root: string) => {
    for (const { type, name, value } of records) {
      const whole = name === '@' ? root : `${name}.${root}`
      if (type === 'TXT') await internet.zone.set(whole, 'TXT', value)
      else if (type === 'CNAME') await internet.zone.set(whole, 'CNAME', `${value}.`)
      else await internet.zone.set(whole, 'A', PROXY_ADDRESSES[0])
    }
  }

  const proven = async ({ client }: Account, domain: string) => {
    await client.checkDomain(domain)
    api.pass(4 * SECOND_MS)
    // A check that the service started before the records were entered may have ended between these two.
    if ((await client.checkDomain(domain)).status === 'pending') api.pass(4 * SECOND_MS)
    const record = await client.checkDomain(domain)
    assert.equal(record.status, 'active', record.reason ?? '')
    return record
  }

  const status = async (domain: string, path = '/') => (await api.visit(`http://${domain}`, path)).status

  for (const [domain, root] of [
    ['www.shown.test', 'shown.test'],
    ['a.b.shown.test', 'shown.test'],
    ['root.test', 'root.test'],
  ] as const) {
    test(`serves the site once its records are entered as they are shown: ${domain}`, async () => {
      const owner = await publisher(`home of ${domain}`)
      const added = await owner.client.addDomain(domain, owner.slug)
      assert.equal(await status(domain), 404)
      await enter(added, root)
      const active = await proven(owner, domain)
      assert.deepEqual([active.reason, active.checkedAt], [null, active.verifiedAt])
      const visit = await api.visit(`http://${domain}`)
      assert.deepEqual([visit.status, visit.text], [200, `home of ${domain}`])
      await owner.client.removeDomain(domain)
      assert.equal(await status(domain), 404)
    })
  }

  test('stops serving after a day without its records, also by the operator’s sweep', async () => {
    const owner = await publisher('home')
    await enter(await owner.client.addDomain('www.lapsed.test', owner.slug), 'lapsed.test')
    await proven(owner, 'www.lapsed.test')
    await internet.zone.remove('www.lapsed.test')
    api.pass(HOUR_MS)
    assert.match((await owner.client.checkDomain('www.lapsed.test')).reason!, /no longer served/)
    assert.equal(await status('www.lapsed.test'), 200)
    api.pass(DAY_MS - SECOND_MS)
    await owner.client.checkDomain('www.lapsed.test')
    assert.equal(await status('www.lapsed.test'), 200)
    api.pass(4 * SECOND_MS)
    assert.equal((await owner.client.checkDomain('www.lapsed.test')).status, 'pending')
    assert.equal(await status('www.lapsed.test'), 404)
  })

  test('stops serving with its site and stays reserved for its owner', async () => {
    const [owner, other] = [await publisher('mine'), await publisher('not mine')]
    const added = await owner.client.addDomain('www.kept.test', owner.slug)
    await enter(added, 'kept.test')
    await proven(owner, 'www.kept.test')
    await expectFailure(other.client.addDomain('www.kept.test', other.slug), 'DOMAIN_TAKEN')
    await owner.client.delete(owner.slug)
    assert.deepEqual(await owner.client.domains(), { domains: [] })
    assert.equal(await status('www.kept.test'), 404)
    assert.equal((await other.client.addDomain('www.kept.test', other.slug)).status, 'pending')
    const { slug } = await api.publish(owner.client, { 'index.html': 'mine again' })
    const again = await owner.client.addDomain('www.kept.test', slug)
    assert.equal(again.records[1]!.value, added.records[1]!.value)
    await proven(owner, 'www.kept.test')
    assert.equal((await api.visit('http://www.kept.test')).text, 'mine again')
  })

  test('becomes active without requests from its owner', async () => {
    const owner = await publisher('by itself')
    await enter(await owner.client.addDomain('www.alone.test', owner.slug), 'alone.test')
    const { promise, resolve } = Promise.withResolvers<void>()
    const { log } = api.running
    const push = log.push.bind(log)
    log.push = (...lines) => {
      // On the clock of the test, which each run of the sweep moves.
      if (lines.some((line) => line.message === 'domain status changed' && line.domain === 'www.alone.test'))
        resolve()
      return push(...lines)
    }
    const time = setInterval(() => api.pass(SECOND_MS), 100)
    await promise.finally(() => clearInterval(time))
    assert.equal((await owner.client.domains()).domains[0]!.status, 'active')
    assert.equal(await status('www.alone.test'), 200)
  })
})
