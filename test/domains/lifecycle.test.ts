import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { DAY_MS, formatUtc, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../server/lib/time.ts'
import { pluck } from '../support/pluck.ts'
import { startForEachTest } from '../support/started-fixture.ts'
import { addProxyRecords, DomainFixture, needsDns, PROXY, sharedTestDns } from './domain-fixture.ts'

const testDns = sharedTestDns()

describe('a domain', needsDns, () => {
  const fixture = startForEachTest(() => DomainFixture.build(testDns))

  test('is checked often at first, becomes active without a request, and stays active for a day after its removal from DNS', async () => {
    const user = await fixture.createUser()
    const added = await fixture.add(user, 'www.story.test')
    assert.deepEqual(
      added.records.map(({ type, name, found }) => [type, name, found]),
      [
        ['CNAME', 'www', null],
        ['TXT', '_slipway.www', null],
      ],
    )
    assert.equal(await fixture.sweep(), 0)
    const waiting = await fixture.record(user, 'www.story.test')
    assert.deepEqual([waiting.status, waiting.records.map(({ found }) => found)], ['pending', [[], []]])
    assert.match(
      waiting.reason!,
      /^No CNAME or address record found for www\.story\.test \(expected edge\.slipway\.test\)\. /,
    )
    assert.match(
      waiting.reason!,
      /No TXT record found for _slipway\.www\.story\.test \(expected "slipway-[0-9a-f]{32}"\)\.$/,
    )

    await fixture.addRecords(added)
    assert.equal(await fixture.sweep(), 0, 'the check is not due yet')
    await fixture.sweepAfter(10 * SECOND_MS)
    const once = await fixture.record(user, 'www.story.test')
    assert.equal(once.status, 'pending', 'one check is not enough')
    assert.match(once.reason!, /^Both records are correct\. The domain becomes active after one more check/)
    assert.deepEqual(pluck(once.records, 'found'), [[PROXY], [added.records[1]!.value]])
    assert.equal(await fixture.sweepAfter(4 * SECOND_MS), 1)
    const active = await fixture.record(user, 'www.story.test')
    assert.deepEqual([active.status, active.reason], ['active', null])
    assert.equal(active.verifiedAt, new Date(fixture.clock.now).toISOString())

    await fixture.removeRecords('www.story.test')
    fixture.clock.now = Date.parse(active.nextCheckAt!)
    await fixture.sweep()
    const failing = await fixture.record(user, 'www.story.test')
    const end = formatUtc(fixture.clock.now + DAY_MS)
    assert.equal(failing.status, 'active')
    assert.match(
      failing.reason!,
      /^No CNAME or address record found for www\.story\.test \(expected edge\.slipway\.test\)\. Unless this is corrected by /,
    )
    assert.ok(failing.reason!.includes(end))
    for (let checks = 0; checks < 23; checks++) {
      await fixture.sweepAfter(HOUR_MS)
      assert.equal((await fixture.record(user, 'www.story.test')).status, 'active')
    }
    assert.equal(await fixture.sweepAfter(HOUR_MS), 1)
    const ended = await fixture.record(user, 'www.story.test')
    assert.deepEqual([ended.status, ended.verifiedAt], ['pending', null])
    assert.match(ended.reason!, /^No CNAME or address record found for www\.story\.test/)
    assert.equal(
      ended.nextCheckAt,
      new Date(fixture.clock.now + 10 * SECOND_MS).toISOString(),
      'the frequent schedule again',
    )
    await fixture.addRecords(added)
    await fixture.verifyToActive(user, 'www.story.test')
  })

  test('stays active through a failure of less than a day', async () => {
    const user = await fixture.createUser()
    const added = await fixture.activate(user, 'www.passing.test')
    for (let times = 0; times < 3; times++) {
      await testDns.zone.remove('www.passing.test')
      await fixture.sweepAfter(14 * HOUR_MS)
      assert.match(
        (await fixture.record(user, 'www.passing.test')).reason!,
        /^No CNAME or address record found/,
      )
      await fixture.pointToProxy(added.domain)
      await fixture.sweepAfter(HOUR_MS)
      assert.equal((await fixture.record(user, 'www.passing.test')).reason, null)
    }
    assert.equal((await fixture.record(user, 'www.passing.test')).status, 'active')
  })

  test('that loses only its TXT record stays active, and its reason names the record', async () => {
    const user = await fixture.createUser()
    await fixture.activate(user, 'www.untold.test')
    await testDns.zone.remove('_slipway.www.untold.test')
    for (let checks = 0; checks < 4; checks++) {
      await fixture.sweepAfter(14 * HOUR_MS)
    }
    const record = await fixture.record(user, 'www.untold.test')
    assert.equal(record.status, 'active')
    assert.match(
      record.reason!,
      /^No TXT record found for _slipway\.www\.untold\.test .*another account can take over the domain/,
    )
  })

  test('whose DNS cannot resolve its target loses its status after a day like any other', async () => {
    const user = await fixture.createUser()
    await fixture.activate(user, 'www.round.test')
    await testDns.zone.set('www.round.test', 'CNAME', 'round.test.')
    await testDns.zone.set('round.test', 'CNAME', 'www.round.test.')
    await fixture.sweepAfter(14 * HOUR_MS)
    const failing = await fixture.record(user, 'www.round.test')
    assert.equal(failing.status, 'active')
    assert.match(
      failing.reason!,
      /^www\.round\.test is an alias of .* could not be looked up: .* stops showing the site/,
    )
    assert.equal(await fixture.sweepAfter(DAY_MS), 1)
    assert.equal((await fixture.record(user, 'www.round.test')).status, 'pending')
  })

  test('stays active while the addresses of the proxy cannot be resolved', async () => {
    const user = await fixture.createUser()
    await fixture.activate(user, 'blameless.test')
    await fixture.activate(user, 'shop.blameless.test')
    await testDns.zone.set('shop.blameless.test', 'CNAME', 'hop.blameless.test.')
    await testDns.zone.set('hop.blameless.test', 'CNAME', `${PROXY}.`)
    await testDns.zone.remove(PROXY)
    try {
      for (let checks = 0; checks < 40; checks++) {
        await fixture.sweepAfter(HOUR_MS)
      }
      const { status, reason } = await fixture.record(user, 'blameless.test')
      assert.equal(status, 'active')
      const alias = await fixture.record(user, 'shop.blameless.test')
      assert.equal(alias.status, 'active')
      const { records } = await fixture.add(user, 'new.blameless.test')
      await testDns.zone.set('new.blameless.test', 'CNAME', `${PROXY}.`)
      await testDns.zone.set('_slipway.new.blameless.test', 'TXT', records[1]!.value)
      fixture.advanceClock(MINUTE_MS)
      const pending = await fixture.domains.check(user.account, 'new.blameless.test')
      assert.equal(pending.status, 'pending', 'no visitor could reach it')
      const failure = fixture.domains.lookupFailure()
      for (const why of [reason, alias.reason, pending.reason, failure?.problem])
        assert.match(why!, /domain target, edge\.slipway\.test, has no addresses: contact the administrator/)
    } finally {
      await addProxyRecords(testDns.zone)
    }
  })

  test('that points elsewhere loses its status after a day, but not while the addresses of the proxy cannot be resolved', async () => {
    const user = await fixture.createUser()
    await fixture.activate(user, 'moved.test')
    await testDns.zone.set('moved.test', 'A', '192.0.2.99')
    await fixture.sweepAfter(14 * HOUR_MS)
    const { reason } = await fixture.record(user, 'moved.test')
    await testDns.zone.remove(PROXY)
    try {
      await fixture.sweepAfter(12 * HOUR_MS)
      assert.notEqual((await fixture.record(user, 'moved.test')).reason, reason)
      await fixture.sweepAfter(13 * HOUR_MS)
      assert.equal((await fixture.record(user, 'moved.test')).status, 'active')
    } finally {
      await addProxyRecords(testDns.zone)
    }
    await fixture.sweepAfter(HOUR_MS)
    assert.equal((await fixture.record(user, 'moved.test')).status, 'pending')
  })

  test('that is never verified is no longer checked after nine days, with that reason, and is checked again on request', async () => {
    const user = await fixture.createUser()
    const added = await fixture.add(user, 'www.patient.test')
    let checks = 0
    for (
      let at = added.nextCheckAt;
      at !== null;
      at = (await fixture.record(user, 'www.patient.test')).nextCheckAt
    ) {
      fixture.clock.now = Math.max(fixture.clock.now, Date.parse(at)) + 5 * HOUR_MS
      await fixture.sweep()
      checks++
    }
    assert.ok(checks > 7)
    const expired = await fixture.record(user, 'www.patient.test')
    assert.equal(expired.status, 'pending')
    assert.match(expired.reason!, /Automatic checks have stopped: check again/)
    await fixture.sweepAfter(30 * DAY_MS)
    assert.equal((await fixture.record(user, 'www.patient.test')).checkedAt, expired.checkedAt)

    const rechecked = await fixture.domains.check(user.account, 'www.patient.test')
    assert.equal(rechecked.nextCheckAt, new Date(fixture.clock.now + DAY_MS).toISOString())
    await fixture.addRecords(added)
    await fixture.sweepAfter(DAY_MS)
    await fixture.sweepAfter(4 * SECOND_MS)
    assert.equal((await fixture.record(user, 'www.patient.test')).status, 'active')
  })

  test('is checked on request, at most every three seconds, and those checks can verify it', async () => {
    const user = await fixture.createUser()
    const check = () => fixture.domains.check(user.account, 'www.asked.test')
    const added = await fixture.add(user, 'www.asked.test')
    const first = await check()
    await fixture.addRecords(added)
    fixture.advanceClock(2 * SECOND_MS)
    assert.deepEqual(await check(), first, 'the result of the last check')
    fixture.advanceClock(SECOND_MS)
    assert.match((await check()).reason!, /^Both records are correct/)
    fixture.advanceClock(2 * SECOND_MS)
    assert.equal((await check()).status, 'pending')
    fixture.advanceClock(SECOND_MS)
    assert.equal((await check()).status, 'active')
    await testDns.zone.remove('www.asked.test')
    fixture.advanceClock(MINUTE_MS)
    assert.match((await check()).reason!, /No CNAME or address record found.*stops showing the site/)
  })

  test('does not become active by two successful checks with a failed one between them', async () => {
    const user = await fixture.createUser()
    const added = await fixture.add(user, 'www.flicker.test')
    for (let times = 0; times < 3; times++) {
      await fixture.addRecords(added)
      await fixture.sweepAfter(10 * SECOND_MS)
      await fixture.removeRecords('www.flicker.test')
      await fixture.sweepAfter(10 * SECOND_MS)
    }
    assert.equal((await fixture.record(user, 'www.flicker.test')).status, 'pending')
  })

  test('invalidates every cache by name and by site when its status changes', async () => {
    const user = await fixture.createUser()
    await fixture.addRecords(await fixture.add(user, 'changed.test'))
    await fixture.addRecords(await fixture.add(user, 'www.changed.test'))
    fixture.invalidated.length = 0
    await fixture.runTwoChecks()
    assert.deepEqual(new Set(fixture.invalidated), new Set([user.slug, 'changed.test', 'www.changed.test']))
    fixture.invalidated.length = 0
    await fixture.remove(user, 'changed.test')
    assert.deepEqual(new Set(fixture.invalidated), new Set([user.slug, 'changed.test', 'www.changed.test']))
  })
})
