import type { Kysely } from 'kysely'
import type { OAuthQueries, OAuthRecord } from '../contract/oauth.ts'
import { json, RowMapper } from '../row-mapper.ts'
import type { OAuthRecordRow, Schema } from '../schema.ts'
import { accountMapper } from './accounts.ts'

const mapper = new RowMapper<OAuthRecord, OAuthRecordRow>({
  idHash: 'id_hash',
  kind: 'kind',
  grantHash: 'grant_hash',
  accountId: 'account_id',
  payload: json('payload'),
  createdAt: 'created_at',
  expiresAt: 'expires_at',
  consumedAt: 'consumed_at',
})

const { toEntities, toEntityIfFound } = mapper

export class SqlOAuthQueries implements OAuthQueries {
  readonly #db: Kysely<Schema>

  constructor(db: Kysely<Schema>) {
    this.#db = db
  }

  async find(idHash: string, now: number) {
    return toEntityIfFound(await this.#valid(now).where('id_hash', '=', idHash).executeTakeFirst())
  }

  async findAll(idHashes: readonly string[], now: number) {
    if (idHashes.length === 0) return []
    return toEntities(
      await this.#valid(now)
        .where('id_hash', 'in', [...idHashes])
        .execute(),
    )
  }

  async findWithAccount(idHash: string, now: number) {
    const record = await this.find(idHash, now)
    if (!record?.accountId || !record.grantHash) return undefined
    const row = await this.#db
      .selectFrom('accounts')
      .selectAll()
      .where('id', '=', record.accountId)
      .where('leaving_since', 'is', null)
      .where((e) => e.exists(this.#valid(now).where('id_hash', '=', record.grantHash)))
      .executeTakeFirst()
    return row && { record, account: accountMapper.toEntity(row) }
  }

  async save(record: OAuthRecord) {
    const row = mapper.toRow(record)
    const { payload, expires_at } = row
    await this.#db
      .insertInto('oauth_records')
      .values(row)
      .onConflict((c) => c.column('id_hash').doUpdateSet({ payload, expires_at }))
      .execute()
  }

  async consume(idHash: string, now: number) {
    const consumed = await this.#db
      .updateTable('oauth_records')
      .set({ consumed_at: now })
      .where('id_hash', '=', idHash)
      .where('consumed_at', 'is', null)
      .returning('id_hash')
      .executeTakeFirst()
    return consumed !== undefined
  }

  async delete(idHash: string) {
    await this.#db.deleteFrom('oauth_records').where('id_hash', '=', idHash).execute()
  }

  async deleteGrant(grantHash: string) {
    await this.#db.deleteFrom('oauth_records').where('grant_hash', '=', grantHash).execute()
  }

  async list(accountId: string, kind: string, now: number) {
    return toEntities(
      await this.#valid(now)
        .where('account_id', '=', accountId)
        .where('kind', '=', kind)
        .orderBy('created_at', 'desc')
        .execute(),
    )
  }

  async deleteOfAccount(accountId: string) {
    await this.#db.deleteFrom('oauth_records').where('account_id', '=', accountId).execute()
  }

  async deleteExpired(now: number, limit: number) {
    const expired = await this.#db
      .selectFrom('oauth_records')
      .select('id_hash')
      .where('expires_at', '<=', now)
      .orderBy('expires_at')
      .limit(limit)
      .execute()
    const hashes = expired.map(({ id_hash }) => id_hash)
    if (hashes.length > 0) await this.#db.deleteFrom('oauth_records').where('id_hash', 'in', hashes).execute()
    return hashes.length
  }

  #valid(now: number) {
    return this.#db.selectFrom('oauth_records').selectAll().where('expires_at', '>', now)
  }
}
