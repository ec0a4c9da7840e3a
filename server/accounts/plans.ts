import type { Plan } from '../../protocol/api/account.ts'

/** A plan as the settings define it (spec 8). `UNLIMITED` is a possible value of each limit. */
export interface PlanLimits {
  /** Displayed to people. */
  name: string
  requestsPerHour: number
  domains: number
}

export type Plans = Readonly<Record<Plan, PlanLimits>>
