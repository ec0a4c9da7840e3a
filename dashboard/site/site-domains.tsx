import type { DomainRecord } from '../../protocol/api/domains.schema.ts'
import { useResource } from '../api/resource.ts'
import { settings } from '../api/settings.ts'
import { slipway } from '../api/slipway.ts'
import { StatusBadge } from '../domains/status-badge.tsx'
import { ButtonLink } from '../kit/button.tsx'
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

/** Opens the form that adds a domain to a site; nothing where the server cannot serve domains. */
function AddDomainLink({ slug }: { slug: string }) {
  if (!settings.customDomains) return null
  return (
    <ButtonLink icon="globe" href={`/domains?site=${slug}`}>
      Add domain
    </ButtonLink>
  )
}
