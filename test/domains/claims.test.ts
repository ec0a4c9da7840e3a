import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { DAY_MS, formatUtc, HOUR_MS, SECOND_MS } from '../../server/lib/time.ts'
import { startForAllTests, startForEachTest } from '../support/started-fixture.ts'
import { DomainFixture, expectFailure, needsDns, sharedTestDns, type TestUser } from './domain-fixture.ts'

const testDns = sharedTestDns()

describe('a domain that two accounts add', needsDns, () => {
  const fixture = startForEachTest(() => DomainFixture.build(testDns))

  test('becomes active for one of two accounts that verify it at the same moment, and the other gets the reason', async () => {
    const users = [await fixture.createUser(), await fixture.createUser(), await fixture.createUser()]
    for (const user of users) await fixture.addRecords(await fixture.add(user, 'www.both.test'))
    const second = await fixture.openNode()
    await fixture.sweep()
    for (let rounds = 0; rounds < 4; rounds++) {
      fixture.advanceClock(10 * SECOND_MS)
      await Promise.all([fixture.sweep(), fixture.sweep('domains', second)])
    }
    const records = await Promise.all(users.map((user) => fixture.record(user, 'www.both.test')))
    assert.deepEqual(records.map(({ status }) => status).sort(), ['active', 'pending', 'pending'])
    for (const { status, reason } of records) {
      if (status === 'active') assert.equal(reason, null)
      else
        assert.match(
          reason!,
          /^www\.both\.test is active for another account, whose TXT record still exists\. Delete that record/,
        )
    }
  })

  test('cannot be added while the TXT record of its owner exists or cannot be looked up', async () => {
    const [owner, other] = [await fixture.createUser(), await fixture.createUser()]
    await fixture.activate(owner, 'www.kept.test')
    const failure = await expectFailure(fixture.add(other, 'www.kept.test'), 'DOMAIN_TAKEN')
    assert.match(
      failure.message,
      /delete the TXT record of that account at _slipway\.www\.kept\.test, then add www\.kept\.test again/,
    )
    await testDns.zone.remove('www.kept.test')
    await expectFailure(fixture.add(other, 'WWW.kept.test.'), 'DOMAIN_TAKEN')
    await testDns.zone.remove('_slipway.www.kept.test')
    const { domains } = await fixture.openNode('127.0.0.1:1')
    await expectFailure(domains.add(other.account, 'www.kept.test', other.slug), 'DOMAIN_TAKEN')
    assert.equal((await fixture.add(other, 'www.kept.test')).status, 'pending')
    assert.equal((await fixture.record(owner, 'www.kept.test')).status, 'active')
  })

  test('moves to another account that verifies it once the TXT record of the first is removed', async () => {
    const [owner, other] = [await fixture.createUser(), await fixture.createUser()]
    await fixture.activate(owner, 'www.sold.test')
    await testDns.zone.remove('_slipway.www.sold.test')
    const added = await fixture.add(other, 'www.sold.test')
    assert.equal(added.status, 'pending')
    await fixture.runTwoChecks()
    assert.equal((await fixture.record(other, 'www.sold.test')).status, 'pending', 'no proof yet')
    assert.equal(
      (await fixture.record(owner, 'www.sold.test')).status,
      'active',
      'the owner keeps it until then',
    )
    await fixture.addRecords(added)
    await fixture.verifyToActive(other, 'www.sold.test')
    const logLine = fixture.log.findLast(({ message }) => message === 'domain status changed')
    assert.deepEqual(
      [logLine?.account, logLine?.takenFrom],
      [other.account.id, owner.account.id],
      'the transfer is logged',
    )
    const lost = await fixture.record(owner, 'www.sold.test')
    assert.equal(lost.status, 'pending')
    const notices = await fixture.store.read.notices.due(fixture.clock.now, 10)
    assert.deepEqual(
      notices.map(({ accountId, event }) => [accountId, event]),
      [
        [
          owner.account.id,
          {
            ...{ kind: 'domain-fails', domain: 'www.sold.test', slug: owner.slug, servedUntil: null },
            problem: lost.reason!.replace(/\.$/, ''),
          },
        ],
      ],
      'its account gets an email',
    )
    assert.match(
      lost.reason!,
      /^Another account has verified www\.sold\.test, because your TXT record was missing/,
    )
    await fixture.addRecords(lost)
    await fixture.runTwoChecks()
    assert.match(
      (await fixture.record(owner, 'www.sold.test')).reason!,
      /^www\.sold\.test is active for another account/,
    )
    assert.equal((await fixture.record(other, 'www.sold.test')).status, 'active')
  })

  test('stays with its owner when the TXT record is restored before another account has verified it', async () => {
    const [owner, other] = [await fixture.createUser(), await fixture.createUser()]
    const mine = await fixture.activate(owner, 'www.returned.test')
    await testDns.zone.remove('_slipway.www.returned.test')
    const added = await fixture.add(other, 'www.returned.test')
    await fixture.addRecords(added)
    await fixture.sweepAfter(10 * SECOND_MS)
    await fixture.addRecords(mine)
    await fixture.sweepAfter(5 * SECOND_MS)
    assert.equal((await fixture.record(owner, 'www.returned.test')).status, 'active')
    assert.equal((await fixture.record(other, 'www.returned.test')).status, 'pending')
  })

  for (const [how, end] of [
    ['deleted', (fixture, user) => fixture.remove(user, 'www.dangling.test')],
    ['whose site expired', (fixture, { slug }) => expire(fixture, slug)],
  ] as [string, (fixture: DomainFixture, user: { account: never; slug: string }) => Promise<unknown>][]) {
    test(`that was ${how} with its records left in DNS is reserved for a week`, async () => {
      await fixture.removeRecords('www.dangling.test')
      const [owner, other] = [await fixture.createUser(), await fixture.createUser()]
      await fixture.activate(owner, 'www.dangling.test')
      await end(fixture, owner as never)
      const until = fixture.clock.now + 7 * DAY_MS
      const added = await fixture.add(other, 'www.dangling.test')
      await fixture.runTwoChecks()
      const words = `www.dangling.test was recently removed from another account and is reserved for it until ${formatUtc(until)}`
      const waiting = await fixture.record(other, 'www.dangling.test')
      assert.match(
        waiting.reason!,
        /has the TXT value "slipway-[0-9a-f]{32}" \(expected "slipway-/,
        'another account needs its own proof',
      )
      assert.ok(waiting.reason!.includes(words), waiting.reason!)
      await fixture.addRecords(added)
      for (let checks = 0; checks < 4; checks++) {
        await fixture.sweepAfter(10 * SECOND_MS)
      }
      const held = await fixture.record(other, 'www.dangling.test')
      assert.equal(held.status, 'pending')
      assert.ok(held.reason!.startsWith(`Both records are correct, but ${words}`), held.reason!)
      for (const now of [until - DAY_MS / 2, until - SECOND_MS]) {
        fixture.clock.now = now
        const last = await fixture.domains.check(other.account, 'www.dangling.test')
        assert.deepEqual([last.status, last.nextCheckAt], ['pending', new Date(until).toISOString()])
      }
      fixture.clock.now = until
      await fixture.sweep()
      const { status } = await fixture.record(other, 'www.dangling.test')
      assert.equal(status, 'active', 'when the week has passed')
    })
  }

  test('that was deleted can be added again by the same account without a change in DNS', async () => {
    const owner = await fixture.createUser()
    const before = await fixture.activate(owner, 'www.regretted.test')
    await fixture.remove(owner, 'www.regretted.test')
    fixture.advanceClock(6 * DAY_MS)
    await fixture.sweep('held-domains')
    const again = await fixture.add(owner, 'www.regretted.test')
    assert.deepEqual([again.status, again.records[1]!.value], ['pending', before.records[1]!.value])
    await fixture.verifyToActive(owner, 'www.regretted.test')
    assert.equal(
      await fixture.store.read.domains.reservation('www.regretted.test', fixture.clock.now),
      undefined,
    )
    await fixture.remove(owner, 'www.regretted.test')
    fixture.advanceClock(7 * DAY_MS)
    assert.equal(await fixture.sweep('held-domains'), 1)
    assert.notEqual(
      (await fixture.add(owner, 'www.regretted.test')).records[1]!.value,
      before.records[1]!.value,
    )
  })

  test('that was deleted while pending is not reserved', async () => {
    const [one, other] = [await fixture.createUser(), await fixture.createUser()]
    const first = await fixture.add(one, 'www.pending.test')
    await fixture.remove(one, 'www.pending.test')
    assert.notEqual((await fixture.add(one, 'www.pending.test')).records[1]!.value, first.records[1]!.value)
    await fixture.remove(one, 'www.pending.test')
    await fixture.activate(other, 'www.pending.test')
  })
})

describe('a root domain and its www', needsDns, () => {
  const fixture = startForAllTests(() => DomainFixture.build(testDns))

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

  test('invalidate both names and the site when one stops being active, and the other one shows the site', async () => {
    const user = await fixture.createUser()
    await fixture.activate(user, 'twins.test')
    await fixture.activate(user, 'www.twins.test')
    assert.equal((await fixture.store.read.domains.active('www.twins.test'))?.primaryDomain, 'twins.test')
    assert.equal((await readPair(user, 'www.twins.test')).redirectsTo, 'twins.test')
    await fixture.removeRecords('twins.test')
    await fixture.sweepAfter(13.5 * HOUR_MS)
    fixture.invalidated.length = 0
    await fixture.sweepAfter(DAY_MS)
    assert.equal(await fixture.store.read.domains.active('twins.test'), undefined)
    assert.ok(['twins.test', 'www.twins.test', user.slug].every((name) => fixture.invalidated.includes(name)))
    assert.equal((await readPair(user, 'www.twins.test')).redirectsTo, null, 'it shows the site')
  })
})

async function expire(fixture: DomainFixture, slug: string): Promise<void> {
  await fixture.store.write('durable', {}, (tx) => tx.sites.update(slug, { expiresAt: fixture.clock.now }))
  assert.equal(await fixture.sweep('expired-sites'), 1)
}
