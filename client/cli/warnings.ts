import type { FinalizeResponse, PublishWarning } from '../../protocol/api/publish.ts'
import type { Terminal } from './terminal/terminal.ts'

type WithWarnings = Pick<FinalizeResponse, 'warnings'>

/** "_redirects:1: message" for each warning of a version. */
export function formatWarnings({ warnings = [] }: WithWarnings): string[] {
  return warnings.map((warning) => formatWarning(warning))
}

/** Prints the warnings of a version. */
export function printWarnings(terminal: Terminal, version: WithWarnings): void {
  for (const line of formatWarnings(version)) terminal.printNote(`Warning: ${line}`)
}

function formatWarning({ file, line, message }: PublishWarning): string {
  return `${line === undefined ? file : `${file}:${line}`}: ${message}`
}
