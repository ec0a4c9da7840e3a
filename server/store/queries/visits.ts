import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Schema, VisitHourRow, VisitNameRow } from '../schema.ts'

export type Visits = ReturnType<typeof visitsOver>

/** What is added to the visits of a site. */
export interface SiteVisits {
  slug: string
  requests: number
  bytes: number
  /** Hashes. */
  visitors: readonly string[]
  names: readonly Pick<VisitNameRow, 'kind' | 'name' | 'requests'>[]
}

export type Counted = Pick<VisitHourRow, 'requests' | 'bytes' | 'visitors'>

const DAY = 86_400_000

const KINDS = ['path', 'missing', 'referrer'] as const

/** Names of a kind that a day of a site may have while it runs, and those that are left when they become more. */
const MOST_NAMES = 1000
const NAMES_LEFT = 500

/** So many names of a kind in one write make sure that those of the day are counted; fewer do it as often as they are many. */
const WORTH_A_LOOK = 250

/** Visitors that a site can have on a day. */
const MOST_VISITORS = 250_000

/** With fewer in one write a site is not on its way there. */
const MANY_VISITORS = 50

/** Rows of one statement: few enough for its text to be remembered. */
const ROWS_AT_ONCE = 50

/** Rows that are dropped in one go. */
const DROPPED_AT_ONCE = 1000

export function visitsOver(db: Kysely<Schema>) {
  /** Drops rows by their keys, as many as one go takes; answers how many. */
  const drop = async (statement: RawBuilder<unknown>): Promise<number> =>
    Number((await statement.execute(db)).numAffectedRows ?? 0)

  const livingAmong = async (slugs: readonly string[]): Promise<Set<string>> => {
    const living = new Set<string>()
    for (const piece of pieces(slugs, 500)) {
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

  /** By its hours: they are few, and visitors may be many. */
  const visitorsOn = async (slug: string, day: number): Promise<number> => {
    const row = await db
      .selectFrom('visit_hours')
      .select((e) => e.fn.sum<number | null>('visitors').as('visitors'))
      .where('slug', '=', slug)
      .where('hour', '>=', day)
      .where('hour', '<', day + DAY)
      .executeTakeFirstOrThrow()
    return Number(row.visitors)
  }

  /** Writes down who came, and answers how many of each site's came for the first time on that day. */
  const meet = async (sites: readonly SiteVisits[], day: number): Promise<Map<string, number>> => {
    const rows: RawBuilder<unknown>[] = []
    for (const { slug, visitors } of sites) {
      if (visitors.length >= MANY_VISITORS && (await visitorsOn(slug, day)) >= MOST_VISITORS) continue
      for (const visitor of visitors) rows.push(sql`(${slug}, ${day}, ${visitor})`)
    }
    const firsts = new Map<string, number>()
    for (const piece of pieces(rows, ROWS_AT_ONCE)) {
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
    for (const piece of pieces(rows, ROWS_AT_ONCE))
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
    for (const piece of pieces(rows, ROWS_AT_ONCE))
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

  /** Keeps those names of a day that were asked for most. */
  const fold = async (slug: string, day: number, kind: VisitNameRow['kind'], kept: number) => {
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
     * Adds to the visits of an hour (its start) on a day (its start). A site that is gone is passed over; visitors count once a
     * day. A day of a site has a bounded number of names: the most requested stay. Answers how many visitors were new.
     */
    async add(hour: number, day: number, sites: readonly SiteVisits[]): Promise<number> {
      const living = await livingAmong(sites.map(({ slug }) => slug))
      const counted = sites.filter(({ slug }) => living.has(slug))
      const firsts = await meet(counted, day)
      await addHours(hour, counted, firsts)
      await addNames(day, counted)
      for (const { slug, names } of counted) {
        for (const kind of KINDS) {
          const { length } = names.filter((one) => one.kind === kind)
          if (Math.random() < length / WORTH_A_LOOK && (await countNames(slug, day, kind)) > MOST_NAMES)
            await fold(slug, day, kind, NAMES_LEFT)
        }
      }
      return firsts.values().reduce((sum, count) => sum + count, 0)
    },

    /** What was counted in intervals of `interval` milliseconds that have visits, by their start. */
    async series(
      slug: string,
      { from, to, interval }: { from: number; to: number; interval: number },
    ): Promise<(Counted & { at: number })[]> {
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

    /** The names of a kind that were asked for most, over the days from `from` up to `to`. */
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

    /** The day's salt: this one, unless there is one already. */
    async agreeOnSalt(day: number, salt: string): Promise<string> {
      await db
        .insertInto('visit_salts')
        .values({ day, salt })
        .onConflict((c) => c.doNothing())
        .execute()
      return (await this.salt(day)) ?? salt
    },

    /** Drops the salts of days before that one: from then on nobody can tell whom a hash stands for. */
    async dropSalts(day: number): Promise<number> {
      const gone = await db.deleteFrom('visit_salts').where('day', '<', day).executeTakeFirst()
      return Number(gone.numDeletedRows)
    },

    /** Some of the visitors of days before that one; 0 once there are none. */
    dropVisitors: (day: number): Promise<number> =>
      drop(sql`delete from visitors where (slug, day, visitor) in
        (select slug, day, visitor from visitors where day < ${day} limit ${DROPPED_AT_ONCE})`),

    /** Some of what was counted before that time; 0 once there is nothing. */
    async dropBefore(time: number): Promise<number> {
      const hours = await drop(sql`delete from visit_hours where (slug, hour) in
        (select slug, hour from visit_hours where hour < ${time} limit ${DROPPED_AT_ONCE})`)
      const names = await drop(sql`delete from visit_names where (slug, day, kind, name) in
        (select slug, day, kind, name from visit_names where day < ${time} limit ${DROPPED_AT_ONCE})`)
      return hours + names
    },

    /** Sites that were visited on a day, in the order of their slugs, after that one. */
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

    /** Those of these sites that have more than `most` names of a kind on a day. */
    async crowded(slugs: readonly string[], day: number, most: number): Promise<string[]> {
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

    /** Keeps the names of a day that were asked for most, `kept` of each kind; answers how many went. */
    async foldNames(slug: string, day: number, kept: number): Promise<number> {
      let gone = 0
      for (const kind of KINDS)
        if ((await countNames(slug, day, kind)) > kept) gone += await fold(slug, day, kind, kept)
      return gone
    },

    /** Sites of which something was counted, in the order of their slugs, after that one; each costs one look. */
    async counted(after: string, limit: number): Promise<string[]> {
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

    /** Those of these that are no sites, or not any more. */
    async goneAmong(slugs: readonly string[]): Promise<string[]> {
      const living = await livingAmong(slugs)
      return slugs.filter((slug) => !living.has(slug))
    },

    /** Drops some of what was counted of a site; 0 once there is nothing. */
    async dropSite(slug: string): Promise<number> {
      const names = await drop(sql`delete from visit_names where (slug, day, kind, name) in
        (select slug, day, kind, name from visit_names where slug = ${slug} limit ${DROPPED_AT_ONCE})`)
      const visitors = await drop(sql`delete from visitors where (slug, day, visitor) in
        (select slug, day, visitor from visitors where slug = ${slug} limit ${DROPPED_AT_ONCE})`)
      if (names + visitors > 0) return names + visitors
      return drop(sql`delete from visit_hours where slug = ${slug}`)
    },
  }
}

function pieces<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
    all.slice(index * size, (index + 1) * size),
  )
}
