import { chooseSite, ownerClient } from './account.ts'
import { UsageError } from './cli-error.ts'
import { type Command, SERVER_OPTION, SITE_OPTION } from './command.ts'
import { printWarnings } from './report.ts'

/** `slipway restore VERSION` */
export const restore: Command = {
  name: 'restore',
  operands: '<version>',
  maxOperands: 1,
  summary: 'Make a kept version live again',
  about: 'Makes a version that is kept, or a draft, the live one, at once and without uploading.',
  options: { site: SITE_OPTION, server: SERVER_OPTION },
  async run(work, options, [versionId]) {
    if (versionId === undefined)
      throw new UsageError('Which version? Say its id', `See: ${work.settings.program} versions`)
    const site = chooseSite(work, options)
    const restored = await ownerClient(work, options, site).restore(site.slug, versionId)
    work.terminal.printNote(`${work.terminal.green('✓')} ${versionId} is live.`)
    printWarnings(work.terminal, restored)
    work.terminal.print(restored.siteUrl)
  },
}
