import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { CaaRecord, Dns, DnsRecords, LookupResult } from '../../server/domains/dns/dns.ts'
import { resolverDns } from '../../server/domains/dns/resolver.ts'
import { type SweepParts, sweeps } from '../../server/jobs/jobs.ts'
import { DAY_MS, SECOND_MS } from '../../server/lib/time.ts'
import type { WriteTransaction } from '../../server/store/store.ts'
import type { Account } from '../../server/store/tables/accounts.ts'
import { domainRow } from '../store/rows.ts'
import { PATIENT } from '../support/patient.ts'
import { startForEachTest } from '../support/started-fixture.ts'
import { waitFor } from '../support/wait-for.ts'
import { DomainFixture, expectFailure, needsDns, sharedTestDns } from './domain-fixture.ts'

const testDns = sharedTestDns()

describe('checking domains', needsDns, () => {
  const fixture = startForEachTest(() => DomainFixture.build(testDns))

  const addMany = async (count: number) => {
    const user = await fixture.createUser()
    const { id: accountId } = user.account
    const names = Array.from({ length: count }, (_, number) => `many${number}.test`)
    await fixture.store.write('relaxed', {}, async (tx) => {
      for (const domain of names)
        await tx.domains.insert(domainRow(domain, { accountId, nextCheckAt: fixture.clock.now }))
    })
    return { user, names }
  }

  /** Checks domains at the same time: no lookup ends before all checks have begun one or returned without one. */
  const checkTogether = async (slow: SlowDns, checks: { account: Account; name: string }[]) => {
    const { promise: held, resolve: resume } = Promise.withResolvers<void>()
    slow.held = held
    const domains = fixture.createDomainService({ dns: slow })
    let returned = 0
    const records = checks.map(({ account, name }) =>
      domains.check(account, name).finally(() => {
        returned++
      }),
    )
    await waitFor(() => slow.lookups.size + returned === checks.length)
    resume()
    return Promise.all(records)
  }

  test('checks a limited number of due domains per run, with limited concurrency', async () => {
    await addMany(450)
    const slow = new SlowDns()
    const domains = fixture.createDomainService({ dns: slow })
    for (const lookups of [200, 400, 450]) {
      await domains.verifyDue({ slow: false })
      assert.equal(slow.lookups.size, lookups)
    }
    assert.ok(slow.maxConcurrent <= 20, `${slow.maxConcurrent} at the same time`)
    assert.ok(slow.maxConcurrent > 1)
  })

  test('returns the last result when the concurrency limit is reached', async () => {
    const { user, names } = await addMany(100)
    const slow = new SlowDns()
    const records = await checkTogether(
      slow,
      names.map((name) => ({ account: user.account, name })),
    )
    assert.ok(slow.maxConcurrent <= 32, `${slow.maxConcurrent} at the same time`)
    assert.equal(slow.lookups.size, slow.maxConcurrent)
    assert.equal(records.filter(({ checkedAt }) => checkedAt !== null).length, slow.lookups.size)
  })

  test('leaves capacity for other accounts when one requests checks of many domains', async () => {
    const { user, names } = await addMany(40)
    const other = await fixture.createUser()
    const domain = 'www.other.test'
    await fixture.store.write('relaxed', {}, (tx) =>
      tx.domains.insert(domainRow(domain, { accountId: other.account.id, nextCheckAt: fixture.clock.now })),
    )
    const records = await checkTogether(new SlowDns(), [
      ...names.map((name) => ({ account: user.account, name })),
      { account: other.account, name: domain },
    ])
    assert.notEqual(records.pop()!.checkedAt, null)
    assert.equal(records.filter((record) => record.checkedAt !== null).length, 8)
  })

  test('stops early when the service stops', async () => {
    await addMany(100)
    const slow = new SlowDns()
    const domains = fixture.createDomainService({ dns: slow })
    slow.onFirst = () => domains[Symbol.dispose]()
    await domains.verifyDue({ slow: false })
    assert.ok(slow.lookups.size <= 20)
  })

  test('continues with other domains when a check fails with an internal error', async () => {
    const { user } = await addMany(60)
    const slow = new SlowDns()
    slow.brokenName = 'many7.test'
    const domains = fixture.createDomainService({ dns: slow })
    await domains.verifyDue({ slow: false })
    const rows = await fixture.store.read.domains.byAccount(user.account.id)
    assert.deepEqual(
      rows.filter((row) => row.checkedAt === null).map((row) => [row.domain, row.nextCheckAt]),
      [['many7.test', fixture.clock.now + 60 * SECOND_MS]],
    )
    const [line] = fixture.log.filter(({ level }) => level === 'error')
    assert.deepEqual([line?.domain, line?.account], ['many7.test', user.account.id])
    assert.match(String(line?.error), /^Error: broken/)
  })

  test('does not verify a domain that was added again during the check', async () => {
    const user = await fixture.createUser()
    const real = resolverDns({ servers: [testDns.servers], timeoutMs: PATIENT.dns })
    const [started, proceed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const txt = async (name: string) => {
      const answer = await real.txt(name)
      started.resolve()
      await proceed.promise
      return answer
    }
    // Reserved from then on, so that its record stays the same.
    await fixture.activate(user, 'www.anew.test')
    await fixture.remove(user, 'www.anew.test')
    await fixture.add(user, 'www.anew.test')
    await fixture.sweepAfter(10 * SECOND_MS)
    fixture.advanceClock(10 * SECOND_MS)
    const turn = fixture.createDomainService({ dns: { ...real, txt } }).verifyDue({ slow: false })
    await started.promise
    await fixture.remove(user, 'www.anew.test')
    fixture.advanceClock(1)
    await fixture.add(user, 'www.anew.test')
    proceed.resolve()
    assert.equal(await turn, 0)
    const { status, checkedAt } = await fixture.record(user, 'www.anew.test')
    assert.deepEqual([status, checkedAt], ['pending', null])
  })

  test('requests and releases the certificate of a domain in the transaction that changes its status', async () => {
    const [owner, other] = [await fixture.createUser(), await fixture.createUser()]
    const certificates = new RecordingCertificates()
    const domains = fixture.createDomainService({ certificates })
    const due = async (wait: number) => {
      fixture.advanceClock(wait)
      await domains.verifyDue({ slow: false })
    }
    const added = await domains.add(owner.account, 'www.wanted.test', owner.slug)
    await fixture.addRecords(added)
    await due(0)
    assert.deepEqual(certificates.calls, [])
    assert.equal((await domains.check(owner.account, 'www.wanted.test')).certificate.status, 'none')
    await due(4 * SECOND_MS)
    assert.deepEqual(certificates.takeCalls(), ['want www.wanted.test by one who is active'])
    const active = await domains.check(owner.account, 'www.wanted.test')
    assert.deepEqual(active.certificate, certificates.record)
    assert.deepEqual(certificates.retried, ['www.wanted.test'], 'by the check of an active domain')

    await testDns.zone.remove('_slipway.www.wanted.test')
    await fixture.addRecords(await domains.add(other.account, 'www.wanted.test', other.slug))
    await due(0)
    await due(4 * SECOND_MS)
    assert.deepEqual(certificates.takeCalls(), [
      'release www.wanted.test by one who is not',
      'want www.wanted.test by one who is active',
    ])

    await fixture.removeRecords('www.wanted.test')
    await due(14 * 3600 * SECOND_MS)
    await due(DAY_MS)
    assert.deepEqual(certificates.takeCalls(), ['release www.wanted.test by one who is not'])
    await fixture.addRecords((await domains.list(other.account)).domains[0]!)
    await due(10 * SECOND_MS)
    await due(4 * SECOND_MS)
    assert.deepEqual(certificates.takeCalls(), ['want www.wanted.test by one who is active'])
    await domains.remove(other.account, 'www.wanted.test')
    assert.deepEqual(certificates.takeCalls(), ['release www.wanted.test by one who is not'])
  })
})

describe('a domain', needsDns, () => {
  const fixture = startForEachTest(() => DomainFixture.build(testDns))

  test('can be read and removed after its name became part of the service or of the public suffix list', async () => {
    const user = await fixture.createUser()
    await fixture.activate(user, 'shop.taken.test')
    const renamed = fixture.createDomainService({ siteDomain: 'taken.test' })
    assert.equal((await renamed.check(user.account, 'SHOP.taken.test.')).status, 'active')
    await renamed.remove(user.account, 'Shop.Taken.test')
    assert.deepEqual((await renamed.list(user.account)).domains, [])
    await expectFailure(renamed.add(user.account, 'shop.taken.test', user.slug), 'VALIDATION_ERROR')
    await expectFailure(renamed.remove(user.account, 'shop.taken.test'), 'NOT_FOUND')
    await expectFailure(renamed.remove(user.account, 'no name'), 'VALIDATION_ERROR')
  })

  test('is checked on time while checks of hundreds of others wait for slow name servers', async () => {
    const [user, slow] = [await fixture.createUser(), await fixture.createUser()]
    const time = { now: 0 }
    const checked: string[] = []
    const nothing = async () => ({ values: [] })
    let held: PromiseWithResolvers<void> | undefined
    const cname = async (name: string) => {
      checked.push(name)
      if (!name.startsWith('slow')) return { values: [] }
      time.now += 9000
      // Otherwise a sweep that checks these too would wait without end.
      if (checked.length > 11) held?.resolve()
      await held?.promise
      return { values: [] }
    }
    const domains = fixture.createDomainService({
      dns: { cname, addresses: nothing, txt: nothing, caa: async () => ({ records: [] }) },
      stopwatch: () => time.now,
    })
    const { id: accountId } = slow.account
    const times = { pendingSince: fixture.clock.now, nextCheckAt: fixture.clock.now - DAY_MS }
    await fixture.store.write('relaxed', {}, async (tx) => {
      for (let number = 0; number < 400; number++)
        await tx.domains.insert(domainRow(`slow${number}.test`, { accountId, ...times }))
    })
    for (let turn = 0; turn < 2; turn++) await domains.verifyDue({ slow: false })
    assert.equal(checked.splice(0).length, 400, 'none is marked as slow yet')
    fixture.advanceClock(60 * SECOND_MS)
    held = Promise.withResolvers()
    // As the scheduler does, which runs each sweep at its own interval.
    const run = (name: string) => sweeps.find((sweep) => sweep.name === name)!.run(parts, { since: 0 })
    const parts = { domains } as SweepParts
    const waiting = run('slow-domains')
    await waitFor(() => checked.length === 10)
    await fixture.add(user, 'www.fresh.test')
    await run('domains')
    assert.deepEqual(
      checked.splice(0, 10).filter((name) => !name.startsWith('slow')),
      [],
    )
    assert.deepEqual(checked, ['www.fresh.test'], 'while the others wait')
    held.resolve()
    await waiting
    assert.equal(checked.length, 1, 'slow names have a few slots only')
    const rows = await fixture.store.read.domains.byAccount(accountId)
    assert.ok(rows.every(({ nextCheckAt, checkedAt }) => nextCheckAt! - checkedAt! === 60 * SECOND_MS))
  })

  test('can be replaced often, but not so often that one account exhausts the certificate limit', async () => {
    const user = await fixture.createUser('free')
    const use = async (name: string) => {
      await fixture.add(user, name)
      await fixture.store.write('relaxed', {}, (tx) =>
        tx.domains.update({ accountId: user.account.id, domain: name }, { status: 'active' }),
      )
      await fixture.remove(user, name)
    }
    for (let number = 0; number < 10; number++) await use(`www.n${number}.test`)
    await use('www.n3.test')
    const { message } = await expectFailure(fixture.add(user, 'www.n10.test'), 'DOMAIN_LIMIT_REACHED')
    assert.match(message, /^You removed 10 domains in the last 7 days/)
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

/** Returns no records, with a delay, and counts lookups. */
class SlowDns implements Dns {
  readonly lookups = new Set<string>()
  maxConcurrent = 0
  brokenName: string | undefined
  onFirst: () => void = () => undefined
  /** No lookup ends before. */
  held: Promise<void> | undefined
  #now = 0

  async cname(name: string): Promise<DnsRecords> {
    if (name === this.brokenName) throw new Error('broken')
    if (this.lookups.size === 0) this.onFirst()
    this.lookups.add(name)
    this.maxConcurrent = Math.max(this.maxConcurrent, ++this.#now)
    for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate)
    await this.held
    this.#now--
    return { values: [] }
  }

  async addresses(): Promise<DnsRecords> {
    return { values: [] }
  }

  async txt(): Promise<DnsRecords> {
    return { values: [] }
  }

  async caa(): Promise<LookupResult<CaaRecord>> {
    return { records: [] }
  }
}

/** Records each call with the status of the domain in that transaction. */
class RecordingCertificates {
  calls: string[] = []
  retried: string[] = []
  readonly record = {
    status: 'active',
    issuedAt: null,
    expiresAt: '2026-09-01T00:00:00.000Z',
    renewsAt: null,
    problem: null,
  } as const

  async caaPolicy(): Promise<undefined> {}

  request(tx: WriteTransaction, name: string): Promise<void> {
    return this.#record(tx, 'want', name)
  }

  release(tx: WriteTransaction, name: string): Promise<void> {
    return this.#record(tx, 'release', name)
  }

  async statuses(names: readonly string[]) {
    return new Map(names.map((name) => [name, this.record]))
  }

  async retry(name: string): Promise<void> {
    this.retried.push(name)
  }

  takeCalls(): string[] {
    return this.calls.splice(0)
  }

  async #record(tx: WriteTransaction, verb: string, name: string): Promise<void> {
    const by = (await tx.domains.active(name)) ? 'one who is active' : 'one who is not'
    this.calls.push(`${verb} ${name} by ${by}`)
  }
}
