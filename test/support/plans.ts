import type { Plans } from '../../server/accounts/plans.ts'

/** The plans without any setting (spec 8). */
export const DEFAULT_PLANS: Plans = {
  free: { name: 'Free', requestsPerHour: 60, domains: 1 },
  hobby: { name: 'Hobby', requestsPerHour: 200, domains: 5 },
}
