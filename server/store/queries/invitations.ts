import { type Invitation, invitationTable } from '../tables/invitations.ts'
import { QueryGroup } from './query-group.ts'

/** Invitations, at most one of an address. */
export class InvitationQueries extends QueryGroup {
  async find(email: string, now: number): Promise<Invitation | undefined> {
    return invitationTable.toEntityIfFound(
      await this.#valid(now).where('email', '=', email).executeTakeFirst(),
    )
  }

  async put(invitation: Invitation): Promise<void> {
    const { email: _, ...change } = invitationTable.toRow(invitation)
    await this.db
      .insertInto('invitations')
      .values(invitationTable.toRow(invitation))
      .onConflict((c) => c.column('email').doUpdateSet(change))
      .execute()
  }

  async remove(email: string): Promise<boolean> {
    const removed = this.db.deleteFrom('invitations').where('email', '=', email).returning('email')
    return (await removed.executeTakeFirst()) !== undefined
  }

  async list(now: number, { after, limit }: { after: string; limit: number }): Promise<Invitation[]> {
    return invitationTable.toEntities(
      await this.#valid(now).where('email', '>', after).orderBy('email').limit(limit).execute(),
    )
  }

  async deleteExpired(now: number, limit: number): Promise<number> {
    const expired = await this.db
      .selectFrom('invitations')
      .select('email')
      .where('expires_at', '<=', now)
      .orderBy('expires_at')
      .limit(limit)
      .execute()
    if (expired.length === 0) return 0
    const emails = expired.map(({ email }) => email)
    await this.db
      .deleteFrom('invitations')
      .where('email', 'in', emails)
      .where('expires_at', '<=', now)
      .execute()
    return expired.length
  }

  #valid(now: number) {
    return this.db.selectFrom('invitations').selectAll().where('expires_at', '>', now)
  }
}
