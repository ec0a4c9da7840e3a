import { useEffect, useState } from 'preact/hooks'
import type { DomainRecord } from '../../client/wire.ts'
import { useAction } from '../api/action.ts'
import type { Failing } from '../api/failing.ts'
import { forget } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { Page } from '../app/page.tsx'
import { useWayOn } from '../app/use-way-on.ts'
import { Button } from '../kit/button.tsx'
import { Trouble } from '../kit/notice.tsx'
import { Panel } from '../kit/panel.tsx'
import { Certificate } from './certificate.tsx'
import { DnsRecords } from './dns-records.tsx'
import { DomainState } from './domain-state.tsx'
import { isSettled } from './domain-words.ts'
import { type KnownDomains, StatusBadge } from './domains-page.tsx'
import { followDomain } from './follow-domain.ts'
import { RemoveDomain } from './remove-domain.tsx'

interface DomainPageProps {
  record: DomainRecord
  known: KnownDomains
}

/** One domain: what to enter in DNS and what is there, until it is active with HTTPS; then how it stands. */
export function DomainPage({ record, known }: DomainPageProps) {
  const { domain, siteSlug, status, reason, redirectsTo } = record
  const trouble = useFollowing(record, known)
  const check = useAction(async () => known.put(await slipway.checkDomain(domain)))
  const isActive = status === 'active'
  return (
    <Page title={domain} above={<a href="/domains">Domains</a>} actions={<StatusBadge record={record} />}>
      <div class="stack">
        <p class="quiet">
          {redirectsTo ? (
            `Leads to ${redirectsTo}.`
          ) : (
            <>
              Shows the site <a href={`/sites/${siteSlug}`}>{siteSlug}</a>.
            </>
          )}
        </p>
        <DomainState record={record} check={check} />
        <Trouble failing={check.failing} />
        <Trouble failing={trouble} />
      </div>
      {(!isActive || reason !== null) && <DnsRecords record={record} />}
      {isActive && <Certificate record={record} />}
      <Alternate record={record} known={known} />
      <RemoveDomain record={record} known={known} />
    </Page>
  )
}

/** Keeps the record as the server has it for as long as something is still to come; answers what is in the way of that. */
function useFollowing(record: DomainRecord, known: KnownDomains): Failing | undefined {
  const [trouble, show] = useState<Failing | undefined>(undefined)
  const { domain } = record
  const settled = isSettled(record)
  useEffect(() => {
    if (settled) return show(undefined)
    return followDomain(domain, { record: known.put, gone: () => known.drop(domain), trouble: show })
  }, [domain, settled])
  return trouble
}

/** The other one of `www` and the root, when there is room for it. */
function Alternate({ record, known }: DomainPageProps) {
  const { domain, siteSlug, alternate, records } = record
  const wayOn = useWayOn()
  const add = useAction(async () => {
    const added = await slipway.addDomain(alternate!, siteSlug)
    known.put(added)
    forget('me')
    wayOn(`/domains?domain=${added.domain}`)
  })
  if (alternate === null) return null
  const isRoot = records[0]?.type === 'ALIAS'
  return (
    <Panel
      title={`Add ${alternate}, too`}
      lead={`Some visitors type ${isRoot ? 'the name with www' : 'the name without www'}. It then leads to ${domain}, and does not count as another domain.`}
    >
      <Trouble failing={add.failing} />
      <div class="choices">
        <Button onClick={add} busy={add.busy}>
          {`Add ${alternate}`}
        </Button>
      </div>
    </Panel>
  )
}
