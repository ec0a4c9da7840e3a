import type { FinalizeResponse } from '../../protocol/api/publish.schema.ts'
import { describeWarning } from '../../protocol/publish-story.ts'
import type { Terminal } from './terminal/terminal.ts'

type WithWarnings = Pick<FinalizeResponse, 'warnings'>

/** "_redirects:1: message" for each warning of a version. */
export function formatWarnings({ warnings = [] }: WithWarnings): string[] {
  return warnings.map(describeWarning)
}

/** Prints the warnings of a version. */
export function printWarnings(terminal: Terminal, version: WithWarnings): void {
  for (const line of formatWarnings(version)) terminal.printNote(`Warning: ${line}`)
}
