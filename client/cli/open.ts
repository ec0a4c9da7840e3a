import { accountClient, chooseSite } from './account.ts'
import { type Command, printResult, SITE_OPTIONS } from './command.ts'
import { browse } from './terminal/browser.ts'

/** `slipway open` */
export const open: Command = {
  name: 'open',
  operands: '',
  maxOperands: 0,
  summary: 'Open a site in the browser',
  about: 'Prints the URL of a site and opens it in the browser, if there is one.',
  options: SITE_OPTIONS,
  async run(work, options) {
    const { server, slug, remembered } = await chooseSite(work, options)
    const siteUrl = remembered?.siteUrl ?? (await accountClient(work, options, server).details(slug)).siteUrl
    const opened = await browse(siteUrl, work)
    printResult(work, options, { slug, siteUrl, opened }, () => work.terminal.print(siteUrl))
  },
}
