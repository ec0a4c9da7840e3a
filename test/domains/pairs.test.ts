import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { requires } from '../tools/part.ts'
import { DAY_MS, DomainFixture, expectFailure, startTestDns, type TestDns, type TestUser } from './town.ts'

describe('a root domain and its www', requires('knot', 'unbound'), () => {
  let internet: TestDns
  let town: DomainFixture
  before(async () => {
    internet = await startTestDns()
    town = await DomainFixture.build(internet)
  })
  after(async () => {
    await town[Symbol.asyncDispose]()
    await internet[Symbol.asyncDispose]()
  })

  const shown = async (person: TestUser, domain: string) => {
    const { redirectsTo, alternate } = await town.record(person, domain)
    return { redirectsTo, alternate }
  }

  for (const [first, second] of [
    ['pair.test', 'www.pair.test'],
    ['www.pair.test', 'pair.test'],
  ] as const) {
    test(`are one of a plan's domains, and ${second} redirects when it came second`, async () => {
      const person = await town.person('free')
      const added = await town.add(person, first)
      assert.deepEqual([added.redirectsTo, added.alternate], [null, second])
      const other = await town.add(person, second)
      assert.deepEqual([other.redirectsTo, other.alternate], [first, null])
      assert.deepEqual(await shown(person, first), { redirectsTo: null, alternate: null })
      await expectFailure(town.add(person, 'more.test'), 'DOMAIN_LIMIT_REACHED')
      assert.equal(await town.store.read.domains.count(person.account.id), 1)
    })

    test(`leave ${second} in the first's place when ${first} is removed`, async () => {
      const person = await town.person('free')
      await town.add(person, first)
      await town.add(person, second)
      await town.remove(person, first)
      assert.deepEqual(await shown(person, second), { redirectsTo: null, alternate: first })
      await expectFailure(town.add(person, 'more.test'), 'DOMAIN_LIMIT_REACHED')
      assert.equal((await town.add(person, first)).redirectsTo, second)
      await town.remove(person, first)
      assert.deepEqual(await shown(person, second), { redirectsTo: null, alternate: first })
    })
  }

  test('are two domains when they are on two sites', async () => {
    const person = await town.person('free')
    await town.add(person, 'apart.test')
    const elsewhere = { ...person, slug: await town.site(person.account) }
    await expectFailure(town.add(elsewhere, 'www.apart.test'), 'DOMAIN_LIMIT_REACHED')
    const rich = await town.person('hobby')
    await town.add(rich, 'apart.test')
    const other = await town.add({ ...rich, slug: await town.site(rich.account) }, 'www.apart.test')
    assert.deepEqual([other.redirectsTo, other.alternate], [null, null])
    assert.equal(await town.store.read.domains.count(rich.account.id), 2)
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
    test(`are offered for each other only: ${domain}`, async () => {
      assert.equal((await town.add(await town.person(), domain)).alternate, alternate)
    })
  }

  test('are one name each where another account is concerned', async () => {
    const [one, other] = [await town.person('free'), await town.person('free')]
    await town.add(one, 'strangers.test')
    const second = await town.add(other, 'www.strangers.test')
    assert.deepEqual([second.redirectsTo, second.alternate], [null, 'strangers.test'])
  })

  test('tell both names and the site when one stops being active', async () => {
    const person = await town.person()
    await town.activate(person, 'twins.test')
    await town.activate(person, 'www.twins.test')
    assert.equal((await town.store.read.domains.active('www.twins.test'))?.primaryDomain, 'twins.test')
    await town.clear('twins.test')
    town.pass(13.5 * 3_600_000)
    await town.sweep()
    town.forgotten.length = 0
    town.pass(DAY_MS)
    await town.sweep()
    assert.equal(await town.store.read.domains.active('twins.test'), undefined)
    assert.ok(['twins.test', 'www.twins.test', person.slug].every((name) => town.forgotten.includes(name)))
    assert.equal((await shown(person, 'www.twins.test')).redirectsTo, 'twins.test')
  })
})
