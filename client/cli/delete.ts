import { chooseSite, ownerClient } from './account.ts'
import { type Command, JSON_OPTION, printResult, SERVER_OPTION, SITE_OPTION, YES_OPTION } from './command.ts'
import { confirmByName } from './terminal/choose.ts'

/** `slipway delete` */
export const remove: Command = {
  name: 'delete',
  operands: '',
  maxOperands: 0,
  summary: 'Delete a site permanently',
  about: `
Permanently deletes a site with its files, versions, analytics and domains. The address can't be reused.
Asks you to type the name of the site, unless --yes.`,
  options: { site: SITE_OPTION, yes: YES_OPTION, json: JSON_OPTION, server: SERVER_OPTION },
  async run(work, options) {
    const { terminal, siteMemory } = work
    const site = await chooseSite(work, options)
    const slipway = ownerClient(work, options, site)
    if (options.yes !== true) {
      await confirmByName(terminal, site.slug, `This permanently deletes ${site.slug}.`)
    }
    const deleted = await slipway.delete(site.slug)
    siteMemory.forget(site.slug, site.server)
    printResult(work, options, deleted, () =>
      terminal.printNote(`${terminal.green('✓')} Deleted ${site.slug}`),
    )
  },
}
