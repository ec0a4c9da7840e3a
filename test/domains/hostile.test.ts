import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Dns } from '../../server/domains/dns/dns.ts'
import { resolverDns } from '../../server/domains/dns/resolver.ts'
import { checkRecords, hasProof } from '../../server/domains/dns-check.ts'
import { DomainService } from '../../server/domains/domain.ts'
import { makeLog } from '../../server/lib/log.ts'
import { domainRow } from '../store/rows.ts'
import { requires } from '../tools/part.ts'
import {
  DAY_MS,
  DomainFixture,
  expectFailure,
  PROXY,
  SECOND_MS,
  startTestDns,
  type TestDns,
} from './domain-fixture.ts'

test('a proof may be padded with quotes and spaces, up to the length of one TXT string', () => {
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
  for (let check = 0; check < 1000; check++) hasProof([`x${'"'.repeat(65_000)}x`], 'slipway-proof')
  assert.ok(
    process.cpuUsage(started).user < 1e6,
    'a thousand values of maximum length take more than a second',
  )
})

test('a domain does not fail when only some addresses of the proxy could be looked up', async () => {
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
  let testDns: TestDns
  before(async () => {
    testDns = await startTestDns()
  })
  after(() => testDns[Symbol.asyncDispose]())

  test('can be read and removed after its name became part of the service or of the public suffix list', async () => {
    await using fixture = await DomainFixture.build(testDns)
    const user = await fixture.createUser()
    await fixture.activate(user, 'shop.taken.test')
    const renamed = new DomainService({
      store: fixture.store,
      dns: resolverDns({ servers: [testDns.servers] }),
      clock: () => fixture.clock.now,
      log: makeLog({ level: 'silent', text: false, write: () => undefined }),
      proxyHost: PROXY,
      siteDomain: 'taken.test',
      baseUrl: 'http://localhost',
    })
    assert.equal((await renamed.check(user.account, 'SHOP.taken.test.')).status, 'active')
    await renamed.remove(user.account, 'Shop.Taken.test')
    assert.deepEqual((await renamed.list(user.account)).domains, [])
    await expectFailure(renamed.add(user.account, 'shop.taken.test', user.slug), 'VALIDATION_ERROR')
    await expectFailure(renamed.remove(user.account, 'shop.taken.test'), 'NOT_FOUND')
    await expectFailure(renamed.remove(user.account, 'no name'), 'VALIDATION_ERROR')
  })

  test('is checked on time despite hundreds of others with slow DNS', async () => {
    await using fixture = await DomainFixture.build(testDns)
    const [user, slow] = [await fixture.createUser(), await fixture.createUser()]
    const time = { now: 0 }
    const checked: string[] = []
    const nothing = async () => ({ values: [] })
    const cname = async (name: string) => {
      checked.push(name)
      if (name.startsWith('slow')) time.now += 9000
      return { values: [] }
    }
    const domains = new DomainService({
      store: fixture.store,
      dns: { cname, addresses: nothing, txt: nothing },
      clock: () => fixture.clock.now,
      stopwatch: () => time.now,
      log: makeLog({ level: 'silent', text: false, write: () => undefined }),
      proxyHost: PROXY,
      siteDomain: 'pages.slipway.test',
      baseUrl: 'http://localhost',
    })
    const { id: accountId } = slow.account
    await fixture.store.write('relaxed', async (tx) => {
      for (let number = 0; number < 400; number++) {
        const times = { pendingSince: fixture.clock.now, nextCheckAt: fixture.clock.now - DAY_MS }
        await tx.domains.insert(domainRow(`slow${number}.test`, { accountId, ...times }))
      }
    })
    for (let turn = 0; turn < 2; turn++) await domains.verifyDue()
    assert.equal(checked.splice(0).length, 400, 'none is marked as slow yet')
    fixture.advanceClock(60 * SECOND_MS)
    await fixture.add(user, 'www.fresh.test')
    await domains.verifyDue()
    assert.equal(checked.filter((name) => name.startsWith('slow')).length, 10)
    assert.ok(checked.includes('www.fresh.test'))
    const rows = await fixture.store.read.domains.byAccount(accountId)
    assert.ok(rows.every(({ nextCheckAt, checkedAt }) => nextCheckAt! - checkedAt! === 60 * SECOND_MS))
  })

  test('can be replaced often, but not so often that one account exhausts the certificate limit', async () => {
    await using fixture = await DomainFixture.build(testDns)
    const user = await fixture.createUser('free')
    const use = async (name: string) => {
      await fixture.add(user, name)
      await fixture.store.write('relaxed', (tx) =>
        tx.domains.update({ accountId: user.account.id, domain: name }, { status: 'active' }),
      )
      await fixture.remove(user, name)
    }
    for (let number = 0; number < 10; number++) await use(`www.n${number}.test`)
    await use('www.n3.test')
    const { message } = await expectFailure(fixture.add(user, 'www.n10.test'), 'DOMAIN_LIMIT_REACHED')
    assert.match(message, /^10 removed domains are kept for you for 7 days each/)
    assert.equal(
      (await fixture.add(user, 'www.n9.test')).status,
      'pending',
      'a reserved domain can be added again',
    )
    await fixture.remove(user, 'www.n9.test')
    fixture.advanceClock(7 * DAY_MS)
    assert.equal((await fixture.add(user, 'www.n10.test')).status, 'pending')
  })
})
