import type { PublishedWith, VersionSummary } from '../../client/wire.ts'
import { count } from '../../client/words.ts'

const WITH: Record<PublishedWith, string> = {
  key: 'with an API key',
  dashboard: 'in the dashboard',
  anonymous: 'without an account',
}

/** "You, with an API key", "ada@example.com, in the dashboard", "Without an account"; empty when nobody knows. */
export function maker({ publishedBy, publishedWith }: VersionSummary, me: string | null): string {
  const who = publishedBy !== null && publishedBy === me ? 'You' : publishedBy
  const words = [who, publishedWith && WITH[publishedWith]].filter((word) => word !== null).join(', ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** "3 added, 1 changed, 2 removed", of files in comparison with the version before. */
export function changeWords({ changes }: VersionSummary): string {
  if (changes === null) return 'The first version that is kept'
  const words = (['added', 'changed', 'removed'] as const)
    .filter((kind) => changes[kind] > 0)
    .map((kind) => `${count(changes[kind], 'file')} ${kind}`)
  return words.join(', ') || 'The same files as before'
}

/** When it was made. Restoring a version does not make it another one. */
export function madeAt({ publishedAt, createdAt }: VersionSummary): string {
  return publishedAt ?? createdAt
}
