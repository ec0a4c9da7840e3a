import { accountClient, chooseSite } from './account.ts'
import { type Command, SERVER_OPTION, SITE_OPTION } from './command.ts'
import { browse } from './terminal/browser.ts'

/** `slipway open` */
export const open: Command = {
  name: 'open',
  operands: '',
  maxOperands: 0,
  summary: 'Open a site in the browser',
  about: 'Prints the address of a site, and opens it where there is a browser.',
  options: { site: SITE_OPTION, server: SERVER_OPTION },
  async run(work, options) {
    const { server, slug, remembered } = chooseSite(work, options)
    const address = remembered?.siteUrl ?? (await accountClient(work, options, server).details(slug)).siteUrl
    work.terminal.print(address)
    await browse(address, work)
  },
}
