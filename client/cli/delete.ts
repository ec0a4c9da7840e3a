import { asOwner, chooseSite } from './account.ts'
import { type Command, SERVER_OPTION, SITE_OPTION } from './command.ts'
import { Trouble, UsageTrouble } from './trouble.ts'

/** `slipway delete` */
export const remove: Command = {
  name: 'delete',
  operands: '',
  most: 0,
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
    const { terminal, sites } = work
    const site = chooseSite(work, options)
    const slipway = asOwner(work, options, site)
    if (options.yes !== true) {
      if (!terminal.interactive) throw new UsageTrouble('Nobody is here to ask', 'If you are sure: --yes')
      const typed = await terminal.ask(`This deletes ${site.slug} for good. Type its name to go on:`)
      if (typed !== site.slug) throw new Trouble('That is not its name, so nothing was deleted')
    }
    await slipway.delete(site.slug)
    sites.forget(site.slug, site.server)
    terminal.say(`${terminal.green('✓')} ${site.slug} is deleted.`)
  },
}
