import { openSite } from './account.ts'
import { type Command, printResult, SITE_OPTIONS, YES_OPTION } from './command.ts'
import { confirmByName } from './terminal/choose.ts'

/** `slipway delete` */
export const remove: Command = {
  name: 'delete',
  operands: '',
  maxOperands: 0,
  summary: 'Delete a site',
  about: `
Deletes a site for visitors, and disconnects its domains. It can be restored with undelete for a time (30 days by
default), unless --permanent. Its name can't be reused. Asks you to type the name of the site, unless --yes.`,
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
    const { slug, server, slipway } = await openSite(work, options)
    const permanent = options.permanent === true
    const what = permanent ? `permanently deletes ${slug}` : `deletes ${slug}`
    if (options.yes !== true) await confirmByName(terminal, slug, `This ${what}.`)
    const deleted = await slipway.delete(slug, permanent ? { permanent } : {})
    siteMemory.forget(slug, server)
    printResult(work, options, deleted, () => {
      terminal.printDone(`Deleted ${slug}${permanent ? ' permanently' : ''}`)
      if (!permanent) terminal.printNote(`Restore it: ${settings.program} undelete ${slug}`)
    })
  },
}
