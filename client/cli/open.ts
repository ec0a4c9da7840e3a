import { accountClient, type ChosenSite, chooseSite } from './account.ts'
import { type Command, type CommandContext, type OptionValues, printResult, SITE_OPTIONS } from './command.ts'
import { browse } from './terminal/browser.ts'

/** `slipway open` */
export const open: Command = {
  name: 'open',
  operands: '',
  summary: 'Open a site in the browser',
  about: 'Prints the URL of a site and opens it in the browser, if there is one.',
  options: SITE_OPTIONS,
  async run(work, options) {
    const site = await chooseSite(work, options)
    const { slug, siteUrl } = await fetchSite(work, options, site)
    const opened = await browse(siteUrl, work)
    printResult(work, options, { slug, siteUrl, opened }, () => work.terminal.print(siteUrl))
  },
}

/** The name and the URL of a site as its server states them: it may have been renamed. */
async function fetchSite(
  work: CommandContext,
  options: OptionValues,
  { server, slug, remembered }: ChosenSite,
): Promise<{ slug: string; siteUrl: string }> {
  if (remembered?.claimToken !== undefined) {
    const offer = await work.connect(server, undefined).claimPreview(slug, remembered.claimToken)
    if (!offer.claimed) return offer
  }
  return accountClient(work, options, server).details(slug)
}
