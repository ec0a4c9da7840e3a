import type { VisitNameKind } from '../../../protocol/api/visits.ts'
import { generated, integer, oneOf, Table, text } from '../table.ts'

/** The salt for the hashes of a day's visitors, shared by all nodes; deleted after that day. */
export const visitSaltTable = new Table({
  day: integer,
  salt: text,
  /** New visitors of that day, over all nodes and sites. */
  visitors: generated,
})

/**
 * A visitor of a site on a day, as a hash that cannot be computed again after the day's salt is deleted;
 * deleted with it.
 */
export const visitorTable = new Table({
  slug: text,
  day: integer,
  visitor: text,
})

/**
 * How often a path was found or missing, or another host referred to a site, on one day (`day`: its start,
 * UTC).
 */
export const visitNameTable = new Table({
  slug: text,
  day: integer,
  kind: oneOf<'path' | 'missing' | 'referrer'>(),
  name: text,
  requests: integer,
})

/** Visits of a site in one hour (`hour`: its start). */
export const visitHourTable = new Table({
  slug: text,
  hour: integer,
  requests: integer,
  bytes: integer,
  /** Visitors with their first visit of the day in that hour. */
  visitors: integer,
})

/** Requests of a path, of a missing path, or by a referring host. */
export interface VisitName {
  kind: VisitNameKind
  name: string
  requests: number
}

export interface VisitCounts {
  requests: number
  bytes: number
  /** Visitors with their first visit of the day in that interval. */
  visitors: number
}

/** Counts to be added to a site. */
export interface SiteVisits {
  slug: string
  requests: number
  bytes: number
  /** Hashes. */
  visitors: readonly string[]
  names: readonly VisitName[]
}

/** Counts of visits by site (`slug`: its `visitsKey`) and hour, and names by site and day (UTC). Times are the starts of hours and days. */
export interface VisitQueries {
  /**
   * Adds to the visits of an hour on a day. Not idempotent. Deleted sites are skipped; a visitor counts once a day. The
   * number of names of a day is bounded; the most requested stay. Returns the number of new
   * visitors, and their total of that day over all nodes and sites; a day without a salt has none.
   */
  add(hour: number, day: number, sites: readonly SiteVisits[]): Promise<{ added: number; total: number }>

  /** Counts in intervals of `interval` milliseconds, by their start, in no order; empty intervals are omitted. */
  series(
    slug: string,
    options: { from: number; to: number; interval: number },
  ): Promise<(VisitCounts & { at: number })[]>

  /** The names of a kind over the days from `from` up to `to`, the most requested first, then by name. */
  top(
    slug: string,
    kind: VisitNameKind,
    options: { from: number; to: number; limit: number },
  ): Promise<{ name: string; requests: number }[]>

  /** The requests of one name by day, among these days, in no order; days without requests are omitted. */
  byDay(
    slug: string,
    { kind, name }: Pick<VisitName, 'kind' | 'name'>,
    days: readonly number[],
  ): Promise<{ day: number; requests: number }[]>

  /** The salt for the hashes of a day's visitors. */
  salt(day: number): Promise<string | undefined>

  /** Returns the day's salt; stores this one if there is none. */
  getOrCreateSalt(day: number, salt: string): Promise<string>

  /** Deletes the salts of earlier days: their hashes can then no longer be attributed. */
  deleteSalts(day: number): Promise<number>

  /** Deletes some visitors of earlier days; returns 0 when there are none left. */
  deleteVisitors(day: number): Promise<number>

  /** Deletes some counts from before that time; returns 0 when there are none left. */
  deleteBefore(time: number): Promise<number>

  /** Sites visited on a day, ordered by slug, after that one. */
  visitedOn(day: number, after: string, limit: number): Promise<string[]>

  /** The sites among these with more than `max` names of a kind on a day, in no order. */
  sitesOverNameLimit(slugs: readonly string[], day: number, max: number): Promise<string[]>

  /** Keeps the `kept` most requested names of each kind of a day; returns the number deleted. */
  truncateNames(slug: string, day: number, kept: number): Promise<number>

  /** Sites with counts, ordered by slug, after that one; each costs one index lookup. */
  sitesWithVisits(after: string, limit: number): Promise<string[]>

  /** The sites among these that do not exist or are deleted, in their order. */
  deletedAmong(slugs: readonly string[]): Promise<string[]>

  /** Deletes some counts of a site; returns 0 when there are none left. */
  deleteSite(slug: string): Promise<number>
}
