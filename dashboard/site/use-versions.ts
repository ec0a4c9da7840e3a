import { useEffect, useRef } from 'preact/hooks'
import type { SiteDetails } from '../../protocol/api/sites.schema.ts'
import type { VersionList, VersionSummary } from '../../protocol/api/versions.schema.ts'
import { invalidate, type Resource, useResource } from '../api/resource.ts'
import { serverNow } from '../api/server-clock.ts'
import { slipway } from '../api/slipway.ts'
import { showToast } from '../kit/toast.tsx'
import { undoVersion } from './undo-version.ts'
import { describeLive, type PreviewedVersion } from './version-labels.ts'

export interface SiteVersions extends Resource<VersionList> {
  /** Makes a version live, which the list shows immediately, and offers to undo it. */
  restore(version: VersionSummary): Promise<void>
  remove(version: VersionSummary): Promise<void>
  /** Deletes the preview that shows a version. */
  removePreview(version: PreviewedVersion): Promise<void>
}

/** The versions of a site. `onRestored` is called when another version is live. */
export function useVersions(
  { slug, currentVersionId }: Pick<SiteDetails, 'slug' | 'currentVersionId'>,
  onRestored: () => void,
): SiteVersions {
  const versions = useResource(`site/${slug}/versions`, () => slipway.versions(slug))
  const live = versions.value?.versions.find(({ current }) => current)?.versionId
  const known = useRef(currentVersionId)
  useEffect(() => {
    if (known.current !== currentVersionId && live !== currentVersionId) versions.reload()
    known.current = currentVersionId
  }, [currentVersionId])

  const restore = async (versionId: string, baseVersionId?: string): Promise<string | null> => {
    const before = versions.value
    versions.set((known) => withLive(known, versionId))
    try {
      const { previousVersionId } = await slipway.restore(slug, versionId, baseVersionId)
      invalidate('sites')
      onRestored()
      return previousVersionId
    } catch (error) {
      if (before) versions.set(before)
      throw error
    }
  }
  return {
    ...versions,
    async restore({ versionId }) {
      const previousVersionId = await restore(versionId)
      const undo = undoVersion({
        slug,
        versionId,
        previousVersionId,
        restore,
        onRestored: () => versions.reload(),
      })
      showToast(describeLive(versionId), undo)
    },
    async remove({ versionId }) {
      await slipway.deleteVersion(slug, versionId)
      versions.set((known) => withoutVersion(known, versionId))
      versions.reload()
    },
    async removePreview({ preview, versionId, publishedAt }) {
      await slipway.deletePreview(slug, preview.name)
      if (publishedAt === null) versions.set((known) => withoutVersion(known, versionId))
      versions.reload()
    },
  }
}

/** The list after that version went live: loading it would cost a request. */
function withLive({ versions, ...site }: VersionList, versionId: string): VersionList {
  const now = new Date(serverNow()).toISOString()
  return {
    ...site,
    versions: versions.map((version) => {
      const current = version.versionId === versionId
      return { ...version, current, publishedAt: version.publishedAt ?? (current ? now : null) }
    }),
  }
}

function withoutVersion({ versions, ...site }: VersionList, versionId: string): VersionList {
  return { ...site, versions: versions.filter((version) => version.versionId !== versionId) }
}
