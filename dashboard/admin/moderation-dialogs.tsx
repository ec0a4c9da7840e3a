import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { SuspensionRequest } from '../../protocol/api/admin/moderation.schema.ts'
import { MAX_PUBLIC_REASON_LENGTH, MAX_REASON_LENGTH } from '../../protocol/api/admin/moderation.ts'
import { useAction } from '../api/action.ts'
import { Confirm } from '../kit/dialog.tsx'
import { TextArea, TextField } from '../kit/field.tsx'
import { showToast } from '../kit/toast.tsx'
import { type ModerationTarget, resume, suspend } from './moderation-target.ts'

interface ModerationDialogProps {
  target: ModerationTarget
  /** Called after a change. */
  onChanged: () => Promise<void>
  onClose: () => void
}

const SUSPENSION_EFFECT = {
  site: 'Visitors get a page that says the site is unavailable. Its owner can read, download and delete it, but not change it.',
  account:
    'All of its sites are offline, also later ones. The account can sign in, read, download and delete, but change nothing.',
}

/** Suspends a site or an account, or changes the texts of a suspension. */
export function SuspendDialog({ target, onChanged, onClose }: ModerationDialogProps) {
  const { kind, name, suspension, isOwn } = target
  const [reason, setReason] = useState(suspension?.reason ?? '')
  const [publicReason, setPublicReason] = useState(suspension?.publicReason ?? '')
  const [note, setNote] = useState(suspension?.note ?? '')
  const action = useAction(async () => {
    const statement: SuspensionRequest = {
      reason: reason.trim(),
      ...(publicReason.trim() && { publicReason: publicReason.trim() }),
      ...(note.trim() && { note: note.trim() }),
    }
    await suspend(target, statement, onChanged)
    onClose()
  })
  return (
    <Confirm
      title={suspension ? `The suspension of ${name}` : `Suspend ${name}?`}
      verb={suspension ? 'Save' : `Suspend ${kind}`}
      variant={suspension ? 'main' : 'danger'}
      action={action}
      ready={reason.trim() !== ''}
      onClose={onClose}
    >
      <p>{SUSPENSION_EFFECT[kind]}</p>
      {isOwn && <p>This is your own account. You can still end the suspension here.</p>}
      <ReasonField value={reason} onWrite={setReason} />
      <TextField
        label="Reason for visitors (optional)"
        hint="On the page that visitors get."
        maxLength={MAX_PUBLIC_REASON_LENGTH}
        value={publicReason}
        onWrite={setPublicReason}
      />
      <TextField
        label="Note (optional)"
        hint="For administrators only."
        maxLength={MAX_REASON_LENGTH}
        value={note}
        onWrite={setNote}
      />
    </Confirm>
  )
}

/** Ends a suspension. */
export function ResumeDialog({ target, onChanged, onClose }: ModerationDialogProps) {
  const { kind, name } = target
  const suspension = target.suspension!
  const action = useAction(async () => {
    await resume(target, suspension, onChanged)
    onClose()
  })
  return (
    <Confirm
      title={`End the suspension of ${name}?`}
      verb="End suspension"
      variant="main"
      action={action}
      onClose={onClose}
    >
      <p>
        {kind === 'site'
          ? 'Visitors see it again, unless its owner is suspended. The owner gets an email.'
          : 'Its sites are online again, unless they are suspended themselves. The account gets an email.'}
      </p>
      <p class="quiet">Suspended because: {suspension.reason}</p>
      {suspension.note && <p class="quiet">Note: {suspension.note}</p>}
    </Confirm>
  )
}

const DELETION_EFFECT = {
  site: 'Its files, versions, visits and domains are deleted permanently, also from the trash.',
  account:
    'Its sites with their files, versions, visits and domains, its keys and its sessions are deleted permanently.',
}

/** Deletes a site or an account permanently, once its name was typed. */
export function RemoveDialog({ target, onChanged, onClose }: ModerationDialogProps) {
  const { kind, name } = target
  return (
    <ReasonDialog
      title={`Delete ${name} permanently?`}
      verb={`Delete ${kind}`}
      typed={{ text: name }}
      onClose={onClose}
      act={async (reason) => {
        await target.remove(reason)
        await onChanged()
        showToast(`${name} is deleted.`)
      }}
      lead={`${DELETION_EFFECT[kind]} This can't be undone.`}
    />
  )
}

interface ReasonDialogProps {
  title: string
  verb: string
  lead: string
  typed?: { text: string }
  /** Called with the reason for the owner. */
  act: (reason: string) => Promise<void>
  onClose: () => void
  children?: ComponentChildren
}

/** Confirms what is done to an owner, with a reason. */
export function ReasonDialog({ title, verb, lead, typed, act, onClose, children }: ReasonDialogProps) {
  const [reason, write] = useState('')
  const action = useAction(async () => {
    await act(reason.trim())
    onClose()
  })
  return (
    <Confirm
      title={title}
      verb={verb}
      action={action}
      ready={reason.trim() !== ''}
      typed={typed}
      onClose={onClose}
    >
      <p>{lead}</p>
      <ReasonField value={reason} onWrite={write} />
      {children}
    </Confirm>
  )
}

function ReasonField(props: { value: string; onWrite: (text: string) => void }) {
  return (
    <TextArea label="Reason" hint="The owner gets it by email." maxLength={MAX_REASON_LENGTH} {...props} />
  )
}
