import { shortenAddress } from '../../packages/http-server/clients/client-ip.ts'
import type { AccountPlan, Exceptions, LimitsChange, PlanChange } from '../../protocol/api/account.schema.ts'
import { EXCEPTIONS } from '../../protocol/api/account.ts'
import { ACCOUNT_SCOPES } from '../../protocol/api/keys.ts'
import { Component } from '../lib/component.ts'
import { ApiError, invalidField } from '../lib/errors.ts'
import { HOUR_MS } from '../lib/time.ts'
import type { Parts } from '../parts.ts'
import type { Queries } from '../store/queries.ts'
import type { WriteScope, WriteTransaction } from '../store/store.ts'
import type { Account } from '../store/tables/accounts.ts'
import { type AuditActor, COMMAND_LINE } from '../store/tables/administration.ts'
import { type Caller, requireAccount } from './authorization.ts'
import { readEmail } from './email-address.ts'
import { endLinksOfEndedKeys } from './review-frames.ts'

const MAX_SESSION_AGE_MS = 12 * HOUR_MS

/** Writes that add or remove administrators follow one another, so that one stays. */
const ADMINISTRATORS = 'administrators'

/** What the operator and administrators set of an account, recorded in the audit log. */
export class Administrators extends Component<Pick<Parts, 'store' | 'plans' | 'clock'>> {
  /** Ends keys of scope `admin` with the mark: a later one would make them valid. NOT_FOUND; LAST_ADMINISTRATOR. */
  async set(actor: AuditActor, target: string, administrator: boolean): Promise<{ administrator: boolean }> {
    const { store, clock } = this.parts
    const { id, email } = await requireAccountOf(store.read, target)
    await store.write('durable', administratorScope({ id }), async (tx) => {
      const account = await tx.accounts.find(id)
      if (!account) throw noAccount(email)
      if (!administrator && actor !== COMMAND_LINE) await assertNotLast(tx, account)
      if (account.deletionStartedAt !== null)
        throw new ApiError('NOT_FOUND', `The account ${email} is being deleted`)
      if ((account.administratorSince !== null) === administrator) return
      const at = clock()
      await tx.accounts.update(id, { administratorSince: administrator ? at : null })
      if (!administrator) {
        for (const { scope, keyHash } of await tx.keys.list(id))
          if (scope === 'admin') await tx.keys.delete(keyHash)
        await endLinksOfEndedKeys(tx, id, at)
      }
      const action = administrator ? 'administrator.add' : 'administrator.remove'
      await tx.audit.add({ at, actor, action, target: email })
    })
    return { administrator }
  }

  /** Null removes an exception, absent ones stay. See `requireAccountOf`; VALIDATION_ERROR for an unknown plan. */
  async setPlan(
    actor: AuditActor,
    target: string,
    { plan, limits: change = {} }: PlanChange,
  ): Promise<AccountPlan> {
    const { store, plans, clock } = this.parts
    const { maxFiles, ids } = plans
    if (plan !== undefined && !plans.find(plan))
      throw invalidField('plan', `must be one of ${ids.join(', ')}`)
    if ((change.filesPerSite ?? 0) > maxFiles) {
      const message = `must be at most ${maxFiles}, that of the largest plan`
      throw invalidField('limits.filesPerSite', message)
    }
    const { id, email } = await requireAccountOf(store.read, target)
    return store.write('durable', { account: id }, async (tx) => {
      const account = await tx.accounts.find(id)
      if (!account) throw noAccount(email)
      const limits = applyChange(account.limits, change)
      const set = { plan: plan ?? account.plan, limits }
      const stored = Object.keys(limits).length === 0 ? null : limits
      await tx.accounts.update(id, { plan: set.plan, limits: stored })
      await tx.audit.add({ at: clock(), actor, action: 'account.plan', target: email, details: set })
      return set
    })
  }
}

function applyChange(present: Exceptions | null, change: LimitsChange): Exceptions {
  const changed: LimitsChange = { ...present, ...change }
  return Object.fromEntries(
    EXCEPTIONS.flatMap((name) => (changed[name] == null ? [] : [[name, changed[name]]])),
  )
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

/** By id or email address; NOT_FOUND. */
export async function requireAccountOf({ accounts }: Queries, target: string): Promise<Account> {
  const isEmail = target.includes('@')
  const account = await (isEmail ? accounts.byEmail(readEmail(target)) : accounts.find(target))
  if (account) return account
  throw isEmail ? noAccount(target) : new ApiError('NOT_FOUND', 'Account not found')
}

export function noAccount(email: string): ApiError {
  return new ApiError('NOT_FOUND', `No account has the email address ${email}`)
}
