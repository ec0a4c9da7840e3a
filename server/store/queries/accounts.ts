import { QueryGroup } from '../statement.ts'
import { type Account, accountTable, type Invitation, invitationTable } from '../tables/accounts.ts'

const { toEntities, toEntityIfFound } = accountTable

/** Accounts. Ids, addresses and key hashes are unique. A change of an absent account changes nothing. */
export class AccountQueries extends QueryGroup {
  async byId(id: string): Promise<Account | undefined> {
    return toEntityIfFound(await this.#all().where('id', '=', id).executeTakeFirst())
  }

  /** Those that exist, in no order. */
  async byIds(ids: readonly string[]): Promise<Account[]> {
    return ids.length === 0 ? [] : toEntities(await this.#all().where('id', 'in', ids).execute())
  }

  async ids(after: string, limit: number): Promise<string[]> {
    const rows = await this.db
      .selectFrom('accounts')
      .select('id')
      .where('id', '>', after)
      .orderBy('id')
      .limit(limit)
      .execute()
    return rows.map(({ id }) => id)
  }

  async byEmail(email: string): Promise<Account | undefined> {
    return toEntityIfFound(await this.#all().where('email', '=', email).executeTakeFirst())
  }

  async insert(account: Account): Promise<void> {
    await this.db.insertInto('accounts').values(accountTable.toRow(account)).execute()
  }

  /** The previous key is no longer valid; named keys stay. */
  async setKey(id: string, keyHash: string): Promise<void> {
    await this.db.updateTable('accounts').set({ key_hash: keyHash }).where('id', '=', id).execute()
  }

  async setPlan(id: string, plan: Account['plan'], limits: Account['limits']): Promise<void> {
    const change = accountTable.toRow({ plan, limits })
    await this.db.updateTable('accounts').set(change).where('id', '=', id).execute()
  }

  async setNotices(
    id: string,
    { reminders, noticesOff }: Pick<Account, 'reminders' | 'noticesOff'>,
  ): Promise<void> {
    const change = accountTable.toRow({ reminders, noticesOff })
    await this.db.updateTable('accounts').set(change).where('id', '=', id).execute()
  }

  /** Null when the address has received an email. */
  async setEmailRefusal(id: string, refusal: { at: number; reply: string } | null): Promise<void> {
    await this.db
      .updateTable('accounts')
      .set({ email_refused_at: refusal?.at ?? null, email_refusal: refusal?.reply ?? null })
      .where('id', '=', id)
      .execute()
  }

  async setSuspension(id: string, suspension: Account['suspension']): Promise<void> {
    const change = accountTable.toRow({ suspension })
    await this.db.updateTable('accounts').set(change).where('id', '=', id).execute()
  }

  async setAdministratorSince(id: string, since: number | null): Promise<void> {
    await this.db.updateTable('accounts').set({ administrator_since: since }).where('id', '=', id).execute()
  }

  async administrators(): Promise<Account[]> {
    const query = this.#all().where('administrator_since', 'is not', null)
    return toEntities(await query.orderBy('administrator_since').orderBy('id').execute())
  }

  /** Removes all keys, trusts and the mark as an administrator. Idempotent: keeps an earlier start time. */
  async markBeingDeleted(id: string, now: number): Promise<void> {
    await this.db.deleteFrom('named_keys').where('account_id', '=', id).execute()
    await this.db.deleteFrom('trusts').where('account_id', '=', id).execute()
    await this.db
      .updateTable('accounts')
      .set({ key_hash: null, deletion_started_at: now, administrator_since: null })
      .where('id', '=', id)
      .where('deletion_started_at', 'is', null)
      .execute()
  }

  async beingDeleted(limit: number): Promise<Account[]> {
    const query = this.#all()
      .where('deletion_started_at', 'is not', null)
      .orderBy('deletion_started_at')
      .limit(limit)
    return toEntities(await query.execute())
  }

  async remove(id: string): Promise<void> {
    await this.db.deleteFrom('accounts').where('id', '=', id).execute()
  }

  #all() {
    return this.db.selectFrom('accounts').selectAll()
  }
}

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
