import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { formatUtc } from '../../server/lib/time.ts'
import { requires } from '../tools/part.ts'
import {
  DAY_MS,
  DomainFixture,
  HOUR_MS,
  MINUTE_MS,
  PROXY,
  SECOND_MS,
  showProxy,
  startTestDns,
  type TestDns,
} from './town.ts'

describe('a domain', requires('knot', 'unbound'), () => {
  let internet: TestDns
  before(async () => {
    internet = await startTestDns()
  })
  after(() => internet[Symbol.asyncDispose]())

  test('is checked often at first, becomes active by itself, and outlives its removal from DNS by a day', async () => {
    await using town = await DomainFixture.build(internet)
    const person = await town.person()
    const added = await town.add(person, 'www.story.test')
    assert.deepEqual(
      added.records.map(({ type, name, found }) => [type, name, found]),
      [
        ['CNAME', 'www', null],
        ['TXT', '_slipway.www', null],
      ],
    )
    assert.equal(await town.sweep(), 0)
    const waiting = await town.record(person, 'www.story.test')
    assert.deepEqual([waiting.status, waiting.records.map(({ found }) => found)], ['pending', [[], []]])
    assert.match(
      waiting.reason!,
      /^www\.story\.test has no record that leads here, expected edge\.slipway\.test; /,
    )
    assert.match(
      waiting.reason!,
      /_slipway\.www\.story\.test has no TXT record, expected "slipway-[0-9a-f]{32}"\. It is looked up again at 2026-06-01 00:00:10 UTC/,
    )

    await town.enter(added)
    assert.equal(await town.sweep(), 0, 'it is not due yet')
    town.pass(10 * SECOND_MS)
    await town.sweep()
    const once = await town.record(person, 'www.story.test')
    assert.equal(once.status, 'pending', 'one look is not enough')
    assert.match(once.reason!, /^Both records are there; it becomes active when they are seen once more/)
    assert.deepEqual(
      once.records.map(({ found }) => found),
      [[PROXY], [added.records[1]!.value]],
    )
    town.pass(4 * SECOND_MS)
    assert.equal(await town.sweep(), 1)
    const active = await town.record(person, 'www.story.test')
    assert.deepEqual([active.status, active.reason], ['active', null])
    assert.equal(active.verifiedAt, new Date(town.clock.now).toISOString())

    await town.clear('www.story.test')
    town.clock.now = Date.parse(active.nextCheckAt!)
    await town.sweep()
    const failing = await town.record(person, 'www.story.test')
    const end = formatUtc(town.clock.now + DAY_MS)
    assert.equal(failing.status, 'active')
    assert.match(
      failing.reason!,
      /^www\.story\.test has no record that leads here, expected edge\.slipway\.test; if that is still so at /,
    )
    assert.ok(failing.reason!.includes(end))
    for (let checks = 0; checks < 23; checks++) {
      town.pass(HOUR_MS)
      await town.sweep()
      assert.equal((await town.record(person, 'www.story.test')).status, 'active')
    }
    town.pass(HOUR_MS)
    assert.equal(await town.sweep(), 1)
    const ended = await town.record(person, 'www.story.test')
    assert.deepEqual([ended.status, ended.verifiedAt], ['pending', null])
    assert.match(ended.reason!, /^www\.story\.test has no record that leads here/)
    assert.equal(ended.nextCheckAt, new Date(town.clock.now + 10 * SECOND_MS).toISOString(), 'often again')
    await town.enter(added)
    await town.becomesActive(person, 'www.story.test')
  })

  test('is not ended by a failure that is over within the day', async () => {
    await using town = await DomainFixture.build(internet)
    const person = await town.person()
    const added = await town.activate(person, 'www.passing.test')
    for (let times = 0; times < 3; times++) {
      await internet.zone.remove('www.passing.test')
      town.pass(14 * HOUR_MS)
      await town.sweep()
      assert.match((await town.record(person, 'www.passing.test')).reason!, /no record that leads here/)
      await town.point(added.domain)
      town.pass(HOUR_MS)
      await town.sweep()
      assert.equal((await town.record(person, 'www.passing.test')).reason, null)
    }
    assert.equal((await town.record(person, 'www.passing.test')).status, 'active')
  })

  test('that loses only its TXT record stays active and says so', async () => {
    await using town = await DomainFixture.build(internet)
    const person = await town.person()
    await town.activate(person, 'www.untold.test')
    await internet.zone.remove('_slipway.www.untold.test')
    for (let checks = 0; checks < 4; checks++) {
      town.pass(14 * HOUR_MS)
      await town.sweep()
    }
    const record = await town.record(person, 'www.untold.test')
    assert.equal(record.status, 'active')
    assert.match(
      record.reason!,
      /^_slipway\.www\.untold\.test has no TXT record, .*another account can take the name over/,
    )
  })

  test('whose own DNS cannot say where it leads is ended after a day like any other', async () => {
    await using town = await DomainFixture.build(internet)
    const person = await town.person()
    await town.activate(person, 'www.round.test')
    await internet.zone.set('www.round.test', 'CNAME', 'round.test.')
    await internet.zone.set('round.test', 'CNAME', 'www.round.test.')
    town.pass(14 * HOUR_MS)
    await town.sweep()
    const failing = await town.record(person, 'www.round.test')
    assert.equal(failing.status, 'active')
    assert.match(
      failing.reason!,
      /^www\.round\.test is an alias of .* could not be looked up: .* no longer served/,
    )
    town.pass(DAY_MS)
    assert.equal(await town.sweep(), 1)
    assert.equal((await town.record(person, 'www.round.test')).status, 'pending')
  })

  test('is checked on request when the clock was set back, and active when the time has come round', async () => {
    await using town = await DomainFixture.build(internet)
    const person = await town.person()
    await town.enter(await town.add(person, 'www.clock.test'))
    await town.sweep()
    town.pass(-5 * MINUTE_MS)
    const checked = await town.domains.check(person.account, 'www.clock.test')
    assert.equal(checked.checkedAt, new Date(town.clock.now).toISOString())
    town.pass(5 * MINUTE_MS + 4 * SECOND_MS)
    await town.sweep()
    assert.equal((await town.record(person, 'www.clock.test')).status, 'active')
  })

  test('is not blamed when the addresses of the service are unknown', async () => {
    await using town = await DomainFixture.build(internet)
    const person = await town.person()
    await town.activate(person, 'blameless.test')
    await town.activate(person, 'shop.blameless.test')
    await internet.zone.set('shop.blameless.test', 'CNAME', 'hop.blameless.test.')
    await internet.zone.set('hop.blameless.test', 'CNAME', `${PROXY}.`)
    await internet.zone.remove(PROXY)
    try {
      for (let checks = 0; checks < 40; checks++) {
        town.pass(HOUR_MS)
        await town.sweep()
      }
      const { status, reason } = await town.record(person, 'blameless.test')
      assert.equal(status, 'active')
      const { reason: none } = await town.record(person, 'shop.blameless.test')
      assert.equal(none, null, 'an alias leads here whatever the addresses')
      const warnings = town.log.filter(({ level }) => level === 'warn')
      assert.ok(warnings.length >= 24 && warnings.length <= 41, 'and the log warns hourly')
      assert.match(
        reason!,
        /edge\.slipway\.test, where it has to lead, has no addresses, which whoever runs this service has to mend/,
      )
    } finally {
      await showProxy(internet.zone)
    }
  })

  test('that is never proven is given up after nine days, says so, and is checked again on request', async () => {
    await using town = await DomainFixture.build(internet)
    const person = await town.person()
    const added = await town.add(person, 'www.patient.test')
    let checks = 0
    for (
      let at = added.nextCheckAt;
      at !== null;
      at = (await town.record(person, 'www.patient.test')).nextCheckAt
    ) {
      town.clock.now = Math.max(town.clock.now, Date.parse(at)) + 5 * HOUR_MS
      await town.sweep()
      checks++
    }
    assert.ok(checks > 7)
    const given = await town.record(person, 'www.patient.test')
    assert.equal(given.status, 'pending')
    assert.match(given.reason!, /no longer looked up by itself: check it once more/)
    town.pass(30 * DAY_MS)
    await town.sweep()
    assert.equal((await town.record(person, 'www.patient.test')).checkedAt, given.checkedAt)

    const asked = await town.domains.check(person.account, 'www.patient.test')
    assert.equal(asked.nextCheckAt, new Date(town.clock.now + DAY_MS).toISOString())
    await town.enter(added)
    town.pass(DAY_MS)
    await town.sweep()
    town.pass(4 * SECOND_MS)
    await town.sweep()
    assert.equal((await town.record(person, 'www.patient.test')).status, 'active')
  })

  test('is checked on request, at most every three seconds, and proven by that too', async () => {
    await using town = await DomainFixture.build(internet)
    const person = await town.person()
    const check = () => town.domains.check(person.account, 'www.asked.test')
    const added = await town.add(person, 'www.asked.test')
    const first = await check()
    await town.enter(added)
    town.pass(2 * SECOND_MS)
    assert.deepEqual(await check(), first, 'the last findings')
    town.pass(SECOND_MS)
    assert.match((await check()).reason!, /^Both records are there/)
    town.pass(2 * SECOND_MS)
    assert.equal((await check()).status, 'pending')
    town.pass(SECOND_MS)
    assert.equal((await check()).status, 'active')
    await internet.zone.remove('www.asked.test')
    town.pass(MINUTE_MS)
    assert.match((await check()).reason!, /no record that leads here.*no longer served/)
  })

  test('is checked once for many requests at the same moment', async () => {
    await using town = await DomainFixture.build(internet)
    const person = await town.person()
    await town.add(person, 'www.crowd.test')
    const checks = await Promise.all(
      Array.from({ length: 200 }, () => town.domains.check(person.account, 'www.crowd.test')),
    )
    assert.equal(new Set(checks.map((check) => JSON.stringify(check))).size, 1)
  })

  test('does not become active by two checks with a failed one between them', async () => {
    await using town = await DomainFixture.build(internet)
    const person = await town.person()
    const added = await town.add(person, 'www.flicker.test')
    for (let times = 0; times < 3; times++) {
      await town.enter(added)
      town.pass(10 * SECOND_MS)
      await town.sweep()
      await town.clear('www.flicker.test')
      town.pass(10 * SECOND_MS)
      await town.sweep()
    }
    assert.equal((await town.record(person, 'www.flicker.test')).status, 'pending')
  })

  test('invalidates every cache by name and by site when its status changes', async () => {
    await using town = await DomainFixture.build(internet)
    const person = await town.person()
    await town.enter(await town.add(person, 'changed.test'))
    await town.enter(await town.add(person, 'www.changed.test'))
    town.forgotten.length = 0
    await town.twoChecks()
    assert.deepEqual(new Set(town.forgotten), new Set([person.slug, 'changed.test', 'www.changed.test']))
    town.forgotten.length = 0
    await town.remove(person, 'changed.test')
    assert.deepEqual(new Set(town.forgotten), new Set([person.slug, 'changed.test', 'www.changed.test']))
  })
})
