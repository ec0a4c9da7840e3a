import type { Kysely } from 'kysely'
import type { AcmeAccountRow, AcmeChallengeRow, AcmeRequestRow, Schema } from '../schema.ts'

export type AcmeQueries = ReturnType<typeof acmeQueries>

/** Filters of counted requests; both indexes begin with the kind. */
const RATE_LIMITED_KINDS: AcmeRequestRow['kind'][] = ['order', 'renewal', 'certificate', 'failure']

/** The owner on whose behalf an order is placed. */
type Share = Pick<AcmeRequestRow, 'account_id' | 'root'>

/** State of the ACME client. */
export function acmeQueries(db: Kysely<Schema>) {
  return {
    account: (directory: string) =>
      db.selectFrom('acme_accounts').selectAll().where('directory', '=', directory).executeTakeFirst(),

    /** Stores the account unless there is one; the caller must then read it. */
    async putAccount(row: AcmeAccountRow): Promise<void> {
      await db
        .insertInto('acme_accounts')
        .values(row)
        .onConflict((conflict) => conflict.column('directory').doNothing())
        .execute()
    },

    async setAccountUrl(directory: string, url: string | null): Promise<void> {
      await db.updateTable('acme_accounts').set({ url }).where('directory', '=', directory).execute()
    },

    async putChallenge(row: AcmeChallengeRow): Promise<void> {
      await db
        .insertInto('acme_challenges')
        .values(row)
        .onConflict((conflict) =>
          conflict.columns(['type', 'name', 'token']).doUpdateSet({
            key_authorization: row.key_authorization,
            expires_at: row.expires_at,
          }),
        )
        .execute()
    },

    challenge: (type: AcmeChallengeRow['type'], name: string, now: number) =>
      db
        .selectFrom('acme_challenges')
        .selectAll()
        .where('type', '=', type)
        .where('name', '=', name)
        .where('expires_at', '>', now)
        .orderBy('expires_at', 'desc')
        .execute(),

    async deleteChallenges(name: string): Promise<void> {
      await db.deleteFrom('acme_challenges').where('name', '=', name).execute()
    },

    async deleteExpiredChallenges(now: number): Promise<number> {
      const deleted = await db.deleteFrom('acme_challenges').where('expires_at', '<=', now).executeTakeFirst()
      return Number(deleted.numDeletedRows)
    },

    /** Counts a request; repeating it changes nothing. */
    async countRequest(row: Omit<AcmeRequestRow, keyof Share> & Partial<Share>): Promise<void> {
      await db
        .insertInto('acme_requests')
        .values(row)
        .onConflict((conflict) => conflict.column('id').doNothing())
        .execute()
    },

    /**
     * The time of the `count`th newest request of a kind after `since`, from 1; undefined when there are fewer.
     * With `names` only requests for exactly these names, with `account_id` or `root` only those on their behalf.
     */
    async nthLatestRequest(
      { kind, ...about }: Pick<AcmeRequestRow, 'kind'> & { names?: string } & Partial<Share>,
      count: number,
      since: number,
    ): Promise<number | undefined> {
      const row = await db
        .selectFrom('acme_requests')
        .select('at')
        .where('kind', '=', kind)
        .where('at', '>', since)
        .where((e) => e.and(about))
        .orderBy('at', 'desc')
        .offset(count - 1)
        .limit(1)
        .executeTakeFirst()
      return row?.at
    },

    async deleteRequests(before: number): Promise<number> {
      const deleted = await db
        .deleteFrom('acme_requests')
        .where('kind', 'in', [...RATE_LIMITED_KINDS, 'pause'])
        .where('at', '<', before)
        .executeTakeFirst()
      return Number(deleted.numDeletedRows)
    },
  }
}
