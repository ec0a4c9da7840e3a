import type { AdminSuspension } from '../../../protocol/api/admin/moderation.schema.ts'
import { validationError } from '../../lib/errors.ts'
import { toIso } from '../../lib/time.ts'
import type { Suspension } from '../../store/tables/accounts.ts'

/** The values of the columns that the list is sorted by, in its last row on a page. */
type Position = readonly (string | number)[]

export interface PageRequest {
  limit: number
  cursor?: string | undefined
}

function encodeCursor(position: Position): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url')
}

/** VALIDATION_ERROR unless the position has values of these types. */
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

/** The store returned one row more where another page follows. */
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

export function describeSuspension(suspension: Suspension | null): AdminSuspension | null {
  return suspension && { ...suspension, since: toIso(suspension.since) }
}
