import type { FinalizeResponse } from '../../protocol/api/publish.schema.ts'
import { type ChosenSite, openSite } from './account.ts'
import { type Command, type CommandContext, type OptionValues, printResult, SITE_OPTIONS } from './command.ts'
import { assertNamed, describeVersion, findVersionId } from './version-id.ts'
import { printWarnings } from './warnings.ts'

/** `slipway restore [version]` */
export const restore: Command = {
  name: 'restore',
  operands: '[version]',
  summary: 'Make a saved version or a draft live',
  about: `
Makes a saved version or a draft live, immediately and without uploading. The start of its id is enough; on a
terminal, leave it out to choose from a list.`,
  options: SITE_OPTIONS,
  async run(work, options, [typed]) {
    const site = await openSite(work, options)
    const { slug, slipway } = site
    assertNamed(work, typed)
    const { versions } = await slipway.versions(slug)
    const restored = await slipway.restore(slug, await findVersionId(work, versions, typed))
    const version = describeVersion(restored.versionId, work.retryPolicy.now(), versions)
    reportRestored(work, options, site, restored, `Restored ${version}`)
  },
}

/** Prints `done`, and stores which version is live now: the next publish replaces it. */
export function reportRestored(
  work: CommandContext,
  options: OptionValues,
  { slug, server }: ChosenSite,
  restored: FinalizeResponse,
  done: string,
): void {
  const { terminal } = work
  work.siteMemory.setLiveVersion(slug, server, restored.versionId)
  terminal.printDone(done)
  printWarnings(terminal, restored)
  printResult(work, options, restored, () => terminal.print(restored.siteUrl))
}
