import type { SiteSummary } from '../wire.ts'
import { figure, moment, size, table } from '../words.ts'
import { asAccount, serverOf } from './account.ts'
import { type Command, JSON_OPTION, SERVER_OPTION } from './command.ts'

/** `slipway sites` */
export const sites: Command = {
  name: 'sites',
  operands: '',
  most: 0,
  summary: 'List your sites',
  about: 'Lists the sites of your account, the newest first.',
  options: { json: JSON_OPTION, server: SERVER_OPTION },
  async run(work, options) {
    const slipway = asAccount(work, options, serverOf(work, options))
    const found: SiteSummary[] = []
    for await (const site of slipway.sites()) found.push(site)
    if (options.json === true) return work.terminal.print(JSON.stringify(found, undefined, 2))
    if (found.length === 0)
      return work.terminal.say(
        `You have no sites yet. Publish one: ${work.settings.program} publish ./folder`,
      )
    for (const line of listing(found)) work.terminal.print(line)
  },
}

function listing(found: SiteSummary[]): string[] {
  const head = ['SLUG', 'ADDRESS', 'FILES', 'SIZE', 'CHANGED', 'EXPIRES', 'TITLE']
  const rows = found.map((site) => [
    site.slug,
    site.status === 'pending' ? '(nothing is live)' : site.siteUrl,
    figure(site.fileCount),
    size(site.totalBytes),
    moment(site.updatedAt),
    site.expiresAt === null ? 'never' : moment(site.expiresAt),
    site.title ?? '',
  ])
  return table([head, ...rows])
}
