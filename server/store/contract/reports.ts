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
export interface ReportedSite {
  /** The `visitsKey` of the site. */
  site: string
  state: ReportState
  /** Number of reports. */
  count: number
  firstAt: number
  lastAt: number
  /** When an operator last dismissed them or acted; null before that. */
  decidedAt: number | null
  /** The newest ones, newest first. */
  latest: readonly Report[]
  /** Number of reports that the operator was notified of, and when. */
  mailedCount: number
  mailedAt: number | null
}

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
