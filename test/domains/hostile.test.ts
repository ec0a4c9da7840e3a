import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Dns } from '../../server/domains/dns/dns.ts'
import { resolverDns } from '../../server/domains/dns/resolver.ts'
import { checkRecords, hasProof } from '../../server/domains/dns-check.ts'
import { DomainService } from '../../server/domains/domain.ts'
import { makeLog } from '../../server/lib/log.ts'
import { domainRow } from '../store/rows.ts'
import { requires } from '../tools/part.ts'
import { DAY_MS, DomainFixture, expectFailure, PROXY, SECOND_MS, startTestDns, type TestDns } from './town.ts'

test('a proof may have quotes and spaces around it, but not more of them than one TXT string has room for', () => {
  const around = (count: number) => `${' "'.repeat(count)}slipway-proof${'" '.repeat(count)}`
  for (const [count, is] of [
    [0, true],
    [1, true],
    [60, true],
    [61, false],
    [16_000, false],
  ] as const)
    assert.equal(hasProof([around(count)], 'slipway-proof'), is, `${count} on each side`)
  const started = process.cpuUsage()
  for (let look = 0; look < 1000; look++) hasProof([`x${'"'.repeat(65_000)}x`], 'slipway-proof')
  assert.ok(
    process.cpuUsage(started).user < 1e6,
    'microseconds for a thousand of the longest values there are',
  )
})

test('a domain is not blamed when only some of the service’s own addresses could be looked up', async () => {
  const all = ['192.0.2.1', '2001:db8::1']
  const dns: Dns = {
    cname: async () => ({ values: [] }),
    addresses: async (name) =>
      name === PROXY ? { values: all.slice(0, 1), error: 'no response' } : { values: all },
    txt: async () => ({ values: [] }),
  }
  const { pointing } = await checkRecords(dns, { domain: 'root.test', verificationToken: 'proof' }, PROXY)
  assert.ok(pointing.is === 'unclear' && pointing.isOurFault)
  assert.match(
    pointing.message,
    /edge\.slipway\.test, where it has to lead, could not be looked up: no response/,
  )
})

describe('a domain', requires('knot', 'unbound'), () => {
  let internet: TestDns
  before(async () => {
    internet = await startTestDns()
  })
  after(() => internet[Symbol.asyncDispose]())

  test('can be seen and removed after the service or the list of public suffixes has taken its name', async () => {
    await using town = await DomainFixture.build(internet)
    const person = await town.person()
    await town.activate(person, 'shop.taken.test')
    const renamed = new DomainService({
      store: town.store,
      dns: resolverDns({ servers: [internet.servers] }),
      clock: () => town.clock.now,
      log: makeLog({ level: 'silent', text: false, write: () => undefined }),
      proxyHost: PROXY,
      siteDomain: 'taken.test',
      baseUrl: 'http://localhost',
    })
    assert.equal((await renamed.check(person.account, 'SHOP.taken.test.')).status, 'active')
    await renamed.remove(person.account, 'Shop.Taken.test')
    assert.deepEqual((await renamed.list(person.account)).domains, [])
    await expectFailure(renamed.add(person.account, 'shop.taken.test', person.slug), 'VALIDATION_ERROR')
    await expectFailure(renamed.remove(person.account, 'shop.taken.test'), 'NOT_FOUND')
    await expectFailure(renamed.remove(person.account, 'no name'), 'VALIDATION_ERROR')
  })

  test('is not kept waiting by hundreds of others whose DNS is slow', async () => {
    await using town = await DomainFixture.build(internet)
    const [person, slow] = [await town.person(), await town.person()]
    const time = { now: 0 }
    const checked: string[] = []
    const nothing = async () => ({ values: [] })
    const cname = async (name: string) => {
      checked.push(name)
      if (name.startsWith('slow')) time.now += 9000
      return { values: [] }
    }
    const domains = new DomainService({
      store: town.store,
      dns: { cname, addresses: nothing, txt: nothing },
      clock: () => town.clock.now,
      stopwatch: () => time.now,
      log: makeLog({ level: 'silent', text: false, write: () => undefined }),
      proxyHost: PROXY,
      siteDomain: 'pages.slipway.test',
      baseUrl: 'http://localhost',
    })
    const { id: accountId } = slow.account
    await town.store.write('relaxed', async (tx) => {
      for (let number = 0; number < 400; number++) {
        const times = { pendingSince: town.clock.now, nextCheckAt: town.clock.now - DAY_MS }
        await tx.domains.insert(domainRow(`slow${number}.test`, { accountId, ...times }))
      }
    })
    for (let turn = 0; turn < 2; turn++) await domains.verifyDue()
    assert.equal(checked.splice(0).length, 400, 'none is known to be slow yet')
    town.pass(60 * SECOND_MS)
    await town.add(person, 'www.fresh.test')
    await domains.verifyDue()
    assert.equal(checked.filter((name) => name.startsWith('slow')).length, 10)
    assert.ok(checked.includes('www.fresh.test'))
    const rows = await town.store.read.domains.byAccount(accountId)
    assert.ok(rows.every(({ nextCheckAt, checkedAt }) => nextCheckAt! - checkedAt! === 60 * SECOND_MS))
  })

  test('can be changed for another often, but not so often that its account takes the certificates of all', async () => {
    await using town = await DomainFixture.build(internet)
    const person = await town.person('free')
    const use = async (name: string) => {
      await town.add(person, name)
      await town.store.write('relaxed', (tx) =>
        tx.domains.update({ accountId: person.account.id, domain: name }, { status: 'active' }),
      )
      await town.remove(person, name)
    }
    for (let number = 0; number < 10; number++) await use(`www.n${number}.test`)
    await use('www.n3.test')
    const { message } = await expectFailure(town.add(person, 'www.n10.test'), 'DOMAIN_LIMIT_REACHED')
    assert.match(message, /^10 removed domains are kept for you for 7 days each/)
    assert.equal((await town.add(person, 'www.n9.test')).status, 'pending', 'those that are kept can be')
    await town.remove(person, 'www.n9.test')
    town.pass(7 * DAY_MS)
    assert.equal((await town.add(person, 'www.n10.test')).status, 'pending')
  })
})
