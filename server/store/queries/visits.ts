import { type RawBuilder, sql } from '#kysely'
import { VISIT_NAME_KINDS, type VisitNameKind } from '../../../protocol/api/visits.ts'
import { DAY_MS } from '../../lib/time.ts'
import { QueryGroup } from '../rows.ts'
import { toBatches } from '../statement.ts'
import { type SiteVisits, type VisitCounts, type VisitName, visitNameTable } from '../tables/visits.ts'
import { hasVisitsKey } from './sites.ts'

const MAX_NAMES_PER_DAY = 1000
const NAMES_AFTER_TRUNCATION = 500

/** A write with this many names of a kind always checks the number of the day's names; smaller ones do less often. */
const NAME_CHECK_THRESHOLD = 250

const MAX_VISITORS_PER_DAY = 250_000

/** A smaller write is not checked against it. */
const VISITOR_CHECK_THRESHOLD = 50

/** About what a visitor takes. */
const UNIT_BYTES = 80

const ROWS_PER_DELETE = 1000

const visitDay = visitNameTable.pick('day', 'requests')

/** Counts by site (`slug`: its `visitsKey`) and hour, names by day (UTC). Times are the starts of hours and days. */
export class VisitQueries extends QueryGroup {
  readonly #hours = this.rows('visit_hours')
  readonly #names = this.rows('visit_names')
  readonly #visitors = this.rows('visitors')
  readonly #salts = this.rows('visit_salts')

  /**
   * Adds to the visits of an hour on a day. Not idempotent. Deleted sites are skipped; a visitor counts once a day. The
   * number of names of a day is bounded; the most requested stay. Returns what is new, in the unit of
   * `visitSaltTable.written`, and its total of that day over all nodes and sites; a day without a salt has none.
   */
  async add(
    hour: number,
    day: number,
    sites: readonly SiteVisits[],
  ): Promise<{ added: number; total: number }> {
    const existing = await this.#existingAmong(sites.map(({ slug }) => slug))
    const counted = inLockOrder(sites.filter(({ slug }) => existing.has(slug)))
    const firsts = await this.#insertVisitors(counted, day)
    await this.#addHours(hour, counted, firsts)
    let added = await this.#addNames(day, counted)
    for (const { slug, names } of counted) {
      for (const kind of VISIT_NAME_KINDS) {
        const { length } = names.filter((one) => one.kind === kind)
        if (
          Math.random() < length / NAME_CHECK_THRESHOLD &&
          (await this.#names.count({ slug, day, kind })) > MAX_NAMES_PER_DAY
        )
          added -= countUnits(await this.#truncateKind(slug, day, kind, NAMES_AFTER_TRUNCATION))
      }
    }
    added = firsts.values().reduce((sum, count) => sum + count, added)
    // Last, because all nodes write this row.
    const total = await this.db
      .updateTable('visit_salts')
      .set((e) => ({ written: e('written', '+', added) }))
      .where('day', '=', day)
      .returning('written')
      .executeTakeFirst()
    return { added, total: total?.written ?? 0 }
  }

  /** Counts in intervals of `interval` milliseconds, by their start, in no order; empty intervals are omitted. */
  async series(
    slug: string,
    { from, to, interval }: { from: number; to: number; interval: number },
  ): Promise<(VisitCounts & { at: number })[]> {
    const at = sql<number>`hour - hour % ${sql.lit(interval)}`
    const rows = await this.db
      .selectFrom('visit_hours')
      .select((e) => [
        at.as('at'),
        e.fn.sum<number>('requests').as('requests'),
        e.fn.sum<number>('bytes').as('bytes'),
        e.fn.sum<number>('visitors').as('visitors'),
      ])
      .where('slug', '=', slug)
      .where('hour', '>=', from)
      .where('hour', '<', to)
      .groupBy(at)
      .execute()
    return rows.map((row) => ({ ...row }))
  }

  async top(
    slug: string,
    kind: VisitNameKind,
    { from, to, limit }: { from: number; to: number; limit: number },
  ): Promise<{ name: string; requests: number }[]> {
    const rows = await this.db
      .selectFrom('visit_names')
      .select((e) => ['name', e.fn.sum<number>('visit_names.requests').as('requests')])
      .where('slug', '=', slug)
      .where('day', '>=', from)
      .where('day', '<', to)
      .where('kind', '=', kind)
      .groupBy('name')
      .orderBy((e) => e.fn.sum('visit_names.requests'), 'desc')
      .orderBy('name')
      .limit(limit)
      .execute()
    return rows.map((row) => ({ ...row }))
  }

  /** Days without requests are omitted. Finds each by the whole primary key: the names of a day may be many. */
  byDay(
    slug: string,
    { kind, name }: Pick<VisitName, 'kind' | 'name'>,
    days: readonly number[],
  ): Promise<{ day: number; requests: number }[]> {
    return this.rows('visit_names', visitDay).list({ slug, day: days, kind, name })
  }

  async salt(day: number): Promise<string | undefined> {
    return (await this.#salts.find({ day }))?.salt
  }

  async getOrCreateSalt(day: number, salt: string): Promise<string> {
    await this.#salts.insertMissing({ day, salt, written: 0 })
    return (await this.salt(day)) ?? salt
  }

  visitedOn(day: number, after: string, limit: number): Promise<string[]> {
    return this.#names.pluck('slug', (all) =>
      all.distinct().where('day', '=', day).where('slug', '>', after).orderBy('slug').limit(limit),
    )
  }

  async sitesOverNameLimit(slugs: readonly string[], day: number, max: number): Promise<string[]> {
    const found = await this.#names.pluck('slug', (all) =>
      all
        .where('slug', 'in', slugs)
        .where('day', '=', day)
        .groupBy(['slug', 'kind'])
        .having((e) => e(e.fn.countAll(), '>', max)),
    )
    return [...new Set(found)]
  }

  async truncateNames(slug: string, day: number, kept: number): Promise<number> {
    let deleted = 0
    for (const kind of VISIT_NAME_KINDS)
      if ((await this.#names.count({ slug, day, kind })) > kept)
        deleted += (await this.#truncateKind(slug, day, kind, kept)).length
    return deleted
  }

  /** Sites with counts, ordered by slug, after that one; each costs one index lookup. */
  async sitesWithVisits(after: string, limit: number): Promise<string[]> {
    const { rows } = await sql<{ slug: string | null }>`
      with recursive found (slug, number) as (
        select min(slug), 1 from visit_hours where slug > ${after}
        union all
        select (select min(slug) from visit_hours where slug > found.slug), number + 1
        from found where found.slug is not null and number < ${limit}
      )
      select slug from found where slug is not null
    `.execute(this.db)
    return rows.map(({ slug }) => slug!)
  }

  async deletedAmong(slugs: readonly string[]): Promise<string[]> {
    const existing = await this.#existingAmong(slugs)
    return slugs.filter((slug) => !existing.has(slug))
  }

  async deleteSite(slug: string): Promise<number> {
    const names = await this.#names.removeFirst(ROWS_PER_DELETE, { slug })
    const visitors = await this.#visitors.removeFirst(ROWS_PER_DELETE, { slug })
    return names + visitors || this.#hours.remove({ slug })
  }

  async #existingAmong(slugs: readonly string[]) {
    const existing = new Set<string>()
    for (const piece of toBatches(slugs)) {
      const keys = await this.rows('sites').pluck('visitsKey', (all) =>
        all
          .where(hasVisitsKey(sql`in (${sql.join(piece)})`))
          .where((e) => e.or([e('deleted_at', 'is', null), e('kept_until', 'is not', null)])),
      )
      for (const key of keys) existing.add(key)
    }
    return existing
  }

  /** Sums the hours instead of counting visitors: hours are few, visitors may be many. */
  async #countVisitors(slug: string, day: number) {
    const row = await this.db
      .selectFrom('visit_hours')
      .select((e) => e.fn.sum<number | null>('visitors').as('visitors'))
      .where('slug', '=', slug)
      .where('hour', '>=', day)
      .where('hour', '<', day + DAY_MS)
      .executeTakeFirstOrThrow()
    return row.visitors ?? 0
  }

  async #insertVisitors(sites: readonly SiteVisits[], day: number) {
    const rows: RawBuilder<unknown>[] = []
    for (const { slug, visitors } of sites) {
      if (
        visitors.length >= VISITOR_CHECK_THRESHOLD &&
        (await this.#countVisitors(slug, day)) >= MAX_VISITORS_PER_DAY
      )
        continue
      for (const visitor of visitors) rows.push(sql`(${slug}, ${day}, ${visitor})`)
    }
    const firsts = new Map<string, number>()
    for (const piece of toBatches(rows)) {
      const found = await sql<{ slug: string }>`
        insert into visitors (slug, day, visitor) values ${sql.join(piece)} on conflict do nothing returning slug
      `.execute(this.db)
      for (const { slug } of found.rows) firsts.set(slug, (firsts.get(slug) ?? 0) + 1)
    }
    return firsts
  }

  async #addHours(hour: number, sites: readonly SiteVisits[], firsts: Map<string, number>) {
    const rows = sites.map(
      ({ slug, requests, bytes }) => sql`(${slug}, ${hour}, ${requests}, ${bytes}, ${firsts.get(slug) ?? 0})`,
    )
    for (const piece of toBatches(rows))
      await sql`
        insert into visit_hours (slug, hour, requests, bytes, visitors) values ${sql.join(piece)}
        on conflict (slug, hour) do update set requests = visit_hours.requests + excluded.requests,
          bytes = visit_hours.bytes + excluded.bytes, visitors = visit_hours.visitors + excluded.visitors
      `.execute(this.db)
  }

  async #addNames(day: number, sites: readonly SiteVisits[]): Promise<number> {
    const all = sites.flatMap(({ slug, names }) => names.map((one) => ({ slug, ...one })))
    let written = 0
    for (const piece of toBatches(all)) {
      const values = piece.map(
        ({ slug, kind, name, requests }) => sql`(${slug}, ${day}, ${kind}, ${name}, ${requests})`,
      )
      const { rows } = await sql<(typeof piece)[number]>`
        insert into visit_names (slug, day, kind, name, requests) values ${sql.join(values)}
        on conflict (slug, day, kind, name) do update set requests = visit_names.requests + excluded.requests
        returning slug, kind, name, requests
      `.execute(this.db)
      const keyOf = ({ slug, kind, name, requests }: (typeof piece)[number]) =>
        `${slug} ${kind} ${requests} ${name}`
      const added = new Set(piece.map(keyOf))
      // One that was there has more requests now.
      written += countUnits(rows.filter((row) => added.has(keyOf(row))))
    }
    return written
  }

  async #truncateKind(slug: string, day: number, kind: VisitNameKind, kept: number) {
    const isOfKind = sql<boolean>`slug = ${slug} and day = ${day} and kind = ${kind}`
    const isKept = sql<boolean>`name in (select name from visit_names where ${isOfKind}
      order by requests desc, name limit ${kept})`
    return this.db
      .deleteFrom('visit_names')
      .where(isOfKind)
      .where((e) => e.not(isKept))
      .returning('name')
      .execute()
  }
}

function countUnits(rows: readonly { name: string }[]): number {
  return rows.reduce((sum, { name }) => sum + Math.ceil(name.length / UNIT_BYTES), 0)
}

/** One order of rows for all nodes: two that lock the same rows in different orders would wait for each other. */
function inLockOrder(sites: readonly SiteVisits[]): SiteVisits[] {
  return sites
    .map((site) => ({
      ...site,
      visitors: site.visitors.toSorted(),
      names: site.names.toSorted((a, b) => compare(a.kind, b.kind) || compare(a.name, b.name)),
    }))
    .sort((a, b) => compare(a.slug, b.slug))
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}
