import type { PublishedWith, VersionSummary } from '../../protocol/api/sites.ts'
import { pluralize } from '../../protocol/format.ts'

const PUBLISHED_WITH_LABELS: Record<PublishedWith, string> = {
  key: 'with an API key',
  dashboard: 'in the dashboard',
  anonymous: 'without an account',
}

/**
 * "You, with an API key", "ada@example.com, in the dashboard", "Without an account"; empty when it was not
 * recorded.
 */
export function formatAuthor({ publishedBy, publishedWith }: VersionSummary, me: string | null): string {
  const who = publishedBy !== null && publishedBy === me ? 'You' : publishedBy
  const words = [who, publishedWith && PUBLISHED_WITH_LABELS[publishedWith]]
    .filter((word) => word !== null)
    .join(', ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** "3 added, 1 changed, 2 removed": files compared with the previous version. */
export function formatChanges({ changes }: VersionSummary): string {
  if (changes === null) return 'The first version that is kept'
  const words = (['added', 'changed', 'removed'] as const)
    .filter((kind) => changes[kind] > 0)
    .map((kind) => `${pluralize(changes[kind], 'file')} ${kind}`)
  return words.join(', ') || 'The same files as before'
}

/** When it was created. Restoring does not change it. */
export function madeAt({ publishedAt, createdAt }: VersionSummary): string {
  return publishedAt ?? createdAt
}
