import { type EntityOf, integer, Table, text } from '../table.ts'
/** An address whose account may publish to a site of another account. */
export const collaboratorTable = new Table({
  slug: text,
  /** Normalized as the addresses of accounts. The account may not exist yet. */
  email: text,
  addedAt: integer,
})

export type Collaborator = EntityOf<typeof collaboratorTable>

/** Collaborators of sites. All changes are idempotent. */
export interface CollaboratorQueries {
  /** Those of a site, in the order in which they were added, then by address. */
  bySite(slug: string): Promise<Collaborator[]>

  has(slug: string, email: string): Promise<boolean>

  /** An earlier entry of the address stays. */
  add(collaborator: Collaborator): Promise<void>

  /** Returns whether the site had the address. */
  remove(slug: string, email: string): Promise<boolean>

  removeOfSite(slug: string): Promise<void>

  /** Removes the address from all sites. */
  removeEmail(email: string): Promise<void>
}
