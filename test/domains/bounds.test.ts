import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Dns, DnsRecords } from '../../server/domains/dns/dns.ts'
import { resolverDns } from '../../server/domains/dns/resolver.ts'
import { DomainService } from '../../server/domains/domain.ts'
import { makeLog } from '../../server/lib/log.ts'
import type { WriteTransaction } from '../../server/store/store.ts'
import { domainRow } from '../store/rows.ts'
import { requires } from '../tools/part.ts'
import { DAY_MS, DomainFixture, PROXY, SECOND_MS, startTestDns, type TestDns } from './town.ts'

describe('looking domains up', requires('knot', 'unbound'), () => {
  let internet: TestDns
  before(async () => {
    internet = await startTestDns()
  })
  after(() => internet[Symbol.asyncDispose]())

  const domainsOf = (town: DomainFixture, more: { dns?: Dns; certificates?: Ledger }) =>
    new DomainService({
      store: town.store,
      dns: resolverDns({ servers: [internet.servers] }),
      clock: () => town.clock.now,
      log: makeLog({ level: 'info', text: false, write: (line) => void town.log.push(JSON.parse(line)) }),
      proxyHost: PROXY,
      siteDomain: 'pages.slipway.test',
      baseUrl: 'http://localhost',
      ...more,
    })

  const addMany = async (town: DomainFixture, count: number) => {
    const person = await town.person()
    const { id: accountId } = person.account
    const names = Array.from({ length: count }, (_, number) => `many${number}.test`)
    await town.store.write('relaxed', async (tx) => {
      for (const domain of names)
        await tx.domains.insert(domainRow(domain, { accountId, nextCheckAt: town.clock.now }))
    })
    return { person, names }
  }

  test('takes a bounded part of what is due at a time, and a bounded part of that at once', async () => {
    await using town = await DomainFixture.build(internet)
    await addMany(town, 450)
    const slow = new SlowDns()
    const domains = domainsOf(town, { dns: slow })
    for (const looked of [200, 400, 450]) {
      await domains.verifyDue()
      assert.equal(slow.looked.size, looked)
    }
    assert.ok(slow.most <= 20, `${slow.most} at once`)
    assert.ok(slow.most > 1)
  })

  test('gives the last findings to those for whom there is no room', async () => {
    await using town = await DomainFixture.build(internet)
    const { person, names } = await addMany(town, 100)
    const slow = new SlowDns()
    const domains = domainsOf(town, { dns: slow })
    const records = await Promise.all(names.map((name) => domains.check(person.account, name)))
    assert.ok(slow.most <= 32, `${slow.most} at once`)
    assert.equal(slow.looked.size, slow.most)
    assert.equal(records.filter(({ checkedAt }) => checkedAt !== null).length, slow.looked.size)
  })

  test('leaves room for other accounts when one asks for many names', async () => {
    await using town = await DomainFixture.build(internet)
    const { person, names } = await addMany(town, 40)
    const other = await town.person()
    const domain = 'www.other.test'
    await town.store.write('relaxed', (tx) =>
      tx.domains.insert(domainRow(domain, { accountId: other.account.id, nextCheckAt: town.clock.now })),
    )
    const domains = domainsOf(town, { dns: new SlowDns() })
    const asked = names.map((name) => domains.check(person.account, name))
    const { checkedAt } = await domains.check(other.account, domain)
    assert.notEqual(checkedAt, null)
    const records = await Promise.all(asked)
    assert.equal(records.filter((record) => record.checkedAt !== null).length, 8)
  })

  test('ends soon when the service does', async () => {
    await using town = await DomainFixture.build(internet)
    await addMany(town, 100)
    const slow = new SlowDns()
    const domains = domainsOf(town, { dns: slow })
    slow.onFirst = () => domains[Symbol.dispose]()
    await domains.verifyDue()
    assert.ok(slow.looked.size <= 20)
  })

  test('goes on with the others when a look fails for a reason of the service’s own', async () => {
    await using town = await DomainFixture.build(internet)
    const { person } = await addMany(town, 60)
    const slow = new SlowDns()
    slow.broken = 'many7.test'
    const domains = domainsOf(town, { dns: slow })
    await domains.verifyDue()
    const rows = await town.store.read.domains.byAccount(person.account.id)
    assert.deepEqual(
      rows.filter((row) => row.checkedAt === null).map((row) => [row.domain, row.nextCheckAt]),
      [['many7.test', town.clock.now + 60 * SECOND_MS]],
    )
    const [line] = town.log.filter(({ level }) => level === 'error')
    assert.deepEqual([line?.domain, line?.account], ['many7.test', person.account.id])
    assert.match(String(line?.error), /^Error: broken/)
  })

  test('proves nothing for a name that was added anew while it was under way', async () => {
    await using town = await DomainFixture.build(internet)
    const person = await town.person()
    const real = resolverDns({ servers: [internet.servers] })
    const [asked, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const txt = async (name: string) => {
      const answer = await real.txt(name)
      asked.resolve()
      await go.promise
      return answer
    }
    await town.enter(await town.add(person, 'www.anew.test'))
    town.pass(10 * SECOND_MS)
    await town.sweep()
    town.pass(10 * SECOND_MS)
    const turn = domainsOf(town, { dns: { ...real, txt } }).verifyDue()
    await asked.promise
    await town.remove(person, 'www.anew.test')
    town.pass(1)
    await town.add(person, 'www.anew.test')
    go.resolve()
    assert.equal(await turn, 0)
    const { status, checkedAt } = await town.record(person, 'www.anew.test')
    assert.deepEqual([status, checkedAt], ['pending', null])
  })

  test('has a certificate wanted for as long as a name is active, within the same write', async () => {
    await using town = await DomainFixture.build(internet)
    const [owner, other] = [await town.person(), await town.person()]
    const ledger = new Ledger()
    const domains = domainsOf(town, { certificates: ledger })
    const due = async (wait: number) => {
      town.pass(wait)
      await domains.verifyDue()
    }
    const added = await domains.add(owner.account, 'www.wanted.test', owner.slug)
    await town.enter(added)
    await due(0)
    assert.deepEqual(ledger.calls, [])
    assert.equal((await domains.check(owner.account, 'www.wanted.test')).certificate.status, 'none')
    await due(4 * SECOND_MS)
    assert.deepEqual(ledger.taken(), ['want www.wanted.test by one who is active'])
    const active = await domains.check(owner.account, 'www.wanted.test')
    assert.deepEqual(active.certificate, ledger.record)

    await internet.zone.remove('_slipway.www.wanted.test')
    await town.enter(await domains.add(other.account, 'www.wanted.test', other.slug))
    await due(0)
    await due(4 * SECOND_MS)
    assert.deepEqual(ledger.taken(), [
      'release www.wanted.test by one who is not',
      'want www.wanted.test by one who is active',
    ])

    await town.clear('www.wanted.test')
    await due(14 * 3600 * SECOND_MS)
    await due(DAY_MS)
    assert.deepEqual(ledger.taken(), ['release www.wanted.test by one who is not'])
    await town.enter((await domains.list(other.account)).domains[0]!)
    await due(10 * SECOND_MS)
    await due(4 * SECOND_MS)
    assert.deepEqual(ledger.taken(), ['want www.wanted.test by one who is active'])
    await domains.remove(other.account, 'www.wanted.test')
    assert.deepEqual(ledger.taken(), ['release www.wanted.test by one who is not'])
  })
})

/** Answers nothing at all, after a while, and counts. */
class SlowDns implements Dns {
  readonly looked = new Set<string>()
  most = 0
  broken: string | undefined
  onFirst: () => void = () => undefined
  #now = 0

  async cname(name: string): Promise<DnsRecords> {
    if (name === this.broken) throw new Error('broken')
    if (this.looked.size === 0) this.onFirst()
    this.looked.add(name)
    this.most = Math.max(this.most, ++this.#now)
    for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate)
    this.#now--
    return { values: [] }
  }

  async addresses(): Promise<DnsRecords> {
    return { values: [] }
  }

  async txt(): Promise<DnsRecords> {
    return { values: [] }
  }
}

/** Writes down what the certificates are told, and how the name stood in that very write. */
class Ledger {
  calls: string[] = []
  readonly record = {
    status: 'active',
    issuedAt: null,
    expiresAt: '2026-09-01T00:00:00.000Z',
    renewsAt: null,
    problem: null,
  } as const

  request(tx: WriteTransaction, name: string): Promise<void> {
    return this.#write(tx, 'want', name)
  }

  release(tx: WriteTransaction, name: string): Promise<void> {
    return this.#write(tx, 'release', name)
  }

  async statuses(names: readonly string[]) {
    return new Map(names.map((name) => [name, this.record]))
  }

  async retry(): Promise<void> {}

  taken(): string[] {
    return this.calls.splice(0)
  }

  async #write(tx: WriteTransaction, verb: string, name: string): Promise<void> {
    const by = (await tx.domains.active(name)) ? 'one who is active' : 'one who is not'
    this.calls.push(`${verb} ${name} by ${by}`)
  }
}
