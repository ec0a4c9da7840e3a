import { type StoredTrust, type TrustedRepository, trustTable } from '../tables/trusts.ts'
import { countDeleted, QueryGroup } from './query-group.ts'

/** Trusts of accounts, and the tokens that were exchanged. Deletions are idempotent. */
export class TrustQueries extends QueryGroup {
  async list(accountId: string): Promise<StoredTrust[]> {
    const rows = this.db.selectFrom('trusts').selectAll().where('account_id', '=', accountId)
    return trustTable.toEntities(await rows.orderBy('id', 'desc').execute())
  }

  /** Those for a repository, by its name or its id, of all accounts, of one site or of all, oldest first. */
  async find(
    { issuer, repository, repositoryId }: TrustedRepository,
    { site, limit }: { site?: string | undefined; limit: number },
  ): Promise<StoredTrust[]> {
    let rows = this.db
      .selectFrom('trusts')
      .selectAll()
      .where(({ or, eb }) => or([eb('repository', '=', repository), eb('repository_id', '=', repositoryId)]))
      .where('issuer', '=', issuer)
    if (site !== undefined) rows = rows.where('site', '=', site)
    return trustTable.toEntities(await rows.orderBy('id').limit(limit).execute())
  }

  async add(trust: StoredTrust): Promise<void> {
    await this.db.insertInto('trusts').values(trustTable.toRow(trust)).execute()
  }

  /** Fixes the id of the repository, follows its name, and records the use. */
  async recordUse(
    id: string,
    { repository, repositoryId }: Omit<TrustedRepository, 'issuer'>,
    now: number,
  ): Promise<void> {
    await this.db
      .updateTable('trusts')
      .set({ repository, repository_id: repositoryId, last_used_at: now })
      .where('id', '=', id)
      .execute()
  }

  async delete(id: string): Promise<void> {
    await this.db.deleteFrom('trusts').where('id', '=', id).execute()
  }

  async deleteOfAccount(accountId: string): Promise<void> {
    await this.db.deleteFrom('trusts').where('account_id', '=', accountId).execute()
  }

  async isTokenUsed(tokenHash: string): Promise<boolean> {
    const used = await this.db
      .selectFrom('used_tokens')
      .select('token_hash')
      .where('token_hash', '=', tokenHash)
      .executeTakeFirst()
    return used !== undefined
  }

  /** Records the use of a token until it expires; false when it was used before. */
  async useToken(tokenHash: string, expiresAt: number): Promise<boolean> {
    const { numInsertedOrUpdatedRows } = await this.db
      .insertInto('used_tokens')
      .values({ token_hash: tokenHash, expires_at: expiresAt })
      .onConflict((c) => c.doNothing())
      .executeTakeFirst()
    return numInsertedOrUpdatedRows === 1n
  }

  async deleteExpiredTokens(now: number, limit: number): Promise<number> {
    const expired = this.db
      .selectFrom('used_tokens')
      .select('token_hash')
      .where('expires_at', '<=', now)
      .limit(limit)
    return countDeleted(this.db.deleteFrom('used_tokens').where('token_hash', 'in', expired))
  }
}
