/** Rows of a list per response, by default and at most. */
export const ADMIN_PAGE_SIZES = { default: 50, max: 200 }

/** A page of a list for administrators. */
export interface AdminPage<Row> {
  rows: Row[]
  /** Send it as `cursor` for the next page; `null` on the last one. */
  nextCursor: string | null
}
