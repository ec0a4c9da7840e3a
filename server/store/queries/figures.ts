import { type Kysely, sql } from 'kysely'
import type { Exceptions } from '../../../protocol/api/account.schema.ts'
import type { ListOrder } from '../../../protocol/api/admin/lists.ts'
import type { Schema } from '../schema.ts'
import { domainId, type Figures, type ListKind } from '../tables/figures.ts'
import type { Suspension } from '../tables/suspension.ts'

/** Follows every text with the same beginning. */
const LAST_CHARACTER = '\u{10ffff}'

/** Owners whose sites or domains a search finds. */
const MAX_OWNERS = 20

const NO_FIGURES = { bytes: 0, visits: 0, sites: 0, title: null }

export interface CountedFigures {
  figures: Figures[]
  /** The last id that was examined; undefined at the end of the list. */
  last: string | undefined
}

export interface TableCount {
  counts: { state: string; count: number; bytes: number }[]
  /** The last key that was examined; undefined at the end of the table. */
  last: string | undefined
}

/** A place in a list: the value that it is sorted by, and the id. */
export interface ListPosition {
  value: number
  id: string
}

export interface ListedSite {
  slug: string
  ownerId: string | null
  ownerEmail: string | null
  title: string | null
  isLive: boolean
  hasPassword: boolean
  createdAt: number
  updatedAt: number
  expiresAt: number | null
  suspension: Suspension | null
  isOwnerSuspended: boolean
  bytes: number
  visits: number
}

export interface ListedAccount {
  id: string
  email: string
  plan: string
  /** The limits that differ from those of the plan. */
  limits: Exceptions
  suspension: Suspension | null
  createdAt: number
  isAdministrator: boolean
  isBeingDeleted: boolean
  sites: number
  bytes: number
  visits: number
}

export interface ListedDomain {
  id: string
  domain: string
  slug: string
  accountId: string
  ownerEmail: string | null
  isActive: boolean
  problem: string | null
  createdAt: number
  checkedAt: number | null
  bytes: number
  visits: number
}

/** Figures are as of their last count: what is newer has none, and is found by its age and by search only. */
export class FigureQueries {
  readonly #db: Kysely<Schema>

  constructor(db: Kysely<Schema>) {
    this.#db = db
  }

  /** Counts the next objects after this id, in the order of ids: for visits since that hour. */
  count(kind: ListKind, options: { after: string; limit: number; since: number }): Promise<CountedFigures> {
    if (kind === 'site') return this.#countSites(options)
    return kind === 'account' ? this.#countAccounts(options) : this.#countDomains(options)
  }

  async range(
    kind: ListKind,
    { after, until }: { after: string; until: string | undefined },
  ): Promise<Figures[]> {
    const rows = await this.#db
      .selectFrom('figures')
      .select(['id', 'bytes', 'visits', 'sites', 'title'])
      .where('kind', '=', kind)
      .where('id', '>', after)
      .$if(until !== undefined, (query) => query.where('id', '<=', until!))
      .execute()
    return rows
  }

  async replace(
    kind: ListKind,
    { put, remove }: { put: readonly Figures[]; remove: readonly string[] },
  ): Promise<void> {
    if (put.length > 0)
      await this.#db
        .insertInto('figures')
        .values(put.map((figures) => ({ kind, ...figures })))
        .onConflict((c) =>
          c.columns(['kind', 'id']).doUpdateSet((e) => ({
            bytes: e.ref('excluded.bytes'),
            visits: e.ref('excluded.visits'),
            sites: e.ref('excluded.sites'),
            title: e.ref('excluded.title'),
          })),
        )
        .execute()
    if (remove.length > 0)
      await this.#db.deleteFrom('figures').where('kind', '=', kind).where('id', 'in', remove).execute()
  }

  async countRows(table: 'versions' | 'blobs', after: string, limit: number): Promise<TableCount> {
    const rows = sql`select id as key, state, total_bytes as bytes from versions where id > ${after} order by id`
    const blobs = sql`select hash as key, 'stored' as state, size as bytes from blobs where hash > ${after} order by hash`
    const counted = await sql<{ state: string; count: number; bytes: number; last: string }>`
      select state, count(*) as count, sum(bytes) as bytes, max(key) as last
      from (${table === 'versions' ? rows : blobs} limit ${limit}) as page group by state`.execute(this.#db)
    const counts = counted.rows.map(({ state, count, bytes }) => ({
      state,
      count: Number(count),
      bytes: Number(bytes),
    }))
    const read = counts.reduce((sum, { count }) => sum + count, 0)
    const last = counted.rows.map((row) => row.last).sort()
    return { counts, last: read < limit ? undefined : last.at(-1) }
  }

  async order(
    kind: ListKind,
    by: ListOrder,
    { limit, after }: { limit: number; after?: ListPosition | undefined },
  ): Promise<ListPosition[]> {
    if (by === 'age') return this.#orderByAge(kind, limit, after)
    return this.#db
      .selectFrom('figures')
      .select([`${by} as value`, 'id'])
      .where('kind', '=', kind)
      .$if(after !== undefined, (query) =>
        query.where((e) => e(e.refTuple(by, 'id'), '<', e.tuple(after!.value, after!.id))),
      )
      .orderBy(by, 'desc')
      .orderBy('id', 'desc')
      .limit(limit)
      .execute()
  }

  /** By the beginning of slug, title, domain or the owner's email address, in no order. `prefix` is in lower case. */
  async search(kind: ListKind, prefix: string, limit: number): Promise<string[]> {
    const owners = await this.#db
      .selectFrom('accounts')
      .select('id')
      .where('email', '>=', prefix)
      .where('email', '<', prefix + LAST_CHARACTER)
      .orderBy('email')
      .limit(kind === 'account' ? limit : MAX_OWNERS)
      .execute()
    const ownerIds = owners.map(({ id }) => id)
    if (kind === 'account') return ownerIds
    const found =
      kind === 'site'
        ? await this.#searchSites(prefix, ownerIds, limit)
        : await this.#searchDomains(prefix, ownerIds, limit)
    return [...new Set(found)].slice(0, limit)
  }

  async countProblems(max: number): Promise<{ domains: number; certificates: number }> {
    const { rows } = await sql<{ domains: number; certificates: number }>`
      select
        (select count(*) from (select 1 from domains
          where failing_since is not null and status = 'active' limit ${max}) as failing) as domains,
        (select count(*) from (select 1 from certificates
          where problem is not null and unused_since is null limit ${max}) as failing) as certificates
    `.execute(this.#db)
    const { domains, certificates } = rows[0]!
    return { domains: Number(domains), certificates: Number(certificates) }
  }

  async sites(slugs: readonly string[]): Promise<ListedSite[]> {
    if (slugs.length === 0) return []
    const rows = await this.#db
      .selectFrom('sites')
      .leftJoin('accounts', 'accounts.id', 'sites.owner_id')
      .leftJoin('versions', 'versions.id', 'sites.live_version_id')
      .leftJoin('figures', (join) =>
        join.onRef('figures.id', '=', 'sites.slug').on('figures.kind', '=', 'site'),
      )
      .select([
        'sites.slug',
        'sites.owner_id as ownerId',
        'accounts.email as ownerEmail',
        'sites.title as ownTitle',
        'versions.title as versionTitle',
        'sites.live_version_id as live',
        'sites.password_hash as password',
        'sites.created_at as createdAt',
        'sites.updated_at as updatedAt',
        'sites.expires_at as expiresAt',
        'sites.suspension',
        'accounts.suspension as ownerSuspension',
        'figures.bytes',
        'figures.visits',
      ])
      .where('sites.slug', 'in', [...slugs])
      .where('sites.deleted_at', 'is', null)
      .execute()
    return rows.map(({ ownTitle, versionTitle, live, password, bytes, visits, ...others }) => {
      const { suspension, ownerSuspension, ...rest } = others
      return {
        ...rest,
        suspension: parse<Suspension>(suspension),
        isOwnerSuspended: ownerSuspension !== null,
        title: ownTitle ?? versionTitle,
        isLive: live !== null,
        hasPassword: password !== null,
        ...{ bytes: bytes ?? 0, visits: visits ?? 0 },
      }
    })
  }

  async accounts(ids: readonly string[]): Promise<ListedAccount[]> {
    if (ids.length === 0) return []
    const rows = await this.#db
      .selectFrom('accounts')
      .leftJoin('figures', (join) =>
        join.onRef('figures.id', '=', 'accounts.id').on('figures.kind', '=', 'account'),
      )
      .select([
        'accounts.id',
        'accounts.email',
        'accounts.plan',
        'accounts.limits',
        'accounts.suspension',
        'accounts.created_at as createdAt',
        'accounts.administrator_since as administratorSince',
        'accounts.deletion_started_at as deletionStartedAt',
        'figures.sites',
        'figures.bytes',
        'figures.visits',
      ])
      .where('accounts.id', 'in', [...ids])
      .execute()
    return rows.map(
      ({ administratorSince, deletionStartedAt, sites, bytes, visits, limits, suspension, ...rest }) => ({
        ...rest,
        limits: parse<Exceptions>(limits) ?? {},
        suspension: parse<Suspension>(suspension),
        isAdministrator: administratorSince !== null,
        isBeingDeleted: deletionStartedAt !== null,
        ...{ sites: sites ?? 0, bytes: bytes ?? 0, visits: visits ?? 0 },
      }),
    )
  }

  async domains(ids: readonly string[]): Promise<ListedDomain[]> {
    if (ids.length === 0) return []
    const wanted = new Set(ids)
    const rows = await this.#db
      .selectFrom('domains')
      .leftJoin('accounts', 'accounts.id', 'domains.account_id')
      .leftJoin('figures', (join) =>
        join.onRef('figures.id', '=', 'domains.slug').on('figures.kind', '=', 'site'),
      )
      .select([
        'domains.domain',
        'domains.slug',
        'domains.account_id as accountId',
        'accounts.email as ownerEmail',
        'domains.status',
        'domains.reason as problem',
        'domains.created_at as createdAt',
        'domains.checked_at as checkedAt',
        'figures.bytes',
        'figures.visits',
      ])
      .where(
        'domains.domain',
        'in',
        ids.map((id) => id.split(' ', 1)[0]!),
      )
      .execute()
    return rows.flatMap(({ status, bytes, visits, ...rest }) => {
      const id = domainId(rest.domain, rest.accountId)
      const figures = { bytes: bytes ?? 0, visits: visits ?? 0 }
      return wanted.has(id) ? [{ ...rest, id, isActive: status === 'active', ...figures }] : []
    })
  }

  async #countSites({ after, limit, since }: { after: string; limit: number; since: number }) {
    const sites = await this.#db
      .selectFrom('sites')
      .leftJoin('versions', 'versions.id', 'sites.live_version_id')
      .select(['sites.slug', 'sites.visits_key', 'versions.total_bytes'])
      .select((e) => e.fn.coalesce('sites.title', 'versions.title').as('title'))
      .where('sites.deleted_at', 'is', null)
      .where('sites.slug', '>', after)
      .orderBy('sites.slug')
      .limit(limit)
      .execute()
    const visits = await this.#countVisits(
      sites.map(({ visits_key }) => visits_key),
      since,
    )
    const figures = sites.map(({ slug, visits_key, total_bytes, title }) => ({
      ...NO_FIGURES,
      id: slug,
      bytes: total_bytes ?? 0,
      visits: visits.get(visits_key) ?? 0,
      title: title?.toLowerCase() ?? null,
    }))
    return { figures, last: sites.length < limit ? undefined : sites.at(-1)?.slug }
  }

  async #countVisits(keys: readonly string[], since: number): Promise<Map<string, number>> {
    if (keys.length === 0) return new Map()
    const rows = await this.#db
      .selectFrom('visit_hours')
      .select((e) => ['slug', e.fn.sum('requests').as('requests')])
      .where('slug', 'in', [...keys])
      .where('hour', '>=', since)
      .groupBy('slug')
      .execute()
    return new Map(rows.map(({ slug, requests }) => [slug, Number(requests)]))
  }

  /** From the figures of their sites, which are counted before. */
  async #countAccounts({ after, limit }: { after: string; limit: number }) {
    const accounts = await this.#db
      .selectFrom('accounts')
      .select('id')
      .where('id', '>', after)
      .orderBy('id')
      .limit(limit)
      .execute()
    if (accounts.length === 0) return { figures: [], last: undefined }
    const owned = await this.#db
      .selectFrom('sites')
      .leftJoin('figures', (join) =>
        join.onRef('figures.id', '=', 'sites.slug').on('figures.kind', '=', 'site'),
      )
      .select((e) => [
        'sites.owner_id',
        e.fn.countAll().as('sites'),
        e.fn.sum('figures.bytes').as('bytes'),
        e.fn.sum('figures.visits').as('visits'),
      ])
      .where(
        'sites.owner_id',
        'in',
        accounts.map(({ id }) => id),
      )
      .where('sites.deleted_at', 'is', null)
      .groupBy('sites.owner_id')
      .execute()
    const byOwner = new Map(owned.map((row) => [row.owner_id, row]))
    const figures = accounts.map(({ id }) => {
      const { sites = 0, bytes = 0, visits = 0 } = byOwner.get(id) ?? {}
      return {
        ...NO_FIGURES,
        id,
        ...{ sites: Number(sites), bytes: Number(bytes), visits: Number(visits) },
      }
    })
    return { figures, last: accounts.length < limit ? undefined : accounts.at(-1)?.id }
  }

  async #countDomains({ after, limit }: { after: string; limit: number }) {
    const [domain = '', accountId = ''] = after.split(' ')
    const rows = await this.#db
      .selectFrom('domains')
      .leftJoin('figures', (join) =>
        join.onRef('figures.id', '=', 'domains.slug').on('figures.kind', '=', 'site'),
      )
      .select(['domain', 'account_id', 'figures.bytes', 'figures.visits'])
      .where((e) => e(e.refTuple('domain', 'account_id'), '>', e.tuple(domain, accountId)))
      .orderBy('domain')
      .orderBy('account_id')
      .limit(limit)
      .execute()
    const figures = rows.map((row) => ({
      ...NO_FIGURES,
      id: domainId(row.domain, row.account_id),
      bytes: row.bytes ?? 0,
      visits: row.visits ?? 0,
    }))
    return { figures, last: rows.length < limit ? undefined : figures.at(-1)?.id }
  }

  async #orderByAge(kind: ListKind, limit: number, after: ListPosition | undefined): Promise<ListPosition[]> {
    if (kind === 'site')
      return this.#db
        .selectFrom('sites')
        .select(['created_at as value', 'slug as id'])
        .where('deleted_at', 'is', null)
        .$if(after !== undefined, (query) =>
          query.where((e) => e(e.refTuple('created_at', 'slug'), '<', e.tuple(after!.value, after!.id))),
        )
        .orderBy('created_at', 'desc')
        .orderBy('slug', 'desc')
        .limit(limit)
        .execute()
    if (kind === 'account')
      return this.#db
        .selectFrom('accounts')
        .select(['created_at as value', 'id'])
        .$if(after !== undefined, (query) =>
          query.where((e) => e(e.refTuple('created_at', 'id'), '<', e.tuple(after!.value, after!.id))),
        )
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .limit(limit)
        .execute()
    const [domain = '', accountId = ''] = after?.id.split(' ') ?? []
    const rows = await this.#db
      .selectFrom('domains')
      .select(['created_at', 'domain', 'account_id'])
      .$if(after !== undefined, (query) =>
        query.where((e) =>
          e(e.refTuple('created_at', 'domain', 'account_id'), '<', e.tuple(after!.value, domain, accountId)),
        ),
      )
      .orderBy('created_at', 'desc')
      .orderBy('domain', 'desc')
      .orderBy('account_id', 'desc')
      .limit(limit)
      .execute()
    return rows.map((row) => ({ value: row.created_at, id: domainId(row.domain, row.account_id) }))
  }

  async #searchSites(prefix: string, ownerIds: readonly string[], limit: number): Promise<string[]> {
    const end = prefix + LAST_CHARACTER
    const bySlug = this.#db
      .selectFrom('sites')
      .select('slug as id')
      .where('deleted_at', 'is', null)
      .where('slug', '>=', prefix)
      .where('slug', '<', end)
      .orderBy('slug')
    const byTitle = this.#db
      .selectFrom('figures')
      .select('id')
      .where('title', '>=', prefix)
      .where('title', '<', end)
      .orderBy('title')
    const byDomain = this.#db
      .selectFrom('domains')
      .select('slug as id')
      .where('domain', '>=', prefix)
      .where('domain', '<', end)
      .orderBy('domain')
    const found = [
      ...(await bySlug.limit(limit).execute()),
      ...(await byTitle.limit(limit).execute()),
      ...(await byDomain.limit(limit).execute()),
    ]
    if (ownerIds.length > 0) {
      const byOwner = this.#db.selectFrom('sites').select('slug as id').where('deleted_at', 'is', null)
      found.push(...(await byOwner.where('owner_id', 'in', ownerIds).limit(limit).execute()))
    }
    return found.map(({ id }) => id)
  }

  async #searchDomains(prefix: string, ownerIds: readonly string[], limit: number): Promise<string[]> {
    const domains = this.#db.selectFrom('domains').select(['domain', 'account_id']).limit(limit)
    const found = await domains
      .where('domain', '>=', prefix)
      .where('domain', '<', prefix + LAST_CHARACTER)
      .orderBy('domain')
      .execute()
    if (ownerIds.length > 0) found.push(...(await domains.where('account_id', 'in', ownerIds).execute()))
    return found.map(({ domain, account_id }) => domainId(domain, account_id))
  }
}

function parse<T>(json: string | null): T | null {
  return json === null ? null : (JSON.parse(json) as T)
}
