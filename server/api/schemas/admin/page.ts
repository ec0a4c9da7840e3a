import { ADMIN_PAGE_SIZES } from '../../../../protocol/api/admin/page.ts'
import { integer, list, named, nullable, object, type Schema, text } from '../schema.ts'

const { default: standard, max } = ADMIN_PAGE_SIZES

/** Query parameters of every list. */
export const pageQuery = {
  limit: integer(`Rows per page; default ${standard}`, { minimum: 1, maximum: max }),
  cursor: text('nextCursor of the previous page', { maxLength: 1000 }),
}

/** A page of a list. */
export function page(title: string, row: Schema, order: string): Schema {
  return named(
    title,
    object({
      rows: list(row, order),
      nextCursor: nullable(text('The cursor of the next page; null on the last page')),
    }),
  )
}
