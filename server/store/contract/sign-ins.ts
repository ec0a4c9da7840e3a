import type { Account } from './accounts.ts'

/** A mailed code. An address may have several that are valid; each belongs to the attempt that requested it. */
export interface SignInCode {
  attemptHash: string
  email: string
  /** The network that requested it, as a keyed hash. */
  network: string
  codeHash: string
  /** Wrong tries that sent the attempt: they end the code. */
  attemptTries: number
  /** Wrong tries of the same network without the attempt: they end the code for callers that do not send the attempt. */
  openTries: number
  expiresAt: number
}

/** A network or browser that signs in to an address, as a keyed hash; `''` stands for all that never did successfully. */
export interface SignInSource {
  email: string
  source: string
  /** The last successful sign-in; null before the first one. */
  signedInAt: number | null
  /** Wrong tries in a row. */
  wrongTries: number
  lockedUntil: number | null
  changedAt: number
}

export interface Session {
  tokenHash: string
  accountId: string
  createdAt: number
  expiresAt: number
  /** Description of the client; null when its User-Agent says nothing. */
  browser: string | null
}

/**
 * Sign-in codes, the sources that sign in, and sessions. Counts are exact over all processes. A change or deletion of an
 * absent row changes nothing; deletions are idempotent.
 */
export interface SignInQueries {
  /** The codes of an address in no order, expired ones that were not swept yet included. */
  codes(email: string): Promise<SignInCode[]>

  addCode(code: SignInCode): Promise<void>

  /** Counts a wrong try that sent the attempt. */
  countAttemptTry(attemptHash: string): Promise<void>

  /** Counts a wrong try without an attempt against the codes that the same network requested. */
  countOpenTry(email: string, network: string): Promise<void>

  deleteCode(attemptHash: string): Promise<void>

  dropCodes(email: string): Promise<void>

  /** Those of the given sources that there is a record of, in no order. */
  sources(email: string, sources: readonly string[]): Promise<SignInSource[]>

  /** Counts a wrong try of a source and returns how many there are now in a row. */
  countFailure(email: string, source: string, now: number): Promise<number>

  /** Locks a recorded source until that time and sets its wrong tries back to none. */
  lockSource(email: string, source: string, until: number): Promise<void>

  /** Records a successful sign-in of these sources; only the `max` newest of an address stay known. */
  recordSignIn(
    email: string,
    sources: readonly string[],
    options: { now: number; max: number },
  ): Promise<void>

  /** Sets the wrong tries of a source back to none; a lock stays. */
  clearFailures(email: string, source: string): Promise<void>

  dropSources(email: string): Promise<void>

  addSession(session: Session): Promise<void>

  /** The account of a session that is valid at `now`. */
  session(tokenHash: string, now: number): Promise<Account | undefined>

  /** The hashes among these whose sessions are valid at `now`, in no order. */
  openSessions(tokenHashes: readonly string[], now: number): Promise<string[]>

  deleteSession(tokenHash: string): Promise<void>

  /** The sessions of an account that are valid at `now`, newest first. */
  listSessions(accountId: string, now: number): Promise<Session[]>

  /** Ends all but `max` sessions of an account, the oldest first. */
  trimSessions(accountId: string, max: number): Promise<void>

  /** Ends an account's sessions, except one if given; returns how many were valid at `now`. */
  deleteSessions(
    accountId: string,
    options?: { now?: number; besides?: string | undefined },
  ): Promise<number>

  /**
   * Removes codes and sessions that have expired, wrong tries and locks that are a day old, and sources that have not signed
   * in for half a year. Returns the number of codes and sessions.
   */
  deleteExpired(now: number): Promise<number>
}
