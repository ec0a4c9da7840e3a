import { randomBytes } from 'node:crypto'
import type { DeleteDomainAnswer, DomainList, DomainRecord } from '../client/wire.ts'
import { DomainChecks, type DomainChecksOptions } from './domain/check.ts'
import { type FollowedBy, Following, type FollowingOptions, type Listening } from './domain/following.ts'
import { counterpartOf, proofName, readDomain, readName } from './domain/name.ts'
import { recordOf } from './domain/record.ts'
import { endDomain } from './domain/status.ts'
import { Failure } from './failure.ts'
import { ownedSite } from './ownership.ts'
import type { AccountRow, DomainRow } from './store/schema.ts'
import type { Queries } from './store/store.ts'

interface DomainsOptions extends DomainChecksOptions, Pick<FollowingOptions, 'between'> {
  siteDomain: string
  baseUrl: string
}

/** Custom domains of each plan (spec 8.2); a root domain and its `www` on one site are one. */
export const DOMAINS_ALLOWED = { free: 1, hobby: 5 }

/**
 * Names that can be kept for an account, for each domain of its plan: each had a certificate, and the CA's limits are for all
 * accounts together.
 */
const KEPT_FOR_EACH = 10

/** Custom domains of an account: from the records to enter to the name that is served (spec 4.11 and 5.3). */
export class Domains implements Disposable {
  readonly #options: DomainsOptions
  readonly #checks: DomainChecks
  readonly #following: Following
  /** Names that nobody can have of their own. */
  readonly #own: readonly string[]

  constructor(options: DomainsOptions) {
    const { siteDomain, proxyHost, baseUrl } = options
    this.#options = options
    this.#checks = new DomainChecks(options)
    this.#following = new Following({
      ...options,
      records: (rows, all) => this.#records(rows, all),
      look: (row) => this.#checks.asked(row),
    })
    this.#own = [siteDomain, proxyHost, new URL(baseUrl).hostname]
  }

  async list(account: AccountRow): Promise<DomainList> {
    const rows = await this.#options.store.read.domains.byAccount(account.id)
    return { domains: await this.#records(rows, rows) }
  }

  /** Looks the records up before it answers, unless that was done a moment ago. */
  async check(account: AccountRow, typed: string): Promise<DomainRecord> {
    const { read } = this.#options.store
    const row = await read.domains.find(account.id, readName(typed))
    if (!row) throw noSuchDomain()
    const checked = await this.#checks.asked(row)
    if (!checked) throw noSuchDomain()
    if (checked.status === 'active') await this.#options.certificates?.retry(checked.domain)
    return this.#record(checked)
  }

  /** DOMAIN_LIMIT_REACHED beyond the plan, DOMAIN_TAKEN when it is active elsewhere, or already there. */
  async add(account: AccountRow, typed: string, slug: string): Promise<DomainRecord> {
    const { store, clock } = this.#options
    const domain = await readDomain(typed, this.#own)
    ownedSite(await store.read.sites.bySlug(slug), account, clock())
    const loser = await this.#loser(account, domain)
    const counterpart = await counterpartOf(domain)
    const row = await store.write('durable', async (tx) => {
      const now = clock()
      ownedSite(await tx.sites.bySlug(slug), account, now)
      const mine = await tx.domains.find(account.id, domain)
      if (mine) throw alreadyThere(mine)
      const active = await tx.domains.active(domain)
      if (active && active.proof !== loser?.proof) throw taken(domain)
      const primary = counterpart && (await tx.domains.find(account.id, counterpart))
      const isSecond = primary && primary.slug === slug && primary.primary_domain === null
      if (!isSecond) await refuseTooMany(tx, account)
      const held = await tx.domains.held(domain, now)
      const isKept = held?.account_id === account.id
      if (!isKept) await refuseTooOften(tx, account, now)
      const proof = isKept ? held.proof : newProof()
      const primary_domain = isSecond ? counterpart : null
      const row = newRow({ domain, account_id: account.id, slug, proof, primary_domain, created_at: now })
      await tx.domains.insert(row)
      return row
    })
    return this.#record(row)
  }

  /** An active name is kept for the account for a week, so that it can be added again as it was. */
  async remove(account: AccountRow, typed: string): Promise<DeleteDomainAnswer> {
    const { store, clock, certificates } = this.#options
    const domain = readName(typed)
    await store.write('durable', async (tx) => {
      const row = await tx.domains.find(account.id, domain)
      if (!row) throw noSuchDomain()
      await endDomain(tx, row, clock(), certificates)
    })
    return { domain, deleted: true }
  }

  /**
   * Tells of a domain as it changes; answers how to stop that. See `domain/following.ts` for when it ends by itself and how
   * many can follow at a time.
   */
  async follow(by: FollowedBy, typed: string, listening: Listening): Promise<() => void> {
    const row = await this.#options.store.read.domains.find(by.account.id, readName(typed))
    if (!row) throw noSuchDomain()
    return this.#following.follow(by, row, listening)
  }

  /** Lets all go who follow a domain, and takes nobody more; resolves when what was begun for them is over. */
  endFollowing(): Promise<void> {
    return this.#following.end()
  }

  /** Looks up what is due; answers how many names became active or pending by that. */
  checkDue(): Promise<number> {
    return this.#checks.due()
  }

  /** Begins no more looks that are due, so that the sweep ends with those under way. */
  [Symbol.dispose](): void {
    this.#checks.stop()
  }

  /** The row of another account that has the name and whose TXT record is gone: whoever proves it now can have it. */
  async #loser(account: AccountRow, domain: string): Promise<DomainRow | undefined> {
    const active = await this.#options.store.read.domains.active(domain)
    if (!active || active.account_id === account.id) return undefined
    return (await this.#checks.hasLostProof(active)) ? active : undefined
  }

  async #record(row: DomainRow): Promise<DomainRecord> {
    const rows = await this.#options.store.read.domains.byAccount(row.account_id)
    const [record] = await this.#records([row], rows)
    return record!
  }

  /** `all` are those of their accounts. */
  async #records(rows: readonly DomainRow[], all: readonly DomainRow[]): Promise<DomainRecord[]> {
    const { proxyHost, certificates } = this.#options
    const active = rows.filter((row) => row.status === 'active').map((row) => row.domain)
    const known = (active.length > 0 && (await certificates?.records(active))) || new Map()
    const names = Map.groupBy(all, (row) => row.account_id)
    return Promise.all(
      rows.map((row) => {
        const own = new Set(names.get(row.account_id)?.map(({ domain }) => domain))
        return recordOf(row, { proxyHost, own, certificates: known })
      }),
    )
  }
}

async function refuseTooMany(tx: Queries, account: AccountRow): Promise<void> {
  const allowed = DOMAINS_ALLOWED[account.plan]
  if ((await tx.domains.count(account.id)) < allowed) return
  const sentence = `The ${account.plan} plan has room for ${allowed} custom domain${allowed === 1 ? '' : 's'}, all in use`
  throw new Failure('DOMAIN_LIMIT_REACHED', sentence)
}

async function refuseTooOften(tx: Queries, account: AccountRow, now: number): Promise<void> {
  const most = KEPT_FOR_EACH * DOMAINS_ALLOWED[account.plan]
  if ((await tx.domains.heldBy(account.id, now)) < most) return
  const sentence = `${most} removed domains are kept for you for 7 days each: until then, only these can be added again`
  throw new Failure('DOMAIN_LIMIT_REACHED', sentence)
}

/** Looked up at once: whoever had it before may have left the records in place. */
function newRow(
  given: Pick<DomainRow, 'domain' | 'account_id' | 'slug' | 'proof' | 'primary_domain' | 'created_at'>,
): DomainRow {
  return {
    ...given,
    status: 'pending',
    reason: null,
    verified_at: null,
    checked_at: null,
    pending_since: given.created_at,
    found: null,
    proven_since: null,
    failing_since: null,
    next_check_at: given.created_at,
    slow: 0,
  }
}

function newProof(): string {
  return `slipway-${randomBytes(16).toString('hex')}`
}

function alreadyThere({ domain, slug }: DomainRow): Failure {
  return new Failure('DOMAIN_TAKEN', `You have ${domain} already, on the site ${slug}; remove it there first`)
}

function taken(domain: string): Failure {
  const remedy = `If you control its DNS, remove the TXT record of that account at ${proofName(domain)}; then add ${domain} once more`
  return new Failure('DOMAIN_TAKEN', `${domain} is active for another account. ${remedy}`)
}

function noSuchDomain(): Failure {
  return new Failure('NOT_FOUND', 'There is no such domain in this account')
}
