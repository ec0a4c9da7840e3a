import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { after, before, describe, test } from 'node:test'
import type { DomainRecord } from '../../protocol/api/domains.ts'
import type { Dns } from '../../server/domains/dns/dns.ts'
import { resolverDns } from '../../server/domains/dns/resolver.ts'
import { DomainService } from '../../server/domains/domain.ts'
import type { WatchListener } from '../../server/domains/watch.ts'
import { makeLog } from '../../server/lib/log.ts'
import { requires } from '../tools/part.ts'
import {
  DomainFixture,
  expectFailure,
  HOUR_MS,
  MINUTE_MS,
  PROXY,
  SECOND_MS,
  startTestDns,
  type TestDns,
  type TestUser,
} from './town.ts'

/** Somebody who follows a domain, and what they have heard. */
class Ear extends EventEmitter implements WatchListener {
  readonly heard: (DomainRecord | 'quiet' | 'gone' | 'end')[] = []

  record(record: DomainRecord): void {
    this.#hear(record)
  }
  heartbeat(): void {
    this.#hear('quiet')
  }
  removed(): void {
    this.#hear('gone')
  }
  end(): void {
    this.#hear('end')
  }

  #hear(what: DomainRecord | 'quiet' | 'gone' | 'end'): void {
    this.heard.push(what)
    this.emit('heard')
  }

  /** The next thing that was not taken yet. */
  async next(): Promise<DomainRecord | 'quiet' | 'gone' | 'end'> {
    while (this.heard.length === 0) await once(this, 'heard')
    return this.heard.shift()!
  }

  /** The first record from here on that is as wanted. */
  async until(wanted: (record: DomainRecord) => boolean): Promise<DomainRecord> {
    for (;;) {
      const what = await this.next()
      if (typeof what === 'object' && wanted(what)) return what
      assert.notEqual(what, 'end')
    }
  }
}

/** DNS in which nothing is, and which counts the names that are looked up. */
class EmptyDns implements Dns {
  looks = 0
  async cname() {
    return { values: [] }
  }
  async addresses(name: string) {
    return { values: name === PROXY ? ['192.0.2.1'] : [] }
  }
  async txt() {
    this.looks++
    return { values: [] }
  }
}

describe('a domain that somebody follows', requires('knot', 'unbound'), () => {
  let internet: TestDns
  before(async () => {
    internet = await startTestDns()
  })
  after(() => internet[Symbol.asyncDispose]())

  /** Domains of a town in which whoever follows one hears at once what changed. */
  const attentive = (town: DomainFixture, dns: Dns = resolverDns({ servers: [internet.servers] })) => {
    const log = makeLog({ level: 'info', text: false, write: (line) => void town.log.push(JSON.parse(line)) })
    return new DomainService({
      store: town.store,
      dns,
      clock: () => town.clock.now,
      log,
      proxyHost: PROXY,
      siteDomain: 'pages.slipway.test',
      baseUrl: 'http://localhost',
      pollIntervalMs: 1,
    })
  }

  const follow = async (domains: DomainService, { account }: TestUser, domain: string) => {
    const ear = new Ear()
    // Each account is a network of its own.
    const by = { account, sessionToken: undefined, address: account.id }
    const leave = await domains.watch(by, domain, ear)
    return { ear, leave }
  }

  const looked = (now: number) => (record: DomainRecord) => record.checkedAt === new Date(now).toISOString()

  const rights = ({ status, records }: DomainRecord) =>
    [status, ...records.map(({ right }) => right)].join(' ')

  test('is told of as DNS and its status change, with nobody asking', async () => {
    await using town = await DomainFixture.build(internet)
    const [domains, person] = [attentive(town), await town.person()]
    const { records } = await town.add(person, 'www.followed.test')
    const { ear } = await follow(domains, person, 'www.followed.test')
    assert.equal(rights(await ear.until(() => true)), 'pending  ', 'at once, as it is')
    await ear.until((record) => rights(record) === 'pending false false')
    await internet.zone.set('www.followed.test', 'CNAME', `${PROXY}.`)
    town.pass(10 * SECOND_MS)
    await ear.until((record) => rights(record) === 'pending true false')
    await internet.zone.set('_slipway.www.followed.test', 'TXT', records[1]!.value)
    town.pass(10 * SECOND_MS)
    await ear.until((record) => rights(record) === 'pending true true')
    town.pass(4 * SECOND_MS)
    const active = await ear.until((record) => rights(record) === 'active true true')
    assert.equal(active.verifiedAt, new Date(town.clock.now).toISOString())
    await domains.endWatching()
    assert.equal(await ear.next(), 'end')
  })

  test('is told of although another process changed it', async () => {
    await using town = await DomainFixture.build(internet)
    const [domains, person] = [attentive(town, new EmptyDns()), await town.person()]
    await town.add(person, 'www.elsewhere.test')
    const { ear } = await follow(domains, person, 'www.elsewhere.test')
    await ear.until(({ checkedAt }) => checkedAt !== null)
    await town.add(person, 'elsewhere.test')
    assert.equal((await ear.until(() => true)).alternate, null)
    await town.remove(person, 'www.elsewhere.test')
    assert.deepEqual([await ear.next(), await ear.next()], ['gone', 'end'])
    await domains.endWatching()
    assert.deepEqual(ear.heard, [])
  })

  test('is looked up every ten seconds however long it has waited, and once a minute when DNS is slow', async () => {
    await using town = await DomainFixture.build(internet)
    const dns = new EmptyDns()
    const [domains, person] = [attentive(town, dns), await town.person()]
    await town.add(person, 'www.late.test')
    town.pass(7 * HOUR_MS)
    const { ear } = await follow(domains, person, 'www.late.test')
    const first = await ear.until(looked(town.clock.now))
    assert.equal(Date.parse(first.nextCheckAt!), town.clock.now + 30 * MINUTE_MS, 'the plan stays')
    for (let looks = 2; looks < 5; looks++) {
      town.pass(10 * SECOND_MS)
      await ear.until(looked(town.clock.now))
      assert.equal(dns.looks, looks)
    }
    const row = { accountId: person.account.id, domain: 'www.late.test' }
    await town.store.write('relaxed', (tx) => tx.domains.update(row, { isSlow: true }))
    town.pass(50 * SECOND_MS)
    assert.equal(await ear.next(), 'quiet')
    assert.equal(dns.looks, 4)
    town.pass(10 * SECOND_MS)
    await ear.until(looked(town.clock.now))
    await domains.endWatching()
  })

  test('is looked up so often for half an hour of each hour at most', async () => {
    await using town = await DomainFixture.build(internet)
    const dns = new EmptyDns()
    const [domains, person] = [attentive(town, dns), await town.person()]
    await town.add(person, 'www.endless.test')
    town.clock.now = Date.UTC(2026, 5, 1, 9)
    for (const looks of [60, 120, 180]) {
      const { ear, leave } = await follow(domains, person, 'www.endless.test')
      for (
        await ear.until(looked(town.clock.now));
        dns.looks < looks;
        await ear.until(looked(town.clock.now))
      )
        town.pass(10 * SECOND_MS)
      leave()
      town.pass(10 * SECOND_MS)
    }
    const { ear } = await follow(domains, person, 'www.endless.test')
    await ear.until(() => true)
    town.pass(20 * SECOND_MS)
    assert.equal(await ear.next(), 'quiet')
    assert.equal(dns.looks, 180)
    town.clock.now = Date.UTC(2026, 5, 1, 10)
    const { ear: next } = await follow(domains, person, 'www.endless.test')
    await next.until(looked(town.clock.now))
    await domains.endWatching()
    assert.equal(dns.looks, 181, 'and again in the next hour')
  })

  test('is not looked up sooner once it is active', async () => {
    await using town = await DomainFixture.build(internet)
    const person = await town.person()
    await town.activate(person, 'www.done.test')
    const dns = new EmptyDns()
    const domains = attentive(town, dns)
    const { ear } = await follow(domains, person, 'www.done.test')
    await ear.until(({ status }) => status === 'active')
    town.pass(MINUTE_MS)
    assert.equal(await ear.next(), 'quiet')
    await domains.endWatching()
    assert.equal(dns.looks, 0)
  })

  test('is told of for a quarter of an hour, with a sign of life every twenty seconds', async () => {
    await using town = await DomainFixture.build(internet)
    const person = await town.person()
    await town.activate(person, 'www.long.test')
    const domains = attentive(town)
    const { ear } = await follow(domains, person, 'www.long.test')
    await ear.until(() => true)
    for (let passed = 20 * SECOND_MS; passed < 15 * MINUTE_MS; passed += 20 * SECOND_MS) {
      town.pass(20 * SECOND_MS)
      assert.equal(await ear.next(), 'quiet')
    }
    town.pass(20 * SECOND_MS)
    assert.deepEqual([await ear.next(), await ear.next()], ['quiet', 'end'])
    await domains.endWatching()
  })

  test('has room for two hundred followers in a process, and for five of an account', async () => {
    await using town = await DomainFixture.build(internet)
    const domains = attentive(town, new EmptyDns())
    const everybody: (() => void)[] = []
    for (let people = 0; people < 40; people++) {
      const person = await town.person()
      await town.add(person, 'www.many.test')
      for (let times = 0; times < 5; times++) {
        const { leave } = await follow(domains, person, 'www.many.test')
        everybody.push(leave)
      }
      if (people === 0) {
        const { message, retryAfterSeconds } = await expectFailure(
          follow(domains, person, 'www.many.test'),
          'RATE_LIMITED',
        )
        assert.match(message, /5 domains at a time/)
        assert.equal(retryAfterSeconds, 60)
      }
    }
    const late = await town.person()
    await town.add(late, 'www.many.test')
    await expectFailure(follow(domains, late, 'www.many.test'), 'UNAVAILABLE')
    everybody[0]!()
    await follow(domains, late, 'www.many.test')
    await domains.endWatching()
    await expectFailure(follow(domains, late, 'www.many.test'), 'UNAVAILABLE')
  })

  test('goes on being told of when the store fails for a moment', async () => {
    await using town = await DomainFixture.build(internet)
    const [domains, person] = [attentive(town, new EmptyDns()), await town.person()]
    await town.add(person, 'www.failing.test')
    const { ear } = await follow(domains, person, 'www.failing.test')
    await ear.until(({ checkedAt }) => checkedAt !== null)
    const { accounts } = town.store.read
    const { byIds } = accounts
    const failed = Promise.withResolvers<void>()
    accounts.byIds = async () => {
      failed.resolve()
      accounts.byIds = byIds
      throw new Error('away')
    }
    await failed.promise
    town.pass(20 * SECOND_MS)
    assert.ok(await ear.next())
    assert.ok(town.log.some(({ message }) => /reading watched domains failed/.test(`${message}`)))
    await domains.endWatching()
  })
})
