import type { AdminSuspension } from '../../../protocol/api/admin/moderation.schema.ts'
import { attempt } from '../../lib/attempt.ts'
import { invalidField } from '../../lib/errors.ts'
import { toIso } from '../../lib/time.ts'
import type { Suspension } from '../../store/tables/accounts.ts'

/** The values of the columns that the list is sorted by, in its last row on a page. */
type Position = readonly [number, string]

export interface PageRequest {
  limit: number
  cursor?: string | undefined
}

function encodeCursor(position: Position): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url')
}

/** The number and the name of a position; undefined without a cursor. VALIDATION_ERROR for another one. */
export function decodeCursor(cursor: string | undefined): readonly [number, string] | undefined {
  if (cursor === undefined) return undefined
  const position: unknown = attempt(() => JSON.parse(Buffer.from(cursor, 'base64url').toString()))
  if (Array.isArray(position) && position.length === 2) {
    const [number, name] = position
    // All numbers of positions are integers, and stored as such.
    if (Number.isSafeInteger(number) && typeof name === 'string') return [number, name]
  }
  throw invalidField('cursor', 'must be a nextCursor from an earlier response')
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

export function describeSuspension(suspension: Suspension | null): AdminSuspension | null {
  return suspension && { ...suspension, since: toIso(suspension.since) }
}
