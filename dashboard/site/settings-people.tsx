import { useState } from 'preact/hooks'
import type { Collaborator } from '../../protocol/api/collaborators.schema.ts'
import type { SiteDetails } from '../../protocol/api/sites.schema.ts'
import { MAX_COLLABORATORS } from '../../protocol/api/sites.ts'
import { handleSubmit, useAction } from '../api/action.ts'
import { expire, invalidate, useResource } from '../api/resource.ts'
import { signedInAs } from '../api/session.ts'
import { settings } from '../api/settings.ts'
import { slipway } from '../api/slipway.ts'
import { useGuardedNavigate } from '../app/use-guarded-navigate.ts'
import { Button } from '../kit/button.tsx'
import { CopyBlock } from '../kit/copy.tsx'
import { Confirm } from '../kit/dialog.tsx'
import { TextField } from '../kit/field.tsx'
import { withoutSent } from '../kit/kept-input.ts'
import { ErrorNotice, Notice } from '../kit/notice.tsx'
import { Panel } from '../kit/panel.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { RelativeTime } from '../kit/time.tsx'
import { showToast } from '../kit/toast.tsx'
import { sendsEmails } from '../sign-in/email-delivery.ts'
import { dropDraft } from './settings-draft.ts'

/** Who can publish to the site. The owner invites and removes; a collaborator can leave. */
export function People({ site }: { site: SiteDetails }) {
  const { slug, role, ownerEmail } = site
  const people = useResource(`site/${slug}/people`, () => slipway.collaborators(slug))
  const { value, error, loading, reload, set } = people
  const isOwner = role === 'owner'
  const show = (person: Collaborator) =>
    set((known) => ({
      ...known,
      collaborators: [...known.collaborators.filter(({ email }) => email !== person.email), person],
    }))
  const remove = async (email: string) => {
    await slipway.removeCollaborator(slug, email)
    set((known) => ({ ...known, collaborators: known.collaborators.filter((one) => one.email !== email) }))
    showToast(`${email} removed.`)
  }
  return (
    <Panel
      title="People"
      lead={
        isOwner
          ? 'Collaborators publish updates, restore versions and change most settings. They sign in with their email.'
          : `Shared by ${ownerEmail}. You can publish updates, restore versions and change most settings.`
      }
      actions={!isOwner && <Leave slug={slug} />}
    >
      <ErrorNotice error={error} onRetry={reload} />
      {!value && loading && <Loading what="the people" />}
      {value && (
        <ul class="plain-list people" tabIndex={-1} aria-label="People with access">
          <li>
            <bdi>{value.ownerEmail}</bdi>
            <span class="quiet small">Owner</span>
          </li>
          {value.collaborators.map((person) => (
            <Person key={person.email} person={person} onRemove={isOwner ? remove : undefined} />
          ))}
        </ul>
      )}
      {isOwner && value && value.collaborators.length < MAX_COLLABORATORS && (
        <Invite slug={slug} onAdded={show} />
      )}
    </Panel>
  )
}

interface PersonProps {
  person: Collaborator
  onRemove: ((email: string) => Promise<void>) | undefined
}

function Person({ person: { email, addedAt }, onRemove }: PersonProps) {
  const [isConfirming, setConfirming] = useState(false)
  const remove = useAction(async () => onRemove?.(email))
  return (
    <li>
      <bdi>{email}</bdi>
      <span class="quiet small">
        Added <RelativeTime at={addedAt} />
      </span>
      {onRemove && (
        <Button variant="link" label={`Remove ${email}`} onClick={() => setConfirming(true)}>
          Remove
        </Button>
      )}
      {isConfirming && (
        <Confirm
          title={`Remove ${email}?`}
          verb="Remove person"
          action={remove}
          onClose={() => setConfirming(false)}
        >
          <p>
            They lose access to this site. Their review links, trusted repositories and keys for this site
            alone end, and do not come back when you invite them again.
          </p>
        </Confirm>
      )}
    </li>
  )
}

function Invite({ slug, onAdded }: { slug: string; onAdded: (person: Collaborator) => void }) {
  const [email, write] = useState('')
  // A person who was invited, but gets no email.
  const [unnoticed, setUnnoticed] = useState<string | undefined>(undefined)
  const invite = useAction(async () => {
    const person = await slipway.addCollaborator(slug, email.trim())
    onAdded(person)
    write(withoutSent(email, ''))
    setUnnoticed(sendsEmails ? undefined : person.email)
    showToast(`${person.email} can publish to this site now.`)
  })
  const wrong = invite.error?.fields.email
  return (
    <form class="invite" noValidate onSubmit={handleSubmit(invite)}>
      <TextField
        label="Email address"
        type="email"
        autocomplete="off"
        placeholder="colleague@example.com"
        value={email}
        error={wrong}
        onWrite={write}
      />
      <Button busy={invite.busy} disabled={email.trim() === ''}>
        Invite
      </Button>
      {!wrong && <ErrorNotice error={invite.error} />}
      {unnoticed !== undefined && (
        <Notice tone="warn" title="No email was sent">
          <p>
            This server has no email configured. Send <bdi>{unnoticed}</bdi> the address of this page:
          </p>
          <CopyBlock text={`${settings.baseUrl}/sites/${slug}`} of="the address" />
        </Notice>
      )}
    </form>
  )
}

function Leave({ slug }: { slug: string }) {
  const [isConfirming, setConfirming] = useState(false)
  const navigate = useGuardedNavigate()
  const leave = useAction(async () => {
    await slipway.removeCollaborator(slug, signedInAs.value!)
    dropDraft(slug)
    invalidate('sites')
    expire(`site/${slug}`)
    navigate('/sites', true)
    showToast('You left the site.')
  })
  return (
    <>
      <Button icon="leave" onClick={() => setConfirming(true)}>
        Leave
      </Button>
      {isConfirming && (
        <Confirm
          title={`Leave ${slug}?`}
          verb="Leave site"
          action={leave}
          onClose={() => setConfirming(false)}
        >
          <p>
            You lose access to this site, unless its owner invites you again. Your review links, trusted
            repositories and keys for this site alone end, and do not come back.
          </p>
        </Confirm>
      )}
    </>
  )
}
