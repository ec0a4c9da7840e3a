import type { AdminSuspension } from '../../protocol/api/admin/moderation.schema.ts'
import { Badge } from '../kit/panel.tsx'

/** The state of a suspended site or account, with its texts for administrators. */
export function SuspensionMarks({ suspension }: { suspension: AdminSuspension | null }) {
  if (!suspension) return null
  const { reason, note } = suspension
  return (
    <>
      <div class="record-marks">
        <Badge tone="wrong">Suspended</Badge>
      </div>
      <div class="quiet small">{reason}</div>
      {note && <div class="quiet small">Note: {note}</div>}
    </>
  )
}
