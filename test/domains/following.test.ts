import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { describe, test } from 'node:test'
import type { DomainRecord } from '../../protocol/api/domains.schema.ts'
import type { Dns } from '../../server/domains/dns/dns.ts'
import type { DomainService } from '../../server/domains/domain.ts'
import { DomainWatchers, type WatchListener } from '../../server/domains/watch.ts'
import { makeLog } from '../../server/lib/log.ts'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../server/lib/time.ts'
import type { Store } from '../../server/store/store.ts'
import type { Account } from '../../server/store/tables/accounts.ts'
import type { Domain } from '../../server/store/tables/domains.ts'
import { startForEachTest } from '../support/started-fixture.ts'
import {
  DomainFixture,
  expectFailure,
  needsDns,
  PROXY,
  sharedTestDns,
  type TestUser,
} from './domain-fixture.ts'

/** Records the events of a watched domain. */
class RecordingListener extends EventEmitter implements WatchListener {
  readonly events: (DomainRecord | 'heartbeat' | 'removed' | 'end')[] = []

  record(record: DomainRecord): void {
    this.#add(record)
  }
  heartbeat(): void {
    this.#add('heartbeat')
  }
  removed(): void {
    this.#add('removed')
  }
  end(): void {
    this.#add('end')
  }

  #add(what: DomainRecord | 'heartbeat' | 'removed' | 'end'): void {
    this.events.push(what)
    this.emit('events')
  }

  /** The next event. */
  async next(): Promise<DomainRecord | 'heartbeat' | 'removed' | 'end'> {
    while (this.events.length === 0) await once(this, 'events')
    return this.events.shift()!
  }

  /** The next record that matches. */
  async waitFor(wanted: (record: DomainRecord) => boolean): Promise<DomainRecord> {
    for (;;) {
      const what = await this.next()
      if (typeof what === 'object' && wanted(what)) return what
      assert.notEqual(what, 'end')
    }
  }
}

/** DNS without records that counts lookups. */
class EmptyDns implements Dns {
  lookups = 0
  async cname() {
    return { values: [] }
  }
  async addresses(name: string) {
    if (name !== PROXY) this.lookups++
    return { values: name === PROXY ? ['192.0.2.1'] : [] }
  }
  async caa() {
    return { records: [] }
  }

  async txt() {
    return { values: [] }
  }
}

/** Watchers without a database, at the time 0. */
function createWatchers(read: object, records: () => Promise<object[]>, pollIntervalMs: number) {
  return new DomainWatchers({
    store: { read } as unknown as Store,
    clock: () => 0,
    log: makeLog({ level: 'silent', text: false, write: () => undefined }),
    records: records as () => Promise<DomainRecord[]>,
    verify: async () => undefined,
    pollIntervalMs,
  })
}

test('a watcher whose credential has ended gets no further record', async () => {
  const account = { id: 'account' } as Account
  const row = { accountId: account.id, domain: 'www.a.test', status: 'active', checkedAt: 0 } as Domain
  const read = {
    domains: { byAccount: async () => [row] },
    accounts: { byIds: async () => [{ ...account, deletionStartedAt: null }] },
    keys: { valid: async () => [] },
  }
  let reads = 0
  const following = createWatchers(read, async () => [{ checkedAt: `${reads++}` }], 1)
  const listener = new RecordingListener()
  await following.watch({ account, credentialHash: 'ended', address: '' }, row, listener)
  assert.deepEqual([await listener.next(), await listener.next()], [{ checkedAt: '0' }, 'end'])
  await following.end()
})

test('one network with many accounts cannot exhaust the limit of domain watchers', async () => {
  const read = { domains: { byAccount: async () => [] } }
  const following = createWatchers(read, async () => [{}], HOUR_MS)
  const row = { status: 'active', checkedAt: 0, nextCheckAt: 0, createdAt: 0 } as unknown as Domain
  let accounts = 0
  const watch = (address: string) => {
    const account = { id: `account${accounts++}` } as Account
    const by = { account, credentialHash: account.id, address }
    return following.watch(by, row, new RecordingListener())
  }
  const stop = await watch('2001:db8::1')
  for (let n = 2; n <= 50; n++) await watch(`2001:db8::${n}`)
  const { retryAfterSeconds } = await expectFailure(watch('2001:db8::51'), 'UNAVAILABLE')
  assert.equal(retryAfterSeconds, 60)
  await watch('192.0.2.1')
  stop()
  await watch('2001:db8::51')
  await following.end()
})

const testDns = sharedTestDns()

describe('a watched domain', needsDns, () => {
  const fixture = startForEachTest(() => DomainFixture.build(testDns))

  /** Polls every millisecond, so that changes arrive without delay. */
  const createDomainService = (dns?: Dns) =>
    fixture.createDomainService({ ...(dns && { dns }), pollIntervalMs: 1 })

  const watch = async (domains: DomainService, { account }: TestUser, domain: string) => {
    const listener = new RecordingListener()
    // Each account has its own network.
    const by = { account, credentialHash: account.keyHash!, address: account.id }
    const stop = await domains.watch(by, domain, listener)
    return { listener, stop }
  }

  const checkedAtTime = (now: number) => (record: DomainRecord) =>
    record.checkedAt === new Date(now).toISOString()

  const describeRecords = ({ status, records }: DomainRecord) =>
    [status, ...records.map(({ right }) => right)].join(' ')

  test('sends an event for each change of its DNS records and status, without requests', async () => {
    const [domains, user] = [createDomainService(), await fixture.createUser()]
    const { records } = await fixture.add(user, 'www.followed.test')
    const { listener } = await watch(domains, user, 'www.followed.test')
    assert.equal(describeRecords(await listener.waitFor(() => true)), 'pending  ', 'the current record first')
    await listener.waitFor((record) => describeRecords(record) === 'pending false false')
    await testDns.zone.set('www.followed.test', 'CNAME', `${PROXY}.`)
    fixture.advanceClock(10 * SECOND_MS)
    await listener.waitFor((record) => describeRecords(record) === 'pending true false')
    await testDns.zone.set('_slipway.www.followed.test', 'TXT', records[1]!.value)
    fixture.advanceClock(10 * SECOND_MS)
    await listener.waitFor((record) => describeRecords(record) === 'pending true true')
    fixture.advanceClock(4 * SECOND_MS)
    const active = await listener.waitFor((record) => describeRecords(record) === 'active true true')
    assert.equal(active.verifiedAt, new Date(fixture.clock.now).toISOString())
    await domains.endWatching()
    assert.equal(await listener.next(), 'end')
  })

  test('sends events for changes by another process', async () => {
    const [domains, user] = [createDomainService(new EmptyDns()), await fixture.createUser()]
    await fixture.add(user, 'www.elsewhere.test')
    const { listener } = await watch(domains, user, 'www.elsewhere.test')
    await listener.waitFor(({ checkedAt }) => checkedAt !== null)
    await fixture.add(user, 'elsewhere.test')
    assert.equal((await listener.waitFor(() => true)).alternate, null)
    await fixture.remove(user, 'www.elsewhere.test')
    assert.deepEqual([await listener.next(), await listener.next()], ['removed', 'end'])
    await domains.endWatching()
    assert.deepEqual(listener.events, [])
  })

  test('is checked every ten seconds whatever its age, and once a minute when DNS is slow', async () => {
    const dns = new EmptyDns()
    const [domains, user] = [createDomainService(dns), await fixture.createUser()]
    await fixture.add(user, 'www.late.test')
    fixture.advanceClock(7 * HOUR_MS)
    const { listener } = await watch(domains, user, 'www.late.test')
    const first = await listener.waitFor(checkedAtTime(fixture.clock.now))
    assert.equal(
      Date.parse(first.nextCheckAt!),
      fixture.clock.now + 30 * MINUTE_MS,
      'the schedule is unchanged',
    )
    for (let lookups = 2; lookups < 5; lookups++) {
      fixture.advanceClock(10 * SECOND_MS)
      await listener.waitFor(checkedAtTime(fixture.clock.now))
      assert.equal(dns.lookups, lookups)
    }
    const row = { accountId: user.account.id, domain: 'www.late.test' }
    await fixture.store.write('relaxed', {}, (tx) => tx.domains.update(row, { isSlow: true }))
    fixture.advanceClock(50 * SECOND_MS)
    assert.equal(await listener.next(), 'heartbeat')
    assert.equal(dns.lookups, 4)
    fixture.advanceClock(10 * SECOND_MS)
    await listener.waitFor(checkedAtTime(fixture.clock.now))
    await domains.endWatching()
  })

  test('is checked that often for at most half an hour of each hour', async () => {
    const dns = new EmptyDns()
    const [domains, user] = [createDomainService(dns), await fixture.createUser()]
    await fixture.add(user, 'www.endless.test')
    fixture.clock.now = Date.UTC(2026, 5, 1, 9)
    for (const lookups of [60, 120, 180]) {
      const { listener, stop } = await watch(domains, user, 'www.endless.test')
      for (
        await listener.waitFor(checkedAtTime(fixture.clock.now));
        dns.lookups < lookups;
        await listener.waitFor(checkedAtTime(fixture.clock.now))
      )
        fixture.advanceClock(10 * SECOND_MS)
      stop()
      fixture.advanceClock(10 * SECOND_MS)
    }
    const { listener } = await watch(domains, user, 'www.endless.test')
    await listener.waitFor(() => true)
    fixture.advanceClock(20 * SECOND_MS)
    assert.equal(await listener.next(), 'heartbeat')
    assert.equal(dns.lookups, 180)
    fixture.clock.now = Date.UTC(2026, 5, 1, 10)
    const { listener: next } = await watch(domains, user, 'www.endless.test')
    await next.waitFor(checkedAtTime(fixture.clock.now))
    await domains.endWatching()
    assert.equal(dns.lookups, 181, 'checked again in the next hour')
  })

  test('is not checked more often once it is active', async () => {
    const user = await fixture.createUser()
    await fixture.activate(user, 'www.done.test')
    const dns = new EmptyDns()
    const domains = createDomainService(dns)
    const { listener } = await watch(domains, user, 'www.done.test')
    await listener.waitFor(({ status }) => status === 'active')
    fixture.advanceClock(MINUTE_MS)
    assert.equal(await listener.next(), 'heartbeat')
    await domains.endWatching()
    assert.equal(dns.lookups, 0)
  })

  test('is watched for a quarter of an hour, with a heartbeat every twenty seconds', async () => {
    const user = await fixture.createUser()
    await fixture.activate(user, 'www.long.test')
    const domains = createDomainService()
    const { listener } = await watch(domains, user, 'www.long.test')
    await listener.waitFor(() => true)
    for (let passed = 20 * SECOND_MS; passed < 15 * MINUTE_MS; passed += 20 * SECOND_MS) {
      fixture.advanceClock(20 * SECOND_MS)
      assert.equal(await listener.next(), 'heartbeat')
    }
    fixture.advanceClock(20 * SECOND_MS)
    assert.deepEqual([await listener.next(), await listener.next()], ['heartbeat', 'end'])
    await domains.endWatching()
  })

  test('has at most two hundred watchers per process', async () => {
    const domains = createDomainService(new EmptyDns())
    const stops: (() => void)[] = []
    for (let users = 0; users < 40; users++) {
      const user = await fixture.createUser()
      await fixture.add(user, 'www.many.test')
      for (let times = 0; times < 5; times++) {
        const { stop } = await watch(domains, user, 'www.many.test')
        stops.push(stop)
      }
    }
    const late = await fixture.createUser()
    await fixture.add(late, 'www.many.test')
    await expectFailure(watch(domains, late, 'www.many.test'), 'UNAVAILABLE')
    stops[0]!()
    await watch(domains, late, 'www.many.test')
    await domains.endWatching()
    await expectFailure(watch(domains, late, 'www.many.test'), 'UNAVAILABLE')
  })

  test('continues to send events after a temporary error of the store', async () => {
    const [domains, user] = [createDomainService(new EmptyDns()), await fixture.createUser()]
    await fixture.add(user, 'www.failing.test')
    const { listener } = await watch(domains, user, 'www.failing.test')
    await listener.waitFor(({ checkedAt }) => checkedAt !== null)
    const { accounts } = fixture.store.read
    const { byIds } = accounts
    const failed = Promise.withResolvers<void>()
    accounts.byIds = async () => {
      failed.resolve()
      accounts.byIds = byIds
      throw new Error('away')
    }
    await failed.promise
    fixture.advanceClock(20 * SECOND_MS)
    assert.ok(await listener.next())
    assert.ok(fixture.log.some(({ message }) => /reading watched domains failed/.test(`${message}`)))
    await domains.endWatching()
  })
})
