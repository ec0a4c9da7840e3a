import type { Expression, ExpressionBuilder, SqlBool } from 'kysely'
import type { Schema } from '../schema.ts'
import { type Account, accountTable } from '../tables/accounts.ts'
import { type OAuthRecord, oauthRecordTable } from '../tables/oauth.ts'
import { QueryGroup } from './query-group.ts'

const { toEntities, toEntityIfFound } = oauthRecordTable

/** Records of OAuth. Expired records are as absent. Deletions are idempotent. */
export class OAuthQueries extends QueryGroup {
  async find(idHash: string, now: number): Promise<OAuthRecord | undefined> {
    return toEntityIfFound(await this.#valid(now).where('id_hash', '=', idHash).executeTakeFirst())
  }

  async findAll(idHashes: readonly string[], now: number): Promise<OAuthRecord[]> {
    if (idHashes.length === 0) return []
    return toEntities(
      await this.#valid(now)
        .where('id_hash', 'in', [...idHashes])
        .execute(),
    )
  }

  /** Undefined once the account is being deleted or the grant has ended: a running request may save a token later. */
  async findWithAccount(
    idHash: string,
    now: number,
  ): Promise<{ record: OAuthRecord; account: Account } | undefined> {
    const record = await this.find(idHash, now)
    if (!record?.accountId || !record.grantHash) return undefined
    const row = await this.db
      .selectFrom('accounts')
      .selectAll()
      .where('id', '=', record.accountId)
      .where('deletion_started_at', 'is', null)
      .where((e) => e.exists(this.#valid(now).where('id_hash', '=', record.grantHash)))
      .executeTakeFirst()
    return row && { record, account: accountTable.toEntity(row) }
  }

  /** Inserts a record, or replaces payload and expiry of the one with its id. */
  async save(record: OAuthRecord): Promise<void> {
    const row = oauthRecordTable.toRow(record)
    const { payload, expires_at } = row
    await this.db
      .insertInto('oauth_records')
      .values(row)
      .onConflict((c) => c.column('id_hash').doUpdateSet({ payload, expires_at }))
      .execute()
  }

  /** False when it was used before, or is absent; otherwise it expires by `until`. Exact over all processes. */
  async consume(idHash: string, now: number, until: number): Promise<boolean> {
    const consumed = await this.db
      .updateTable('oauth_records')
      .set((e) => ({
        consumed_at: now,
        expires_at: e.case().when('expires_at', '>', until).then(until).else(e.ref('expires_at')).end(),
      }))
      .where('id_hash', '=', idHash)
      .where('consumed_at', 'is', null)
      .returning('id_hash')
      .executeTakeFirst()
    return consumed !== undefined
  }

  async delete(idHash: string): Promise<void> {
    await this.db.deleteFrom('oauth_records').where('id_hash', '=', idHash).execute()
  }

  deleteOfGrant(grantHash: string, limit: number): Promise<number> {
    return this.#deleteSome(limit, (e) => e('grant_hash', '=', grantHash))
  }

  async list(accountId: string, kind: string, now: number): Promise<OAuthRecord[]> {
    return toEntities(
      await this.#valid(now)
        .where('account_id', '=', accountId)
        .where('kind', '=', kind)
        .orderBy('created_at', 'desc')
        .execute(),
    )
  }

  deleteOfAccount(accountId: string, limit: number): Promise<number> {
    return this.#deleteSome(limit, (e) => e('account_id', '=', accountId))
  }

  deleteExpired(now: number, limit: number): Promise<number> {
    return this.#deleteSome(limit, (e) => e('expires_at', '<=', now))
  }

  async #deleteSome(
    limit: number,
    condition: (e: ExpressionBuilder<Schema, 'oauth_records'>) => Expression<SqlBool>,
  ) {
    const some = await this.db
      .selectFrom('oauth_records')
      .select('id_hash')
      .where(condition)
      .limit(limit)
      .execute()
    const hashes = some.map(({ id_hash }) => id_hash)
    // Not a subselect: PostgreSQL would scan the table for it.
    if (hashes.length > 0) await this.db.deleteFrom('oauth_records').where('id_hash', 'in', hashes).execute()
    return hashes.length
  }

  #valid(now: number) {
    return this.db.selectFrom('oauth_records').selectAll().where('expires_at', '>', now)
  }
}
