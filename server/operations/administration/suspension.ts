import type { AdminSuspension } from '../../../protocol/api/admin/moderation.schema.ts'
import { toIso } from '../../lib/time.ts'
import type { Suspension } from '../../store/tables/accounts.ts'

export function describeSuspension(suspension: Suspension | null): AdminSuspension | null {
  return suspension && { ...suspension, since: toIso(suspension.since) }
}
