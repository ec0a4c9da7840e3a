import type { Policies } from '../../../protocol/api/admin/policies.schema.ts'
import type { PlanTable } from '../../accounts/plans.ts'

/** What the settings permit, in the form of the API. */
export function describePolicies({
  plans,
  ...others
}: Omit<Policies, 'plans'> & { plans: PlanTable }): Policies {
  return {
    ...others,
    plans: Object.entries(plans).map(([id, { name, ...limits }]) => ({ id, name, limits })),
  }
}
