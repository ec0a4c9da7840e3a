import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import { QueryGroup } from '../rows.ts'
import type { Schema } from '../schema.ts'
import { countDeleted } from '../statement.ts'
import { type Account, accountTable } from '../tables/accounts.ts'
import {
  type NamedKey,
  namedKeyTable,
  type OAuthRecord,
  oauthRecordTable,
  type StoredTrust,
  type TrustedRepository,
  trustTable,
} from '../tables/keys.ts'

/** An account with the columns of a named key, which are null for its own key. */
type FoundRow = Schema['accounts'] & {
  [Column in keyof Schema['named_keys'] as `named_${Column}`]: Schema['named_keys'][Column] | null
}

interface KeyHolder {
  account: Account
  /** Null for the account's own key. */
  key: NamedKey | null
}

/** Hashes are unique, and names within an account. Expired keys stay until deleted. Deletions are idempotent. */
export class KeyQueries extends QueryGroup {
  async find(keyHash: string): Promise<KeyHolder | undefined> {
    const own = this.db
      .selectFrom('accounts')
      .selectAll()
      .select(namedKeyTable.columns.map((column) => sql`null`.as(`named_${column}`)))
      .where('key_hash', '=', keyHash)
    const named = this.db
      .selectFrom('named_keys')
      .innerJoin('accounts', 'accounts.id', 'named_keys.account_id')
      .selectAll('accounts')
      .select(namedKeyTable.columns.map((column) => sql.ref(`named_keys.${column}`).as(`named_${column}`)))
      .where('named_keys.key_hash', '=', keyHash)
    const row = (await own.unionAll(named).executeTakeFirst()) as FoundRow | undefined
    if (!row) return undefined
    const columns = namedKeyTable.columns.map((column) => [column, row[`named_${column}`]])
    return {
      account: accountTable.toEntity(row),
      key: row.named_key_hash === null ? null : namedKeyTable.toEntity(Object.fromEntries(columns)),
    }
  }

  /** Those of these hashes that belong to a key, named or not, or to a session, that is valid at `now`. */
  async valid(hashes: readonly string[], now: number): Promise<string[]> {
    if (hashes.length === 0) return []
    const own = this.db.selectFrom('accounts').select('key_hash').where('key_hash', 'in', hashes)
    const named = this.db
      .selectFrom('named_keys')
      .select('key_hash')
      .where('key_hash', 'in', hashes)
      .where((e) => e.or([e('expires_at', 'is', null), e('expires_at', '>', now)]))
    const sessions = this.db
      .selectFrom('sessions')
      .select('token_hash as key_hash')
      .where('token_hash', 'in', hashes)
      .where('expires_at', '>', now)
    const rows = await own.unionAll(named).unionAll(sessions).execute()
    return rows.flatMap(({ key_hash }) => key_hash ?? [])
  }

  /** The keys that the account created by name, newest first. */
  async list(accountId: string): Promise<NamedKey[]> {
    const query = this.#ofAccount(accountId).selectAll().where('issued_by', 'is', null)
    return namedKeyTable.toEntities(await query.orderBy('created_at', 'desc').orderBy('key_hash').execute())
  }

  async add(key: NamedKey): Promise<void> {
    await this.db.insertInto('named_keys').values(namedKeyTable.toRow(key)).execute()
  }

  async delete(keyHash: string): Promise<void> {
    await this.db.deleteFrom('named_keys').where('key_hash', '=', keyHash).execute()
    await this.db.updateTable('accounts').set({ key_hash: null }).where('key_hash', '=', keyHash).execute()
  }

  async countIssued(accountId: string): Promise<number> {
    const counted = await this.#ofAccount(accountId)
      .select((e) => e.fn.countAll().as('keys'))
      .where('issued_by', 'is not', null)
      .executeTakeFirstOrThrow()
    return Number(counted.keys)
  }

  /** Those that are limited to this site alone. */
  async deleteOfSite(accountId: string, site: string): Promise<void> {
    await this.#delete(accountId)
      .where('sites', '=', JSON.stringify([site]))
      .execute()
  }

  async deleteIssued(accountId: string, issuedBy: string): Promise<void> {
    await this.#delete(accountId).where('issued_by', '=', issuedBy).execute()
  }

  /** Sets the last use of a key, unless it was used after `before`. */
  async recordUse(keyHash: string, now: number, before: number): Promise<void> {
    await this.db
      .updateTable('named_keys')
      .set({ last_used_at: now })
      .where('key_hash', '=', keyHash)
      .where((e) => e.or([e('last_used_at', 'is', null), e('last_used_at', '<=', before)]))
      .execute()
  }

  /** Removes issued keys that have expired, and others that had expired at `before`. Returns their number. */
  async deleteExpired(times: { now: number; before: number; limit: number }): Promise<number> {
    const { now, before, limit } = times
    const expired = this.db
      .selectFrom('named_keys')
      .select('key_hash')
      .where('expires_at', '<=', now)
      .where((e) => e.or([e('issued_by', 'is not', null), e('expires_at', '<=', before)]))
      .limit(limit)
    return countDeleted(this.db.deleteFrom('named_keys').where('key_hash', 'in', expired))
  }

  #ofAccount(accountId: string) {
    return this.db.selectFrom('named_keys').where('account_id', '=', accountId)
  }

  #delete(accountId: string) {
    return this.db.deleteFrom('named_keys').where('account_id', '=', accountId)
  }
}

/** Trusts of accounts, and the tokens that were exchanged. Deletions are idempotent. */
export class TrustQueries extends QueryGroup {
  async list(accountId: string): Promise<StoredTrust[]> {
    const rows = this.db.selectFrom('trusts').selectAll().where('account_id', '=', accountId)
    return trustTable.toEntities(await rows.orderBy('id', 'desc').execute())
  }

  /** Those for a repository, by its name or its id, of all accounts, of one present site or of all, oldest first. */
  async find(
    { issuer, repository, repositoryId }: TrustedRepository,
    { site, limit }: { site?: string | undefined; limit: number },
  ): Promise<StoredTrust[]> {
    let rows = this.db
      .selectFrom('trusts')
      .selectAll()
      .where(({ or, eb }) => or([eb('repository', '=', repository), eb('repository_id', '=', repositoryId)]))
      .where('issuer', '=', issuer)
      .where(({ exists, selectFrom }) =>
        exists(
          selectFrom('sites')
            .select('slug')
            .whereRef('visits_key', '=', 'trusts.site')
            .where('deleted_at', 'is', null),
        ),
      )
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
