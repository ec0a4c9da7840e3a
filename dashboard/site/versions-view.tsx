import { useRef } from 'preact/hooks'
import type { SiteDetails, VersionList, VersionSummary } from '../../protocol/api/sites.ts'
import { toDisplayError } from '../api/display-error.ts'
import { invalidate, useResource } from '../api/resource.ts'
import { serverNow } from '../api/server-clock.ts'
import { slipway } from '../api/slipway.ts'
import { formatMoment } from '../app/format-time.ts'
import { ErrorNotice } from '../kit/notice.tsx'
import { Loading, Panel } from '../kit/panel.tsx'
import { showToast } from '../kit/toast.tsx'
import { madeAt } from './version-labels.ts'
import { VersionRow } from './versions-row.tsx'

interface VersionsViewProps {
  site: SiteDetails
  /** Called when another version is live. */
  onRestored: () => void
}

/** All kept versions, newest first, with restore actions. */
export function VersionsView({ site, onRestored }: VersionsViewProps) {
  const { slug } = site
  const versions = useResource(`site/${slug}/versions`, () => slipway.versions(slug))
  const list = useRef<HTMLOListElement>(null)

  const restore = async (versionId: string): Promise<string | null> => {
    const { previousVersionId } = await slipway.restore(slug, versionId)
    versions.set((known) => withLive(known, versionId))
    invalidate('sites')
    onRestored()
    list.current?.focus()
    return previousVersionId
  }
  const restoreWithUndo = async (version: VersionSummary) => {
    const { versionId } = version
    const before = await restore(versionId)
    const undo = async () => {
      try {
        const { currentVersionId } = await slipway.details(slug)
        if (currentVersionId !== versionId) return showToast('Not undone. Another version is live by now.')
        await restore(before!)
        showToast('The version before is live again.')
      } catch (error) {
        showToast(`Not undone. ${toDisplayError(error).title}`)
      }
    }
    showToast(
      `The version of ${formatMoment(madeAt(version))} is live.`,
      before && before !== versionId ? undo : undefined,
    )
  }
  const remove = async (versionId: string) => {
    await slipway.deleteVersion(slug, versionId)
    versions.set((known) => withoutVersion(known, versionId))
    versions.reload()
  }

  return (
    <Panel
      title="Versions"
      lead="Each publish is a version. The newest are kept; going back to one uploads nothing."
    >
      <ErrorNotice error={versions.error} onRetry={versions.reload} />
      {!versions.value && versions.loading && <Loading what="its versions" />}
      {versions.value?.versions.length === 0 && <p>None yet: nothing of this site has been live.</p>}
      <ol class="plain-list versions" ref={list} tabIndex={-1} aria-label="Versions, newest first">
        {versions.value?.versions.map((version) => (
          <VersionRow
            key={version.versionId}
            site={site}
            version={version}
            onRestore={() => restoreWithUndo(version)}
            onDelete={() => remove(version.versionId)}
            onLookAgain={versions.reload}
          />
        ))}
      </ol>
    </Panel>
  )
}

/** The list after that version went live: loading it would cost a request. */
function withLive({ versions }: VersionList, versionId: string): VersionList {
  const now = new Date(serverNow()).toISOString()
  return {
    versions: versions.map((version) => {
      const current = version.versionId === versionId
      return { ...version, current, publishedAt: version.publishedAt ?? (current ? now : null) }
    }),
  }
}

function withoutVersion({ versions }: VersionList, versionId: string): VersionList {
  return { versions: versions.filter((version) => version.versionId !== versionId) }
}
