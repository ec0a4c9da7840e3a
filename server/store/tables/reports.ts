import { type EntityOf, integer, json, nullable, oneOf, Table, text } from '../table.ts'
export type ReportState = 'open' | 'dismissed' | 'acted'

export interface Report {
  at: number
  reason: string
  /** The reported address. */
  url: string
  text: string
  /** Of the reporter; null without. */
  email: string | null
}

/** All reports of one site. */
export const reportTable = new Table({
  /** The `visitsKey` of the site. */
  site: text,
  state: oneOf<ReportState>(),
  /** Number of reports. */
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

/** Reports by visitors, one row for each site. */
export interface ReportQueries {
  find(site: string): Promise<ReportedSite | undefined>

  /** Replaces the row of the site. */
  put(reports: ReportedSite): Promise<void>

  /** Those in a state, the last reported site first. `before` is the last one of the page before. */
  list(
    state: ReportState,
    page: { limit: number; before?: Pick<ReportedSite, 'lastAt' | 'site'> | undefined },
  ): Promise<ReportedSite[]>

  /**
   * Open ones with reports that the operator was not notified of, and no notification since `mailedBefore`, the last
   * reported site first: a flood of reports does not delay the notification of later ones.
   */
  unmailed(mailedBefore: number, limit: number): Promise<ReportedSite[]>

  /** Deletes those last reported before that time; returns their number. */
  deleteBefore(lastAt: number, limit: number): Promise<number>
}
