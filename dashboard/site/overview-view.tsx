import type { SiteDetails } from '../../protocol/api/sites.schema.ts'
import { formatBytes, formatDuration, formatNumber } from '../../protocol/format.ts'
import { sumSizes } from '../../protocol/manifest/manifest.ts'
import { settings } from '../api/settings.ts'
import { versionAddress } from '../app/version-address.ts'
import { DropToUpdate } from '../drop/drop-to-update.tsx'
import { Notice } from '../kit/notice.tsx'
import { Fact, Facts } from '../kit/panel.tsx'
import { RelativeTime } from '../kit/time.tsx'
import { Expiry } from '../sites/expiry.tsx'
import { OverviewVersions } from './overview-versions.tsx'
import { OverviewVisits } from './overview-visits.tsx'
import { DomainsPanel } from './site-domains.tsx'
import { SitePreview } from './site-preview.tsx'

interface OverviewViewProps {
  site: SiteDetails
  /** Called when another version is live. */
  onPublished: () => void
}

/** An overview of a site, and a drop zone for its next version. */
export function OverviewView({ site, onPublished }: OverviewViewProps) {
  const { slug, siteUrl, currentVersionId: versionId, suspension } = site
  const offersDomains = settings.customDomains && site.role === 'owner'
  return (
    <>
      <Unfinished site={site} />
      <div class="overview">
        {versionId !== null && !suspension && (
          <section aria-label="Live site">
            <SitePreview
              site={site}
              address={versionAddress({ siteUrl, versionId })}
              title="The live site"
              version={versionId}
            />
          </section>
        )}
        <div class="stack">
          <SiteFacts site={site} />
          {!suspension && (
            <section aria-label="Update">
              <DropToUpdate slug={slug} onPublished={onPublished} />
            </section>
          )}
        </div>
      </div>
      {versionId !== null && (
        <div class="overview-panels">
          <OverviewVersions site={site} onRestored={onPublished} />
          <OverviewVisits slug={slug} />
          {offersDomains && <DomainsPanel slug={slug} canAdd={!suspension} />}
        </div>
      )}
    </>
  )
}

function Unfinished({ site }: { site: SiteDetails }) {
  const { pendingVersionId, currentVersionId } = site
  if (pendingVersionId === null) return null
  if (currentVersionId === null)
    return (
      <Notice tone="warn" title="This site isn't live yet">
        <p>
          Some files haven't been uploaded. Drop the folder again to finish. Unfinished uploads are deleted
          after {formatDuration(settings.pendingLifetime)}.
        </p>
      </Notice>
    )
  // Ids grow with time: a version that is older than the live one was abandoned.
  if (pendingVersionId < currentVersionId) return null
  return (
    <Notice title="An update is unfinished">
      <p>Visitors see the previous version until all files are uploaded.</p>
    </Notice>
  )
}

function SiteFacts({ site }: { site: SiteDetails }) {
  return (
    <Facts>
      <Fact name="Files">{formatNumber(site.files.length)}</Fact>
      <Fact name="Size">{formatBytes(sumSizes(site.files))}</Fact>
      <Fact name="Created">
        <RelativeTime at={site.createdAt} />
      </Fact>
      {site.currentVersionId !== null && (
        <Fact name="Expires">{site.expiresAt ? <Expiry at={site.expiresAt} isLabelled /> : 'Never'}</Fact>
      )}
      <Fact name="Password">{site.hasPassword ? 'On' : 'Off'}</Fact>
    </Facts>
  )
}
