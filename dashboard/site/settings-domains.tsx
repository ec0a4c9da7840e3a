import { AddDomainLink } from '../domains/add-domain-link.tsx'
import { Panel } from '../kit/panel.tsx'
import { SiteDomains } from './site-domains.tsx'

/** The custom domains of the site. */
export function DomainSettings({ slug }: { slug: string }) {
  return (
    <Panel title="Domains" actions={<AddDomainLink slug={slug} />}>
      <SiteDomains slug={slug} />
    </Panel>
  )
}
