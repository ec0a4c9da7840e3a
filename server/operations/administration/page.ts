import { validationError } from '../../lib/errors.ts'

/** What identifies the last row of a page: the values of the columns that the list is sorted by. */
export type Position = readonly (string | number)[]

/** Which rows of a list, as a request selects them. */
export interface PageRequest {
  limit: number
  cursor?: string | undefined
}

export function encodeCursor(position: Position): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url')
}

/** VALIDATION_ERROR unless it is the cursor of a position with values of these types. */
export function decodeCursor(cursor: string, types: readonly ('string' | 'number')[]): Position {
  const position = parse(Buffer.from(cursor, 'base64url').toString())
  const isValid =
    Array.isArray(position) &&
    position.length === types.length &&
    position.every((value, index) => {
      // All numbers of positions are integers, and stored as such.
      return typeof value === types[index] && (typeof value === 'string' || Number.isSafeInteger(value))
    })
  if (isValid) return position
  throw validationError([{ field: 'cursor', message: 'must be a nextCursor from an earlier response' }])
}

/** The rows of a page, of which the store returned one more where another page follows. */
export function toPage<Row, Shown>(
  rows: readonly Row[],
  { limit, show, position }: { limit: number; show: (row: Row) => Shown; position: (row: Row) => Position },
): { rows: Shown[]; nextCursor: string | null } {
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1) : undefined
  return { rows: shown.map(show), nextCursor: last === undefined ? null : encodeCursor(position(last)) }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
