import type { SiteSummary } from '../../protocol/api/sites.schema.ts'
import { accountClient, resolveServer } from './account.ts'
import { ACCOUNT_OPTIONS, type Command, printResult } from './command.ts'
import { fitTable } from './terminal/table.ts'
import { formatLocalTime } from './terminal/time.ts'

/** `slipway trash` */
export const trash: Command = {
  name: 'trash',
  operands: '',
  summary: 'List deleted sites that can be restored',
  about:
    'Lists the deleted sites of your account and the time until which each can be restored, the last deleted one first.',
  options: ACCOUNT_OPTIONS,
  async run(work, options) {
    const slipway = accountClient(work, options, resolveServer(work, options))
    const found: SiteSummary[] = []
    for await (const site of slipway.sites({ deleted: true })) found.push(site)
    printResult(work, options, { sites: found }, () => {
      if (found.length === 0) return work.terminal.printNote('The trash is empty.')
      work.terminal.printRows(fitTable(formatTrash(found, work.retryPolicy.now())))
      work.terminal.printNote(`Restore one: ${work.settings.program} undelete NAME`)
    })
  },
}

function formatTrash(found: SiteSummary[], now: number): string[][] {
  const rows = found.map(({ slug, deletedAt, deletedUntil, title }) => [
    slug,
    formatLocalTime(deletedAt!, now),
    formatLocalTime(deletedUntil!, now),
    title ?? '',
  ])
  return [['NAME', 'DELETED', 'KEPT UNTIL', 'TITLE'], ...rows]
}
