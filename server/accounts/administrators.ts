import { shortenAddress } from '../../packages/http-server/clients/client-ip.ts'
import { ACCOUNT_SCOPES } from '../../protocol/api/keys.ts'
import { Component } from '../lib/component.ts'
import { ApiError, invalidField } from '../lib/errors.ts'
import { HOUR_MS } from '../lib/time.ts'
import type { Parts } from '../parts.ts'
import type { WriteScope, WriteTransaction } from '../store/store.ts'
import type { Account } from '../store/tables/accounts.ts'
import { type AuditActor, COMMAND_LINE } from '../store/tables/administration.ts'
import { type Caller, requireAccount } from './authorization.ts'
import { readEmail } from './email-address.ts'

/** Maximum age of the browser session of a change. */
const MAX_SESSION_AGE_MS = 12 * HOUR_MS

/** Writes that add or remove administrators follow one another, so that one stays. */
const ADMINISTRATORS = 'administrators'

export class Administrators extends Component<Pick<Parts, 'store' | 'clock'>> {
  assertRecentSignIn(caller: Caller): void {
    assertRecentSignIn(caller, this.parts.clock())
  }

  /** For the command line. NOT_FOUND when no account has that address. */
  async setByEmail(typed: string, isAdministrator: boolean): Promise<void> {
    const email = readEmail(typed)
    const account = await this.parts.store.read.accounts.byEmail(email)
    if (!account) throw noAccount(email)
    await this.parts.store.write('durable', administratorScope(account), async (tx) => {
      const current = await tx.accounts.byId(account.id)
      if (!current) throw noAccount(email)
      await this.#set(tx, current, { isAdministrator, actor: COMMAND_LINE })
    })
  }

  /** NOT_FOUND; LAST_ADMINISTRATOR when none would be left. */
  async set(caller: Caller, accountId: string, isAdministrator: boolean): Promise<void> {
    await this.parts.store.write('durable', administratorScope({ id: accountId }), async (tx) => {
      const account = await tx.accounts.byId(accountId)
      if (!account) throw new ApiError('NOT_FOUND', 'Account not found')
      if (!isAdministrator) await assertNotLast(tx, account)
      await this.#set(tx, account, { isAdministrator, actor: auditActor(caller) })
    })
  }

  /** Without the mark, keys of scope `admin` end: they would be valid again with a later mark. */
  async #set(
    tx: WriteTransaction,
    { id, email, administratorSince, deletionStartedAt }: Account,
    { isAdministrator, actor }: { isAdministrator: boolean; actor: AuditActor },
  ): Promise<void> {
    if (deletionStartedAt !== null) throw new ApiError('NOT_FOUND', `The account ${email} is being deleted`)
    if ((administratorSince !== null) === isAdministrator) return
    const at = this.parts.clock()
    await tx.accounts.update(id, { administratorSince: isAdministrator ? at : null })
    if (!isAdministrator)
      for (const { scope, keyHash } of await tx.keys.list(id))
        if (scope === 'admin') await tx.keys.delete(keyHash)
    const action = isAdministrator ? 'administrator.add' : 'administrator.remove'
    await tx.audit.add({ at, actor, action, target: email })
  }
}

export function administratorScope({ id }: Pick<Account, 'id'>): WriteScope {
  return { account: id, counter: ADMINISTRATORS }
}

/** Within a write of `administratorScope`: LAST_ADMINISTRATOR when the account is the only administrator. */
export async function assertNotLast(tx: WriteTransaction, { id }: Account): Promise<void> {
  const administrators = await tx.accounts.administrators()
  if (administrators.some((one) => one.id !== id) || administrators.length === 0) return
  throw new ApiError('LAST_ADMINISTRATOR', 'This account is the only administrator of the service')
}

/** The browser session of an administrator, or its key of scope `admin`. */
export function mayAdminister({ account, signedInWith, signedInAt, grant }: Caller): boolean {
  if (account === undefined || account.administratorSince === null) return false
  const isSession = signedInWith === 'dashboard' && signedInAt !== undefined
  return isSession || (signedInWith === 'key' && grant?.scope === 'admin' && grant.sites === null)
}

/** SIGN_IN_AGAIN when the caller has a browser session that is too old for changes of an administrator. */
export function assertRecentSignIn({ signedInAt }: Caller, now: number): void {
  if (signedInAt === undefined || signedInAt > now - MAX_SESSION_AGE_MS) return
  throw new ApiError('SIGN_IN_AGAIN', 'This change needs a sign-in that is at most 12 hours old')
}

/** VALIDATION_ERROR for an account without the mark, as for an unknown scope; INSUFFICIENT_SCOPE; SIGN_IN_AGAIN. */
export function assertMayCreateAdminKey(caller: Caller, now: number): void {
  if (requireAccount(caller).administratorSince === null)
    throw invalidField('scope', `must be one of ${ACCOUNT_SCOPES.join(', ')}`)
  if (!mayAdminister(caller))
    throw new ApiError('INSUFFICIENT_SCOPE', 'This needs a key of scope admin, or a browser session', {
      details: { requiredScope: 'admin' },
    })
  assertRecentSignIn(caller, now)
}

export function auditActor(caller: Caller): AuditActor {
  const { id, email } = requireAccount(caller)
  return { accountId: id, name: email, network: shortenAddress(caller.address) }
}

export function noAccount(email: string): ApiError {
  return new ApiError('NOT_FOUND', `No account has the email address ${email}`)
}
