import {
  type AcmeAccount,
  acmeAccountTable,
  acmeChallengeTable,
  acmeRequestTable,
  type CountedRequest,
  type StoredChallenge,
  toNameSet,
} from '../tables/acme.ts'
import { countDeleted, QueryGroup } from './query-group.ts'

/** All kinds: both indexes begin with the kind. */
const REQUEST_KINDS: CountedRequest['kind'][] = ['order', 'renewal', 'certificate', 'failure', 'pause']

type Owner = Pick<CountedRequest, 'accountId' | 'root'>

/** Selects requests: with `names` only those for exactly this set, with `accountId` or `root` only their orders. */
export type CountedRequestFilter = Pick<CountedRequest, 'kind'> &
  Partial<Pick<CountedRequest, 'names'> & { accountId: string; root: string }>

export class AcmeQueries extends QueryGroup {
  async account(directory: string): Promise<AcmeAccount | undefined> {
    return acmeAccountTable.toEntityIfFound(await this.#account(directory).executeTakeFirst())
  }

  async directories(): Promise<string[]> {
    const rows = await this.db.selectFrom('acme_accounts').select('directory').execute()
    return rows.map(({ directory }) => directory)
  }

  async getOrCreateAccount(account: AcmeAccount): Promise<AcmeAccount> {
    await this.db
      .insertInto('acme_accounts')
      .values(acmeAccountTable.toRow(account))
      .onConflict((conflict) => conflict.column('directory').doNothing())
      .execute()
    return acmeAccountTable.toEntity(await this.#account(account.directory).executeTakeFirstOrThrow())
  }

  async setAccountKey(directory: string, key: string): Promise<void> {
    await this.db.updateTable('acme_accounts').set({ key }).where('directory', '=', directory).execute()
  }

  /** Null for an account that has to be registered again. An absent account is ignored. */
  async setAccountUrl(directory: string, url: string | null): Promise<void> {
    await this.db.updateTable('acme_accounts').set({ url }).where('directory', '=', directory).execute()
  }

  async putChallenge(challenge: StoredChallenge): Promise<void> {
    const row = acmeChallengeTable.toRow(challenge)
    await this.db
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

  /** The challenges of all names that expire after `now`, the last to expire first. */
  async challenges(type: StoredChallenge['type'], now: number): Promise<StoredChallenge[]> {
    return acmeChallengeTable.toEntities(
      await this.db
        .selectFrom('acme_challenges')
        .selectAll()
        .where('type', '=', type)
        .where('expires_at', '>', now)
        .orderBy('expires_at', 'desc')
        .execute(),
    )
  }

  async deleteChallenges(name: string): Promise<void> {
    await this.db.deleteFrom('acme_challenges').where('name', '=', name).execute()
  }

  async deleteExpiredChallenges(now: number): Promise<number> {
    return countDeleted(this.db.deleteFrom('acme_challenges').where('expires_at', '<=', now))
  }

  /** Counts a request. Idempotent: a request with a known id changes nothing. */
  async countRequest(request: Omit<CountedRequest, keyof Owner> & Partial<Owner>): Promise<void> {
    await this.db
      .insertInto('acme_requests')
      .values(acmeRequestTable.toRow({ ...acmeRequestTable.nulls, ...request }))
      .onConflict((conflict) => conflict.column('id').doNothing())
      .execute()
  }

  /** The time of the `count`th newest of these requests after `since`, from 1; undefined when there are fewer. */
  async nthLatestRequest(
    { kind, names, accountId, root }: CountedRequestFilter,
    count: number,
    since: number,
  ): Promise<number | undefined> {
    const row = await this.db
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

  async deleteRequests(before: number): Promise<number> {
    return countDeleted(
      this.db.deleteFrom('acme_requests').where('kind', 'in', REQUEST_KINDS).where('at', '<', before),
    )
  }

  #account(directory: string) {
    return this.db.selectFrom('acme_accounts').selectAll().where('directory', '=', directory)
  }
}
