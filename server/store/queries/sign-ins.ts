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

    async dropSession(tokenHash: string): Promise<void> {
      await db.deleteFrom('sessions').where('token_hash', '=', tokenHash).execute()
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
