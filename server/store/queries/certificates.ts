import { sql } from '#kysely'
import { keyedQueries, QueryGroup, startingWith } from '../rows.ts'
import {
  type AcmeAccount,
  acmeRequestTable,
  type Certificate,
  type CertificateSummary,
  type CountedRequest,
  certificateSummary,
  type StoredChallenge,
  toNameSet,
} from '../tables/certificates.ts'

export type CertificateSchedule = Pick<
  CertificateSummary,
  'renewAt' | 'informationAt' | 'dueAt' | 'hasRenewalInfo'
>

export interface NamesPage {
  names: string[]
  /** The last name of the page; undefined when no further page follows. */
  next: string | undefined
}

/** Of a site, or of its former name that redirects. */
const IS_SERVED = sql<boolean>`(deleted_at is null or renamed_to is not null)`

interface MissingSitesOptions {
  changedSince?: number
  maxOfOwner: number
  directory: string
  since: number
}

interface CertificateCounts {
  /** Not expired, without a failed renewal. */
  valid: number
  /** Not expired, with a failed renewal; or never issued, with a failed order, and of no custom domain. */
  failing: number
  /** Never issued, and not failing. */
  pending: number
  expired: number
}

/**
 * A second certificate of a name rejects. A change of an absent one changes nothing. A certificate is requested while
 * `unusedSince` is null.
 */
export class CertificateQueries extends keyedQueries('certificates', 'name') {
  readonly #summaries = this.rows('certificates', certificateSummary)

  findOfDomain(domain: string): Promise<Certificate | undefined> {
    const isActive = sql<boolean>`exists (select 1 from domains where domain = ${domain} and status = 'active')`
    return this.table.find((all) => all.where('name', '=', domain).where(isActive))
  }

  findOfSite(name: string, slug: string): Promise<Certificate | undefined> {
    const isServed = sql<boolean>`exists (select 1 from sites where slug = ${slug} and ${IS_SERVED})`
    return this.table.find((all) => all.where('name', '=', name).where(isServed))
  }

  findSummary(name: string): Promise<CertificateSummary | undefined> {
    return this.#summaries.find({ name })
  }

  summaries(names: readonly string[]): Promise<CertificateSummary[]> {
    return this.#summaries.list({ name: names })
  }

  /** A page of requested certificates by expiry, then by name; those without a chain first. With a prefix, by name. */
  page(page: {
    limit: number
    after?: { notAfter: number; name: string } | undefined
    prefix?: string | undefined
  }): Promise<CertificateSummary[]> {
    const { limit, after, prefix } = page
    if (prefix !== undefined)
      return this.#summaries.list({ unusedSince: null, name: startingWith(prefix) }, 'name', { limit })
    return this.#summaries.list((all) => {
      const requested = all.where('unused_since', 'is', null).limit(limit)
      const sorted = requested.orderBy(sql`coalesce(not_after, 0)`).orderBy('name')
      if (!after) return sorted
      return sorted.where(sql<boolean>`(coalesce(not_after, 0), name) > (${after.notAfter}, ${after.name})`)
    })
  }

  requested(): Promise<CertificateSummary[]> {
    return this.#summaries.list((all) =>
      all
        .where('unused_since', 'is', null)
        .orderBy('not_after', (by) => by.asc().nullsFirst())
        .orderBy('name'),
    )
  }

  /**
   * Certificates that are due at `now`: those without a chain first, then by expiry, then the longest due.
   * With `withOrders: false` only those with a request for renewal information as their next step.
   */
  due(now: number, limit: number, { withOrders }: { withOrders: boolean }): Promise<CertificateSummary[]> {
    return this.#summaries.list((all) => {
      const due = all
        .where('due_at', '<=', now)
        .orderBy((e) => e('not_after', 'is not', null))
        .orderBy('not_after')
        .orderBy('due_at')
        .limit(limit)
      return withOrders ? due : due.where('renew_at', '>', now).where('order_url', 'is', null)
    })
  }

  async countByState(now: number): Promise<CertificateCounts> {
    const rows = await this.db
      .selectFrom('certificates')
      .select([
        sql<string>`case when not_after is null and (problem is null
            or exists (select 1 from domains where domain = name)) then 'pending'
          when not_after <= ${now} then 'expired' when problem is null then 'valid' else 'failing' end
        `.as('state'),
        sql<number>`count(*)`.as('count'),
      ])
      // Written literally, because it must match a partial index.
      .where(sql<boolean>`unused_since is null`)
      .groupBy('state')
      .execute()
    const none: CertificateCounts = { valid: 0, failing: 0, pending: 0, expired: 0 }
    return { ...none, ...Object.fromEntries(rows.map(({ state, count }) => [state, count])) }
  }

  /** Names that wait for an order, also those whose retries have ended, are due now, and their pending orders dropped. */
  async restartOrders(now: number): Promise<void> {
    const isWaiting = sql<boolean>`unused_since is null and (renew_at is null or renew_at <= ${now})`
    const restart = { dueAt: now, orderUrl: null, orderKey: null }
    await this.table.update((all) => all.where(isWaiting), restart)
  }

  /** The validity of the first to expire of those that are renewed: not of names whose retries have ended. */
  async nextToExpire(): Promise<{ notBefore: number; notAfter: number } | undefined> {
    const certificate = await this.#summaries.find((all) =>
      all
        .where('unused_since', 'is', null)
        .where('due_at', 'is not', null)
        // As the index has it; greater than 0 once issued.
        .where(sql<boolean>`coalesce(not_after, 0) > 0`)
        .orderBy(sql`coalesce(not_after, 0)`)
        .orderBy('name')
        .limit(1),
    )
    return certificate && { notBefore: certificate.notBefore!, notAfter: certificate.notAfter! }
  }

  names(after: string, limit: number): Promise<string[]> {
    return this.table.pluck('name', { name: { '>': after } }, 'name', { limit })
  }

  /** Changes nothing when the certificate was replaced, has a pending order, or is no longer requested. */
  async reschedule(name: string, certificateId: string | null, schedule: CertificateSchedule): Promise<void> {
    await this.table.update({ name, certificateId, orderUrl: null, unusedSince: null }, schedule)
  }

  /** The active domains without a requested certificate among the next `limit` active domains after that one. */
  async missing(after: string, limit: number): Promise<NamesPage> {
    const rows = await this.db
      .selectFrom('domains')
      .leftJoin('certificates', (join) =>
        join.onRef('certificates.name', '=', 'domains.domain').on('unused_since', 'is', null),
      )
      .select(['domain as name', 'certificates.name as certificate'])
      // Written literally, because it must match a partial index.
      .where(sql<boolean>`status = 'active'`)
      .where('domain', '>', after)
      .orderBy('domain')
      .limit(limit)
      .execute()
    return toPage(rows, limit, ({ certificate }) => certificate === null)
  }

  /**
   * Live sites without a certificate, of owners with fewer than `maxOfOwner` certificates for sites since then: first those
   * that had one under a former name, then the newest; `limit` of each, and a site may be twice in the result. Without
   * `changedSince`, all sites are read when none is missing.
   */
  async missingSites(
    siteDomain: string,
    limit: number,
    { changedSince = 0, maxOfOwner, directory, since }: MissingSitesOptions,
  ): Promise<{ name: string; ownerId: string }[]> {
    const suffix = `.${siteDomain}`
    const name = sql<string>`sites.slug || ${suffix}`
    const certificates = sql`from acme_requests where kind = 'certificate'
      and directory = ${directory} and root = ${siteDomain} and at > ${since} and account_id`
    const sites = this.db
      .selectFrom('sites')
      .select([name.as('name'), sql<string>`owner_id`.as('ownerId')])
      .where('deleted_at', 'is', null)
      .where('owner_id', 'is not', null)
      .where('live_version_id', 'is not', null)
      .$if(changedSince > 0, (all) => all.where('updated_at', '>=', changedSince))
      .where(sql<boolean>`not exists (select 1 from certificates where name = ${name})`)
      .orderBy('created_at', 'desc')
      .limit(limit)
    // For each of few sites; below, once for all.
    const renamed = sites.where(
      sql<boolean>`(select count(*) ${certificates} = sites.owner_id) < ${maxOfOwner} and slug in (select former.renamed_to from sites as former
        join certificates on certificates.name = former.slug || ${suffix}
        where former.renamed_to is not null)`,
    )
    const newest = sites.where(
      sql<boolean>`owner_id not in (
        select account_id ${certificates} is not null group by account_id having count(*) >= ${maxOfOwner})`,
    )
    return [...(await renamed.execute()), ...(await newest.execute())]
  }

  /**
   * Among the next `limit` names with a requested certificate after that one, those that are neither active domains,
   * nor among `others`, nor hosts below `siteDomain` of sites or of redirects from their former names.
   */
  async unneeded(
    after: string,
    limit: number,
    { others, siteDomain = '' }: { others: readonly string[]; siteDomain?: string | undefined },
  ): Promise<NamesPage> {
    const rows = await this.#withUsers(after, limit, siteDomain).where('unused_since', 'is', null).execute()
    return toPage(
      rows,
      limit,
      ({ name, domain, site }) => domain === null && site === null && !others.includes(name),
    )
  }

  /** Among the next `limit` names with a released certificate after that one, those of sites that are served again. */
  async released(after: string, limit: number, siteDomain: string): Promise<NamesPage> {
    const rows = await this.#withUsers(after, limit, siteDomain)
      .where('unused_since', 'is not', null)
      .execute()
    return toPage(rows, limit, ({ site }) => site !== null)
  }

  #withUsers(after: string, limit: number, siteDomain: string) {
    const suffix = `.${siteDomain}`
    return this.db
      .selectFrom('certificates')
      .leftJoin('domains', (join) =>
        join.onRef('domains.domain', '=', 'certificates.name').on('status', '=', 'active'),
      )
      .select([
        'name',
        'domain',
        // The slug is computed from the name, so that the primary key finds the site; not a negative length of it.
        sql<string | null>`(select slug from sites
          where slug = substr(certificates.name, 1, abs(length(certificates.name) - ${suffix.length}))
          and slug || ${suffix} = certificates.name and ${IS_SERVED})`.as('site'),
      ])
      .where('name', '>', after)
      .orderBy('name')
      .limit(limit)
  }
}

function toPage<Row extends { name: string }>(
  rows: readonly Row[],
  limit: number,
  isIncluded: (row: Row) => boolean,
): NamesPage {
  return {
    names: rows.filter(isIncluded).map(({ name }) => name),
    next: rows.length < limit ? undefined : rows.at(-1)?.name,
  }
}

/** All kinds: both indexes begin with the kind. */
const REQUEST_KINDS: CountedRequest['kind'][] = ['order', 'renewal', 'certificate', 'failure', 'pause']

type Owner = Pick<CountedRequest, 'accountId' | 'root'>

/** Selects requests at a CA: with `names` only those for exactly this set, with `accountId` or `root` only their orders. */
export type CountedRequestFilter = Pick<CountedRequest, 'kind' | 'directory'> &
  Partial<Pick<CountedRequest, 'names'> & { accountId: string; root: string }>

export class AcmeQueries extends QueryGroup {
  readonly #accounts = this.rows('acme_accounts')
  readonly #challenges = this.rows('acme_challenges')
  readonly #requests = this.rows('acme_requests')

  account(directory: string): Promise<AcmeAccount | undefined> {
    return this.#accounts.find({ directory })
  }

  directories(): Promise<string[]> {
    return this.#accounts.pluck('directory')
  }

  async getOrCreateAccount(account: AcmeAccount): Promise<AcmeAccount> {
    await this.#accounts.insertMissing(account)
    return (await this.account(account.directory))!
  }

  /** The URL is null for an account that has to be registered again. An absent account is ignored. */
  async updateAccount(directory: string, change: Partial<Pick<AcmeAccount, 'key' | 'url'>>): Promise<void> {
    await this.#accounts.update({ directory }, change)
  }

  /** The challenges of all names that expire after `now`, the last to expire first. */
  challenges(type: StoredChallenge['type'], now: number): Promise<StoredChallenge[]> {
    return this.#challenges.list({ type, expiresAt: { '>': now } }, 'expiresAt desc')
  }

  async deleteChallenges(name: string): Promise<void> {
    await this.#challenges.remove({ name })
  }

  /** Counts a request. Idempotent: a request with a known id changes nothing. */
  async countRequest(request: Omit<CountedRequest, keyof Owner> & Partial<Owner>): Promise<void> {
    await this.#requests.insertMissing({ ...acmeRequestTable.nulls, ...request })
  }

  /** The time of the `count`th newest of these requests after `since`, from 1; undefined when there are fewer. */
  async nthLatestRequest(
    { names, ...filter }: CountedRequestFilter,
    count: number,
    since: number,
  ): Promise<number | undefined> {
    const which = { ...filter, ...(names && { names: toNameSet(names) }), at: { '>': since } }
    const [at] = await this.#requests.pluck('at', which, 'at desc', { limit: 1, offset: count - 1 })
    return at
  }

  async lastOrder(): Promise<CountedRequest | undefined> {
    const lastOf = (kind: 'order' | 'renewal') => this.#requests.find({ kind }, 'at desc', { limit: 1 })
    const [order, renewal] = [await lastOf('order'), await lastOf('renewal')]
    return renewal && (!order || renewal.at > order.at) ? renewal : order
  }

  deleteRequests(before: number): Promise<number> {
    return this.#requests.remove({ kind: REQUEST_KINDS, at: { '<': before } })
  }
}

export class TicketKeyQueries extends keyedQueries('ticket_keys', 'period') {
  async dropBefore(period: number): Promise<void> {
    await this.table.remove({ period: { '<': period } })
  }
}
