import type { SiteDetails } from '../../protocol/api/sites.schema.ts'
import type { VersionSummary } from '../../protocol/api/versions.schema.ts'
import { shortId } from '../../protocol/format.ts'
import { useAction } from '../api/action.ts'
import { Button } from '../kit/button.tsx'
import { ErrorNotice, FocusKept } from '../kit/notice.tsx'
import { Badge, Panel } from '../kit/panel.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { RelativeTime } from '../kit/time.tsx'
import { useVersions } from './use-versions.ts'
import { formatChanges, madeAt } from './version-labels.ts'

/** Number of versions shown. */
const LATEST = 3

/** The latest versions, to roll back. */
export function OverviewVersions({ site, onRestored }: { site: SiteDetails; onRestored: () => void }) {
  const versions = useVersions(site, onRestored)
  const { value, error, loading, reload } = versions
  const listed = value?.versions.filter(
    ({ preview, publishedAt }) => preview === null || publishedAt !== null,
  )
  return (
    <Panel title="Latest versions" actions={<a href={`/sites/${site.slug}/versions`}>View all</a>}>
      <ErrorNotice error={error} onRetry={reload} />
      {!value && loading && <Loading what="the versions" />}
      {listed?.length === 0 && <p class="quiet">No versions yet.</p>}
      <ol class="plain-list latest-versions">
        {listed?.slice(0, LATEST).map((version) => (
          <LatestVersion
            key={version.versionId}
            site={site}
            version={version}
            onRestore={() => versions.restore(version)}
          />
        ))}
      </ol>
    </Panel>
  )
}

interface LatestVersionProps {
  site: SiteDetails
  version: VersionSummary
  onRestore: () => Promise<unknown>
}

function LatestVersion({ site, version, onRestore }: LatestVersionProps) {
  const { versionId, current, publishedAt } = version
  const restore = useAction(onRestore)
  const verb = publishedAt === null ? 'Publish' : 'Restore'
  return (
    <li>
      <div>
        <p>
          <RelativeTime at={madeAt(version)} /> <code class="quiet small">{shortId(versionId)}</code>
        </p>
        <p class="quiet small">{formatChanges(version, site)}</p>
        <ErrorNotice error={restore.error} />
      </div>
      {current ? (
        <Badge tone="good">Live</Badge>
      ) : (
        !site.suspension && (
          <FocusKept>
            <Button label={`${verb} version ${shortId(versionId)}`} busy={restore.busy} onClick={restore}>
              {verb}
            </Button>
          </FocusKept>
        )
      )}
    </li>
  )
}
