import type { FilteredVisits, VisitCount, VisitFilter, Visits } from '../../protocol/api/visits.schema.ts'
import { VISIT_NAME_KINDS, type VisitNameKind, type VisitRange } from '../../protocol/api/visits.ts'
import { formatBytes, formatNumber } from '../../protocol/format.ts'
import { openSite } from './account.ts'
import { UsageError } from './cli-error.ts'
import { type Command, printResult, SITE_OPTIONS, stringOption } from './command.ts'
import { formatTable } from './terminal/table.ts'

const RANGES: Record<VisitRange, string> = {
  '24h': '24 hours',
  '7d': '7 days',
  '30d': '30 days',
  '90d': '90 days',
}

const FILTERS: Record<VisitNameKind, string> = { path: 'Path', missing: 'Not found', referrer: 'Referrer' }

/** Maximum rows of a list. */
const MAX_ROWS = 10

/** `slipway visits` */
export const visits: Command = {
  name: 'visits',
  operands: '',
  summary: 'Show visitors, pages and referrers of a site',
  about:
    'Shows the visits of a site: visitors, requests, bandwidth, top pages, top files, referrers and missing pages.',
  options: {
    range: { type: 'string', value: 'RANGE', help: '24h, 7d (default), 30d or 90d' },
    path: { type: 'string', value: 'PATH', help: 'Show the requests of this path by day' },
    missing: {
      type: 'string',
      value: 'PATH',
      help: 'Show the requests of this path that was not found by day',
    },
    referrer: { type: 'string', value: 'HOST', help: 'Show the requests that this host referred by day' },
    ...SITE_OPTIONS,
  },
  async run(work, options) {
    const range = stringOption(options, 'range') ?? '7d'
    if (!isRange(range))
      throw new UsageError('Unknown range', `Use one of: ${Object.keys(RANGES).join(', ')}`)
    const { slug, slipway } = await openSite(work, options)
    const names = VISIT_NAME_KINDS.map((kind) => [kind, stringOption(options, kind)])
    const filter: VisitFilter = Object.fromEntries(names.filter(([, name]) => name !== undefined))
    const found = await slipway.visits(slug, range, filter)
    printResult(work, options, found, () => {
      work.terminal.printRows(() => (found.filtered ? formatFiltered(found.filtered) : formatVisits(found)))
    })
  },
}

function isRange(text: string): text is VisitRange {
  return Object.hasOwn(RANGES, text)
}

function formatVisits(visits: Visits): string[] {
  const { counted, totals, topPages, topFiles, referrers, missingPaths, range } = visits
  if (!counted) return ["This server doesn't count visits."]
  if (totals.requests === 0) return [`No visits in the last ${RANGES[range]}.`]
  return [
    ...formatTable([
      ['Period', `Last ${RANGES[range]}`],
      ['Visitors', formatNumber(totals.visitors)],
      ['Requests', formatNumber(totals.requests)],
      ['Bandwidth', formatBytes(totals.bytes)],
    ]),
    ...formatCounts('Top pages', topPages),
    ...formatCounts('Top files', topFiles),
    ...formatCounts('Referrers', referrers),
    ...formatCounts('Not found', missingPaths),
  ]
}

function formatFiltered({ kind, name, requests, series }: FilteredVisits): string[] {
  const total = [
    [FILTERS[kind], name],
    ['Requests', formatNumber(requests)],
  ]
  const days = series.map(({ at, requests }) => [at.slice(0, 10), formatNumber(requests)])
  return [...formatTable(total), '', 'By day (UTC)', ...formatTable(days).map((line) => `  ${line}`)]
}

function formatCounts(heading: string, counts: VisitCount[]): string[] {
  if (counts.length === 0) return []
  const rows = counts.slice(0, MAX_ROWS).map(({ name, requests }) => [name, formatNumber(requests)])
  return ['', heading, ...formatTable(rows).map((line) => `  ${line}`)]
}
