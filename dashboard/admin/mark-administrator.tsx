import type { AdminAccount } from '../../protocol/api/admin/lists.schema.ts'
import { useAction } from '../api/action.ts'
import { Confirm } from '../kit/dialog.tsx'
import { showToast } from '../kit/toast.tsx'
import { changeAdmin } from './admin-client.ts'
import type { RowDialogProps } from './row-menu.tsx'

export function MarkAdministrator({ row, onChanged, onClose }: RowDialogProps<AdminAccount>) {
  const mark = useAction(async () => {
    await changeAdmin('setAdministrator', { params: { id: row.id }, json: { administrator: true } })
    await onChanged()
    onClose()
    showToast(`${row.email} is an administrator.`)
  })
  const title = `Make ${row.email} an administrator?`
  return (
    <Confirm title={title} verb="Make administrator" variant="main" action={mark} onClose={onClose}>
      <p>They will see and change everything of this service.</p>
    </Confirm>
  )
}

export function UnmarkAdministrator({ row, onChanged, onClose }: RowDialogProps<AdminAccount>) {
  const unmark = useAction(async () => {
    await changeAdmin('setAdministrator', { params: { id: row.id }, json: { administrator: false } })
    await onChanged()
    onClose()
    showToast(`${row.email} is no longer an administrator.`)
  })
  return (
    <Confirm
      title={`Remove ${row.email} as an administrator?`}
      verb="Remove administrator"
      action={unmark}
      onClose={onClose}
    >
      <p>Their account and sites stay. API keys with the scope admin stop working.</p>
    </Confirm>
  )
}
