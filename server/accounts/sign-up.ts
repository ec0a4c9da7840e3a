import type { SignUpPolicy } from '../../protocol/api/admin/policies.schema.ts'
import { DAY_MS } from '../lib/time.ts'
import type { Queries } from '../store/queries.ts'

export const INVITATION_DAYS = 14

export const INVITATION_LIFETIME_MS = INVITATION_DAYS * DAY_MS

/** An invitation counts unless sign-up is closed. */
export async function maySignUp(
  queries: Pick<Queries, 'invitations'>,
  policy: SignUpPolicy,
  { email, now }: { email: string; now: number },
): Promise<boolean> {
  if (policy.kind === 'open') return true
  if (policy.kind === 'closed') return false
  const domain = email.slice(email.lastIndexOf('@') + 1).toLowerCase()
  if (policy.kind === 'domains' && policy.domains.includes(domain)) return true
  return (await queries.invitations.find(email, now)) !== undefined
}
