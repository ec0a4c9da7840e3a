import { accountClient, resolveServer } from './account.ts'
import { UsageError } from './cli-error.ts'
import { ACCOUNT_OPTIONS, type Command, printResult } from './command.ts'
import { quoteArgument } from './quote-argument.ts'

/** `slipway undelete <site>` */
export const undelete: Command = {
  name: 'undelete',
  operands: '<site>',
  summary: 'Restore a deleted site',
  about: `
Restores a deleted site with its name, versions, settings and collaborators. Its domains are verified again. A folder
of which it was the site updates it again; to update it from another one, run link.`,
  options: ACCOUNT_OPTIONS,
  async run(work, options, [slug]) {
    const { terminal, settings, siteMemory } = work
    if (slug === undefined)
      throw new UsageError('Name a site', `List deleted sites: ${settings.program} trash`)
    const server = resolveServer(work, { ...options, site: slug })
    const { files: _, ...restored } = await accountClient(work, options, server).undelete(slug)
    const linked = siteMemory.all(server).find((site) => site.slug === restored.slug && site.isOwn)
    printResult(work, options, restored, () => {
      if (restored.unchanged) terminal.printNote(`${restored.slug} is not in the trash. Nothing was changed.`)
      else terminal.printDone(`Restored ${restored.slug}`)
      terminal.print(restored.siteUrl)
      const update = linked
        ? `Update it: ${settings.program} publish ${quoteArgument(linked.folder)}`
        : `Update it from a folder: ${settings.program} link ${quoteArgument(restored.slug)}`
      terminal.printNote(update)
    })
  },
}
