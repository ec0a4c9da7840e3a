import type { PublishWarning } from '../../protocol/api/publish.ts'

/** Serializes warnings for a version's row. */
export function serializeWarnings(warnings: readonly PublishWarning[]): string | null {
  return warnings.length > 0 ? JSON.stringify(warnings) : null
}

export function parseWarnings(column: string | null): PublishWarning[] {
  return column === null ? [] : (JSON.parse(column) as PublishWarning[])
}
