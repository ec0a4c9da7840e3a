import { useEffect, useState } from 'preact/hooks'
import type { DomainRecord } from '../../protocol/api/domains.schema.ts'
import { useAction } from '../api/action.ts'
import type { DisplayError } from '../api/display-error.ts'
import { invalidate, retries } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { useSignal } from '../api/use-signal.ts'
import { Page } from '../app/page.tsx'
import { useGuardedNavigate } from '../app/use-guarded-navigate.ts'
import { Button } from '../kit/button.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { Panel } from '../kit/panel.tsx'
import { showToast } from '../kit/toast.tsx'
import { Certificate } from './certificate.tsx'
import { DnsRecords } from './dns-records.tsx'
import { isSettled } from './domain-labels.ts'
import { DomainState } from './domain-state.tsx'
import { watchDomain } from './follow-domain.ts'
import type { KnownDomains } from './known-domains.ts'
import { RemoveDomain } from './remove-domain.tsx'
import { StatusBadge } from './status-badge.tsx'

interface DomainPageProps {
  record: DomainRecord
  known: KnownDomains
}

/** One domain: its DNS records until it is active with HTTPS, then its state. */
export function DomainPage({ record, known }: DomainPageProps) {
  const { domain, siteSlug, status, reason, redirectsTo, checkedAt } = record
  const updates = useDomainUpdates(record, known)
  const check = useAction(async () => {
    const checked = await slipway.checkDomain(domain)
    known.put(checked)
    // The server repeats a result that is a few seconds old, and while it makes many other checks.
    if (checkedAt !== null && checked.checkedAt === checkedAt)
      showToast('Not checked again. Try again in a few seconds.')
  })
  const isActive = status === 'active'
  return (
    <Page title={domain} above={<a href="/domains">Domains</a>} actions={<StatusBadge record={record} />}>
      <div class="stack">
        <p class="quiet">
          {redirectsTo ? (
            `Redirects to ${redirectsTo}.`
          ) : (
            <>
              Site: <a href={`/sites/${siteSlug}`}>{siteSlug}</a>
            </>
          )}
        </p>
        <DomainState record={record} check={check} />
        <ErrorNotice error={check.error} />
        <ErrorNotice {...updates} />
      </div>
      {(!isActive || reason !== null) && <DnsRecords record={record} />}
      {isActive && <Certificate record={record} />}
      <Alternate record={record} known={known} />
      <RemoveDomain record={record} known={known} />
    </Page>
  )
}

/** Watches the domain while changes are expected; returns the error, if any, after which a retry watches again. */
function useDomainUpdates(record: DomainRecord, known: KnownDomains) {
  const [error, show] = useState<DisplayError | undefined>(undefined)
  const { domain } = record
  const settled = isSettled(record)
  const count = useSignal(retries)
  useEffect(() => {
    if (settled) return show(undefined)
    return watchDomain(domain, { record: known.put, removed: () => known.drop(domain), error: show })
  }, [domain, settled, count])
  return { error, onRetry: () => show(undefined) }
}

/** The other one of `www` and the root domain, when it can be added. */
function Alternate({ record, known }: DomainPageProps) {
  const { domain, siteSlug, alternate, records } = record
  const navigate = useGuardedNavigate()
  const add = useAction(async () => {
    const added = await slipway.addDomain(alternate!, siteSlug)
    known.put(added)
    invalidate('me')
    navigate(`/domains?domain=${added.domain}`)
  })
  if (alternate === null) return null
  const isRoot = records[0]?.type === 'ALIAS'
  return (
    <Panel
      title={`Add ${alternate}`}
      lead={`Redirects visitors who type the address ${isRoot ? 'with' : 'without'} www to ${domain}. Doesn't count as another domain.`}
    >
      <ErrorNotice error={add.error} />
      <div class="choices">
        <Button onClick={add} busy={add.busy}>
          {`Add ${alternate}`}
        </Button>
      </div>
    </Panel>
  )
}
