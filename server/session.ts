import type { SessionList, SessionsEndedAnswer } from '../client/wire.ts'
import { Failure } from './failure.ts'
import { hashOfSecret } from './key.ts'
import type { AccountRow } from './store/schema.ts'
import type { Store, Writing } from './store/store.ts'
import { iso } from './time.ts'

/** How long a browser stays signed in. */
export const SESSION_SECONDS = 30 * 86_400

/** Browsers that can be signed in to one account. */
const MOST_SESSIONS = 50

const ID_CHARACTERS = 16

interface SessionsOptions {
  store: Store
  clock: () => number
}

/** Browsers that are signed in (contract, "Sign-in"). Only hashes of their tokens are kept. */
export class Sessions {
  readonly #store: Store
  readonly #clock: () => number

  constructor(options: SessionsOptions) {
    this.#store = options.store
    this.#clock = options.clock
  }

  /** Within the write that signs a browser in: whoever has the token is signed in. Of too many the oldest one ends. */
  async open(
    tx: Writing,
    account: AccountRow,
    { token, browser }: { token: string; browser: string | null },
  ): Promise<void> {
    const now = this.#clock()
    await tx.signIns.keepSessions(account.id, MOST_SESSIONS - 1)
    await tx.signIns.addSession({
      token_hash: hashOfSecret(token),
      account_id: account.id,
      created_at: now,
      expires_at: now + SESSION_SECONDS * 1000,
      browser,
    })
  }

  /** The account of a session's token, or undefined. */
  account(token: string): Promise<AccountRow | undefined> {
    return this.#store.read.signIns.session(hashOfSecret(token), this.#clock())
  }

  /** Newest first; `token` is that of the one that asks, when one does. */
  async list(account: AccountRow, token: string | undefined): Promise<SessionList> {
    const rows = await this.#store.read.signIns.sessionsOf(account.id, this.#clock())
    const asking = token === undefined ? undefined : sessionId(token)
    return {
      sessions: rows.map((row) => ({
        id: row.token_hash.slice(0, ID_CHARACTERS),
        current: row.token_hash.slice(0, ID_CHARACTERS) === asking,
        browser: row.browser,
        createdAt: iso(row.created_at),
        expiresAt: iso(row.expires_at),
      })),
    }
  }

  async close(token: string): Promise<void> {
    await this.#store.write('durable', (tx) => tx.signIns.dropSession(hashOfSecret(token)))
  }

  /** Ends one session of the account. NOT_FOUND when it has no such one. */
  async end(account: AccountRow, id: string): Promise<SessionsEndedAnswer> {
    const now = this.#clock()
    const ended = await this.#store.write('durable', async (tx) => {
      const rows = await tx.signIns.sessionsOf(account.id, now)
      const found = rows.filter((row) => row.token_hash.slice(0, ID_CHARACTERS) === id)
      for (const row of found) await tx.signIns.dropSession(row.token_hash)
      return found.length
    })
    if (ended === 0) throw new Failure('NOT_FOUND', 'There is no such session; it may have ended by itself')
    return { ended }
  }

  /** Ends all but the one whose token this is; without a token, all. */
  async endOthers(account: AccountRow, token: string | undefined): Promise<SessionsEndedAnswer> {
    const now = this.#clock()
    const besides = token === undefined ? undefined : hashOfSecret(token)
    const ended = await this.#store.write('durable', (tx) =>
      tx.signIns.dropSessionsOf(account.id, { now, besides }),
    )
    return { ended }
  }
}

/** What a session is called in lists: enough to tell it from others, of no use to sign in with. */
export function sessionId(token: string): string {
  return hashOfSecret(token).slice(0, ID_CHARACTERS)
}
