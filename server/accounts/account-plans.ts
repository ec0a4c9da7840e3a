import type { AccountPlan, Exceptions, LimitsChange, PlanChange } from '../../protocol/api/account.schema.ts'
import { EXCEPTIONS } from '../../protocol/api/account.ts'
import { Component } from '../lib/component.ts'
import { ApiError, invalidField } from '../lib/errors.ts'
import type { Parts } from '../parts.ts'
import type { AuditActor } from '../store/tables/administration.ts'
import { noAccount } from './administrators.ts'
import { readEmail } from './email-address.ts'

export class AccountPlans extends Component<Pick<Parts, 'store' | 'plans' | 'clock'>> {
  async setByEmail(actor: AuditActor, typed: string, change: PlanChange): Promise<AccountPlan> {
    const email = readEmail(typed)
    const account = await this.parts.store.read.accounts.byEmail(email)
    if (!account) throw noAccount(email)
    return this.set(actor, account.id, change)
  }

  /** Null removes an exception, absent ones stay. NOT_FOUND, or VALIDATION_ERROR for an unknown plan. */
  async set(actor: AuditActor, id: string, { plan, limits: change = {} }: PlanChange): Promise<AccountPlan> {
    const { maxFiles, ids } = this.parts.plans
    if (plan !== undefined && !this.parts.plans.find(plan))
      throw invalidField('plan', `must be one of ${ids.join(', ')}`)
    if ((change.filesPerSite ?? 0) > maxFiles) {
      const message = `must be at most ${maxFiles}, that of the largest plan`
      throw invalidField('limits.filesPerSite', message)
    }
    return this.parts.store.write('durable', { account: id }, async (tx) => {
      const account = await tx.accounts.byId(id)
      if (!account) throw new ApiError('NOT_FOUND', 'Account not found')
      const limits = applyChange(account.limits, change)
      const set = { plan: plan ?? account.plan, limits }
      const stored = Object.keys(limits).length === 0 ? null : limits
      await tx.accounts.update(id, { plan: set.plan, limits: stored })
      await tx.audit.add({
        at: this.parts.clock(),
        actor,
        action: 'account.plan',
        target: account.email,
        details: set,
      })
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
