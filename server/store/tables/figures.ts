import type { Exceptions } from '../../../protocol/api/account.schema.ts'
import { integer, nullable, oneOf, Table, text } from '../table.ts'
import type { Suspension } from './suspension.ts'

/** See `Figures`. */
export const figureTable = new Table({
  kind: oneOf<'site' | 'account' | 'domain'>(),
  id: text,
  bytes: integer,
  visits: integer,
  sites: integer,
  title: nullable(text),
})

export type ListKind = 'site' | 'account' | 'domain'

/** How a list is sorted: the newest, the largest or the most visited first. */
export type ListOrder = 'age' | 'bytes' | 'visits'

/** What a site, an account or a domain uses, as it was last counted. */
export interface Figures {
  /** A slug, the id of an account, or a domain with the id of its account (`domainId`). */
  id: string
  /** Of the live versions. */
  bytes: number
  /** Requests of the last 30 days. */
  visits: number
  /** Of an account: the number of its sites; otherwise 0. */
  sites: number
  /** Of a site: its title in lower case. */
  title: string | null
}

/** Figures of a range of ids. */
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
  /** Of the site itself. */
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
  /** See `Figures`. */
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

/** The id of a domain of an account, which may be pending for several ones. */
export function domainId(domain: string, accountId: string): string {
  return `${domain} ${accountId}`
}

/**
 * Lists of everything for administrators, and the figures by which they are sorted. Figures are as of their last count:
 * what is newer has none, and is found by its age and by search only.
 */
export interface FigureQueries {
  /** Counts the next objects after this id, in the order of ids: for visits since that hour. */
  count(kind: ListKind, options: { after: string; limit: number; since: number }): Promise<CountedFigures>

  /** The stored figures after this id, up to `until`, or to the end. */
  range(kind: ListKind, options: { after: string; until: string | undefined }): Promise<Figures[]>

  /** Stores figures, and removes those of these ids. */
  replace(kind: ListKind, change: { put: readonly Figures[]; remove: readonly string[] }): Promise<void>

  /** Counts the next rows of a table after this key, by state. */
  countRows(table: 'versions' | 'blobs', after: string, limit: number): Promise<TableCount>

  /** A page of a list, in descending order. */
  order(
    kind: ListKind,
    by: ListOrder,
    options: { limit: number; after?: ListPosition | undefined },
  ): Promise<ListPosition[]>

  /**
   * Ids, in no order: sites by the beginning of slug, title, domain or owner's email address, accounts by their address,
   * domains by name or owner's address. `prefix` is in lower case.
   */
  search(kind: ListKind, prefix: string, limit: number): Promise<string[]>

  /** Active domains that do not point here, and certificates that could not be issued or renewed; at most `max`. */
  countProblems(max: number): Promise<{ domains: number; certificates: number }>

  /** Those of these that exist, in no order. */
  sites(slugs: readonly string[]): Promise<ListedSite[]>

  accounts(ids: readonly string[]): Promise<ListedAccount[]>

  domains(ids: readonly string[]): Promise<ListedDomain[]>
}
