import { useState } from 'preact/hooks'
import type { Invitation } from '../../protocol/api/admin/invitations.schema.ts'
import { handleSubmit, useAction } from '../api/action.ts'
import { Button } from '../kit/button.tsx'
import { Confirm } from '../kit/dialog.tsx'
import { TextField } from '../kit/field.tsx'
import { withoutSent } from '../kit/kept-input.ts'
import { ErrorNotice } from '../kit/notice.tsx'
import { Panel } from '../kit/panel.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { RelativeTime, TimeLeft } from '../kit/time.tsx'
import { showToast } from '../kit/toast.tsx'
import { changeAdmin } from './admin-client.ts'
import { MorePages, useAdminPages } from './pages.tsx'
import { type Column, RecordTable } from './record-table.tsx'
import { type RowAction, type RowDialogProps, RowMenu } from './row-menu.tsx'

const COLUMNS: readonly Column<Invitation>[] = [
  { name: 'Address', show: ({ email }) => <bdi>{email}</bdi> },
  { name: 'Sent', show: ({ createdAt }) => <RelativeTime at={createdAt} /> },
  { name: 'Ends in', show: ({ expiresAt }) => <TimeLeft until={expiresAt} over="a moment" /> },
]

const ACTIONS: readonly RowAction<Invitation>[] = [
  { name: 'Send again', icon: 'upload', Dialog: SendAgain },
  { name: 'Revoke', icon: 'trash', danger: true, Dialog: Revoke },
]

/** Addresses that may create an account. */
export function InvitationsPanel() {
  const { value, error, reload, refresh, more } = useAdminPages('admin/invitations', 'listInvitations', {})
  const [email, type] = useState('')
  const invite = useAction(async () => {
    await sendInvitation(email.trim(), refresh)
    type(withoutSent(email, ''))
  })
  return (
    <Panel title="Invitations" lead="An invited address can create an account for 14 days.">
      <form class="invite-form" onSubmit={handleSubmit(() => email.trim() && invite())}>
        <TextField
          label="Email address"
          type="email"
          autocomplete="off"
          value={email}
          error={invite.error?.fields.email}
          onWrite={(text) => {
            type(text)
            invite.clear()
          }}
        />
        <Button busy={invite.busy} disabled={email.trim() === ''}>
          Invite
        </Button>
      </form>
      {!invite.error?.fields.email && <ErrorNotice error={invite.error} />}
      <ErrorNotice error={error} onRetry={reload} />
      {!value && !error && <Loading what="the invitations" />}
      {value?.rows.length === 0 && <p class="quiet">No one is invited.</p>}
      {value && value.rows.length > 0 && (
        <RecordTable
          label="invitations"
          columns={COLUMNS}
          rows={value.rows}
          keyOf={(row) => row.email}
          menu={(row) => <RowMenu row={row} name={row.email} actions={ACTIONS} onChanged={refresh} />}
        />
      )}
      <MorePages value={value} more={more} />
    </Panel>
  )
}

function SendAgain({ row: { email }, onChanged, onClose }: RowDialogProps<Invitation>) {
  const send = useAction(async () => {
    await sendInvitation(email, onChanged)
    onClose()
  })
  return (
    <Confirm
      title={`Invite ${email} again?`}
      verb="Send email"
      variant="main"
      action={send}
      onClose={onClose}
    >
      <p>The invitation is valid for 14 days from now.</p>
    </Confirm>
  )
}

function Revoke({ row: { email }, onChanged, onClose }: RowDialogProps<Invitation>) {
  const revoke = useAction(async () => {
    await changeAdmin('revokeInvitation', { params: { email } })
    await onChanged()
    onClose()
    showToast(`${email} is not invited.`)
  })
  return (
    <Confirm title={`Revoke the invitation of ${email}?`} verb="Revoke" action={revoke} onClose={onClose}>
      <p>The address can no longer create an account with it.</p>
    </Confirm>
  )
}

async function sendInvitation(email: string, onChanged: () => Promise<void>): Promise<void> {
  await changeAdmin('invite', { json: { email } })
  await onChanged()
  showToast(`${email} is invited.`)
}
