import { type EntityOf, integer, json, nullable, oneOf, Table, text } from '../table.ts'

export type ReportState = 'open' | 'dismissed' | 'acted'

export interface Report {
  at: number
  reason: string
  url: string
  text: string
  /** Of the reporter; null without. */
  email: string | null
}

export const reportTable = new Table({
  /** The `visitsKey` of the site. */
  site: text,
  state: oneOf<ReportState>(),
  count: integer,
  firstAt: integer,
  lastAt: integer,
  /** When an operator last dismissed them or acted; null before that. */
  decidedAt: nullable(integer),
  /** The newest ones, newest first. */
  latest: json<readonly Report[]>(),
  /** Number of reports that the operator was notified of, and when. */
  mailedCount: integer,
  mailedAt: nullable(integer),
})

export type ReportedSite = EntityOf<typeof reportTable>
