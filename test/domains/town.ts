import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Plan } from '../../protocol/api/account.ts'
import type { DomainRecord } from '../../protocol/api/domains.ts'
import { type OperatorContext, openForOperator } from '../../server/app.ts'
import { readConfig } from '../../server/config/settings.ts'
import type { DomainService } from '../../server/domains/domain.ts'
import { sweeps } from '../../server/jobs/jobs.ts'
import { runOnce } from '../../server/jobs/scheduler.ts'
import { ApiError, type FailureCode } from '../../server/lib/errors.ts'
import { makeLog } from '../../server/lib/log.ts'
import type { Account } from '../../server/store/contract/accounts.ts'
import type { Store } from '../../server/store/store.ts'
import { accountRow, siteRow } from '../store/rows.ts'
import { type Knot, startKnot } from '../tools/knot.ts'
import { startUnbound } from '../tools/unbound.ts'

export const SECOND_MS = 1000
export const MINUTE_MS = 60 * SECOND_MS
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

/** Where custom domains have to point, and its addresses in the zone. */
export const PROXY = 'edge.slipway.test'
export const PROXY_ADDRESSES = ['192.0.2.1', '2001:db8::1'] as const

/** A real DNS: what is written into the zone `test` is what the service is answered. */
export interface TestDns extends AsyncDisposable {
  zone: Knot
  servers: string
}

export async function startTestDns(): Promise<TestDns> {
  await using stack = new AsyncDisposableStack()
  const zone = stack.use(await startKnot('test'))
  const resolver = stack.use(await startUnbound({ port: zone.port, zone: 'test' }))
  await showProxy(zone)
  const moved = stack.move()
  return { zone, servers: resolver.address, [Symbol.asyncDispose]: () => moved.disposeAsync() }
}

export async function showProxy(zone: Knot): Promise<void> {
  await zone.set(PROXY, 'A', PROXY_ADDRESSES[0])
  await zone.set(PROXY, 'AAAA', PROXY_ADDRESSES[1])
}

/** Somebody with an account and a site. */
export interface TestUser {
  account: Account
  slug: string
}

/** A service without listeners, on a clock that the test moves, and its users. */
export class DomainFixture implements AsyncDisposable {
  readonly clock = { now: Date.UTC(2026, 5, 1) }
  /** Lines of the log, parsed. */
  readonly log: Record<string, unknown>[] = []
  /** Names whose caches were invalidated. */
  readonly forgotten: string[] = []
  readonly data: string
  readonly internet: TestDns
  readonly #stack = new AsyncDisposableStack()
  #house!: OperatorContext
  #people = 0

  static async build(internet: TestDns): Promise<DomainFixture> {
    const town = new DomainFixture(await mkdtemp(join(tmpdir(), 'slipway-domains-')), internet)
    town.#house = await town.house()
    town.store.onChange((names) => void town.forgotten.push(...(names ?? ['*'])))
    return town
  }

  private constructor(data: string, internet: TestDns) {
    this.data = data
    this.internet = internet
    this.#stack.defer(() => rm(data, { recursive: true, force: true }))
  }

  /** One more node on the same data, which may ask other DNS servers. */
  async house(servers = this.internet.servers): Promise<OperatorContext> {
    const config = readConfig({
      SLIPWAY_DATA: this.data,
      SLIPWAY_DNS_SERVERS: servers,
      SLIPWAY_PROXY_HOST: PROXY,
      SLIPWAY_SITE_DOMAIN: 'pages.slipway.test',
    })
    const log = makeLog({ level: 'info', text: false, write: (line) => void this.log.push(JSON.parse(line)) })
    return this.#stack.use(
      await openForOperator(config, { log, version: 'test', clock: () => this.clock.now }),
    )
  }

  get store(): Store {
    return this.#house.store
  }

  get domains(): DomainService {
    return this.#house.sweepOptions.domains
  }

  async person(plan: Plan = 'hobby'): Promise<TestUser> {
    const id = `person-${++this.#people}`
    const account = accountRow(id, { plan })
    await this.store.write('durable', (tx) => tx.accounts.insert(account))
    return { account, slug: await this.site(account) }
  }

  async site(account: Account, change: Parameters<typeof siteRow>[1] = {}): Promise<string> {
    const slug = `site-${++this.#people}`
    const row = siteRow(slug, { ownerId: account.id, ...change })
    await this.store.write('durable', (tx) => tx.sites.insert(row))
    return slug
  }

  pass(milliseconds: number): void {
    this.clock.now += milliseconds
  }

  /** What `slipway-server sweep NAME` does, on this node or another. */
  sweep(name = 'domains', house = this.#house): Promise<number> {
    return runOnce(sweeps.find((sweep) => sweep.name === name)!, house.sweepOptions)
  }

  add({ account, slug }: TestUser, domain: string): Promise<DomainRecord> {
    return this.domains.add(account, domain, slug)
  }

  remove({ account }: TestUser, domain: string) {
    return this.domains.remove(account, domain)
  }

  /** The record as it is, without a check. */
  async record({ account }: TestUser, domain: string): Promise<DomainRecord> {
    const { domains } = await this.domains.list(account)
    const record = domains.find((one) => one.domain === domain)
    assert.ok(record, `${domain} is there`)
    return record
  }

  /** Enters both records in DNS as they are shown; an ALIAS as its provider does, by the addresses. */
  async enter(record: DomainRecord): Promise<void> {
    await this.point(record.domain)
    const [, text] = record.records
    await this.internet.zone.add(`_slipway.${record.domain}`, 'TXT', text!.value)
  }

  async point(domain: string): Promise<void> {
    const { zone } = this.internet
    if (domain.split('.').length > 2) return zone.set(domain, 'CNAME', `${PROXY}.`)
    await zone.set(domain, 'A', PROXY_ADDRESSES[0])
    await zone.set(domain, 'AAAA', PROXY_ADDRESSES[1])
  }

  /** Takes both records out of DNS. */
  async clear(domain: string): Promise<void> {
    await this.internet.zone.remove(domain)
    await this.internet.zone.remove(`_slipway.${domain}`)
  }

  /** Adds a name, enters its records and sees it become active. */
  async activate(person: TestUser, domain: string): Promise<DomainRecord> {
    await this.enter(await this.add(person, domain))
    return this.becomesActive(person, domain)
  }

  async becomesActive(person: TestUser, domain: string): Promise<DomainRecord> {
    await this.twoChecks()
    const record = await this.record(person, domain)
    assert.equal(record.status, 'active', record.reason ?? '')
    return record
  }

  /** Lets the time of two checks pass. */
  async twoChecks(): Promise<void> {
    for (const wait of [10 * SECOND_MS, 5 * SECOND_MS]) {
      this.pass(wait)
      await this.sweep()
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync()
  }
}

/** The failure of a call that was refused with this code. */
export async function expectFailure(call: Promise<unknown>, code: FailureCode): Promise<ApiError> {
  const failure = await call.then(
    (value) => assert.fail(`expected ${code}, but got ${JSON.stringify(value)}`),
    (error: unknown) => error,
  )
  if (!(failure instanceof ApiError)) throw failure
  assert.equal(failure.code, code, failure.message)
  return failure
}
