import type { Kysely } from 'kysely'
import type { AcmeAccountRow, AcmeChallengeRow, AcmeRequestRow } from '../certificate-rows.ts'
import type {
  AcmeAccount,
  AcmeQueries,
  CountedRequest,
  CountedRequestFilter,
  StoredChallenge,
} from '../contract/acme.ts'
import { RowMapper } from '../row-mapper.ts'
import type { Schema } from '../schema.ts'

const accountMapper = new RowMapper<AcmeAccount, AcmeAccountRow>({
  directory: 'directory',
  key: 'key',
  url: 'url',
  createdAt: 'created_at',
})

const challengeMapper = new RowMapper<StoredChallenge, AcmeChallengeRow>({
  type: 'type',
  name: 'name',
  token: 'token',
  keyAuthorization: 'key_authorization',
  expiresAt: 'expires_at',
})

/** All kinds: both indexes begin with the kind. */
const REQUEST_KINDS: CountedRequest['kind'][] = ['order', 'renewal', 'certificate', 'failure', 'pause']

export class SqlAcmeQueries implements AcmeQueries {
  readonly #db: Kysely<Schema>

  constructor(db: Kysely<Schema>) {
    this.#db = db
  }

  async account(directory: string) {
    return accountMapper.toEntityIfFound(await this.#account(directory).executeTakeFirst())
  }

  async directories() {
    const rows = await this.#db.selectFrom('acme_accounts').select('directory').execute()
    return rows.map(({ directory }) => directory)
  }

  async getOrCreateAccount(account: AcmeAccount) {
    await this.#db
      .insertInto('acme_accounts')
      .values(accountMapper.toRow(account))
      .onConflict((conflict) => conflict.column('directory').doNothing())
      .execute()
    return accountMapper.toEntity(await this.#account(account.directory).executeTakeFirstOrThrow())
  }

  async setAccountKey(directory: string, key: string) {
    await this.#db.updateTable('acme_accounts').set({ key }).where('directory', '=', directory).execute()
  }

  async setAccountUrl(directory: string, url: string | null) {
    await this.#db.updateTable('acme_accounts').set({ url }).where('directory', '=', directory).execute()
  }

  async putChallenge(challenge: StoredChallenge) {
    const row = challengeMapper.toRow(challenge)
    await this.#db
      .insertInto('acme_challenges')
      .values(row)
      .onConflict((conflict) =>
        conflict.columns(['type', 'name', 'token']).doUpdateSet({
          key_authorization: row.key_authorization,
          expires_at: row.expires_at,
        }),
      )
      .execute()
  }

  async challenges(type: StoredChallenge['type'], now: number) {
    return challengeMapper.toEntities(
      await this.#db
        .selectFrom('acme_challenges')
        .selectAll()
        .where('type', '=', type)
        .where('expires_at', '>', now)
        .orderBy('expires_at', 'desc')
        .execute(),
    )
  }

  async deleteChallenges(name: string) {
    await this.#db.deleteFrom('acme_challenges').where('name', '=', name).execute()
  }

  async deleteExpiredChallenges(now: number) {
    const deleted = await this.#db
      .deleteFrom('acme_challenges')
      .where('expires_at', '<=', now)
      .executeTakeFirst()
    return Number(deleted.numDeletedRows)
  }

  async countRequest({
    names,
    accountId = null,
    root = null,
    ...rest
  }: Parameters<AcmeQueries['countRequest']>[0]) {
    await this.#db
      .insertInto('acme_requests')
      .values({ ...rest, names: toNameSet(names), account_id: accountId, root })
      .onConflict((conflict) => conflict.column('id').doNothing())
      .execute()
  }

  async nthLatestRequest(
    { kind, names, accountId, root }: CountedRequestFilter,
    count: number,
    since: number,
  ) {
    const row = await this.#db
      .selectFrom('acme_requests')
      .select('at')
      .where('kind', '=', kind)
      .where('at', '>', since)
      .$if(names !== undefined, (query) => query.where('names', '=', toNameSet(names!)))
      .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId!))
      .$if(root !== undefined, (query) => query.where('root', '=', root!))
      .orderBy('at', 'desc')
      .offset(count - 1)
      .limit(1)
      .executeTakeFirst()
    return row?.at
  }

  async deleteRequests(before: number) {
    const deleted = await this.#db
      .deleteFrom('acme_requests')
      .where('kind', 'in', REQUEST_KINDS)
      .where('at', '<', before)
      .executeTakeFirst()
    return Number(deleted.numDeletedRows)
  }

  #account(directory: string) {
    return this.#db.selectFrom('acme_accounts').selectAll().where('directory', '=', directory)
  }
}

function toNameSet(names: CountedRequest['names']): AcmeRequestRow['names'] {
  return names.toSorted().join()
}
