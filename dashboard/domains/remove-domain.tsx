import { useState } from 'preact/hooks'
import type { DomainRecord } from '../../protocol/api/domains.schema.ts'
import { ignoreGone, useAction } from '../api/action.ts'
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
    await slipway.removeDomain(domain).catch(ignoreGone)
    navigate('/domains')
    known.drop(domain)
    showToast(`${domain} removed.`)
  })
  return (
    <Panel title="Remove domain" lead={`The site stays online at its own address.`}>
      <div class="choices">
        <Button variant="danger" onClick={() => setConfirming(true)}>
          Remove domain
        </Button>
      </div>
      {isConfirming && (
        <Confirm
          title={`Remove ${domain}?`}
          verb="Remove domain"
          action={remove}
          onClose={() => setConfirming(false)}
        >
          {status === 'active' ? <WhenActive /> : <p>Remove its DNS records at your provider as well.</p>}
        </Confirm>
      )}
    </Panel>
  )
}

function WhenActive() {
  return (
    <>
      <p>
        Visitors can't open the site at this domain anymore. Remove both DNS records at your provider as well.
      </p>
      <p>The domain stays reserved for you for 7 days. Add it again within that time without changing DNS.</p>
    </>
  )
}
