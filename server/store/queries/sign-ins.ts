import { sql, type WhereInterface } from '#kysely'
import { DAY_MS } from '../../lib/time.ts'
import { keyedQueries, QueryGroup } from '../rows.ts'
import type { Schema } from '../schema.ts'
import { type Account, accountTable } from '../tables/accounts.ts'
import type { DeviceSignIn, Session, SignInCode, SignInSource } from '../tables/sign-ins.ts'

const SOURCE_LIFETIME_MS = 180 * DAY_MS

/** Counts are exact over all processes. Changes of absent rows change nothing; deletions are idempotent. */
export class SignInQueries extends QueryGroup {
  readonly #codes = this.rows('sign_in_codes')
  readonly #sources = this.rows('sign_in_sources')
  readonly #sessions = this.rows('sessions')

  /** The codes of an address in no order, including expired ones that were not swept yet. */
  codes(email: string): Promise<SignInCode[]> {
    return this.#codes.list({ email })
  }

  async countAttemptTry(attemptHash: string): Promise<void> {
    await this.#codes.increase({ attemptHash }, 'attemptTries')
  }

  /** Counts a wrong try without an attempt token against the codes that the same network requested. */
  async countOpenTry(email: string, network: string): Promise<void> {
    await this.#codes.increase({ email, network }, 'openTries')
  }

  sources(email: string, sources: readonly string[]): Promise<SignInSource[]> {
    return this.#sources.list({ email, source: sources })
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
    await this.#sources.update({ email, source }, { wrongTries: 0, lockedUntil: until })
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
    await this.#sources.remove((all) =>
      all.where('email', '=', email).where('signed_in_at', 'is not', null).where('source', 'not in', newest),
    )
  }

  /** Resets the wrong tries of a source; a lock stays. */
  async clearFailures(email: string, source: string): Promise<void> {
    await this.#sources.update({ email, source }, { wrongTries: 0 })
  }

  async removeAddress(email: string): Promise<void> {
    await this.#codes.remove({ email })
    await this.#sources.remove({ email })
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

  listSessions(accountId: string, now: number): Promise<Session[]> {
    return this.#sessions.list({ accountId, expiresAt: { '>': now } }, 'createdAt desc', 'tokenHash')
  }

  async trimSessions(accountId: string, max: number): Promise<void> {
    const kept = this.db
      .selectFrom('sessions')
      .select('token_hash')
      .where('account_id', '=', accountId)
      .orderBy('created_at', 'desc')
      .orderBy('token_hash')
      .limit(max)
    await this.#sessions.remove((all) =>
      all.where('account_id', '=', accountId).where('token_hash', 'not in', kept),
    )
  }

  /** Ends an account's sessions, except one if given; returns how many were valid at `now`. */
  async deleteSessions(
    accountId: string,
    { now = 0, besides = '' }: { now?: number; besides?: string | undefined } = {},
  ): Promise<number> {
    const deleted = await this.#sessions.take({ accountId, tokenHash: { '!=': besides } })
    return deleted.filter(({ expiresAt }) => expiresAt > now).length
  }

  /** Removes wrong tries and locks after a day, and sources that have not signed in for half a year. */
  async deleteExpiredSources(now: number, limit: number): Promise<number> {
    const hasFailed = (sources: WhereInterface<Schema, 'sign_in_sources'>) =>
      sources
        .where('signed_in_at', 'is', null)
        .where('changed_at', '<=', now - DAY_MS)
        .where((e) => e.or([e('locked_until', 'is', null), e('locked_until', '<=', now)]))
    const isOld = { changedAt: { '<=': now - SOURCE_LIFETIME_MS } }
    return (
      (await this.#sources.removeFirst(limit, hasFailed, 'changedAt')) +
      (await this.#sources.removeFirst(limit, isOld, 'changedAt'))
    )
  }
}

/** Sign-ins of devices. Hashes are unique. Expired ones stay until they are deleted. */
export class DeviceSignInQueries extends keyedQueries('device_sign_ins', 'deviceHash') {
  findPending(userCodeHashes: readonly string[], now: number): Promise<DeviceSignIn | undefined> {
    return this.table.find((all) => all.where(isPending(userCodeHashes, now)))
  }

  /** Decides a pending sign-in that is valid at `now`; returns whether there was one. */
  decide(
    userCodeHashes: readonly string[],
    decision: Pick<DeviceSignIn, 'state' | 'accountId' | 'allowedBy'>,
    now: number,
  ): Promise<boolean> {
    return this.table.update((all) => all.where(isPending(userCodeHashes, now)), decision)
  }

  /** Records a poll, unless it is earlier than the interval permits; returns whether it was recorded. */
  recordPoll(deviceHash: string, now: number): Promise<boolean> {
    const mayPoll = sql<boolean>`(polled_at is null or polled_at + interval_ms <= ${now})`
    return this.table.update((all) => all.where('device_hash', '=', deviceHash).where(mayPoll), {
      polledAt: now,
    })
  }
}

function isPending(userCodeHashes: readonly string[], now: number) {
  return sql<boolean>`user_code_hash in (${sql.join(userCodeHashes)}) and state = 'pending' and expires_at > ${now}`
}
