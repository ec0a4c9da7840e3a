import type { SiteDetails } from '../../protocol/api/sites.schema.ts'
import type { VersionSummary } from '../../protocol/api/versions.schema.ts'
import { useAction } from '../api/action.ts'
import { Button } from '../kit/button.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { Badge, Panel } from '../kit/panel.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { RelativeTime } from '../kit/time.tsx'
import { useVersions } from './use-versions.ts'
import { formatChanges, madeAt, shortId } from './version-labels.ts'

/** Number of versions shown. */
const LATEST = 3

/** The latest versions, to roll back. */
export function OverviewVersions({ site, onRestored }: { site: SiteDetails; onRestored: () => void }) {
  const versions = useVersions(site, onRestored)
  const { value, error, loading, reload } = versions
  const restore = useAction(versions.restore)
  const listed = value?.versions.filter(
    ({ preview, publishedAt }) => preview === null || publishedAt !== null,
  )
  return (
    <Panel title="Latest versions" actions={<a href={`/sites/${site.slug}/versions`}>View all</a>}>
      <ErrorNotice error={error} onRetry={reload} />
      <ErrorNotice error={restore.error} />
      {!value && loading && <Loading what="the versions" />}
      {listed?.length === 0 && <p class="quiet">No versions yet.</p>}
      <ol class="plain-list latest-versions">
        {listed?.slice(0, LATEST).map((version) => (
          <LatestVersion
            key={version.versionId}
            site={site}
            version={version}
            onRestore={() => restore(version)}
          />
        ))}
      </ol>
    </Panel>
  )
}

interface LatestVersionProps {
  site: SiteDetails
  version: VersionSummary
  onRestore: () => void
}

function LatestVersion({ site, version, onRestore }: LatestVersionProps) {
  const { versionId, current, publishedAt } = version
  const verb = publishedAt === null ? 'Publish' : 'Restore'
  return (
    <li>
      <div>
        <p>
          <RelativeTime at={madeAt(version)} /> <code class="quiet small">{shortId(versionId)}</code>
        </p>
        <p class="quiet small">{formatChanges(version, site)}</p>
      </div>
      {current ? (
        <Badge tone="good">Live</Badge>
      ) : (
        !site.suspension && (
          <Button label={`${verb} version ${shortId(versionId)}`} onClick={onRestore}>
            {verb}
          </Button>
        )
      )}
    </li>
  )
}
