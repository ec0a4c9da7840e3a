import { sql } from '#kysely'
import { QueryGroup, type Where } from '../rows.ts'
import type { Schema } from '../schema.ts'
import { statement } from '../statement.ts'
import { type Account, accountTable } from '../tables/accounts.ts'
import {
  type NamedKey,
  namedKeyTable,
  type OAuthRecord,
  oauthRecordTable,
  type StoredTrust,
  type TrustedRepository,
} from '../tables/keys.ts'
import { hasVisitsKey } from './sites.ts'

/** An account with the columns of a named key, which are null for its own key. */
type FoundRow = Schema['accounts'] & {
  [Column in keyof Schema['named_keys'] as `named_${Column}`]: Schema['named_keys'][Column] | null
}

const FIND = statement((db, keyHash: string, namedKeyHash: string) => {
  const own = db
    .selectFrom('accounts')
    .selectAll()
    .select(namedKeyTable.columns.map((column) => sql`null`.as(`named_${column}`)))
    .where('key_hash', '=', keyHash)
  const named = db
    .selectFrom('named_keys')
    .innerJoin('accounts', 'accounts.id', 'named_keys.account_id')
    .selectAll('accounts')
    .select(namedKeyTable.columns.map((column) => sql.ref(`named_keys.${column}`).as(`named_${column}`)))
    .where('named_keys.key_hash', '=', namedKeyHash)
  return own.unionAll(named)
})

/** Hashes are unique, and names within an account. Expired keys stay until deleted. Deletions are idempotent. */
export class KeyQueries extends QueryGroup {
  readonly #rows = this.rows('named_keys')

  /** `key` is null for the account's own one. */
  async find(keyHash: string): Promise<{ account: Account; key: NamedKey | null } | undefined> {
    const [row] = (await FIND(this.db, keyHash, keyHash)) as FoundRow[]
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
  list(accountId: string): Promise<NamedKey[]> {
    return this.#rows.list({ accountId, issuedBy: null }, 'createdAt desc', 'keyHash')
  }

  async delete(keyHash: string): Promise<void> {
    await this.#rows.remove({ keyHash })
    await this.rows('accounts').update({ keyHash }, { keyHash: null })
  }

  countIssued(accountId: string): Promise<number> {
    return this.#rows.count({ accountId, issuedBy: { '!=': null } })
  }

  /** Those that are limited to this site alone; those that are limited to several lose it. */
  async deleteOfSite(accountId: string, site: string): Promise<void> {
    const name = JSON.stringify(site)
    // First: on PostgreSQL the removal sees a key of two sites whose other one is removed at the same time.
    await this.db
      .updateTable('named_keys')
      .set({ sites: sql<string>`replace(replace(sites, ${`,${name}`}, ''), ${`${name},`}, '')` })
      .where('account_id', '=', accountId)
      .where('sites', 'like', `%${name}%`)
      .execute()
    await this.#rows.remove((all) => all.where('account_id', '=', accountId).where('sites', '=', `[${name}]`))
  }

  async deleteIssued(accountId: string, issuedBy: string): Promise<void> {
    await this.#rows.remove({ accountId, issuedBy })
  }

  /** Sets the last use of a key, unless it was used after `before`. */
  async recordUse(keyHash: string, now: number, before: number): Promise<void> {
    const isUnused = sql<boolean>`(last_used_at is null or last_used_at <= ${before})`
    await this.#rows.update((all) => all.where('key_hash', '=', keyHash).where(isUnused), { lastUsedAt: now })
  }

  /** Removes issued keys that have expired, and others that had expired at `before`. Returns their number. */
  deleteExpired(times: { now: number; before: number; limit: number }): Promise<number> {
    const { now, before, limit } = times
    return this.#rows.removeFirst(limit, (all) =>
      all
        .where('expires_at', '<=', now)
        .where((e) => e.or([e('issued_by', 'is not', null), e('expires_at', '<=', before)])),
    )
  }
}

/** Trusts of accounts, and the tokens that were exchanged. Deletions are idempotent. */
export class TrustQueries extends QueryGroup {
  readonly #rows = this.rows('trusts')
  readonly #usedTokens = this.rows('used_tokens')

  list(accountId: string): Promise<StoredTrust[]> {
    return this.#rows.list({ accountId }, 'id desc')
  }

  /**
   * Those for a repository, by its name or its id, and for one present site, oldest first. Only accounts that may publish
   * to the site have some.
   */
  find(repository: TrustedRepository, site: string): Promise<StoredTrust[]> {
    return this.#rows.list((all) =>
      all.where(isForRepository(repository)).where('site', '=', site).orderBy('id'),
    )
  }

  /** Some of the present sites that trust a repository. */
  async listSites(repository: TrustedRepository, limit: number): Promise<string[]> {
    const sites = this.db.selectFrom('trusts').select('site').distinct().where(isForRepository(repository))
    return (await sites.limit(limit).execute()).map(({ site }) => site)
  }

  /** Fixes the id of the repository, follows its name, and records the use. */
  async recordUse(
    id: string,
    { repository, repositoryId }: Omit<TrustedRepository, 'issuer'>,
    now: number,
  ): Promise<void> {
    await this.#rows.update({ id }, { repository, repositoryId, lastUsedAt: now })
  }

  /** Those of one account, or of all. */
  async deleteOfSite(site: string, accountId?: string): Promise<void> {
    await this.#rows.remove(accountId === undefined ? { site } : { site, accountId })
  }

  isTokenUsed(tokenHash: string): Promise<boolean> {
    return this.#usedTokens.has({ tokenHash })
  }

  /** Records the use of a token until it expires; false when it was used before. */
  async useToken(tokenHash: string, expiresAt: number): Promise<boolean> {
    return (await this.#usedTokens.insertMissing({ tokenHash, expiresAt })) > 0
  }
}

function isForRepository({ issuer, repository, repositoryId }: TrustedRepository) {
  return sql<boolean>`(repository = ${repository} or repository_id = ${repositoryId}) and issuer = ${issuer}
    and exists (select 1 from sites where ${hasVisitsKey(sql`= trusts.site`)} and deleted_at is null)`
}

/** Records of OAuth. Expired records are as absent. Deletions are idempotent. */
export class OAuthQueries extends QueryGroup {
  readonly #rows = this.rows('oauth_records')

  find(idHash: string, now: number): Promise<OAuthRecord | undefined> {
    return this.#rows.find({ idHash, expiresAt: { '>': now } })
  }

  findAll(idHashes: readonly string[], now: number): Promise<OAuthRecord[]> {
    return this.#rows.list({ idHash: idHashes, expiresAt: { '>': now } })
  }

  /** Undefined once the account is being deleted or the grant has ended: a running request may save a token later. */
  async findWithAccount(
    idHash: string,
    now: number,
  ): Promise<{ record: OAuthRecord; account: Account } | undefined> {
    const record = await this.find(idHash, now)
    if (!record?.accountId || !record.grantHash) return undefined
    const hasGrant = sql<boolean>`exists (select 1 from oauth_records
      where id_hash = ${record.grantHash} and expires_at > ${now})`
    const account = await this.rows('accounts').find((all) =>
      all.where('id', '=', record.accountId).where('deletion_started_at', 'is', null).where(hasGrant),
    )
    return account && { record, account }
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

  deleteOfGrant(grantHash: string, limit: number): Promise<number> {
    return this.#deleteSome(limit, { grantHash })
  }

  list(accountId: string, kind: string, now: number): Promise<OAuthRecord[]> {
    return this.#rows.list({ accountId, kind, expiresAt: { '>': now } }, 'createdAt desc')
  }

  deleteOfAccount(accountId: string, limit: number): Promise<number> {
    return this.#deleteSome(limit, { accountId })
  }

  deleteExpired(now: number, limit: number): Promise<number> {
    return this.#deleteSome(limit, { expiresAt: { '<=': now } })
  }

  async #deleteSome(limit: number, which: Where<'oauth_records'>): Promise<number> {
    const idHash = await this.#rows.pluck('idHash', which, { limit })
    // Not a subselect: PostgreSQL would scan the table for it. Again with the condition: a record may have been renewed.
    await this.#rows.remove({ ...which, idHash })
    return idHash.length
  }
}
