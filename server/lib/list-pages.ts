import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { invalidField } from './errors.ts'

/** The pages of an ordered list: `read` returns some of the items after the one that it is given. Other work runs in between. */
export async function* listPages<Item>(
  start: Item,
  read: (after: Item) => Promise<Item[]>,
): AsyncGenerator<Item[]> {
  for (let after: Item | undefined = start; after !== undefined; ) {
    const page: Item[] = await read(after)
    after = page.at(-1)
    if (after !== undefined) yield page
    await turnOfTheLoop()
  }
}

export interface PageRequest {
  limit: number
  cursor?: string | undefined
}

/** The number that a list is sorted by and the name of its last row on a page. */
type Position = readonly [number, string]

/** The position in these fields; undefined without a cursor. VALIDATION_ERROR for another one. */
export function decodeCursor<Value extends string, Name extends string>(
  cursor: string | undefined,
  value: Value,
  name: Name,
): (Record<Value, number> & Record<Name, string>) | undefined {
  if (cursor === undefined) return undefined
  // All numbers of positions are integers, and stored as such.
  const [, number, text] = /^(\d{1,16})\.(.+)$/s.exec(Buffer.from(cursor, 'base64url').toString()) ?? []
  if (text === undefined) throw invalidField('cursor', 'must be a nextCursor from an earlier response')
  return { [value]: Number(number), [name]: text } as Record<Value, number> & Record<Name, string>
}

/** The store returned one row more where another page follows. */
export function toPage<Row, Shown>(
  rows: readonly Row[],
  { limit, show, position }: { limit: number; show: (row: Row) => Shown; position: (row: Row) => Position },
): { rows: Shown[]; nextCursor: string | null } {
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1) : undefined
  const nextCursor = last === undefined ? null : Buffer.from(position(last).join('.')).toString('base64url')
  return { rows: shown.map(show), nextCursor }
}
