import { sql } from '#kysely'
import type { ListOrder } from '../../../protocol/api/admin/lists.ts'
import { QueryGroup, startingWith } from '../rows.ts'
import { accountTable } from '../tables/accounts.ts'
import { domainTable } from '../tables/domains.ts'
import { type ActivityEntry, domainId, type Figures, figureTable, type ListKind } from '../tables/figures.ts'
import { siteTable } from '../tables/sites.ts'

/** Owners whose sites or domains a search finds. */
const MAX_OWNERS = 20

const NO_FIGURES = { bytes: 0, visits: 0, sites: 0, title: null }

const countedFigures = figureTable.omit('kind')
const domainKey = domainTable.pick('domain', 'accountId')

interface CountedFigures {
  figures: Figures[]
  /** The last id that was examined; undefined at the end of the list. */
  last: string | undefined
}

interface TableCount {
  counts: { state: string; count: number; bytes: number }[]
  /** The last key that was examined; undefined at the end of the table. */
  last: string | undefined
}

/** A place in a list: the value that it is sorted by, and the id. */
interface ListPosition {
  value: number
  id: string
}

/** The columns that identify the objects of a list, and which of them are listed. */
const LISTED = {
  site: { table: 'sites', keys: ['slug'], where: sql`deleted_at is null` },
  account: { table: 'accounts', keys: ['id'], where: sql`1 = 1` },
  domain: { table: 'domains', keys: ['domain', 'account_id'], where: sql`1 = 1` },
} as const

/** Figures are as of their last count: what is newer has none, and is found by its age and by search only. */
export class FigureQueries extends QueryGroup {
  readonly #rows = this.rows('figures')

  /** Counts the next objects after this id, in the order of ids: for visits since that hour. */
  count(kind: ListKind, options: { after: string; limit: number; since: number }): Promise<CountedFigures> {
    if (kind === 'site') return this.#countSites(options)
    return kind === 'account' ? this.#countAccounts(options) : this.#countDomains(options)
  }

  range(kind: ListKind, { after, until }: { after: string; until: string | undefined }): Promise<Figures[]> {
    const id = { '>': after, ...(until !== undefined && { '<=': until }) }
    return this.rows('figures', countedFigures).list({ kind, id })
  }

  async replace(
    kind: ListKind,
    { put, remove }: { put: readonly Figures[]; remove: readonly string[] },
  ): Promise<void> {
    await this.#rows.put(put.map((figures) => ({ kind, ...figures })))
    await this.#rows.remove({ kind, id: remove })
  }

  async countRows(table: 'versions' | 'blobs', after: string, limit: number): Promise<TableCount> {
    const rows = sql`select id as key, state, total_bytes as bytes from versions where id > ${after} order by id`
    const blobs = sql`select hash as key, 'stored' as state, size as bytes from blobs where hash > ${after} order by hash`
    const counted = await sql<{ state: string; count: number; bytes: number; last: string }>`
      select state, count(*) as count, sum(bytes) as bytes, max(key) as last
      from (${table === 'versions' ? rows : blobs} limit ${limit}) as page group by state`.execute(this.db)
    const counts = counted.rows.map(({ last: _, ...count }) => count)
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
    return this.db
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
    const max = kind === 'account' ? limit : MAX_OWNERS
    const begins = startingWith(prefix)
    const ownerIds = await this.rows('accounts').pluck('id', { email: begins }, 'email', { limit: max })
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
    `.execute(this.db)
    return rows[0]!
  }

  /** Those of these that exist, in no order. */
  async sites(slugs: readonly string[]) {
    if (slugs.length === 0) return []
    const rows = await this.db
      .selectFrom('sites')
      .leftJoin('accounts', 'accounts.id', 'sites.owner_id')
      .leftJoin('versions', 'versions.id', 'sites.live_version_id')
      .leftJoin('figures', (join) => join.on(isCountOf('site', 'sites.slug')))
      .selectAll('sites')
      .select(['accounts.email', 'accounts.suspension as ownerSuspension', 'versions.title as versionTitle'])
      .select(['figures.bytes', 'figures.visits'])
      .where('sites.slug', 'in', slugs)
      .where('sites.deleted_at', 'is', null)
      .execute()
    return rows.map((row) => ({
      ...siteTable.toEntity(row),
      ownerEmail: row.email,
      isOwnerSuspended: row.ownerSuspension !== null,
      versionTitle: row.versionTitle,
      ...toCounted(row),
    }))
  }

  async accounts(ids: readonly string[]) {
    if (ids.length === 0) return []
    const rows = await this.db
      .selectFrom('accounts')
      .leftJoin('figures', (join) => join.on(isCountOf('account', 'accounts.id')))
      .selectAll('accounts')
      .select(['figures.sites', 'figures.bytes', 'figures.visits'])
      .where('accounts.id', 'in', ids)
      .execute()
    return rows.map((row) => ({ ...accountTable.toEntity(row), sites: row.sites ?? 0, ...toCounted(row) }))
  }

  async domains(ids: readonly string[]) {
    if (ids.length === 0) return []
    const rows = await this.db
      .selectFrom('domains')
      .leftJoin('accounts', 'accounts.id', 'domains.account_id')
      .leftJoin('figures', (join) => join.on(isCountOf('site', 'domains.slug')))
      .selectAll('domains')
      .select(['accounts.email', 'figures.bytes', 'figures.visits'])
      .where((e) =>
        e(
          e.refTuple('domains.domain', 'domains.account_id'),
          'in',
          ids.map((id) => e.tuple(...(id.split(' ') as [string, string]))),
        ),
      )
      .execute()
    return rows.map((row) => ({ ...domainTable.toEntity(row), ownerEmail: row.email, ...toCounted(row) }))
  }

  async #countSites({ after, limit, since }: { after: string; limit: number; since: number }) {
    const sites = await this.db
      .selectFrom('sites')
      .leftJoin('versions', 'versions.id', 'sites.live_version_id')
      .select(['sites.slug', 'sites.visits_key', 'versions.total_bytes'])
      .select((e) => e.fn.coalesce('sites.title', 'versions.title').as('title'))
      .where('sites.deleted_at', 'is', null)
      .where('sites.slug', '>', after)
      .orderBy('sites.slug')
      .limit(limit)
      .execute()
    const keys = sites.map(({ visits_key }) => visits_key)
    const visits = await this.#countVisits(keys, since)
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
    const rows = await this.db
      .selectFrom('visit_hours')
      .select((e) => ['slug', e.fn.sum<number>('requests').as('requests')])
      .where('slug', 'in', [...keys])
      .where('hour', '>=', since)
      .groupBy('slug')
      .execute()
    return new Map(rows.map(({ slug, requests }) => [slug, requests]))
  }

  /** From the figures of their sites, which are counted before. */
  async #countAccounts({ after, limit }: { after: string; limit: number }) {
    const ids = await this.rows('accounts').pluck('id', { id: { '>': after } }, 'id', { limit })
    if (ids.length === 0) return { figures: [], last: undefined }
    const owned = await this.db
      .selectFrom('sites')
      .leftJoin('figures', (join) => join.on(isCountOf('site', 'sites.slug')))
      .select((e) => [
        'sites.owner_id',
        e.fn.countAll<number>().as('sites'),
        sql<number>`coalesce(sum(figures.bytes), 0)`.as('bytes'),
        sql<number>`coalesce(sum(figures.visits), 0)`.as('visits'),
      ])
      .where('sites.owner_id', 'in', ids)
      .where('sites.deleted_at', 'is', null)
      .groupBy('sites.owner_id')
      .execute()
    const byOwner = new Map(owned.map((row) => [row.owner_id, row]))
    const figures = ids.map((id) => {
      const { owner_id: _, ...counted } = byOwner.get(id) ?? { owner_id: id }
      return { ...NO_FIGURES, id, ...counted }
    })
    return { figures, last: ids.length < limit ? undefined : ids.at(-1) }
  }

  async #countDomains({ after, limit }: { after: string; limit: number }) {
    const [domain = '', accountId = ''] = after.split(' ')
    const rows = await this.db
      .selectFrom('domains')
      .leftJoin('figures', (join) => join.on(isCountOf('site', 'domains.slug')))
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
    const { table, keys, where } = LISTED[kind]
    const columns = ['created_at', ...keys].map((name) => sql.ref(name))
    const ids = after && (keys.length === 1 ? [after.id] : after.id.split(' '))
    const values = ids && [after.value, ...keys.map((_, at) => ids[at] ?? '')]
    const rest = values ? sql`and (${sql.join(columns)}) < (${sql.join(values)})` : sql``
    const { rows } = await sql<{ created_at: number } & Record<string, string>>`
      select ${sql.join(columns)} from ${sql.table(table)} where ${where} ${rest}
      order by ${sql.join(columns.map((column) => sql`${column} desc`))} limit ${limit}`.execute(this.db)
    return rows.map((row) => ({ value: row.created_at, id: keys.map((name) => row[name]).join(' ') }))
  }

  async #searchSites(prefix: string, ownerIds: readonly string[], limit: number): Promise<string[]> {
    const [sites, begins] = [this.rows('sites'), startingWith(prefix)]
    return [
      ...(await sites.pluck('slug', { deletedAt: null, slug: begins }, 'slug', { limit })),
      ...(await this.#rows.pluck('id', { title: begins }, 'title', { limit })),
      ...(await this.rows('domains').pluck('slug', { domain: begins }, 'domain', { limit })),
      ...(await sites.pluck('slug', { deletedAt: null, ownerId: ownerIds }, { limit })),
    ]
  }

  async #searchDomains(prefix: string, ownerIds: readonly string[], limit: number): Promise<string[]> {
    const domains = this.rows('domains', domainKey)
    const byName = await domains.list({ domain: startingWith(prefix) }, 'domain', { limit })
    const byOwner = await domains.list({ accountId: ownerIds }, { limit })
    return [...byName, ...byOwner].map(({ domain, accountId }) => domainId(domain, accountId))
  }
}

function isCountOf(kind: ListKind, id: string) {
  return sql<boolean>`figures.id = ${sql.ref(id)} and figures.kind = ${kind}`
}

/** What was never counted has nothing. */
function toCounted({ bytes, visits }: { bytes: number | null; visits: number | null }) {
  return { bytes: bytes ?? 0, visits: visits ?? 0 }
}

export class ActivityQueries extends QueryGroup {
  readonly #rows = this.rows('activity')

  /** Adds to counts. Not idempotent. */
  async add(entries: readonly ActivityEntry[]): Promise<void> {
    if (entries.length === 0) return
    await this.db
      .insertInto('activity')
      .values(inLockOrder(entries))
      .onConflict((c) =>
        c
          .columns(['width', 'at', 'name'])
          .doUpdateSet((e) => ({ value: e('activity.value', '+', e.ref('excluded.value')) })),
      )
      .execute()
  }

  set(entries: readonly ActivityEntry[]): Promise<void> {
    return this.#rows.put(inLockOrder(entries))
  }

  /** Sums and maxima in intervals of `interval` milliseconds, by their start and name, in no order. */
  async series(range: {
    width: number
    from: number
    interval: number
  }): Promise<{ at: number; name: string; sum: number; max: number }[]> {
    const { width, from, interval } = range
    const start = sql<number>`at - at % ${sql.lit(interval)}`
    const rows = await this.db
      .selectFrom('activity')
      .select((e) => [
        start.as('at'),
        'name',
        e.fn.sum<number>('value').as('sum'),
        e.fn.max('value').as('max'),
      ])
      .where('width', '=', width)
      .where('at', '>=', from)
      .groupBy([start, 'name'])
      .execute()
    return rows.map((row) => ({ ...row }))
  }

  deleteBefore(width: number, before: number): Promise<number> {
    return this.#rows.remove({ width, at: { '<': before } })
  }
}

/** Concurrent statements that lock rows in a common order do not deadlock. */
function inLockOrder(entries: readonly ActivityEntry[]): ActivityEntry[] {
  return entries.toSorted((one, other) => one.width - other.width || (one.name < other.name ? -1 : 1))
}
