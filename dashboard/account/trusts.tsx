import { useRef, useState } from 'preact/hooks'
import type { Trust } from '../../protocol/api/trusts.schema.ts'
import { formatTrustRules } from '../../protocol/trust-rules.ts'
import { ignoreGone, useAction } from '../api/action.ts'
import { useResource } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { Button } from '../kit/button.tsx'
import { Confirm } from '../kit/dialog.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { Badge, Panel } from '../kit/panel.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { RelativeTime } from '../kit/time.tsx'
import { showToast } from '../kit/toast.tsx'
import { CreateTrust } from './create-trust.tsx'
import { FORGE_NAMES } from './forge-names.ts'

/** Lists the repositories whose CI jobs get keys, adds and removes them. */
export function Trusts({ canCreate }: { canCreate: boolean }) {
  const { value, set, error, reload } = useResource('me/trusts', () => slipway.trusts())
  const [isCreating, setCreating] = useState(false)
  const [removing, setRemoving] = useState<Trust | undefined>(undefined)
  const part = useRef<HTMLDivElement>(null)
  const remove = useAction(async () => {
    const { id, repository } = removing!
    await slipway.removeTrust(id).catch(ignoreGone)
    set((known) => ({ trusts: known.trusts.filter((trust) => trust.id !== id) }))
    setRemoving(undefined)
    part.current?.focus()
    showToast(`${repository} removed.`)
  })
  const add = (trust: Trust) => {
    set((known) => ({ trusts: [trust, ...known.trusts] }))
    setCreating(false)
    part.current?.focus()
    showToast(`${trust.repository} is trusted.`)
  }
  return (
    <Panel
      title="Trusted repositories"
      lead={
        <>
          Their CI jobs publish a site <a href="/docs/ci">without a stored key</a>.
        </>
      }
      actions={canCreate && <Button onClick={() => setCreating(true)}>Trust repository</Button>}
    >
      <div class="stack" ref={part} tabIndex={-1}>
        <ErrorNotice error={error} onRetry={reload} />
        {!value && !error && <Loading what="your trusted repositories" />}
        {value?.trusts.length === 0 && <p>No trusted repositories yet.</p>}
        <ul class="browsers">
          {value?.trusts.map((trust) => (
            <Row key={trust.id} trust={trust} onRemove={() => setRemoving(trust)} />
          ))}
        </ul>
      </div>
      {isCreating && <CreateTrust onCreated={add} onClose={() => setCreating(false)} />}
      {removing && (
        <Confirm
          title={`Remove ${removing.repository}?`}
          verb="Remove repository"
          action={remove}
          onClose={() => setRemoving(undefined)}
        >
          <p>Its jobs have no access to {removing.site} any more, those in progress included.</p>
        </Confirm>
      )}
    </Panel>
  )
}

function Row({ trust, onRemove }: { trust: Trust; onRemove: () => void }) {
  const { forge, repository, site, scope, createdAt, lastUsedAt, lapsesAt } = trust
  const hasEnded = lapsesAt !== null && Date.parse(lapsesAt) <= Date.now()
  return (
    <li>
      <div class="key-words">
        <p class="title">
          <bdi>{repository}</bdi> <Badge tone="plain">{scope}</Badge>
        </p>
        <p class="quiet small">
          {FORGE_NAMES[forge]}: {formatTrustRules(trust)}
        </p>
        <p class="quiet small">Only {site}</p>
        <p class="quiet small">
          Added <RelativeTime at={createdAt} />
          {lastUsedAt === null ? (
            hasEnded ? (
              ', ended: no job used it within 30 days'
            ) : (
              ', never used'
            )
          ) : (
            <>
              , used <RelativeTime at={lastUsedAt} />
            </>
          )}
        </p>
      </div>
      <Button label={`Remove ${repository}`} onClick={onRemove}>
        Remove
      </Button>
    </li>
  )
}
