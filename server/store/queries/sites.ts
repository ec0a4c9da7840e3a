import { type RawBuilder, sql } from '#kysely'
import { DAY_MS } from '../../lib/time.ts'
import { isPostgres, keyedQueries, QueryGroup } from '../rows.ts'
import { BEING_DELETED, type Collaborator, emptySite, type Site, siteTable } from '../tables/sites.ts'
import { type Version, versionTable } from '../tables/versions.ts'

/** Tables whose rows belong to a site by its slug. */
const SITE_TABLES = [
  ...(['versions', 'collaborators', 'domains'] as const),
  ...(['review_links', 'review_threads', 'review_decisions'] as const),
]

/** For so long after its beginning, a suspension keeps a site from its expiry and the end of the trash. */
const SUSPENSION_KEEPS_MS = 30 * DAY_MS

/** A sum reads a version of each: more would take longer than a request may hold the event loop. */
const MAX_SUMMED_SITES = 2000

const ENDS = { expired: 'expires_at', overdue: 'kept_until', abandoned: 'created_at' } as const

/**
 * Why a site ends: it has expired, or its time in the trash is over, unless a suspension keeps the evidence, or it is
 * `BEING_DELETED`; or, of those that were created before the time, it has no finalized version and no newer pending one.
 */
export type SiteEnd = keyof typeof ENDS

interface SitePosition {
  at: number
  slug: string
}

export interface HeldSite extends SitePosition {
  visitsKey: string
}

export interface OwnerPage {
  limit: number
  /** Sorted by creation; in the trash, by deletion. */
  after?: SitePosition | undefined
  until?: SitePosition | undefined
  /** Also lists the sites with this collaborator. */
  sharedWith?: string | undefined
  /** Lists the sites in the trash, the last deleted one first. */
  trash?: boolean | undefined
  /** Words that all occur in the slug or in the title: the site's own, else that of its live version. */
  words?: readonly string[] | undefined
}

/** Deleted sites are found too: their slugs are retired forever. */
export class SiteQueries extends keyedQueries('sites', 'slug') {
  /** Includes its first version, if it has one. Rejects when the slug was ever used. */
  async insert(site: Site, version?: Version): Promise<void> {
    if (version && isPostgres(this.db))
      await this.db
        .with('site', (db) => db.insertInto('sites').values(siteTable.toRow(site)))
        .insertInto('versions')
        .values(versionTable.toRow(version))
        .execute()
    else {
      await this.table.insert(site)
      if (version) await this.rows('versions').insert(version)
    }
  }

  /**
   * Gives a site a new name that no row has, with its versions, collaborators, reviews and domains. The former one stays
   * as a row of its own that leads to the new one, as earlier ones do. Returns all former names, if it exists.
   */
  async rename(slug: string, name: string, now: number): Promise<string[]> {
    const site = await this.find(slug)
    if (!site) return []
    await this.table.update({ slug }, { slug: name, updatedAt: now })
    for (const table of SITE_TABLES)
      await this.db.updateTable(table).set({ slug: name }).where('slug', '=', slug).execute()
    await this.insert(formerName(site, now))
    await this.db
      .updateTable('sites')
      .set({ renamed_to: name })
      .where((e) => e.or([e('slug', '=', slug), e('renamed_to', '=', slug)]))
      .execute()
    return this.table.pluck('slug', { renamedTo: name })
  }

  /** That of the site which had this name within the last 30 days; the same name otherwise. */
  async currentName(slug: string): Promise<string> {
    const [name] = await this.table.pluck('renamedTo', { slug })
    return name ?? slug
  }

  /** The current slugs of the sites with these `visitsKey`s, also of deleted ones, by `visitsKey`. */
  async currentSlugs(visitsKeys: readonly string[]): Promise<Map<string, string>> {
    if (visitsKeys.length === 0) return new Map()
    const rows = await this.db
      .selectFrom('sites')
      .select(['slug', 'visits_key'])
      .where(hasVisitsKey(sql`in (${sql.join([...new Set(visitsKeys)])})`))
      .where((e) => e.or([e('deletion_reason', 'is', null), e('deletion_reason', '!=', 'renamed')]))
      .execute()
    return new Map(rows.map(({ slug, visits_key }) => [visits_key, slug]))
  }

  /** Removes the row of a former or abandoned name, so that it can be given again. */
  async releaseName(name: string): Promise<void> {
    await this.table.remove({ slug: name, deletedAt: { '!=': null } })
  }

  /** Ends the redirects of names that were given up before then, or of all former names of `slug`; returns them. */
  async endRedirects(before: number, slug?: string): Promise<string[]> {
    const which = { renamedTo: slug ?? { '!=': null }, deletedAt: { '<=': before } }
    const names = await this.table.pluck('slug', which)
    await this.table.update({ slug: names }, { renamedTo: null })
    return names
  }

  /** Newest first, then by slug downwards; deleted ones only from the trash. Case matters only beyond ASCII. */
  async byOwner(ownerId: string, page: OwnerPage): Promise<Site[]> {
    const own = siteTable.toEntities(await this.#page(page).where('owner_id', '=', ownerId).execute())
    if (page.sharedWith === undefined) return own
    // A query of its own: one for both would sort all sites of the owner.
    const slugs = this.db.selectFrom('collaborators').select('slug').where('email', '=', page.sharedWith)
    const shared = siteTable.toEntities(await this.#page(page).where('sites.slug', 'in', slugs).execute())
    if (shared.length === 0) return own
    const newestFirst = (one: Site, other: Site) =>
      other.createdAt - one.createdAt || (one.slug < other.slug ? 1 : -1)
    return [...own, ...shared].sort(newestFirst).slice(0, page.limit)
  }

  /** The last one of the next `limit` sites of an owner, with any words; undefined when fewer follow. */
  async findPageEnd(ownerId: string, page: OwnerPage): Promise<SitePosition | undefined> {
    const { after, trash, limit } = page
    const next = this.#page({ after, trash, limit: 1 }).where('owner_id', '=', ownerId)
    const last = await next.offset(limit - 1).executeTakeFirst()
    return last && { at: last.deleted_at ?? last.created_at, slug: last.slug }
  }

  /** The bytes of live versions; of an owner of many sites as of their last count, in `figures`. */
  async usage(ownerId: string): Promise<{ sites: number; totalBytes: number }> {
    const own = { ownerId, deletedAt: null }
    const sites = await this.table.count(own)
    if (sites > MAX_SUMMED_SITES) {
      const counted = await this.rows('figures').find({ kind: 'account', id: ownerId })
      return { sites, totalBytes: counted?.bytes ?? 0 }
    }
    const ids = this.db.selectFrom('sites').select('live_version_id')
    const { totalBytes } = await this.db
      .selectFrom('versions')
      .where('id', 'in', ids.where('owner_id', '=', ownerId).where('deleted_at', 'is', null))
      .select(sql<number>`coalesce(sum(total_bytes), 0)`.as('totalBytes'))
      .executeTakeFirstOrThrow()
    return { sites, totalBytes }
  }

  /** The next sites that an owner, or a network without an account, holds, by creation; with deleted ones that have versions. */
  listHeld(
    holder: { ownerId: string } | { network: string },
    { after, limit }: { after: SitePosition; limit: number },
  ): Promise<HeldSite[]> {
    const [column, value] =
      'network' in holder ? (['network', holder.network] as const) : (['owner_id', holder.ownerId] as const)
    return this.#listAfter('created_at', after, limit)
      .select('visits_key as visitsKey')
      .where(column, '=', value)
      .where(sql<boolean>`(deleted_at is null or kept_until is not null)`)
      .execute()
  }

  /** The next sites that are not deleted, by their last change. */
  listChanged(after: SitePosition, limit: number): Promise<SitePosition[]> {
    return this.#listAfter('updated_at', after, limit).where('deleted_at', 'is', null).execute()
  }

  /** Slugs of the first of these sites of an owner. */
  async listFirstHeld(ownerId: string, limit: number): Promise<string[]> {
    const present = await this.table.pluck('slug', { ownerId, deletedAt: null }, { limit })
    const deleted = await this.table.pluck('slug', { ownerId, keptUntil: { '!=': null } }, { limit })
    return [...present, ...deleted]
  }

  /** Slugs of sites that are due to be deleted, the longest due first. */
  due(end: SiteEnd, time: number, limit: number): Promise<string[]> {
    return this.table.pluck('slug', (all) =>
      all.where(this.#isDue(end, time)).orderBy(ENDS[end]).limit(limit),
    )
  }

  isDue(end: SiteEnd, slug: string, time: number): Promise<boolean> {
    return this.table.has((all) => all.where('slug', '=', slug).where(this.#isDue(end, time)))
  }

  #isDue(end: SiteEnd, time: number) {
    if (end === 'abandoned') return isAbandoned(time)
    if (end === 'overdue')
      return sql<boolean>`kept_until <= ${time} and (kept_until = ${BEING_DELETED} or ${this.#isNotKept(time)})`
    return sql<boolean>`deleted_at is null and expires_at <= ${time} and ${this.#isNotKept(time)}`
  }

  #isNotKept(now: number) {
    const before = now - SUSPENSION_KEEPS_MS
    const parse = (column: string) =>
      isPostgres(this.db)
        ? sql`(${sql.ref(column)}::json->>'since')::bigint`
        : sql`json_extract(${sql.ref(column)}, '$.since')`
    const owner = sql`(select ${parse('accounts.suspension')} from accounts where accounts.id = sites.owner_id)`
    return sql`coalesce(${parse('sites.suspension')}, ${before}) <= ${before} and coalesce(${owner}, ${before}) <= ${before}`
  }

  #listAfter(time: 'created_at' | 'updated_at', { at, slug }: SitePosition, limit: number) {
    return this.db
      .selectFrom('sites')
      .select([`${time} as at`, 'slug'])
      .where((e) => e(e.refTuple(time, 'slug'), '>', e.tuple(at, slug)))
      .orderBy(time)
      .orderBy('slug')
      .limit(limit)
  }

  #page({ limit, after, until, trash = false, words = [] }: OwnerPage) {
    const time = trash ? 'sites.deleted_at' : 'sites.created_at'
    let query = this.db
      .selectFrom('sites')
      .selectAll('sites')
      .where((e) => (trash ? e('kept_until', '>', BEING_DELETED) : e('deleted_at', 'is', null)))
      .orderBy(time, 'desc')
      .orderBy('sites.slug', 'desc')
      .limit(limit)
    for (const word of words) {
      // Not by a join, for which PostgreSQL may read all versions.
      const title = sql`coalesce(sites.title, (select title from versions where versions.id = live_version_id))`
      const texts = [sql.ref('sites.slug'), title]
      const patterns = spellings(word).map((one) => `%${one.replace(/[\\%_]/g, '\\$&')}%`)
      const like = (text: RawBuilder<unknown>, pattern: string) =>
        sql<boolean>`lower(${text}) like ${pattern} escape '\\'`
      query = query.where((e) =>
        e.or(texts.flatMap((text) => patterns.map((pattern) => like(text, pattern)))),
      )
    }
    // By rows, which is a range of an index.
    for (const [order, bound] of [['<', after] as const, ['>=', until] as const])
      if (bound)
        query = query.where((e) => e(e.refTuple(time, 'sites.slug'), order, e.tuple(bound.at, bound.slug)))
    return query
  }
}

/** A comparison of `visits_key`, of which there is an index for sites with another one than their slug. */
export function hasVisitsKey(compared: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql`(sites.slug ${compared} and visits_key = sites.slug or visits_key ${compared} and visits_key <> sites.slug)`
}

function isAbandoned(before: number) {
  return sql<boolean>`deleted_at is null and is_finalized = 0 and created_at < ${before}
    and not exists (select 1 from versions
      where versions.slug = sites.slug and versions.created_at >= ${before})`
}

function formerName({ slug, ownerId, createdAt, visitsKey }: Site, now: number): Site {
  return { ...emptySite(slug, now), ownerId, createdAt, visitsKey, deletedAt: now, deletionReason: 'renamed' }
}

/** Collaborators of sites. All changes are idempotent. */
export class CollaboratorQueries extends QueryGroup {
  readonly #rows = this.rows('collaborators')

  bySite(slug: string): Promise<Collaborator[]> {
    return this.#rows.list({ slug }, 'addedAt', 'email')
  }

  has(slug: string, email: string): Promise<boolean> {
    return this.#rows.has({ slug, email })
  }

  /** An earlier entry of the address stays. */
  async add(collaborator: Collaborator): Promise<void> {
    await this.#rows.insertMissing(collaborator)
  }

  async removeOfSite(slug: string): Promise<void> {
    await this.#rows.remove({ slug })
  }

  /** Returns the slugs of the sites that had the address. */
  async removeEmail(email: string): Promise<string[]> {
    return (await this.#rows.take({ email })).map(({ slug }) => slug)
  }
}

/** SQLite's `lower` changes ASCII only: other letters of a title are compared as they may have been typed. */
function spellings(word: string): string[] {
  const lower = word.toLowerCase()
  if (/^[ -~]*$/.test(word)) return [lower]
  const typed = word.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
  const [first = ''] = lower
  return [...new Set([lower, typed, first.toUpperCase() + lower.slice(first.length)])]
}
