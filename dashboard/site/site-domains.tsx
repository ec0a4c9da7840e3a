import type { DomainRecord } from '../../protocol/api/domains.schema.ts'
import { useResource } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { AddDomainLink } from '../domains/add-domain-link.tsx'
import { StatusBadge } from '../domains/status-badge.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { Panel } from '../kit/panel.tsx'
import { Loading } from '../kit/skeleton.tsx'

/** The custom domains of a site. */
export function DomainsPanel({ slug, canAdd = true }: { slug: string; canAdd?: boolean }) {
  const all = useResource('domains', () => slipway.domains())
  const own = all.value?.domains.filter(({ siteSlug }) => siteSlug === slug)
  return (
    <Panel title="Domains" actions={canAdd && <AddDomainLink slug={slug} />}>
      <ErrorNotice error={all.error} onRetry={all.reload} />
      {!own && all.loading && <Loading what="its domains" />}
      {own?.length === 0 && <p class="quiet">No custom domain yet.</p>}
      {own && own.length > 0 && (
        <ul class="plain-list stack tight">
          {own.map((record) => (
            <DomainLine key={record.domain} record={record} />
          ))}
        </ul>
      )}
    </Panel>
  )
}

function DomainLine({ record }: { record: DomainRecord }) {
  const { domain, redirectsTo } = record
  return (
    <li class="choices">
      <a href={`/domains?domain=${domain}`}>{domain}</a>
      <StatusBadge record={record} />
      {redirectsTo && <span class="quiet small">redirects to {redirectsTo}</span>}
    </li>
  )
}
