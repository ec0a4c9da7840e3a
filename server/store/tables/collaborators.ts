import { type EntityOf, integer, Table, text } from '../table.ts'

/** An address whose account may publish to a site of another account. */
export const collaboratorTable = new Table({
  slug: text,
  /** Normalized as the addresses of accounts. The account may not exist yet. */
  email: text,
  addedAt: integer,
})

export type Collaborator = EntityOf<typeof collaboratorTable>
