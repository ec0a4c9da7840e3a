import { type SelectQueryBuilder, sql } from 'kysely'
import { DAY_MS } from '../../lib/time.ts'
import { QueryGroup } from '../rows.ts'
import type { Schema } from '../schema.ts'
import { countDeleted, hasDeleted, hasUpdated } from '../statement.ts'
import { type Account, accountTable } from '../tables/accounts.ts'
import {
  type DeviceSignIn,
  deviceSignInTable,
  type Session,
  type SignInCode,
  type SignInSource,
  sessionTable,
  signInCodeTable,
  signInSourceTable,
} from '../tables/sign-ins.ts'

const SOURCE_LIFETIME_MS = 180 * DAY_MS

/** Counts are exact over all processes. Changes of absent rows change nothing; deletions are idempotent. */
export class SignInQueries extends QueryGroup {
  /** The codes of an address in no order, including expired ones that were not swept yet. */
  async codes(email: string): Promise<SignInCode[]> {
    return signInCodeTable.toEntities(
      await this.db.selectFrom('sign_in_codes').selectAll().where('email', '=', email).execute(),
    )
  }

  async addCode(code: SignInCode): Promise<void> {
    await this.db.insertInto('sign_in_codes').values(signInCodeTable.toRow(code)).execute()
  }

  async countAttemptTry(attemptHash: string): Promise<void> {
    await this.db
      .updateTable('sign_in_codes')
      .set((e) => ({ attempt_tries: e('attempt_tries', '+', 1) }))
      .where('attempt_hash', '=', attemptHash)
      .execute()
  }

  /** Counts a wrong try without an attempt token against the codes that the same network requested. */
  async countOpenTry(email: string, network: string): Promise<void> {
    await this.db
      .updateTable('sign_in_codes')
      .set((e) => ({ open_tries: e('open_tries', '+', 1) }))
      .where('email', '=', email)
      .where('network', '=', network)
      .execute()
  }

  async deleteCode(attemptHash: string): Promise<void> {
    await this.db.deleteFrom('sign_in_codes').where('attempt_hash', '=', attemptHash).execute()
  }

  async dropCodes(email: string): Promise<void> {
    await this.db.deleteFrom('sign_in_codes').where('email', '=', email).execute()
  }

  async sources(email: string, sources: readonly string[]): Promise<SignInSource[]> {
    return signInSourceTable.toEntities(
      await this.db
        .selectFrom('sign_in_sources')
        .selectAll()
        .where('email', '=', email)
        .where('source', 'in', [...sources])
        .execute(),
    )
  }

  /** Counts a wrong try of a source and returns how many there are now in a row. */
  async countFailure(email: string, source: string, now: number): Promise<number> {
    const row = await this.db
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
  }

  /** Locks a recorded source until that time and resets its wrong tries. */
  async lockSource(email: string, source: string, until: number): Promise<void> {
    await this.db
      .updateTable('sign_in_sources')
      .set({ wrong_tries: 0, locked_until: until })
      .where('email', '=', email)
      .where('source', '=', source)
      .execute()
  }

  /** Records a successful sign-in of these sources; only the `max` newest of an address stay known. */
  async recordSignIn(
    email: string,
    sources: readonly string[],
    { now, max }: { now: number; max: number },
  ): Promise<void> {
    for (const source of sources)
      await this.db
        .insertInto('sign_in_sources')
        .values({ email, source, signed_in_at: now, wrong_tries: 0, locked_until: null, changed_at: now })
        .onConflict((c) =>
          c.columns(['email', 'source']).doUpdateSet({ signed_in_at: now, wrong_tries: 0, changed_at: now }),
        )
        .execute()
    const newest = this.db
      .selectFrom('sign_in_sources')
      .select('source')
      .where('email', '=', email)
      .where('signed_in_at', 'is not', null)
      .orderBy('signed_in_at', 'desc')
      .orderBy('source')
      .limit(max)
    await this.db
      .deleteFrom('sign_in_sources')
      .where('email', '=', email)
      .where('signed_in_at', 'is not', null)
      .where('source', 'not in', newest)
      .execute()
  }

  /** Resets the wrong tries of a source; a lock stays. */
  async clearFailures(email: string, source: string): Promise<void> {
    await this.db
      .updateTable('sign_in_sources')
      .set({ wrong_tries: 0 })
      .where('email', '=', email)
      .where('source', '=', source)
      .execute()
  }

  async dropSources(email: string): Promise<void> {
    await this.db.deleteFrom('sign_in_sources').where('email', '=', email).execute()
  }

  async addSession(session: Session): Promise<void> {
    await this.db.insertInto('sessions').values(sessionTable.toRow(session)).execute()
  }

  async session(
    tokenHash: string,
    now: number,
  ): Promise<{ account: Account; createdAt: number } | undefined> {
    const row = await this.db
      .selectFrom('sessions')
      .innerJoin('accounts', 'accounts.id', 'sessions.account_id')
      .selectAll('accounts')
      .select('sessions.created_at as signed_in_at')
      .where('token_hash', '=', tokenHash)
      .where('expires_at', '>', now)
      .executeTakeFirst()
    return row && { account: accountTable.toEntity(row), createdAt: row.signed_in_at }
  }

  async deleteSession(tokenHash: string): Promise<void> {
    await this.db.deleteFrom('sessions').where('token_hash', '=', tokenHash).execute()
  }

  async listSessions(accountId: string, now: number): Promise<Session[]> {
    return sessionTable.toEntities(
      await this.db
        .selectFrom('sessions')
        .selectAll()
        .where('account_id', '=', accountId)
        .where('expires_at', '>', now)
        .orderBy('created_at', 'desc')
        .orderBy('token_hash')
        .execute(),
    )
  }

  async trimSessions(accountId: string, max: number): Promise<void> {
    const kept = this.db
      .selectFrom('sessions')
      .select('token_hash')
      .where('account_id', '=', accountId)
      .orderBy('created_at', 'desc')
      .orderBy('token_hash')
      .limit(max)
    await this.db
      .deleteFrom('sessions')
      .where('account_id', '=', accountId)
      .where('token_hash', 'not in', kept)
      .execute()
  }

  /** Ends an account's sessions, except one if given; returns how many were valid at `now`. */
  async deleteSessions(
    accountId: string,
    { now = 0, besides = '' }: { now?: number; besides?: string | undefined } = {},
  ): Promise<number> {
    const deleted = await this.db
      .deleteFrom('sessions')
      .where('account_id', '=', accountId)
      .where('token_hash', '!=', besides)
      .returning('expires_at')
      .execute()
    return deleted.filter((row) => row.expires_at > now).length
  }

  /** Also removes wrong tries and locks after a day, and sources that have not signed in for half a year. */
  async deleteExpired(now: number, limit: number): Promise<number> {
    const codes = this.db
      .selectFrom('sign_in_codes')
      .select('attempt_hash')
      .where('expires_at', '<=', now)
      .orderBy('expires_at')
      .limit(limit)
    const sessions = this.db
      .selectFrom('sessions')
      .select('token_hash')
      .where('expires_at', '<=', now)
      .orderBy('expires_at')
      .limit(limit)
    const sources = this.db
      .selectFrom('sign_in_sources')
      .select(['email', 'source'])
      .orderBy('changed_at')
      .limit(limit)
    const failed = sources
      .where('signed_in_at', 'is', null)
      .where('changed_at', '<=', now - DAY_MS)
      .where((e) => e.or([e('locked_until', 'is', null), e('locked_until', '<=', now)]))
    const deleted = [
      await this.db.deleteFrom('sign_in_codes').where('attempt_hash', 'in', codes).executeTakeFirstOrThrow(),
      await this.db.deleteFrom('sessions').where('token_hash', 'in', sessions).executeTakeFirstOrThrow(),
      await this.#deleteSources(failed),
      await this.#deleteSources(sources.where('changed_at', '<=', now - SOURCE_LIFETIME_MS)),
    ]
    return deleted.reduce((sum, { numDeletedRows }) => sum + Number(numDeletedRows), 0)
  }

  #deleteSources(which: SelectQueryBuilder<Schema, 'sign_in_sources', { email: string; source: string }>) {
    return this.db
      .deleteFrom('sign_in_sources')
      .where((e) => e(e.refTuple('email', 'source'), 'in', which.$asTuple('email', 'source')))
      .executeTakeFirstOrThrow()
  }
}

/** Sign-ins of devices. Hashes are unique. Expired ones stay until they are deleted. */
export class DeviceSignInQueries extends QueryGroup {
  async add(signIn: DeviceSignIn): Promise<void> {
    await this.db.insertInto('device_sign_ins').values(deviceSignInTable.toRow(signIn)).execute()
  }

  async find(deviceHash: string): Promise<DeviceSignIn | undefined> {
    const query = this.db.selectFrom('device_sign_ins').selectAll().where('device_hash', '=', deviceHash)
    return deviceSignInTable.toEntityIfFound(await query.executeTakeFirst())
  }

  async findPending(userCodeHashes: readonly string[], now: number): Promise<DeviceSignIn | undefined> {
    const query = this.db
      .selectFrom('device_sign_ins')
      .selectAll()
      .where('user_code_hash', 'in', userCodeHashes)
      .where('state', '=', 'pending')
      .where('expires_at', '>', now)
    return deviceSignInTable.toEntityIfFound(await query.executeTakeFirst())
  }

  /** Decides a pending sign-in that is valid at `now`; returns whether there was one. */
  async decide(
    userCodeHashes: readonly string[],
    { state, accountId, allowedBy }: Pick<DeviceSignIn, 'state' | 'accountId' | 'allowedBy'>,
    now: number,
  ): Promise<boolean> {
    return hasUpdated(
      this.db
        .updateTable('device_sign_ins')
        .set({ state, account_id: accountId, allowed_by: allowedBy })
        .where('user_code_hash', 'in', userCodeHashes)
        .where('state', '=', 'pending')
        .where('expires_at', '>', now),
    )
  }

  /** Records a poll, unless it is earlier than the interval permits; returns whether it was recorded. */
  async recordPoll(deviceHash: string, now: number): Promise<boolean> {
    return hasUpdated(
      this.db
        .updateTable('device_sign_ins')
        .set({ polled_at: now })
        .where('device_hash', '=', deviceHash)
        .where((e) => e.or([e('polled_at', 'is', null), e(sql`polled_at + interval_ms`, '<=', now)])),
    )
  }

  async setInterval(deviceHash: string, intervalMs: number): Promise<void> {
    await this.db
      .updateTable('device_sign_ins')
      .set({ interval_ms: intervalMs })
      .where('device_hash', '=', deviceHash)
      .execute()
  }

  async remove(deviceHash: string): Promise<boolean> {
    return hasDeleted(this.db.deleteFrom('device_sign_ins').where('device_hash', '=', deviceHash))
  }

  async deleteExpired(now: number, limit: number): Promise<number> {
    const expired = this.db
      .selectFrom('device_sign_ins')
      .select('device_hash')
      .where('expires_at', '<=', now)
      .orderBy('expires_at')
      .limit(limit)
    return countDeleted(this.db.deleteFrom('device_sign_ins').where('device_hash', 'in', expired))
  }
}
