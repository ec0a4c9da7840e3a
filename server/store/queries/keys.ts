import { sql } from 'kysely'
import type { Schema } from '../schema.ts'
import { type Account, accountTable } from '../tables/accounts.ts'
import { type NamedKey, namedKeyTable } from '../tables/keys.ts'
import { countDeleted, QueryGroup } from './query-group.ts'

/** An account with the columns of a named key, which are null for its own key. */
type FoundRow = Schema['accounts'] & {
  [Column in keyof Schema['named_keys'] as `named_${Column}`]: Schema['named_keys'][Column] | null
}

export interface KeyHolder {
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

  /** Those of these hashes that belong to a key that is valid at `now`, named or not. */
  async valid(hashes: readonly string[], now: number): Promise<string[]> {
    if (hashes.length === 0) return []
    const own = this.db.selectFrom('accounts').select('key_hash').where('key_hash', 'in', hashes)
    const named = this.db
      .selectFrom('named_keys')
      .select('key_hash')
      .where('key_hash', 'in', hashes)
      .where((e) => e.or([e('expires_at', 'is', null), e('expires_at', '>', now)]))
    const rows = await own.unionAll(named).execute()
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

  async deleteIssued(accountId: string, issuedBy: string): Promise<void> {
    await this.db
      .deleteFrom('named_keys')
      .where('account_id', '=', accountId)
      .where('issued_by', '=', issuedBy)
      .execute()
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
}
