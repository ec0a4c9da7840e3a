import type { RouteHandlerMethod } from 'fastify'
import type { AccountPlan, PlanChange } from '../../../protocol/api/account.schema.ts'
import type { AdministratorChange } from '../../../protocol/api/admin/audit.schema.ts'
import { auditActor } from '../../accounts/administrators.ts'
import type { ApiServices } from '../services.ts'

/** Marks an account as an administrator, or removes the mark. */
export function set({ administrators }: Pick<ApiServices, 'administrators'>): RouteHandlerMethod {
  return async (request): Promise<AdministratorChange> => {
    const { administrator } = request.body as AdministratorChange
    await administrators.set(request.caller, (request.params as { id: string }).id, administrator)
    return { administrator }
  }
}

/** Sets the plan of an account, and its exceptions. */
export function setPlan({ accountPlans }: Pick<ApiServices, 'accountPlans'>): RouteHandlerMethod {
  return (request): Promise<AccountPlan> =>
    accountPlans.set(
      auditActor(request.caller),
      (request.params as { id: string }).id,
      request.body as PlanChange,
    )
}
