import type { Kysely } from 'kysely'
import type { Schema } from '../schema.ts'
import type {
  AcmeAccount,
  AcmeQueries,
  CountedRequest,
  CountedRequestFilter,
  StoredChallenge,
} from '../tables/acme.ts'
import { acmeAccountTable, acmeChallengeTable } from '../tables/acme.ts'

/** All kinds: both indexes begin with the kind. */
const REQUEST_KINDS: CountedRequest['kind'][] = ['order', 'renewal', 'certificate', 'failure', 'pause']

export class SqlAcmeQueries implements AcmeQueries {
  readonly #db: Kysely<Schema>

  constructor(db: Kysely<Schema>) {
    this.#db = db
  }

  async account(directory: string) {
    return acmeAccountTable.toEntityIfFound(await this.#account(directory).executeTakeFirst())
  }

  async directories() {
    const rows = await this.#db.selectFrom('acme_accounts').select('directory').execute()
    return rows.map(({ directory }) => directory)
  }

  async getOrCreateAccount(account: AcmeAccount) {
    await this.#db
      .insertInto('acme_accounts')
      .values(acmeAccountTable.toRow(account))
      .onConflict((conflict) => conflict.column('directory').doNothing())
      .execute()
    return acmeAccountTable.toEntity(await this.#account(account.directory).executeTakeFirstOrThrow())
  }

  async setAccountKey(directory: string, key: string) {
    await this.#db.updateTable('acme_accounts').set({ key }).where('directory', '=', directory).execute()
  }

  async setAccountUrl(directory: string, url: string | null) {
    await this.#db.updateTable('acme_accounts').set({ url }).where('directory', '=', directory).execute()
  }

  async putChallenge(challenge: StoredChallenge) {
    const row = acmeChallengeTable.toRow(challenge)
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
    return acmeChallengeTable.toEntities(
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

function toNameSet(names: CountedRequest['names']): Schema['acme_requests']['names'] {
  return names.toSorted().join()
}
