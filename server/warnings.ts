import type { PublishWarning } from '../client/wire.ts'

/** Warnings as a version's row keeps them. */
export function warningsColumn(warnings: readonly PublishWarning[]): string | null {
  return warnings.length > 0 ? JSON.stringify(warnings) : null
}

export function warningsIn(column: string | null): PublishWarning[] {
  return column === null ? [] : (JSON.parse(column) as PublishWarning[])
}
