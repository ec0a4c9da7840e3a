import type { SessionList, SessionsEndedResponse } from '../../protocol/api/account.schema.ts'
import { Component } from '../lib/component.ts'
import { ApiError } from '../lib/errors.ts'
import { DAY_SECONDS, toIso } from '../lib/time.ts'
import { hashToken } from '../lib/tokens.ts'
import type { Parts } from '../parts.ts'
import { INDEPENDENT, type WriteTransaction } from '../store/store.ts'
import type { Account } from '../store/tables/accounts.ts'

export const SESSION_TTL_SECONDS = 30 * DAY_SECONDS

const MAX_SESSIONS = 50

const SESSION_ID_LENGTH = 16

/** Contract, "Sign-in". Stores only hashes of tokens. */
export class Sessions extends Component<Pick<Parts, 'store' | 'clock'>> {
  /** In the transaction of a sign-in. The `replaced` tokens end; beyond the limit, the oldest session. */
  async open(
    tx: WriteTransaction,
    account: Account,
    { token, browser, replaced }: { token: string; browser: string | null; replaced: readonly string[] },
  ): Promise<void> {
    const now = this.parts.clock()
    for (const former of replaced) await tx.rows.remove('sessions', { tokenHash: hashToken(former) })
    await tx.signIns.trimSessions(account.id, MAX_SESSIONS - 1)
    await tx.rows.insert('sessions', {
      tokenHash: hashToken(token),
      accountId: account.id,
      createdAt: now,
      expiresAt: now + SESSION_TTL_SECONDS * 1000,
      browser,
    })
  }

  find(
    token: string,
    queries = this.parts.store.read,
  ): Promise<{ account: Account; createdAt: number } | undefined> {
    return queries.signIns.session(hashToken(token), this.parts.clock())
  }

  /** Newest first; `token` marks the caller's own session. */
  async list(account: Account, token: string | undefined): Promise<SessionList> {
    const rows = await this.parts.store.read.signIns.listSessions(account.id, this.parts.clock())
    const own = token === undefined ? undefined : hashToken(token)
    return {
      sessions: rows.map(({ tokenHash, browser, createdAt, expiresAt }) => ({
        ...{ id: tokenHash.slice(0, SESSION_ID_LENGTH), current: tokenHash === own, browser },
        ...{ createdAt: toIso(createdAt), expiresAt: toIso(expiresAt) },
      })),
    }
  }

  async close(token: string): Promise<void> {
    await this.parts.store.write('available', INDEPENDENT, (tx) =>
      tx.rows.remove('sessions', { tokenHash: hashToken(token) }),
    )
  }

  /** NOT_FOUND without a session of this id. */
  async end(account: Account, id: string): Promise<SessionsEndedResponse> {
    const now = this.parts.clock()
    const ended = await this.parts.store.write('durable', { account: account.id }, async (tx) => {
      const rows = await tx.signIns.listSessions(account.id, now)
      const found = rows.filter((row) => row.tokenHash.slice(0, SESSION_ID_LENGTH) === id)
      for (const row of found) await tx.rows.remove('sessions', { tokenHash: row.tokenHash })
      return found.length
    })
    if (ended === 0) throw new ApiError('NOT_FOUND', 'Session not found. It may have expired.')
    return { ended }
  }

  /** Without a token, ends all. */
  async endOthers(account: Account, token: string | undefined): Promise<SessionsEndedResponse> {
    const now = this.parts.clock()
    const besides = token === undefined ? undefined : hashToken(token)
    const ended = await this.parts.store.write('durable', { account: account.id }, (tx) =>
      tx.signIns.deleteSessions(account.id, { now, besides }),
    )
    return { ended }
  }
}

/** The id of a session in lists: identifies it, but is useless for signing in. */
export function sessionId(token: string): string {
  return hashToken(token).slice(0, SESSION_ID_LENGTH)
}
