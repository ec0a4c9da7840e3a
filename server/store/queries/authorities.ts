import type { Kysely } from 'kysely'
import type { AcmeAccountRow, AcmeChallengeRow, AcmeRequestRow, Schema } from '../schema.ts'

export type Authorities = ReturnType<typeof authoritiesOver>

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

    async countRequest(row: AcmeRequestRow): Promise<void> {
      await db.insertInto('acme_requests').values(row).execute()
    },

    /** When requests of a kind were made after `since`, the first one first; with `names` only those for just these names. */
    async requestsSince(kind: AcmeRequestRow['kind'], since: number, names?: string): Promise<number[]> {
      const rows = await db
        .selectFrom('acme_requests')
        .select('at')
        .where('kind', '=', kind)
        .where('at', '>', since)
        .$if(names !== undefined, (query) => query.where('names', '=', names!))
        .orderBy('at')
        .execute()
      return rows.map((row) => row.at)
    },

    async dropRequests(before: number): Promise<number> {
      const gone = await db.deleteFrom('acme_requests').where('at', '<', before).executeTakeFirst()
      return Number(gone.numDeletedRows)
    },
  }
}
