import type { FinalizeResponse } from '../../protocol/api/publish.ts'
import { stripControlChars } from '../../protocol/format.ts'
import { openSite } from './account.ts'
import { type Command, type CommandContext, type OptionValues, printResult, SITE_OPTIONS } from './command.ts'
import { resolveVersionId } from './version-id.ts'
import { printWarnings } from './warnings.ts'

/** `slipway restore [version]` */
export const restore: Command = {
  name: 'restore',
  operands: '[version]',
  maxOperands: 1,
  summary: 'Make a saved version or a draft live',
  about: `
Makes a saved version or a draft live, immediately and without uploading. The start of its id is enough; on a
terminal, leave it out to choose from a list.`,
  options: SITE_OPTIONS,
  async run(work, options, [typed]) {
    const { slug, slipway } = await openSite(work, options)
    const versionId = await resolveVersionId(work, slipway, { slug, typed })
    reportRestored(work, options, await slipway.restore(slug, versionId))
  },
}

/** Prints which version is live now. */
export function reportRestored(
  work: CommandContext,
  options: OptionValues,
  restored: FinalizeResponse,
): void {
  const { terminal } = work
  terminal.printNote(`${terminal.green('✓')} ${stripControlChars(restored.versionId)} is live`)
  printWarnings(terminal, restored)
  printResult(work, options, restored, () => terminal.print(restored.siteUrl))
}
