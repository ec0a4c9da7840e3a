import { accountClient, resolveServer } from './account.ts'
import { UsageError } from './cli-error.ts'
import { ACCOUNT_OPTIONS, type Command, printResult } from './command.ts'
import { quoteArgument } from './quote-argument.ts'

/** `slipway undelete <site>` */
export const undelete: Command = {
  name: 'undelete',
  operands: '<site>',
  maxOperands: 1,
  summary: 'Restore a deleted site',
  about: `
Restores a deleted site with its name, versions, settings and collaborators. Its domains are verified again. To update it
from a folder again, run link.`,
  options: ACCOUNT_OPTIONS,
  async run(work, options, [slug]) {
    const { terminal, settings } = work
    if (slug === undefined)
      throw new UsageError('Name a site', `List deleted sites: ${settings.program} trash`)
    const slipway = accountClient(work, options, resolveServer(work, options))
    const { files: _, ...restored } = await slipway.undelete(slug)
    printResult(work, options, restored, () => {
      terminal.printDone(`Restored ${restored.slug}`)
      terminal.print(restored.siteUrl)
      terminal.printNote(`Update it from a folder: ${settings.program} link ${quoteArgument(restored.slug)}`)
    })
  },
}
