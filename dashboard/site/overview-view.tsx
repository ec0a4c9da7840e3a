import type { ComponentChildren } from 'preact'
import type { DomainRecord } from '../../protocol/api/domains.ts'
import type { SiteDetails } from '../../protocol/api/sites.ts'
import { formatBytes, formatNumber } from '../../protocol/format.ts'
import { sumSizes } from '../../protocol/manifest/manifest.ts'
import { useResource } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { versionAddress } from '../app/version-address.ts'
import { DropToUpdate } from '../drop/drop-to-update.tsx'
import { ButtonLink } from '../kit/button.tsx'
import { CopyLine } from '../kit/copy.tsx'
import { Icon } from '../kit/icon.tsx'
import { LiveFrame } from '../kit/live-frame.tsx'
import { ErrorNotice, Notice } from '../kit/notice.tsx'
import { Badge, Fact, Facts, Loading, Panel } from '../kit/panel.tsx'
import { RelativeTime } from '../kit/time.tsx'
import { Expiry } from '../sites/expiry.tsx'

interface OverviewViewProps {
  site: SiteDetails
  /** Called when another version is live. */
  onPublished: () => void
}

/** An overview of a site, and a drop zone for its next version. */
export function OverviewView({ site, onPublished }: OverviewViewProps) {
  const isLive = site.currentVersionId !== null
  return (
    <>
      <Unfinished site={site} />
      <section class="overview" aria-label="Live now">
        {isLive && <Preview site={site} />}
        <div class="stack">
          {isLive && <CopyLine text={site.siteUrl} of="the address" />}
          {isLive && (
            <p>
              <ButtonLink icon="open" href={site.siteUrl} outside>
                Open the site
              </ButtonLink>
            </p>
          )}
          <SiteFacts site={site} />
        </div>
      </section>
      <section aria-label="Update">
        <DropToUpdate slug={site.slug} onPublished={onPublished} />
      </section>
      <Domains slug={site.slug} />
    </>
  )
}

function Unfinished({ site }: { site: SiteDetails }) {
  if (site.pendingVersionId === null) return null
  if (site.currentVersionId === null)
    return (
      <Notice tone="warn" title="This site is not live yet.">
        <p>
          Not all of its files have arrived, so nobody can open it. Drop the folder below to finish it; what
          is not finished within 24 hours is forgotten.
        </p>
      </Notice>
    )
  return (
    <Notice title="An update has begun and is not finished.">
      <p>Visitors see the version before it, until every file of the update has arrived.</p>
    </Notice>
  )
}

/** No preview where visitors see a form, which a frame cannot answer. */
function Preview({ site }: { site: SiteDetails }) {
  const { siteUrl, currentVersionId: versionId } = site
  if (!site.hasPassword && versionId !== null)
    return (
      <LiveFrame
        src={versionAddress({ siteUrl, versionId })}
        title="The site as it is now"
        version={versionId}
      />
    )
  return (
    <div class="no-preview">
      <Icon name="lock" size={28} />
      <p>Visitors are asked for a password.</p>
    </div>
  )
}

function SiteFacts({ site }: { site: SiteDetails }) {
  const bytes = sumSizes(site.files)
  return (
    <Facts>
      <Fact name="Files">{formatNumber(site.files.length)}</Fact>
      <Fact name="Size">{formatBytes(bytes)}</Fact>
      <Fact name="Created">
        <RelativeTime at={site.createdAt} />
      </Fact>
      <Fact name="Changed">
        <RelativeTime at={site.updatedAt} />
      </Fact>
      {site.currentVersionId !== null && (
        <Fact name="Lasts">{site.expiresAt ? <Expiry at={site.expiresAt} /> : 'For good'}</Fact>
      )}
      <Fact name="Password">{site.hasPassword ? 'Asked of visitors' : 'None'}</Fact>
    </Facts>
  )
}

function Domains({ slug }: { slug: string }) {
  const all = useResource('domains', () => slipway.domains())
  const own = all.value?.domains.filter(({ siteSlug }) => siteSlug === slug)
  const add = (
    <ButtonLink icon="globe" href={`/domains?site=${slug}`}>
      Add a domain
    </ButtonLink>
  )
  return (
    <Panel title="Domains" actions={add}>
      <ErrorNotice error={all.error} onRetry={all.reload} />
      {!own && all.loading && <Loading what="its domains" />}
      {own?.length === 0 && <p class="quiet">None yet. A domain of yours can show this site.</p>}
      {own && own.length > 0 && (
        <ul class="plain-list stack tight">
          {own.map((record) => (
            <li key={record.domain} class="choices">
              <DomainLine record={record} />
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}

function DomainLine({ record }: { record: DomainRecord }): ComponentChildren {
  const { domain, status, redirectsTo } = record
  return (
    <>
      <a href={`/domains?domain=${domain}`}>{domain}</a>
      <Badge tone={status === 'active' ? 'good' : 'warn'}>{status === 'active' ? 'Active' : 'Pending'}</Badge>
      {redirectsTo && <span class="quiet small">leads to {redirectsTo}</span>}
    </>
  )
}
