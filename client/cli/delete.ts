import { chooseSite, ownerClient } from './account.ts'
import { CliError, UsageError } from './cli-error.ts'
import { type Command, SERVER_OPTION, SITE_OPTION } from './command.ts'

/** `slipway delete` */
export const remove: Command = {
  name: 'delete',
  operands: '',
  maxOperands: 0,
  summary: 'Delete a site for good',
  about: `
Deletes a site with all its versions. It is gone at once and cannot be brought back; its name is never given
out again. Asks to type the name, unless --yes.`,
  options: {
    site: SITE_OPTION,
    yes: { type: 'boolean', short: 'y', help: 'Do not ask' },
    server: SERVER_OPTION,
  },
  async run(work, options) {
    const { terminal, siteMemory } = work
    const site = chooseSite(work, options)
    const slipway = ownerClient(work, options, site)
    if (options.yes !== true) {
      if (!terminal.interactive) throw new UsageError('Nobody is here to ask', 'If you are sure: --yes')
      const typed = await terminal.prompt(`This deletes ${site.slug} for good. Type its name to go on:`)
      if (typed !== site.slug) throw new CliError('That is not its name, so nothing was deleted')
    }
    await slipway.delete(site.slug)
    siteMemory.forget(site.slug, site.server)
    terminal.printNote(`${terminal.green('✓')} ${site.slug} is deleted.`)
  },
}
