import type { Kysely } from 'kysely'
import type { Schema, SessionRow, SignInCodeRow } from '../schema.ts'

const DAY_MS = 86_400_000
const SOURCE_LIFETIME_MS = 180 * DAY_MS

export type SignInQueries = ReturnType<typeof signInQueries>

export function signInQueries(db: Kysely<Schema>) {
  return {
    /** The codes of an address, expired ones that were not swept yet included. */
    codes: (email: string) => db.selectFrom('sign_in_codes').selectAll().where('email', '=', email).execute(),

    async addCode(row: SignInCodeRow): Promise<void> {
      await db.insertInto('sign_in_codes').values(row).execute()
    },

    /** Counts a wrong try that sent the attempt. */
    async countAttemptTry(attemptHash: string): Promise<void> {
      await db
        .updateTable('sign_in_codes')
        .set((e) => ({ attempt_tries: e('attempt_tries', '+', 1) }))
        .where('attempt_hash', '=', attemptHash)
        .execute()
    },

    /** Counts a wrong try without an attempt against the codes that the same network requested. */
    async countOpenTry(email: string, network: string): Promise<void> {
      await db
        .updateTable('sign_in_codes')
        .set((e) => ({ open_tries: e('open_tries', '+', 1) }))
        .where('email', '=', email)
        // '' was requested before networks were recorded.
        .where('network', 'in', [network, ''])
        .execute()
    },

    async deleteCode(attemptHash: string): Promise<void> {
      await db.deleteFrom('sign_in_codes').where('attempt_hash', '=', attemptHash).execute()
    },

    async dropCodes(email: string): Promise<void> {
      await db.deleteFrom('sign_in_codes').where('email', '=', email).execute()
    },

    /** Those of the given sources that there is a record of. */
    sources: (email: string, sources: readonly string[]) =>
      db
        .selectFrom('sign_in_sources')
        .selectAll()
        .where('email', '=', email)
        .where('source', 'in', [...sources])
        .execute(),

    /** Counts a wrong try of a source and returns how many there are now in a row. */
    async countFailure(email: string, source: string, now: number): Promise<number> {
      const row = await db
        .insertInto('sign_in_sources')
        .values({ email, source, signed_in_at: null, wrong_tries: 1, locked_until: null, changed_at: now })
        .onConflict((c) =>
          c.columns(['email', 'source']).doUpdateSet((e) => ({
            wrong_tries: e('sign_in_sources.wrong_tries', '+', 1),
            changed_at: now,
          })),
        )
        .returning('wrong_tries')
        .executeTakeFirstOrThrow()
      return row.wrong_tries
    },

    async lockSource(email: string, source: string, until: number): Promise<void> {
      await db
        .updateTable('sign_in_sources')
        .set({ wrong_tries: 0, locked_until: until })
        .where('email', '=', email)
        .where('source', '=', source)
        .execute()
    },

    /** Records a successful sign-in of these sources; only the `most` newest of an address stay known. */
    async knowSources(
      email: string,
      sources: readonly string[],
      { now, most }: { now: number; most: number },
    ): Promise<void> {
      for (const source of sources)
        await db
          .insertInto('sign_in_sources')
          .values({ email, source, signed_in_at: now, wrong_tries: 0, locked_until: null, changed_at: now })
          .onConflict((c) =>
            c
              .columns(['email', 'source'])
              .doUpdateSet({ signed_in_at: now, wrong_tries: 0, changed_at: now }),
          )
          .execute()
      const newest = db
        .selectFrom('sign_in_sources')
        .select('source')
        .where('email', '=', email)
        .where('signed_in_at', 'is not', null)
        .orderBy('signed_in_at', 'desc')
        .orderBy('source')
        .limit(most)
      await db
        .deleteFrom('sign_in_sources')
        .where('email', '=', email)
        .where('signed_in_at', 'is not', null)
        .where('source', 'not in', newest)
        .execute()
    },

    /** Sets the wrong tries of a source back to none; a lock stays. */
    async clearFailures(email: string, source: string): Promise<void> {
      await db
        .updateTable('sign_in_sources')
        .set({ wrong_tries: 0 })
        .where('email', '=', email)
        .where('source', '=', source)
        .execute()
    },

    async dropSources(email: string): Promise<void> {
      await db.deleteFrom('sign_in_sources').where('email', '=', email).execute()
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

    async deleteSession(tokenHash: string): Promise<void> {
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

    /** Ends all but `most` sessions of an account, the oldest first. */
    async trimSessions(accountId: string, most: number): Promise<void> {
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

    /** Ends an account's sessions, except one if given; returns how many were valid at `now`. */
    async deleteSessionsOf(
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

    /**
     * Removes codes and sessions that have expired, wrong tries and locks that are a day old, and sources that have not signed
     * in for half a year. Returns the number of codes and sessions.
     */
    async deleteExpired(now: number): Promise<number> {
      const codes = await db.deleteFrom('sign_in_codes').where('expires_at', '<=', now).executeTakeFirst()
      const sessions = await db.deleteFrom('sessions').where('expires_at', '<=', now).executeTakeFirst()
      await db
        .deleteFrom('sign_in_sources')
        .where('signed_in_at', 'is', null)
        .where('changed_at', '<=', now - DAY_MS)
        .where((e) => e.or([e('locked_until', 'is', null), e('locked_until', '<=', now)]))
        .execute()
      await db
        .deleteFrom('sign_in_sources')
        .where('changed_at', '<=', now - SOURCE_LIFETIME_MS)
        .execute()
      return Number(codes.numDeletedRows + sessions.numDeletedRows)
    },
  }
}
