import { type EntityOf, integer, nullable, Table, text } from '../table.ts'
import type { Account } from './accounts.ts'

/** An emailed code. An address may have several that are valid; each belongs to the attempt that requested it. */
export const signInCodeTable = new Table({
  attemptHash: text,
  email: text,
  /** The network that requested it, as a keyed hash. */
  network: text,
  codeHash: text,
  /** Wrong tries with the attempt token: too many invalidate the code. */
  attemptTries: integer,
  /** Wrong tries of the same network without the attempt token: too many invalidate the code for callers without it. */
  openTries: integer,
  expiresAt: integer,
})

export type SignInCode = EntityOf<typeof signInCodeTable>

/** A network or browser that signs in to an address, as a keyed hash; `''` represents all others. */
export const signInSourceTable = new Table({
  email: text,
  source: text,
  /** The last successful sign-in; null before the first one. */
  signedInAt: nullable(integer),
  /** Wrong tries in a row. */
  wrongTries: integer,
  lockedUntil: nullable(integer),
  changedAt: integer,
})

export type SignInSource = EntityOf<typeof signInSourceTable>

export const sessionTable = new Table({
  tokenHash: text,
  accountId: text,
  createdAt: integer,
  expiresAt: integer,
  /** Description of the client; null when its User-Agent is unknown. */
  browser: nullable(text),
})

export type Session = EntityOf<typeof sessionTable>

/**
 * Sign-in codes, the sources that sign in, and sessions. Counts are exact over all processes. A change or deletion
 * of an absent row changes nothing; deletions are idempotent.
 */
export interface SignInQueries {
  /** The codes of an address in no order, including expired ones that were not swept yet. */
  codes(email: string): Promise<SignInCode[]>

  addCode(code: SignInCode): Promise<void>

  /** Counts a wrong try with the attempt token. */
  countAttemptTry(attemptHash: string): Promise<void>

  /** Counts a wrong try without an attempt token against the codes that the same network requested. */
  countOpenTry(email: string, network: string): Promise<void>

  deleteCode(attemptHash: string): Promise<void>

  dropCodes(email: string): Promise<void>

  /** The recorded sources among these, in no order. */
  sources(email: string, sources: readonly string[]): Promise<SignInSource[]>

  /** Counts a wrong try of a source and returns how many there are now in a row. */
  countFailure(email: string, source: string, now: number): Promise<number>

  /** Locks a recorded source until that time and resets its wrong tries. */
  lockSource(email: string, source: string, until: number): Promise<void>

  /** Records a successful sign-in of these sources; only the `max` newest of an address stay known. */
  recordSignIn(
    email: string,
    sources: readonly string[],
    options: { now: number; max: number },
  ): Promise<void>

  /** Resets the wrong tries of a source; a lock stays. */
  clearFailures(email: string, source: string): Promise<void>

  dropSources(email: string): Promise<void>

  addSession(session: Session): Promise<void>

  /** The account of a session that is valid at `now`, and when the session began. */
  session(tokenHash: string, now: number): Promise<{ account: Account; createdAt: number } | undefined>

  /** The hashes among these with sessions that are valid at `now`, in no order. */
  openSessions(tokenHashes: readonly string[], now: number): Promise<string[]>

  deleteSession(tokenHash: string): Promise<void>

  /** The sessions of an account that are valid at `now`, newest first. */
  listSessions(accountId: string, now: number): Promise<Session[]>

  /** Ends all but `max` sessions of an account, the oldest first. */
  trimSessions(accountId: string, max: number): Promise<void>

  /** Ends an account's sessions, except one if given; returns how many were valid at `now`. */
  deleteSessions(accountId: string, options?: { now?: number; besides?: string | undefined }): Promise<number>

  /**
   * Removes codes and sessions that have expired, wrong tries and locks that are a day old, and sources that have
   * not signed in for half a year; up to `limit` of each. Returns their number.
   */
  deleteExpired(now: number, limit: number): Promise<number>
}
