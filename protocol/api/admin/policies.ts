import type { Limits, Plan } from '../account.ts'
import type { FileLimits } from '../publish.ts'

/** Who can create an account, with the domains of `domains`. Sign-in of existing accounts is never limited. */
export type SignUpPolicy =
  | { kind: 'open' | 'invitation' | 'closed' }
  | { kind: 'domains'; domains: readonly string[] }

/** `GET /api/admin/policies`: what the settings of the server permit. */
export interface Policies {
  signUp: SignUpPolicy
  anonymous: {
    /** Whether sites can be published without an account. */
    isPermitted: boolean
    lifetimeSeconds: number
    /** Of one site. */
    limits: FileLimits
    /** Of all sites without an account, and of those that one network published. */
    total: { bytes: number; sites: number }
    network: { bytes: number; sites: number }
  }
  /** `free` first. */
  plans: { id: Plan; name: string; limits: Limits }[]
}
