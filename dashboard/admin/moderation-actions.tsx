import type { ComponentType } from 'preact'
import { RemoveDialog, ResumeDialog, SuspendDialog } from './moderation-dialogs.tsx'
import type { ModerationTarget } from './moderation-target.ts'
import type { RowAction, RowDialogProps } from './row-menu.tsx'

/** Suspension, its end, and deletion, as actions of the rows of a list. */
export function moderationActions<Row>(toTarget: (row: Row) => ModerationTarget): readonly RowAction<Row>[] {
  const open = (Dialog: typeof SuspendDialog): ComponentType<RowDialogProps<Row>> =>
    function TargetDialog({ row, ...rest }) {
      return <Dialog target={toTarget(row)} {...rest} />
    }
  const isSuspended = (row: Row) => toTarget(row).suspension !== null
  const SuspendRow = open(SuspendDialog)
  return [
    {
      name: 'Suspend',
      icon: 'warning',
      danger: true,
      isOffered: (row) => !isSuspended(row),
      Dialog: SuspendRow,
    },
    { name: 'Edit suspension', icon: 'edit', isOffered: isSuspended, Dialog: SuspendRow },
    { name: 'End suspension', icon: 'restore', isOffered: isSuspended, Dialog: open(ResumeDialog) },
    { name: 'Delete permanently', icon: 'trash', danger: true, Dialog: open(RemoveDialog) },
  ]
}
