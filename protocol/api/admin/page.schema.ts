import { integer, list, named, nullable, type Schema, text } from '../schema.ts'
import { ADMIN_PAGE_SIZES } from './page.ts'

const { default: standard, max } = ADMIN_PAGE_SIZES

/** Query parameters of every list. */
export const pageQuery = {
  limit: integer(`Rows per page; default ${standard}`, { minimum: 1, maximum: max }),
  cursor: text('nextCursor of the previous page', { maxLength: 1000 }),
}

/** A page of a list for administrators. */
export interface AdminPage<Row> {
  rows: Row[]
  nextCursor: string | null
}

export function page<Row>(title: string, row: Schema<Row>, order: string): Schema<AdminPage<Row>> {
  return named(title, {
    rows: list(row, order),
    nextCursor: nullable(text('The cursor of the next page; null on the last page')),
  })
}
