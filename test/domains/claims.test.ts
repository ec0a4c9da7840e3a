import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { formatUtc } from '../../server/lib/time.ts'
import { requires } from '../tools/part.ts'
import {
  DAY_MS,
  DomainFixture,
  expectFailure,
  MINUTE_MS,
  SECOND_MS,
  startTestDns,
  type TestDns,
} from './town.ts'

describe('a name that two accounts want', requires('knot', 'unbound'), () => {
  let internet: TestDns
  before(async () => {
    internet = await startTestDns()
  })
  after(() => internet[Symbol.asyncDispose]())

  test('goes to one of two who prove it at the same moment, and the other is told why', async () => {
    await using town = await DomainFixture.build(internet)
    const people = [await town.person(), await town.person(), await town.person()]
    for (const person of people) await town.enter(await town.add(person, 'www.both.test'))
    const second = await town.house()
    await town.sweep()
    for (let rounds = 0; rounds < 4; rounds++) {
      town.pass(10 * SECOND_MS)
      await Promise.all([town.sweep(), town.sweep('domains', second)])
    }
    const records = await Promise.all(people.map((person) => town.record(person, 'www.both.test')))
    assert.deepEqual(records.map(({ status }) => status).sort(), ['active', 'pending', 'pending'])
    for (const { status, reason } of records) {
      if (status === 'active') assert.equal(reason, null)
      else
        assert.match(
          reason!,
          /^www\.both\.test is active for another account whose TXT record is still there: remove that record/,
        )
    }
  })

  test('cannot be added while the one who has it keeps its TXT record, or DNS cannot say', async () => {
    await using town = await DomainFixture.build(internet)
    const [owner, other] = [await town.person(), await town.person()]
    await town.activate(owner, 'www.kept.test')
    const failure = await expectFailure(town.add(other, 'www.kept.test'), 'DOMAIN_TAKEN')
    assert.match(
      failure.message,
      /remove the TXT record of that account at _slipway\.www\.kept\.test; then add www\.kept\.test once more/,
    )
    await internet.zone.remove('www.kept.test')
    await expectFailure(town.add(other, 'WWW.kept.test.'), 'DOMAIN_TAKEN')
    await internet.zone.remove('_slipway.www.kept.test')
    const { domains } = (await town.house('127.0.0.1:1')).sweepOptions
    await expectFailure(domains.add(other.account, 'www.kept.test', other.slug), 'DOMAIN_TAKEN')
    assert.equal((await town.add(other, 'www.kept.test')).status, 'pending')
    assert.equal((await town.record(owner, 'www.kept.test')).status, 'active')
  })

  test('is proven by, and stays with, the one whose provider keeps quotes and spaces around its TXT value', async () => {
    await using town = await DomainFixture.build(internet)
    const [owner, other] = [await town.person(), await town.person()]
    for (const [at, form] of ['"VALUE"', ' VALUE ', ' "VALUE"'].entries()) {
      const domain = `www.quoted${at}.test`
      const [, text] = (await town.add(owner, domain)).records
      await town.point(domain)
      await internet.zone.set(`_slipway.${domain}`, 'TXT', form.replace('VALUE', text!.value))
      await town.becomesActive(owner, domain)
      await expectFailure(town.add(other, domain), 'DOMAIN_TAKEN')
    }
  })

  test('goes to another who proves it once the TXT record of the first is gone', async () => {
    await using town = await DomainFixture.build(internet)
    const [owner, other] = [await town.person(), await town.person()]
    await town.activate(owner, 'www.sold.test')
    await internet.zone.remove('_slipway.www.sold.test')
    const added = await town.add(other, 'www.sold.test')
    assert.equal(added.status, 'pending')
    await town.twoChecks()
    assert.equal((await town.record(other, 'www.sold.test')).status, 'pending', 'nothing is proven yet')
    assert.equal(
      (await town.record(owner, 'www.sold.test')).status,
      'active',
      'who has it keeps it until then',
    )
    await town.enter(added)
    await town.becomesActive(other, 'www.sold.test')
    const told = town.log.findLast(({ message }) => message === 'domain status changed')
    assert.deepEqual(
      [told?.account, told?.takenFrom],
      [other.account.id, owner.account.id],
      'and is in the log',
    )
    const lost = await town.record(owner, 'www.sold.test')
    assert.equal(lost.status, 'pending')
    assert.match(
      lost.reason!,
      /^Another account has proven that www\.sold\.test is its own, and your TXT record was no longer there/,
    )
    await town.enter(lost)
    await town.twoChecks()
    assert.match(
      (await town.record(owner, 'www.sold.test')).reason!,
      /^www\.sold\.test is active for another account/,
    )
    assert.equal((await town.record(other, 'www.sold.test')).status, 'active')
  })

  test('stays with its owner when the TXT record comes back before another has proven the name', async () => {
    await using town = await DomainFixture.build(internet)
    const [owner, other] = [await town.person(), await town.person()]
    const mine = await town.activate(owner, 'www.returned.test')
    await internet.zone.remove('_slipway.www.returned.test')
    const added = await town.add(other, 'www.returned.test')
    await town.enter(added)
    town.pass(10 * SECOND_MS)
    await town.sweep()
    await town.enter(mine)
    town.pass(5 * SECOND_MS)
    await town.sweep()
    assert.equal((await town.record(owner, 'www.returned.test')).status, 'active')
    assert.equal((await town.record(other, 'www.returned.test')).status, 'pending')
  })

  for (const [how, end] of [
    ['deleted', (town, person) => town.remove(person, 'www.dangling.test')],
    ['whose site expired', (town, { slug }) => expire(town, slug)],
  ] as [string, (town: DomainFixture, person: { account: never; slug: string }) => Promise<unknown>][]) {
    test(`and that was ${how} with its records left in DNS is not another's for a week`, async () => {
      await using town = await DomainFixture.build(internet)
      await town.clear('www.dangling.test')
      const [owner, other] = [await town.person(), await town.person()]
      await town.activate(owner, 'www.dangling.test')
      await end(town, owner as never)
      const until = town.clock.now + 7 * DAY_MS
      const added = await town.add(other, 'www.dangling.test')
      await town.twoChecks()
      const words = `www.dangling.test was removed from another account and is kept for that one: here it can become active from ${formatUtc(until)} on`
      const waiting = await town.record(other, 'www.dangling.test')
      assert.match(
        waiting.reason!,
        /has the TXT value "slipway-[0-9a-f]{32}", expected "slipway-/,
        'a proof of its own is needed',
      )
      assert.ok(waiting.reason!.includes(words), waiting.reason!)
      await town.enter(added)
      for (let looks = 0; looks < 4; looks++) {
        town.pass(10 * SECOND_MS)
        await town.sweep()
      }
      const held = await town.record(other, 'www.dangling.test')
      assert.equal(held.status, 'pending')
      assert.ok(held.reason!.startsWith(`Both records are there, but ${words}`), held.reason!)
      for (const now of [until - DAY_MS / 2, until - SECOND_MS]) {
        town.clock.now = now
        const last = await town.domains.check(other.account, 'www.dangling.test')
        assert.deepEqual([last.status, last.nextCheckAt], ['pending', new Date(until).toISOString()])
      }
      town.clock.now = until
      await town.sweep()
      const { status } = await town.record(other, 'www.dangling.test')
      assert.equal(status, 'active', 'as soon as the week is over')
    })
  }

  test('and that was deleted is the same account’s again without a change in DNS', async () => {
    await using town = await DomainFixture.build(internet)
    const owner = await town.person()
    const before = await town.activate(owner, 'www.regretted.test')
    await town.remove(owner, 'www.regretted.test')
    town.pass(6 * DAY_MS)
    await town.sweep('held-domains')
    const again = await town.add(owner, 'www.regretted.test')
    assert.deepEqual([again.status, again.records[1]!.value], ['pending', before.records[1]!.value])
    await town.becomesActive(owner, 'www.regretted.test')
    assert.equal(await town.store.read.domains.reservation('www.regretted.test', town.clock.now), undefined)
    await town.remove(owner, 'www.regretted.test')
    town.pass(7 * DAY_MS)
    assert.equal(await town.sweep('held-domains'), 1)
    assert.notEqual((await town.add(owner, 'www.regretted.test')).records[1]!.value, before.records[1]!.value)
  })

  test('and that was deleted while it waited is kept for nobody', async () => {
    await using town = await DomainFixture.build(internet)
    const [one, other] = [await town.person(), await town.person()]
    const first = await town.add(one, 'www.pending.test')
    await town.remove(one, 'www.pending.test')
    assert.notEqual((await town.add(one, 'www.pending.test')).records[1]!.value, first.records[1]!.value)
    await town.remove(one, 'www.pending.test')
    await town.activate(other, 'www.pending.test')
  })

  test('and that was taken away in the middle of a look does not come back', async () => {
    await using town = await DomainFixture.build(internet)
    const owner = await town.person()
    await town.enter(await town.add(owner, 'www.gone.test'))
    await town.sweep()
    town.pass(MINUTE_MS)
    await Promise.all([town.sweep(), town.remove(owner, 'www.gone.test')])
    assert.equal(await town.store.read.domains.active('www.gone.test'), undefined)
    assert.deepEqual(await town.domains.list(owner.account), { domains: [] })
  })
})

async function expire(town: DomainFixture, slug: string): Promise<void> {
  await town.store.write('durable', (tx) => tx.sites.update(slug, { expiresAt: town.clock.now }))
  assert.equal(await town.sweep('expired-sites'), 1)
}
