import { keyedQueries, QueryGroup } from '../rows.ts'
import type { Account, Invitation } from '../tables/accounts.ts'

/** Accounts. Ids, addresses and key hashes are unique. Another `keyHash` ends the previous key, but no named keys. */
export class AccountQueries extends keyedQueries('accounts', 'id') {
  /** Those that exist, in no order. */
  byIds(ids: readonly string[]): Promise<Account[]> {
    return this.table.list({ id: ids })
  }

  ids(after: string, limit: number): Promise<string[]> {
    return this.table.pluck('id', { id: { '>': after } }, 'id', { limit })
  }

  byEmail(email: string): Promise<Account | undefined> {
    return this.table.find({ email })
  }

  administrators(): Promise<Account[]> {
    return this.table.list({ administratorSince: { '!=': null } }, 'administratorSince', 'id')
  }

  /** Removes all keys, trusts and the mark as an administrator. Idempotent: keeps an earlier start time. */
  async markBeingDeleted(id: string, now: number): Promise<void> {
    await this.rows('named_keys').remove({ accountId: id })
    await this.rows('trusts').remove({ accountId: id })
    const change = { keyHash: null, deletionStartedAt: now, administratorSince: null }
    await this.table.update({ id, deletionStartedAt: null }, change)
  }

  beingDeleted(limit: number): Promise<Account[]> {
    return this.table.list({ deletionStartedAt: { '!=': null } }, 'deletionStartedAt', { limit })
  }
}

/** Invitations, at most one of an address. */
export class InvitationQueries extends QueryGroup {
  readonly #rows = this.rows('invitations')

  find(email: string, now: number): Promise<Invitation | undefined> {
    return this.#rows.find({ email, expiresAt: { '>': now } })
  }

  list(now: number, { after, limit }: { after: string; limit: number }): Promise<Invitation[]> {
    return this.#rows.list({ expiresAt: { '>': now }, email: { '>': after } }, 'email', { limit })
  }
}
