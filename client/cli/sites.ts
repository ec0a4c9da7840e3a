import type { SiteSummary } from '../../protocol/api/sites.schema.ts'
import { formatBytes, formatNumber } from '../../protocol/format.ts'
import { accountClient, resolveServer } from './account.ts'
import { ACCOUNT_OPTIONS, type Command, printResult } from './command.ts'
import { fitTable } from './terminal/table.ts'
import { formatLocalTime } from './terminal/time.ts'

/** `slipway sites` */
export const sites: Command = {
  name: 'sites',
  operands: '',
  summary: 'List your sites',
  about: 'Lists the sites of your account and those that are shared with you, newest first.',
  options: ACCOUNT_OPTIONS,
  async run(work, options) {
    const slipway = accountClient(work, options, resolveServer(work, options))
    const found: SiteSummary[] = []
    for await (const site of slipway.sites()) found.push(site)
    printResult(work, options, { sites: found }, () => {
      if (found.length === 0)
        return work.terminal.printNote(
          `You have no sites yet. Publish one: ${work.settings.program} publish ./folder`,
        )
      work.terminal.printRows(fitTable(formatSites(found, work.retryPolicy.now()), DISPENSABLE))
    })
  },
}

/** Columns that a narrow terminal has no room for. */
const DISPENSABLE = ['SIZE', 'FILES', 'UPDATED', 'TITLE', 'OWNER', 'EXPIRES']

function formatSites(found: SiteSummary[], now: number): string[][] {
  const isAnyShared = found.some(({ role }) => role === 'collaborator')
  const head = [
    'NAME',
    'URL',
    'FILES',
    'SIZE',
    'UPDATED',
    'EXPIRES',
    ...(isAnyShared ? ['OWNER'] : []),
    'TITLE',
  ]
  const rows = found.map((site) => [
    site.slug,
    site.status === 'pending' ? '(not published yet)' : site.siteUrl,
    formatNumber(site.fileCount),
    formatBytes(site.totalBytes),
    formatLocalTime(site.updatedAt, now),
    site.expiresAt === null ? 'never' : formatLocalTime(site.expiresAt, now),
    ...(isAnyShared ? [site.role === 'owner' ? 'you' : (site.ownerEmail ?? '')] : []),
    site.title ?? '',
  ])
  return [head, ...rows]
}
