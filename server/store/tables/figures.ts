import { type EntityOf, integer, key, nullable, oneOf, Table, text } from '../table.ts'

export type ListKind = 'site' | 'account' | 'domain'

/** What a site, an account or a domain uses, as it was last counted. */
export const figureTable = new Table({
  kind: key(oneOf<ListKind>()),
  /** A slug, the id of an account, or a domain with the id of its account (`domainId`). */
  id: key(text),
  /** Of the live versions. */
  bytes: integer,
  /** Requests of the last 30 days. */
  visits: integer,
  /** Of an account: the number of its sites; otherwise 0. */
  sites: integer,
  /** Of a site: its title in lower case. */
  title: nullable(text),
})

export type Figures = Omit<EntityOf<typeof figureTable>, 'kind'>

/** The id of a domain of an account, which may be pending for several ones. */
export function domainId(domain: string, accountId: string): string {
  return `${domain} ${accountId}`
}

/** A value of an interval, which begins at `at` and has this width in milliseconds. */
export const activityTable = new Table({
  width: key(integer),
  at: key(integer),
  name: key(text),
  value: integer,
})

export type ActivityEntry = EntityOf<typeof activityTable>
