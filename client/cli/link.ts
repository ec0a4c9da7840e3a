import { relative, resolve } from 'node:path'
import type { Slipway } from '../sdk/slipway.ts'
import { accountClient, rememberSite, resolveServer } from './account.ts'
import { CliError, UsageError } from './cli-error.ts'
import { ACCOUNT_OPTIONS, type Command, type CommandContext, printResult } from './command.ts'
import { assertFolder } from './publish-folder.ts'
import { quoteArgument } from './quote-argument.ts'
import { choose } from './terminal/choose.ts'

/** Maximum number of sites to choose from. */
const MAX_CHOICES = 20

/** `slipway link [site] [folder]` */
export const link: Command = {
  name: 'link',
  operands: '[site] [folder]',
  summary: 'Connect a folder to one of your sites',
  about: `
Connects a folder, by default this one, to a site of your account: the next publish updates that site. On a terminal,
omit the site to choose from a list. The connection is stored in .slipway/.`,
  options: ACCOUNT_OPTIONS,
  async run(work, options, [named, operand = '.']) {
    const { terminal, settings, cwd } = work
    const folder = resolve(cwd, operand)
    assertFolder(work, folder, operand, `link ${named === undefined ? 'SLUG' : quoteArgument(named)}`)
    const server = resolveServer(work, { ...options, site: named })
    const slipway = accountClient(work, options, server)
    const { slug, siteUrl, currentVersionId } = await slipway.details(
      named ?? (await pickSite(work, slipway)),
    )
    rememberSite(work, folder, {
      slug,
      server,
      ...(currentVersionId && { liveVersionId: currentVersionId }),
    })
    printResult(work, options, { slug, siteUrl, server, folder: relative(cwd, folder) || '.' }, () => {
      terminal.printDone(`Linked to ${siteUrl}`)
      terminal.printNote(`Publish: ${settings.program} publish`)
    })
  },
}

async function pickSite({ terminal, settings }: CommandContext, slipway: Slipway): Promise<string> {
  if (!terminal.interactive) {
    throw new UsageError('Name a site', `Such as: ${settings.program} link SLUG`)
  }
  const { publishes } = await slipway.list({ limit: MAX_CHOICES })
  if (publishes.length === 0) {
    throw new CliError('You have no sites yet', `Publish one: ${settings.program} publish ./folder`)
  }
  return choose(
    terminal,
    'Which site?',
    publishes.map(({ slug, title, siteUrl }) => [slug, title ? `${title} · ${siteUrl}` : siteUrl]),
  )
}
