import type { AccountPlan, Exceptions, LimitsChange, PlanChange } from '../../protocol/api/account.schema.ts'
import { EXCEPTIONS } from '../../protocol/api/account.ts'
import { Component } from '../lib/component.ts'
import { invalidField } from '../lib/errors.ts'
import type { Parts } from '../parts.ts'
import type { AuditActor } from '../store/tables/administration.ts'
import { noAccount, requireAccountOf } from './administrators.ts'

export class AccountPlans extends Component<Pick<Parts, 'store' | 'plans' | 'clock'>> {
  /** Null removes an exception, absent ones stay. See `requireAccountOf`; VALIDATION_ERROR for an unknown plan. */
  async set(
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
