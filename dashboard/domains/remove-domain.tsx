import { useState } from 'preact/hooks'
import { isSlipwayError } from '../../client/sdk/slipway-error.ts'
import type { DomainRecord } from '../../protocol/api/domains.ts'
import { useAction } from '../api/action.ts'
import { slipway } from '../api/slipway.ts'
import { useGuardedNavigate } from '../app/use-guarded-navigate.ts'
import { Button } from '../kit/button.tsx'
import { Confirm } from '../kit/dialog.tsx'
import { Panel } from '../kit/panel.tsx'
import { showToast } from '../kit/toast.tsx'
import type { KnownDomains } from './known-domains.ts'

/** Removes a domain after a confirmation. */
export function RemoveDomain({ record, known }: { record: DomainRecord; known: KnownDomains }) {
  const { domain, status } = record
  const navigate = useGuardedNavigate()
  const [isConfirming, setConfirming] = useState(false)
  const remove = useAction(async () => {
    await slipway.removeDomain(domain).catch(ignoreNotFound)
    navigate('/domains')
    known.drop(domain)
    showToast(`${domain} is removed.`)
  })
  return (
    <Panel title="Remove" lead={`The site stays, at its own address; ${domain} no longer shows it.`}>
      <div class="choices">
        <Button variant="danger" onClick={() => setConfirming(true)}>
          Remove the domain
        </Button>
      </div>
      {isConfirming && (
        <Confirm
          title={`Remove ${domain}?`}
          verb="Remove it"
          action={remove}
          onClose={() => {
            setConfirming(false)
            remove.clear()
          }}
        >
          {status === 'active' ? (
            <WhenActive />
          ) : (
            <p>
              Nobody is shown anything there yet. The records that you entered in DNS are of no use then: take
              them out.
            </p>
          )}
        </Confirm>
      )}
    </Panel>
  )
}

function WhenActive() {
  return (
    <>
      <p>Visitors find nothing there any more, at once. Take both records out of DNS as well.</p>
      <p>
        It is kept for you for 7 days: nobody else can have it, and when you add it again nothing in DNS has
        to be changed.
      </p>
    </>
  )
}

/** Ignores that it was already removed in another tab. */
function ignoreNotFound(error: unknown): void {
  if (!isSlipwayError(error, 'NOT_FOUND')) throw error
}
