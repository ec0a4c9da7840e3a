import type { DeleteResponse } from '../../protocol/api/sites.schema.ts'
import { isSlipwayError } from '../sdk/slipway-error.ts'
import { accountClient, type ChosenSite, chooseSite } from './account.ts'
import {
  type Command,
  type CommandContext,
  type OptionValues,
  printResult,
  SITE_OPTIONS,
  YES_OPTION,
} from './command.ts'
import { quoteArgument } from './quote-argument.ts'
import { confirmByName, confirmDeletion } from './terminal/choose.ts'

/** `slipway delete` */
export const remove: Command = {
  name: 'delete',
  operands: '',
  summary: 'Delete a site',
  about: `
Deletes a site for visitors, and disconnects its domains. It can be restored with undelete for a time (30 days by
default), unless --permanent. Its name can't be reused. Asks first, unless --yes; before a permanent deletion it asks you
to type the name of the site.

A site that was published from this folder without an account is deleted permanently; you don't need an account.`,
  options: {
    permanent: {
      type: 'boolean',
      help: 'Delete the site permanently with its files, versions and visits, also from the trash',
    },
    yes: YES_OPTION,
    ...SITE_OPTIONS,
  },
  async run(work, options) {
    const { terminal, siteMemory, settings } = work
    const site = await chooseSite(work, options)
    const { slug, server } = site
    const isConfirmed = options.yes !== true
    const isPermanent = options.permanent === true || (isConfirmed && (await isErased(work, options, site)))
    if (isConfirmed && isPermanent) await confirmByName(terminal, slug, `This permanently deletes ${slug}.`)
    else if (isConfirmed) await confirmDeletion(terminal, `This takes ${slug} offline.`)
    const deleted = await deleteSite(work, options, site, isPermanent)
    const permanent = deleted.deletedUntil === null
    // Until then, publish says that the site was deleted, and after an undelete it updates the site.
    if (permanent) siteMemory.forget(slug, server)
    printResult(work, options, deleted, () => {
      terminal.printDone(`Deleted ${slug}${permanent ? ' permanently' : ''}`)
      if (!permanent) terminal.printNote(`Restore it: ${settings.program} undelete ${quoteArgument(slug)}`)
    })
  },
}

/** Whether the site would not be in the trash. Asked only where a question follows. */
async function isErased(
  work: CommandContext,
  options: OptionValues,
  { server, slug, remembered }: ChosenSite,
): Promise<boolean> {
  if (remembered?.claimToken !== undefined) return true
  return work.terminal.interactive && !(await accountClient(work, options, server).details(slug)).restorable
}

/** By the claim token of a site without an owner, which is permanent, else as the account. */
async function deleteSite(
  work: CommandContext,
  options: OptionValues,
  { server, slug, remembered }: ChosenSite,
  permanent: boolean,
): Promise<DeleteResponse> {
  const claimToken = remembered?.claimToken
  if (claimToken !== undefined) {
    try {
      return await work.connect(server, undefined).delete(slug, { claimToken })
    } catch (error) {
      // It was claimed in a browser.
      if (!isSlipwayError(error, 'UNAUTHORIZED')) throw error
    }
  }
  return accountClient(work, options, server).delete(slug, permanent ? { permanent } : {})
}
