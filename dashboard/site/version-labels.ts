import type { PublishedWith, VersionSummary } from '../../protocol/api/versions.schema.ts'
import { pluralize, shortId } from '../../protocol/format.ts'
import { serverNow } from '../api/server-clock.ts'

const PUBLISHED_WITH_LABELS: Record<PublishedWith, string> = {
  key: 'with an API key',
  dashboard: 'from the browser',
  anonymous: 'anonymously',
}

/** A version that a preview shows. */
export type PreviewedVersion = VersionSummary & { preview: NonNullable<VersionSummary['preview']> }

/** Whether a preview shows the version now. */
export function isPreviewed(version: VersionSummary): version is PreviewedVersion {
  return version.preview !== null && Date.parse(version.preview.expiresAt) > serverNow()
}

/** "You, with an API key, slipway-cli/1.4.0", "ada@example.com, from the browser"; empty when it was not recorded. */
export function formatAuthor(
  { publishedBy, publishedWith, publishedClient }: VersionSummary,
  me: string | null,
): string {
  if (publishedWith === 'anonymous') return 'Published anonymously'
  const who = publishedBy !== null && publishedBy === me ? 'You' : publishedBy
  return [who, publishedWith && PUBLISHED_WITH_LABELS[publishedWith], publishedClient]
    .filter((word) => word !== null)
    .join(', ')
}

/** "3 files added, 1 file changed, 2 files removed": compared with the version that it replaced. */
export function formatChanges({ changes, createdAt }: VersionSummary, site: { createdAt: string }): string {
  if (changes) return listChanges(changes).join(', ') || 'No files changed'
  // A site is created with its first version; earlier ones than the oldest may have been deleted.
  return createdAt === site.createdAt ? 'First version' : 'Oldest saved version'
}

type Changes = NonNullable<VersionSummary['changes']>

/** "3 files added", "1 file changed", "2 files removed": those above 0. */
export function listChanges(changes: Changes): string[] {
  return (['added', 'changed', 'removed'] as const)
    .filter((kind) => changes[kind] > 0)
    .map((kind) => `${pluralize(changes[kind], 'file')} ${kind}`)
}

/** After the restore of a version that the user has chosen by its id. */
export function describeLive(versionId: string): string {
  return `Version ${shortId(versionId)} is live.`
}

/** When it was created. Restoring does not change it. */
export function madeAt({ publishedAt, createdAt }: VersionSummary): string {
  return publishedAt ?? createdAt
}
