import { asOwner, chooseSite } from './account.ts'
import { type Command, SERVER_OPTION, SITE_OPTION } from './command.ts'
import { warn } from './report.ts'
import { UsageTrouble } from './trouble.ts'

/** `slipway restore VERSION` */
export const restore: Command = {
  name: 'restore',
  operands: '<version>',
  most: 1,
  summary: 'Make a kept version live again',
  about: 'Makes a version that is kept, or a draft, the live one, at once and without uploading.',
  options: { site: SITE_OPTION, server: SERVER_OPTION },
  async run(work, options, [versionId]) {
    if (versionId === undefined)
      throw new UsageTrouble('Which version? Say its id', `See: ${work.settings.program} versions`)
    const site = chooseSite(work, options)
    const restored = await asOwner(work, options, site).restore(site.slug, versionId)
    work.terminal.say(`${work.terminal.green('✓')} ${versionId} is live.`)
    warn(work.terminal, restored)
    work.terminal.print(restored.siteUrl)
  },
}
