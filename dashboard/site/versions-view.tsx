import { useRef } from 'preact/hooks'
import type { SiteDetails } from '../../protocol/api/sites.schema.ts'
import type { VersionSummary } from '../../protocol/api/versions.schema.ts'
import { lazyComponent } from '../app/lazy-component.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { Panel } from '../kit/panel.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { useVersions } from './use-versions.ts'
import { isPreviewed } from './version-labels.ts'
import { PreviewsPanel } from './versions-previews.tsx'
import { VersionRow } from './versions-row.tsx'

interface VersionsViewProps {
  site: SiteDetails
  /** Called when another version is live. */
  onRestored: () => void
}

const CompareVersions = lazyComponent('the comparison', () =>
  import('./versions-compare.tsx').then((it) => it.CompareVersions),
)

/** All kept versions, newest first, with restore actions. */
export function VersionsView({ site, onRestored }: VersionsViewProps) {
  const versions = useVersions(site, onRestored)
  const list = useRef<HTMLOListElement>(null)
  const restore = async (version: VersionSummary) => {
    await versions.restore(version)
    // The pressed button was removed.
    list.current?.focus()
  }
  const all = versions.value?.versions
  const previews = all?.filter(isPreviewed) ?? []
  const listed = all?.filter(({ preview, publishedAt }) => preview === null || publishedAt !== null)
  const panel = (
    <Panel
      title="Versions"
      lead="Every publish creates a version, and the last ones are kept: roll back instantly. Each is compared with the version that was live before it."
    >
      <ErrorNotice error={versions.error} onRetry={versions.reload} />
      {!versions.value && versions.loading && <Loading what="the versions" />}
      {listed?.length === 0 && <p class="quiet">No versions yet.</p>}
      <ol class="plain-list versions" ref={list} tabIndex={-1} aria-label="Versions, newest first">
        {listed?.map((version) => (
          <VersionRow
            key={version.versionId}
            site={site}
            version={version}
            onRestore={() => restore(version)}
            onDelete={() => versions.remove(version)}
            onReload={versions.reload}
          />
        ))}
      </ol>
    </Panel>
  )
  return (
    <>
      {previews.length > 0 && (
        <PreviewsPanel
          site={site}
          previews={previews}
          onPromote={restore}
          onDelete={versions.removePreview}
        />
      )}
      {panel}
      {all && all.length > 1 && (
        <CompareVersions key={all.map(({ versionId }) => versionId).join()} site={site} versions={all} />
      )}
    </>
  )
}
