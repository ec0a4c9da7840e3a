import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Schema, VisitHourRow, VisitNameRow } from '../schema.ts'

export type VisitQueries = ReturnType<typeof visitQueries>

/** Counts to be added to a site. */
export interface SiteVisits {
  slug: string
  requests: number
  bytes: number
  /** Hashes. */
  visitors: readonly string[]
  names: readonly Pick<VisitNameRow, 'kind' | 'name' | 'requests'>[]
}

export type VisitCounts = Pick<VisitHourRow, 'requests' | 'bytes' | 'visitors'>

const DAY_MS = 86_400_000

const KINDS = ['path', 'missing', 'referrer'] as const

/** Names of a kind on the current day of a site, and after truncation. */
const MAX_NAMES_PER_DAY = 1000
const NAMES_AFTER_TRUNCATION = 500

/**
 * A write with this many names of a kind always checks the number of the day's names; smaller writes check
 * proportionally less often.
 */
const NAME_CHECK_THRESHOLD = 250

/** Visitors of a site on a day. */
const MAX_VISITORS_PER_DAY = 250_000

/** A smaller write is not checked against it. */
const VISITOR_CHECK_THRESHOLD = 50

/** Rows of one statement: few enough for the statement to be cached. */
const ROWS_PER_STATEMENT = 50

/** Rows deleted at once. */
const ROWS_PER_DELETE = 1000

export function visitQueries(db: Kysely<Schema>) {
  /** Deletes up to `DROPPED_AT_ONCE` rows by their keys; returns their number. */
  const drop = async (statement: RawBuilder<unknown>): Promise<number> =>
    Number((await statement.execute(db)).numAffectedRows ?? 0)

  const existingAmong = async (slugs: readonly string[]): Promise<Set<string>> => {
    const living = new Set<string>()
    for (const piece of toBatches(slugs, 500)) {
      const rows = await db
        .selectFrom('sites')
        .select('slug')
        .where('slug', 'in', piece)
        .where('gone_at', 'is', null)
        .execute()
      for (const { slug } of rows) living.add(slug)
    }
    return living
  }

  /** Sums the hours: they are few, and visitors may be many. */
  const countVisitors = async (slug: string, day: number): Promise<number> => {
    const row = await db
      .selectFrom('visit_hours')
      .select((e) => e.fn.sum<number | null>('visitors').as('visitors'))
      .where('slug', '=', slug)
      .where('hour', '>=', day)
      .where('hour', '<', day + DAY_MS)
      .executeTakeFirstOrThrow()
    return Number(row.visitors)
  }

  /** Records visitors and returns how many of each site's were new on that day. */
  const insertVisitors = async (sites: readonly SiteVisits[], day: number): Promise<Map<string, number>> => {
    const rows: RawBuilder<unknown>[] = []
    for (const { slug, visitors } of sites) {
      if (
        visitors.length >= VISITOR_CHECK_THRESHOLD &&
        (await countVisitors(slug, day)) >= MAX_VISITORS_PER_DAY
      )
        continue
      for (const visitor of visitors) rows.push(sql`(${slug}, ${day}, ${visitor})`)
    }
    const firsts = new Map<string, number>()
    for (const piece of toBatches(rows, ROWS_PER_STATEMENT)) {
      const found = await sql<{ slug: string }>`
        insert into visitors (slug, day, visitor) values ${sql.join(piece)} on conflict do nothing returning slug
      `.execute(db)
      for (const { slug } of found.rows) firsts.set(slug, (firsts.get(slug) ?? 0) + 1)
    }
    return firsts
  }

  const addHours = async (hour: number, sites: readonly SiteVisits[], firsts: Map<string, number>) => {
    const rows = sites.map(
      ({ slug, requests, bytes }) => sql`(${slug}, ${hour}, ${requests}, ${bytes}, ${firsts.get(slug) ?? 0})`,
    )
    for (const piece of toBatches(rows, ROWS_PER_STATEMENT))
      await sql`
        insert into visit_hours (slug, hour, requests, bytes, visitors) values ${sql.join(piece)}
        on conflict (slug, hour) do update set requests = visit_hours.requests + excluded.requests,
          bytes = visit_hours.bytes + excluded.bytes, visitors = visit_hours.visitors + excluded.visitors
      `.execute(db)
  }

  const addNames = async (day: number, sites: readonly SiteVisits[]) => {
    const rows = sites.flatMap(({ slug, names }) =>
      names.map(({ kind, name, requests }) => sql`(${slug}, ${day}, ${kind}, ${name}, ${requests})`),
    )
    for (const piece of toBatches(rows, ROWS_PER_STATEMENT))
      await sql`
        insert into visit_names (slug, day, kind, name, requests) values ${sql.join(piece)}
        on conflict (slug, day, kind, name) do update set requests = visit_names.requests + excluded.requests
      `.execute(db)
  }

  /** Of one day. */
  const names = (slug: string, day: number, kind: VisitNameRow['kind']) =>
    db.selectFrom('visit_names').where('slug', '=', slug).where('day', '=', day).where('kind', '=', kind)

  const countNames = async (...of: Parameters<typeof names>): Promise<number> => {
    const row = await names(...of)
      .select((e) => e.fn.countAll<number>().as('names'))
      .executeTakeFirstOrThrow()
    return Number(row.names)
  }

  /** Keeps the most requested names of a day. */
  const truncateKind = async (slug: string, day: number, kind: VisitNameRow['kind'], kept: number) => {
    const gone = await db
      .deleteFrom('visit_names')
      .where('slug', '=', slug)
      .where('day', '=', day)
      .where('kind', '=', kind)
      .where('name', 'not in', () =>
        names(slug, day, kind).select('name').orderBy('requests', 'desc').orderBy('name').limit(kept),
      )
      .executeTakeFirst()
    return Number(gone.numDeletedRows)
  }

  return {
    /**
     * Adds to the visits of an hour (its start) on a day (its start). Deleted sites are skipped; a visitor
     * counts once a day. The number of names of a day is bounded; the most requested stay. Returns the number
     * of new visitors.
     */
    async add(hour: number, day: number, sites: readonly SiteVisits[]): Promise<number> {
      const living = await existingAmong(sites.map(({ slug }) => slug))
      const counted = sites.filter(({ slug }) => living.has(slug))
      const firsts = await insertVisitors(counted, day)
      await addHours(hour, counted, firsts)
      await addNames(day, counted)
      for (const { slug, names } of counted) {
        for (const kind of KINDS) {
          const { length } = names.filter((one) => one.kind === kind)
          if (
            Math.random() < length / NAME_CHECK_THRESHOLD &&
            (await countNames(slug, day, kind)) > MAX_NAMES_PER_DAY
          )
            await truncateKind(slug, day, kind, NAMES_AFTER_TRUNCATION)
        }
      }
      return firsts.values().reduce((sum, count) => sum + count, 0)
    },

    /** Counts in intervals of `interval` milliseconds, by their start; empty intervals are omitted. */
    async series(
      slug: string,
      { from, to, interval }: { from: number; to: number; interval: number },
    ): Promise<(VisitCounts & { at: number })[]> {
      const at = sql<number>`hour - hour % ${sql.lit(interval)}`
      const rows = await db
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
      return rows.map(({ at, requests, bytes, visitors }) => ({
        at: Number(at),
        requests: Number(requests),
        bytes: Number(bytes),
        visitors: Number(visitors),
      }))
    },

    /** The most requested names of a kind over the days from `from` up to `to`. */
    async top(
      slug: string,
      kind: VisitNameRow['kind'],
      { from, to, limit }: { from: number; to: number; limit: number },
    ): Promise<{ name: string; requests: number }[]> {
      const rows = await db
        .selectFrom('visit_names')
        .select((e) => ['name', e.fn.sum<number>('requests').as('sum')])
        .where('slug', '=', slug)
        .where('day', '>=', from)
        .where('day', '<', to)
        .where('kind', '=', kind)
        .groupBy('name')
        .orderBy('sum', 'desc')
        .orderBy('name')
        .limit(limit)
        .execute()
      return rows.map(({ name, sum }) => ({ name, requests: Number(sum) }))
    },

    async salt(day: number): Promise<string | undefined> {
      const row = await db.selectFrom('visit_salts').select('salt').where('day', '=', day).executeTakeFirst()
      return row?.salt
    },

    /** Returns the day's salt; stores this one if there is none. */
    async getOrCreateSalt(day: number, salt: string): Promise<string> {
      await db
        .insertInto('visit_salts')
        .values({ day, salt })
        .onConflict((c) => c.doNothing())
        .execute()
      return (await this.salt(day)) ?? salt
    },

    /** Deletes the salts of earlier days: their hashes can then no longer be attributed. */
    async deleteSalts(day: number): Promise<number> {
      const gone = await db.deleteFrom('visit_salts').where('day', '<', day).executeTakeFirst()
      return Number(gone.numDeletedRows)
    },

    /** Deletes some visitors of earlier days; returns 0 when there are none left. */
    deleteVisitors: (day: number): Promise<number> =>
      drop(sql`delete from visitors where (slug, day, visitor) in
        (select slug, day, visitor from visitors where day < ${day} limit ${ROWS_PER_DELETE})`),

    /** Deletes some counts from before that time; returns 0 when there are none left. */
    async deleteBefore(time: number): Promise<number> {
      const hours = await drop(sql`delete from visit_hours where (slug, hour) in
        (select slug, hour from visit_hours where hour < ${time} limit ${ROWS_PER_DELETE})`)
      const names = await drop(sql`delete from visit_names where (slug, day, kind, name) in
        (select slug, day, kind, name from visit_names where day < ${time} limit ${ROWS_PER_DELETE})`)
      return hours + names
    },

    /** Sites visited on a day, ordered by slug, after that one. */
    async visitedOn(day: number, after: string, limit: number): Promise<string[]> {
      const rows = await db
        .selectFrom('visit_names')
        .select('slug')
        .distinct()
        .where('day', '=', day)
        .where('slug', '>', after)
        .orderBy('slug')
        .limit(limit)
        .execute()
      return rows.map(({ slug }) => slug)
    },

    /** The sites among these with more than `most` names of a kind on a day. */
    async sitesOverNameLimit(slugs: readonly string[], day: number, most: number): Promise<string[]> {
      const rows = await db
        .selectFrom('visit_names')
        .select('slug')
        .where('slug', 'in', slugs)
        .where('day', '=', day)
        .groupBy(['slug', 'kind'])
        .having((e) => e(e.fn.countAll(), '>', most))
        .execute()
      return [...new Set(rows.map(({ slug }) => slug))]
    },

    /** Keeps the `kept` most requested names of each kind of a day; returns the number deleted. */
    async truncateNames(slug: string, day: number, kept: number): Promise<number> {
      let gone = 0
      for (const kind of KINDS)
        if ((await countNames(slug, day, kind)) > kept) gone += await truncateKind(slug, day, kind, kept)
      return gone
    },

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
      `.execute(db)
      return rows.map(({ slug }) => slug!)
    },

    /** Those of these that do not exist or are deleted. */
    async deletedAmong(slugs: readonly string[]): Promise<string[]> {
      const living = await existingAmong(slugs)
      return slugs.filter((slug) => !living.has(slug))
    },

    /** Deletes some counts of a site; returns 0 when there are none left. */
    async deleteSite(slug: string): Promise<number> {
      const names = await drop(sql`delete from visit_names where (slug, day, kind, name) in
        (select slug, day, kind, name from visit_names where slug = ${slug} limit ${ROWS_PER_DELETE})`)
      const visitors = await drop(sql`delete from visitors where (slug, day, visitor) in
        (select slug, day, visitor from visitors where slug = ${slug} limit ${ROWS_PER_DELETE})`)
      if (names + visitors > 0) return names + visitors
      return drop(sql`delete from visit_hours where slug = ${slug}`)
    },
  }
}

function toBatches<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
    all.slice(index * size, (index + 1) * size),
  )
}
