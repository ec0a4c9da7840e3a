import type { Kysely } from 'kysely'
import type { AcmeAccountRow, AcmeChallengeRow, AcmeRequestRow, Schema } from '../schema.ts'

export type Authorities = ReturnType<typeof authoritiesOver>

/** What counts against limits; both indexes begin with the kind. */
const COUNTED: AcmeRequestRow['kind'][] = ['order', 'renewal', 'certificate', 'failure']

/** What the service keeps of its dealings with certificate authorities. */
export function authoritiesOver(db: Kysely<Schema>) {
  return {
    account: (directory: string) =>
      db.selectFrom('acme_accounts').selectAll().where('directory', '=', directory).executeTakeFirst(),

    /** Keeps the account unless there is one; whoever comes second has to read it. */
    async keepAccount(row: AcmeAccountRow): Promise<void> {
      await db
        .insertInto('acme_accounts')
        .values(row)
        .onConflict((conflict) => conflict.column('directory').doNothing())
        .execute()
    },

    async setAccountUrl(directory: string, url: string | null): Promise<void> {
      await db.updateTable('acme_accounts').set({ url }).where('directory', '=', directory).execute()
    },

    async keepChallenge(row: AcmeChallengeRow): Promise<void> {
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

    async dropChallenges(name: string): Promise<void> {
      await db.deleteFrom('acme_challenges').where('name', '=', name).execute()
    },

    async dropExpiredChallenges(now: number): Promise<number> {
      const gone = await db.deleteFrom('acme_challenges').where('expires_at', '<=', now).executeTakeFirst()
      return Number(gone.numDeletedRows)
    },

    /** Counts a request; the same one again does not count again. */
    async countRequest(row: AcmeRequestRow): Promise<void> {
      await db
        .insertInto('acme_requests')
        .values(row)
        .onConflict((conflict) => conflict.column('id').doNothing())
        .execute()
    },

    /**
     * When the last but `count` of the requests of a kind was made that were made after `since`, from 1: undefined when there
     * are fewer. With `names` only those for just these names.
     */
    async requestBefore(
      { kind, names }: Pick<AcmeRequestRow, 'kind'> & { names?: string },
      count: number,
      since: number,
    ): Promise<number | undefined> {
      const row = await db
        .selectFrom('acme_requests')
        .select('at')
        .where('kind', '=', kind)
        .where('at', '>', since)
        .$if(names !== undefined, (query) => query.where('names', '=', names!))
        .orderBy('at', 'desc')
        .offset(count - 1)
        .limit(1)
        .executeTakeFirst()
      return row?.at
    },

    /** Takes requests that seem to be made in the future for ones made now, and forgets what the CA is said to want then. */
    async pullRequests(now: number, pausesBeyond: number): Promise<void> {
      await db
        .deleteFrom('acme_requests')
        .where('kind', '=', 'pause')
        .where('at', '>', pausesBeyond)
        .execute()
      await db
        .updateTable('acme_requests')
        .set({ at: now })
        .where('kind', 'in', COUNTED)
        .where('at', '>', now)
        .execute()
    },

    async dropRequests(before: number): Promise<number> {
      const gone = await db
        .deleteFrom('acme_requests')
        .where('kind', 'in', [...COUNTED, 'pause'])
        .where('at', '<', before)
        .executeTakeFirst()
      return Number(gone.numDeletedRows)
    },
  }
}
