import type { Kysely } from 'kysely'
import type { CodeRow, Schema, SessionRow } from '../schema.ts'

export type SignIns = ReturnType<typeof signInsOver>

export function signInsOver(db: Kysely<Schema>) {
  return {
    code: (email: string) => db.selectFrom('codes').selectAll().where('email', '=', email).executeTakeFirst(),

    /** A new code ends the one before. */
    async putCode(row: CodeRow): Promise<void> {
      await db
        .insertInto('codes')
        .values(row)
        .onConflict((c) => c.column('email').doUpdateSet(row))
        .execute()
    },

    async countWrongTry(email: string): Promise<void> {
      await db
        .updateTable('codes')
        .set((e) => ({ wrong_tries: e('wrong_tries', '+', 1) }))
        .where('email', '=', email)
        .execute()
    },

    async dropCode(email: string): Promise<void> {
      await db.deleteFrom('codes').where('email', '=', email).execute()
    },

    failures: (email: string) =>
      db.selectFrom('sign_in_failures').selectAll().where('email', '=', email).executeTakeFirst(),

    /** Counts a wrong try of an address over all codes and answers how many there are now in a row. */
    async countFailure(email: string): Promise<number> {
      const row = await db
        .insertInto('sign_in_failures')
        .values({ email, wrong_tries: 1, locked_until: null })
        .onConflict((c) =>
          c.column('email').doUpdateSet((e) => ({ wrong_tries: e('sign_in_failures.wrong_tries', '+', 1) })),
        )
        .returning('wrong_tries')
        .executeTakeFirstOrThrow()
      return row.wrong_tries
    },

    async lock(email: string, until: number): Promise<void> {
      await db
        .updateTable('sign_in_failures')
        .set({ wrong_tries: 0, locked_until: until })
        .where('email', '=', email)
        .execute()
    },

    async forgetFailures(email: string): Promise<void> {
      await db.deleteFrom('sign_in_failures').where('email', '=', email).execute()
    },

    async addSession(row: SessionRow): Promise<void> {
      await db.insertInto('sessions').values(row).execute()
    },

    session: (tokenHash: string, now: number) =>
      db
        .selectFrom('sessions')
        .innerJoin('accounts', 'accounts.id', 'sessions.account_id')
        .selectAll('accounts')
        .where('token_hash', '=', tokenHash)
        .where('expires_at', '>', now)
        .executeTakeFirst(),

    /** The hashes among these whose sessions are valid at `now`. */
    async openSessions(tokenHashes: readonly string[], now: number): Promise<string[]> {
      if (tokenHashes.length === 0) return []
      const rows = await db
        .selectFrom('sessions')
        .select('token_hash')
        .where('token_hash', 'in', [...tokenHashes])
        .where('expires_at', '>', now)
        .execute()
      return rows.map((row) => row.token_hash)
    },

    async dropSession(tokenHash: string): Promise<void> {
      await db.deleteFrom('sessions').where('token_hash', '=', tokenHash).execute()
    },

    /** Newest first. */
    sessionsOf: (accountId: string, now: number) =>
      db
        .selectFrom('sessions')
        .selectAll()
        .where('account_id', '=', accountId)
        .where('expires_at', '>', now)
        .orderBy('created_at', 'desc')
        .orderBy('token_hash')
        .execute(),

    /** Ends all but so many of an account's sessions, the oldest first. */
    async keepSessions(accountId: string, most: number): Promise<void> {
      const kept = db
        .selectFrom('sessions')
        .select('token_hash')
        .where('account_id', '=', accountId)
        .orderBy('created_at', 'desc')
        .orderBy('token_hash')
        .limit(most)
      await db
        .deleteFrom('sessions')
        .where('account_id', '=', accountId)
        .where('token_hash', 'not in', kept)
        .execute()
    },

    /** Ends an account's sessions, or those besides one; answers how many of them were valid at `now`. */
    async dropSessionsOf(
      accountId: string,
      { now = 0, besides = '' }: { now?: number; besides?: string | undefined } = {},
    ): Promise<number> {
      const gone = await db
        .deleteFrom('sessions')
        .where('account_id', '=', accountId)
        .where('token_hash', '!=', besides)
        .returning('expires_at')
        .execute()
      return gone.filter((row) => row.expires_at > now).length
    },

    /** Removes codes, sessions and locks whose time is over; answers how many codes and sessions went. */
    async dropExpired(now: number): Promise<number> {
      const codes = await db.deleteFrom('codes').where('expires_at', '<=', now).executeTakeFirst()
      const sessions = await db.deleteFrom('sessions').where('expires_at', '<=', now).executeTakeFirst()
      await db.deleteFrom('sign_in_failures').where('locked_until', '<=', now).execute()
      return Number(codes.numDeletedRows + sessions.numDeletedRows)
    },
  }
}
