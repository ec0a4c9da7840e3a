import type { SiteSummary } from '../../protocol/api/sites.ts'
import { formatBytes, formatNumber, formatUtc } from '../../protocol/format.ts'
import { accountClient, resolveServer } from './account.ts'
import { type Command, JSON_OPTION, SERVER_OPTION } from './command.ts'
import { formatTable } from './terminal/table.ts'

/** `slipway sites` */
export const sites: Command = {
  name: 'sites',
  operands: '',
  maxOperands: 0,
  summary: 'List your sites',
  about: 'Lists the sites of your account, the newest first.',
  options: { json: JSON_OPTION, server: SERVER_OPTION },
  async run(work, options) {
    const slipway = accountClient(work, options, resolveServer(work, options))
    const found: SiteSummary[] = []
    for await (const site of slipway.sites()) found.push(site)
    if (options.json === true) return work.terminal.print(JSON.stringify(found, undefined, 2))
    if (found.length === 0)
      return work.terminal.printNote(
        `You have no sites yet. Publish one: ${work.settings.program} publish ./folder`,
      )
    for (const line of formatSites(found)) work.terminal.print(line)
  },
}

function formatSites(found: SiteSummary[]): string[] {
  const head = ['SLUG', 'ADDRESS', 'FILES', 'SIZE', 'CHANGED', 'EXPIRES', 'TITLE']
  const rows = found.map((site) => [
    site.slug,
    site.status === 'pending' ? '(nothing is live)' : site.siteUrl,
    formatNumber(site.fileCount),
    formatBytes(site.totalBytes),
    formatUtc(site.updatedAt),
    site.expiresAt === null ? 'never' : formatUtc(site.expiresAt),
    site.title ?? '',
  ])
  return formatTable([head, ...rows])
}
