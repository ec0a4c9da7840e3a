import type { VisitNameKind } from '../../../protocol/api/visits.ts'
import { type EntityOf, generated, integer, key, oneOf, Table, text } from '../table.ts'

/** Visits of a site in one hour (`hour`: its start). */
export const visitHourTable = new Table({
  slug: key(text),
  hour: key(integer),
  requests: integer,
  bytes: integer,
  /** Visitors with their first visit of the day in that interval. */
  visitors: integer,
})

/** How often a path was found or missing, or another host referred to a site, on a day (`day`: its start, UTC). */
export const visitNameTable = new Table({
  slug: key(text),
  day: key(integer),
  kind: key(oneOf<VisitNameKind>()),
  name: key(text),
  requests: integer,
})

/** A visitor as a hash that cannot be computed again after the day's salt is deleted; deleted with it. */
export const visitorTable = new Table({ slug: key(text), day: key(integer), visitor: key(text) })

/** The salt for the hashes of a day's visitors, shared by all nodes; deleted after that day. */
export const visitSaltTable = new Table({
  day: key(integer),
  salt: text,
  /** Of that day, over all nodes and sites: 1 for each visitor, and for each 80 bytes of a name that is kept. */
  written: generated,
})

export type VisitName = Omit<EntityOf<typeof visitNameTable>, 'slug' | 'day'>

export type VisitCounts = Omit<EntityOf<typeof visitHourTable>, 'slug' | 'hour'>

export interface SiteVisits {
  slug: string
  requests: number
  bytes: number
  visitors: readonly string[]
  names: readonly VisitName[]
}
