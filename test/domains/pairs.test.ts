import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { requires } from '../tools/part.ts'
import {
  DAY_MS,
  DomainFixture,
  expectFailure,
  startTestDns,
  type TestDns,
  type TestUser,
} from './domain-fixture.ts'

describe('a root domain and its www', requires('knot', 'unbound'), () => {
  let testDns: TestDns
  let fixture: DomainFixture
  before(async () => {
    testDns = await startTestDns()
    fixture = await DomainFixture.build(testDns)
  })
  after(async () => {
    await fixture[Symbol.asyncDispose]()
    await testDns[Symbol.asyncDispose]()
  })

  const readPair = async (user: TestUser, domain: string) => {
    const { redirectsTo, alternate } = await fixture.record(user, domain)
    return { redirectsTo, alternate }
  }

  for (const [first, second] of [
    ['pair.test', 'www.pair.test'],
    ['www.pair.test', 'pair.test'],
  ] as const) {
    test(`count as one domain of a plan, and ${second} redirects when it was added second`, async () => {
      const user = await fixture.createUser('free')
      const added = await fixture.add(user, first)
      assert.deepEqual([added.redirectsTo, added.alternate], [null, second])
      const other = await fixture.add(user, second)
      assert.deepEqual([other.redirectsTo, other.alternate], [first, null])
      assert.deepEqual(await readPair(user, first), { redirectsTo: null, alternate: null })
      await expectFailure(fixture.add(user, 'more.test'), 'DOMAIN_LIMIT_REACHED')
      assert.equal(await fixture.store.read.domains.count(user.account.id), 1)
    })

    test(`make ${second} the primary domain when ${first} is removed`, async () => {
      const user = await fixture.createUser('free')
      await fixture.add(user, first)
      await fixture.add(user, second)
      await fixture.remove(user, first)
      assert.deepEqual(await readPair(user, second), { redirectsTo: null, alternate: first })
      await expectFailure(fixture.add(user, 'more.test'), 'DOMAIN_LIMIT_REACHED')
      assert.equal((await fixture.add(user, first)).redirectsTo, second)
      await fixture.remove(user, first)
      assert.deepEqual(await readPair(user, second), { redirectsTo: null, alternate: first })
    })
  }

  test('count as two domains on two sites', async () => {
    const user = await fixture.createUser('free')
    await fixture.add(user, 'apart.test')
    const elsewhere = { ...user, slug: await fixture.createSite(user.account) }
    await expectFailure(fixture.add(elsewhere, 'www.apart.test'), 'DOMAIN_LIMIT_REACHED')
    const rich = await fixture.createUser('hobby')
    await fixture.add(rich, 'apart.test')
    const other = await fixture.add(
      { ...rich, slug: await fixture.createSite(rich.account) },
      'www.apart.test',
    )
    assert.deepEqual([other.redirectsTo, other.alternate], [null, null])
    assert.equal(await fixture.store.read.domains.count(rich.account.id), 2)
  })

  const alternates: [domain: string, alternate: string | null][] = [
    ['alone.test', 'www.alone.test'],
    ['www.alone.test', 'alone.test'],
    ['shop.alone.test', null],
    ['www.shop.alone.test', null],
    ['example.co.uk', 'www.example.co.uk'],
    ['me.github.io', 'www.me.github.io'],
    ['www.me.github.io', 'me.github.io'],
  ]
  for (const [domain, alternate] of alternates) {
    test(`are offered only as alternates of each other: ${domain}`, async () => {
      assert.equal((await fixture.add(await fixture.createUser(), domain)).alternate, alternate)
    })
  }

  test('count as one domain each when two accounts add them', async () => {
    const [one, other] = [await fixture.createUser('free'), await fixture.createUser('free')]
    await fixture.add(one, 'strangers.test')
    const second = await fixture.add(other, 'www.strangers.test')
    assert.deepEqual([second.redirectsTo, second.alternate], [null, 'strangers.test'])
  })

  test('invalidate both names and the site when one stops being active', async () => {
    const user = await fixture.createUser()
    await fixture.activate(user, 'twins.test')
    await fixture.activate(user, 'www.twins.test')
    assert.equal((await fixture.store.read.domains.active('www.twins.test'))?.primaryDomain, 'twins.test')
    await fixture.removeRecords('twins.test')
    fixture.advanceClock(13.5 * 3_600_000)
    await fixture.sweep()
    fixture.invalidated.length = 0
    fixture.advanceClock(DAY_MS)
    await fixture.sweep()
    assert.equal(await fixture.store.read.domains.active('twins.test'), undefined)
    assert.ok(['twins.test', 'www.twins.test', user.slug].every((name) => fixture.invalidated.includes(name)))
    assert.equal((await readPair(user, 'www.twins.test')).redirectsTo, 'twins.test')
  })
})
