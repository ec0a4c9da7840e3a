import type { PublishWarning } from '../../protocol/api/publish.ts'

/** Serializes the warnings about a version's rule files. */
export function serializeWarnings(warnings: readonly PublishWarning[]): string | null {
  return warnings.length > 0 ? JSON.stringify(warnings) : null
}

/** Earlier versions of the service also stored warnings about the root document, which depend on the metadata. */
export function parseWarnings(column: string | null): PublishWarning[] {
  if (column === null) return []
  return (JSON.parse(column) as PublishWarning[]).filter(({ file }) => file !== 'index.html')
}
