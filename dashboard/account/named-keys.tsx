import { useRef, useState } from 'preact/hooks'
import type { CreatedKey, KeySummary } from '../../protocol/api/keys.schema.ts'
import { ignoreGone, useAction } from '../api/action.ts'
import { useResource } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { Button } from '../kit/button.tsx'
import { Confirm } from '../kit/dialog.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { Badge, Panel } from '../kit/panel.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { LocalTime, RelativeTime } from '../kit/time.tsx'
import { showToast } from '../kit/toast.tsx'
import { CreateKey } from './create-key.tsx'
import { ShownKey, useClearOnPageHide } from './shown-key.tsx'

/** Lists the named keys, creates and revokes them. A new one is shown once and stored nowhere in the browser. */
export function NamedKeys({ canCreate }: { canCreate: boolean }) {
  const { value, set, error, reload } = useResource('me/keys', () => slipway.keys())
  const [isCreating, setCreating] = useState(false)
  const [shown, show] = useState<string | undefined>(undefined)
  const [revoking, setRevoking] = useState<KeySummary | undefined>(undefined)
  const part = useRef<HTMLDivElement>(null)
  useClearOnPageHide(() => show(undefined))
  const revoke = useAction(async () => {
    const { id, name } = revoking!
    await slipway.revokeKey(id).catch(ignoreGone)
    set((known) => ({ keys: known.keys.filter((key) => key.id !== id) }))
    setRevoking(undefined)
    part.current?.focus()
    showToast(`Key ${name} revoked.`)
  })
  const add = ({ apiKey, warning: _, ...key }: CreatedKey) => {
    set((known) => ({ keys: [key, ...known.keys] }))
    setCreating(false)
    show(apiKey)
  }
  const hide = () => {
    show(undefined)
    part.current?.focus()
  }
  return (
    <Panel
      title="Named keys"
      lead="One for each machine or program, with its own permissions. Revoking one leaves the others valid."
      actions={canCreate && <Button onClick={() => setCreating(true)}>Create named key</Button>}
    >
      <div class="stack" ref={part} tabIndex={-1}>
        <ErrorNotice error={error} onRetry={reload} />
        {shown !== undefined && <ShownKey apiKey={shown} onHide={hide} />}
        {!value && !error && <Loading what="your keys" />}
        {value?.keys.length === 0 && <p>No named keys yet.</p>}
        <ul class="browsers">
          {value?.keys.map((key) => (
            <Row key={key.id} named={key} onRevoke={() => setRevoking(key)} />
          ))}
        </ul>
      </div>
      {isCreating && <CreateKey onCreated={add} onClose={() => setCreating(false)} />}
      {revoking && (
        <Confirm
          title={`Revoke key ${revoking.name}?`}
          verb="Revoke key"
          action={revoke}
          onClose={() => setRevoking(undefined)}
        >
          <p>Programs that use it stop working immediately. Sites that they published stay online.</p>
        </Confirm>
      )}
    </Panel>
  )
}

function Row({ named, onRevoke }: { named: KeySummary; onRevoke: () => void }) {
  const { name, scope, sites, createdAt, expiresAt, lastUsedAt } = named
  const isExpired = expiresAt !== null && Date.parse(expiresAt) <= Date.now()
  return (
    <li>
      <div class="key-words">
        <p class="title">
          <bdi>{name}</bdi> <Badge tone="plain">{scope}</Badge>{' '}
          {isExpired && <Badge tone="wrong">Expired</Badge>}
        </p>
        <p class="quiet small">{sites === null ? 'All sites and the account' : `Only ${sites.join(', ')}`}</p>
        <p class="quiet small">
          Created <RelativeTime at={createdAt} />
          {lastUsedAt === null ? (
            ', never used'
          ) : (
            <>
              , used <RelativeTime at={lastUsedAt} />
            </>
          )}
          {expiresAt !== null && (
            <>
              {isExpired ? ', expired ' : ', expires '}
              <LocalTime at={expiresAt} />
            </>
          )}
        </p>
      </div>
      <Button label={`Revoke key ${name}`} onClick={onRevoke}>
        Revoke
      </Button>
    </li>
  )
}
