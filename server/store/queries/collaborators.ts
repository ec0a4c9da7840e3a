import { type Collaborator, collaboratorTable } from '../tables/collaborators.ts'
import { hasDeleted, QueryGroup } from './query-group.ts'

/** Collaborators of sites. All changes are idempotent. */
export class CollaboratorQueries extends QueryGroup {
  async bySite(slug: string): Promise<Collaborator[]> {
    const rows = this.db.selectFrom('collaborators').selectAll().where('slug', '=', slug)
    return collaboratorTable.toEntities(await rows.orderBy('added_at').orderBy('email').execute())
  }

  async has(slug: string, email: string): Promise<boolean> {
    const row = this.db.selectFrom('collaborators').select('slug').where('slug', '=', slug)
    return (await row.where('email', '=', email).executeTakeFirst()) !== undefined
  }

  /** An earlier entry of the address stays. */
  async add(collaborator: Collaborator): Promise<void> {
    await this.db
      .insertInto('collaborators')
      .values(collaboratorTable.toRow(collaborator))
      .onConflict((c) => c.doNothing())
      .execute()
  }

  /** Returns whether the site had the address. */
  async remove(slug: string, email: string): Promise<boolean> {
    const row = this.db.deleteFrom('collaborators').where('slug', '=', slug)
    return hasDeleted(row.where('email', '=', email))
  }

  async removeOfSite(slug: string): Promise<void> {
    await this.db.deleteFrom('collaborators').where('slug', '=', slug).execute()
  }

  async removeEmail(email: string): Promise<void> {
    await this.db.deleteFrom('collaborators').where('email', '=', email).execute()
  }
}
