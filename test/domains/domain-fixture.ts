import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before } from 'node:test'
import type { Plan } from '../../protocol/api/account.schema.ts'
import type { DomainRecord } from '../../protocol/api/domains.schema.ts'
import { type OperatorContext, openForOperator } from '../../server/app.ts'
import { readConfig } from '../../server/config/settings.ts'
import { resolverDns } from '../../server/domains/dns/resolver.ts'
import { DomainService } from '../../server/domains/domain.ts'
import { sweeps } from '../../server/jobs/jobs.ts'
import { runOnce } from '../../server/jobs/scheduler.ts'
import { ApiError, type FailureCode } from '../../server/lib/errors.ts'
import { type Log, makeLog } from '../../server/lib/log.ts'
import { SECOND_MS } from '../../server/lib/time.ts'
import type { Store } from '../../server/store/store.ts'
import type { Account } from '../../server/store/tables/accounts.ts'
import { accountRow, siteRow } from '../store/rows.ts'
import { withEngines } from '../support/engines.ts'
import { PATIENT } from '../support/patient.ts'
import { DEFAULT_PLANS } from '../support/plans.ts'
import { type Knot, startKnot } from '../tools/knot.ts'
import { requires } from '../tools/part.ts'
import { startUnbound } from '../tools/unbound.ts'

/** The host that custom domains must point to, and its addresses in the zone. */
export const PROXY = 'edge.slipway.test'
export const PROXY_ADDRESSES = ['192.0.2.1', '2001:db8::1'] as const

const SITE_DOMAIN = 'pages.slipway.test'

/** A real DNS: the resolver of the service reads the zone `test`. */
export interface TestDns extends AsyncDisposable {
  zone: Knot
  servers: string
}

/** The programs that `TestDns` needs. */
export const needsDns = requires('knot', 'unbound')

let shared: TestDns | undefined

/** The DNS of all tests of a process. */
export function sharedTestDns(): TestDns {
  if (shared) return shared
  const dns = {} as TestDns
  shared = dns
  const stack = new AsyncDisposableStack()
  before(async () => {
    if (!needsDns.skip) Object.assign(dns, stack.use(await startTestDns()))
  })
  after(() => stack.disposeAsync())
  return dns
}

export async function startTestDns(): Promise<TestDns> {
  await using stack = new AsyncDisposableStack()
  const zone = stack.use(await startKnot('test'))
  const resolver = stack.use(await startUnbound({ port: zone.port, zone: 'test' }))
  await addProxyRecords(zone)
  const moved = stack.move()
  return { zone, servers: resolver.address, [Symbol.asyncDispose]: () => moved.disposeAsync() }
}

export async function addProxyRecords(zone: Knot): Promise<void> {
  await zone.set(PROXY, 'A', PROXY_ADDRESSES[0])
  await zone.set(PROXY, 'AAAA', PROXY_ADDRESSES[1])
}

/** An account with a site. */
export interface TestUser {
  account: Account
  slug: string
}

/** A service without listeners, on a clock that the test advances, and its users. */
export class DomainFixture implements AsyncDisposable {
  readonly clock = { now: Date.UTC(2026, 5, 1) }
  /** Parsed log lines. */
  readonly log: Record<string, unknown>[] = []
  /** Names whose caches were invalidated. */
  readonly invalidated: string[] = []
  readonly data: string
  readonly dns: TestDns
  readonly #stack = new AsyncDisposableStack()
  #node!: OperatorContext
  #count = 0

  static async build(testDns: TestDns): Promise<DomainFixture> {
    const fixture = new DomainFixture(await mkdtemp(join(tmpdir(), 'slipway-domains-')), testDns)
    fixture.#node = await fixture.openNode()
    fixture.store.onChange((names) => void fixture.invalidated.push(...(names ?? ['*'])))
    return fixture
  }

  private constructor(data: string, testDns: TestDns) {
    this.data = data
    this.dns = testDns
    this.#stack.defer(() => rm(data, { recursive: true, force: true }))
  }

  /** Opens another node on the same data, optionally with other DNS servers. */
  async openNode(servers = this.dns.servers): Promise<OperatorContext> {
    const config = readConfig({
      SLIPWAY_DATA: this.data,
      SLIPWAY_DNS_SERVERS: servers,
      SLIPWAY_PROXY_HOST: PROXY,
      SLIPWAY_SITE_DOMAIN: SITE_DOMAIN,
    })
    const options = { log: this.#openLog(), version: 'test', clock: () => this.clock.now, deadlines: PATIENT }
    return this.#stack.use(await openForOperator(...(await withEngines(config, options))))
  }

  /** Creates another domain service on the same store, for which no name server is slow. */
  createDomainService(change: Partial<ConstructorParameters<typeof DomainService>[0]> = {}): DomainService {
    return new DomainService({
      store: this.store,
      dns: resolverDns({ servers: [this.dns.servers], timeoutMs: PATIENT.dns }),
      clock: () => this.clock.now,
      log: this.#openLog(),
      proxyHost: PROXY,
      siteDomain: SITE_DOMAIN,
      baseUrl: 'http://localhost',
      plans: DEFAULT_PLANS,
      stopwatch: () => 0,
      ...change,
    })
  }

  #openLog(): Log {
    return makeLog({ level: 'info', text: false, write: (line) => void this.log.push(JSON.parse(line)) })
  }

  get store(): Store {
    return this.#node.store
  }

  get domains(): DomainService {
    return this.#node.domains
  }

  async createUser(plan: Plan = 'hobby'): Promise<TestUser> {
    const id = `person-${++this.#count}`
    const account = accountRow(id, { plan, keyHash: `key of ${id}` })
    await this.store.write('durable', {}, (tx) => tx.rows.insert('accounts', account))
    return { account, slug: await this.createSite(account) }
  }

  async createSite(account: Account, change: Parameters<typeof siteRow>[1] = {}): Promise<string> {
    const slug = `site-${++this.#count}`
    const row = siteRow(slug, { ownerId: account.id, ...change })
    await this.store.write('durable', {}, (tx) => tx.sites.insert(row))
    return slug
  }

  advanceClock(milliseconds: number): void {
    this.clock.now += milliseconds
  }

  /** Runs a sweep as `slipway-server sweep NAME` does; that of domains also for those whose checks were slow. */
  async sweep(name = 'domains', node = this.#node): Promise<number> {
    const slow = name === 'domains' ? await this.sweep('slow-domains', node) : 0
    return slow + (await runOnce(sweeps.find((sweep) => sweep.name === name)!, node))
  }

  /** Advances the clock and runs the checks that are due. */
  sweepAfter(milliseconds: number): Promise<number> {
    this.advanceClock(milliseconds)
    return this.sweep()
  }

  add({ account, slug }: TestUser, domain: string): Promise<DomainRecord> {
    return this.domains.add(account, domain, slug)
  }

  remove({ account }: TestUser, domain: string) {
    return this.domains.remove(account, domain)
  }

  /** The stored record, without a DNS check. */
  async record({ account }: TestUser, domain: string): Promise<DomainRecord> {
    const { domains } = await this.domains.list(account)
    const record = domains.find((one) => one.domain === domain)
    assert.ok(record, `${domain} is there`)
    return record
  }

  /** Adds both records to DNS as shown; an ALIAS by its addresses, as a provider does. */
  async addRecords(record: DomainRecord): Promise<void> {
    await this.pointToProxy(record.domain)
    const [, text] = record.records
    await this.dns.zone.add(`_slipway.${record.domain}`, 'TXT', text!.value)
  }

  async pointToProxy(domain: string): Promise<void> {
    const { zone } = this.dns
    if (domain.split('.').length > 2) return zone.set(domain, 'CNAME', `${PROXY}.`)
    await zone.set(domain, 'A', PROXY_ADDRESSES[0])
    await zone.set(domain, 'AAAA', PROXY_ADDRESSES[1])
  }

  /** Removes both records from DNS. */
  async removeRecords(domain: string): Promise<void> {
    await this.dns.zone.remove(domain)
    await this.dns.zone.remove(`_slipway.${domain}`)
  }

  /** Adds a domain and its DNS records, and verifies it until it is active. */
  async activate(user: TestUser, domain: string): Promise<DomainRecord> {
    await this.addRecords(await this.add(user, domain))
    return this.verifyToActive(user, domain)
  }

  async verifyToActive(user: TestUser, domain: string): Promise<DomainRecord> {
    await this.runTwoChecks()
    const record = await this.record(user, domain)
    assert.equal(record.status, 'active', record.reason ?? '')
    return record
  }

  /** Advances the clock and runs the two checks that verification requires. */
  async runTwoChecks(): Promise<void> {
    for (const wait of [10 * SECOND_MS, 5 * SECOND_MS]) await this.sweepAfter(wait)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync()
  }
}

/** Asserts that a call rejects with this code; returns the error. */
export async function expectFailure(call: Promise<unknown>, code: FailureCode): Promise<ApiError> {
  const failure = await call.then(
    (value) => assert.fail(`expected ${code}, but got ${JSON.stringify(value)}`),
    (error: unknown) => error,
  )
  if (!(failure instanceof ApiError)) throw failure
  assert.equal(failure.code, code, failure.message)
  return failure
}
