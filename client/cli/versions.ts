import type { VersionSummary } from '../../protocol/api/versions.schema.ts'
import { formatBytes, formatNumber } from '../../protocol/format.ts'
import { openSite } from './account.ts'
import { type Command, printResult, SITE_OPTIONS } from './command.ts'
import { fitTable } from './terminal/table.ts'
import { formatLocalTime } from './terminal/time.ts'
import { shortLength } from './version-id.ts'

/** `slipway versions` */
export const versions: Command = {
  name: 'versions',
  operands: '',
  summary: 'List the saved versions of a site',
  about: `
Lists the saved versions of a site and its drafts: the author and the changes since the previous version. The start of an
id is enough for other commands.`,
  options: {
    long: {
      type: 'boolean',
      short: 'l',
      help: 'Show whole ids, the programs that published, and preview URLs',
    },
    ...SITE_OPTIONS,
  },
  async run(work, options) {
    const { slug, slipway } = await openSite(work, options)
    const list = await slipway.versions(slug)
    const { versions: found } = list
    printResult(work, options, list, () => {
      const long = options.long === true
      const rows = formatVersions(found, work.retryPolicy.now(), long)
      work.terminal.printRows(fitTable(rows, long ? [] : DISPENSABLE))
      if (found.length > 1) work.terminal.printNote(`Make one live: ${work.settings.program} restore VERSION`)
    })
  },
}

/** Columns that a narrow terminal has no room for. */
const DISPENSABLE = ['SIZE', 'FILES', 'BY', 'CHANGES']

function formatVersions(found: VersionSummary[], now: number, long: boolean): string[][] {
  const hasMessages = found.some(({ message }) => Boolean(message))
  const head = [
    'VERSION',
    'STATE',
    'CREATED',
    'BY',
    'CHANGES',
    'FILES',
    'SIZE',
    ...(long ? ['URL'] : []),
    ...(hasMessages ? ['MESSAGE'] : []),
  ]
  const length = shortLength(found)
  const rows = found.map((version) => [
    long ? version.versionId : version.versionId.slice(0, length),
    formatState(version),
    formatLocalTime(version.createdAt, now),
    long ? formatAuthor(version) : (version.publishedBy ?? formatAuthor(version)),
    formatChanges(version),
    formatNumber(version.fileCount),
    formatBytes(version.totalBytes),
    ...(long ? [version.previewUrl] : []),
    ...(hasMessages ? [version.message ?? ''] : []),
  ])
  return [head, ...rows]
}

function formatState({ current, preview, publishedAt }: VersionSummary): string {
  if (current) return 'live'
  if (preview) return preview.name
  return publishedAt === null ? 'draft' : 'saved'
}

/** Who published a version, and with what. */
export function formatAuthor({
  publishedBy,
  publishedWith,
  publishedClient,
}: Pick<VersionSummary, 'publishedBy' | 'publishedWith' | 'publishedClient'>): string {
  const program = publishedClient ? ` (${publishedClient})` : ''
  if (publishedWith === 'anonymous') return 'anonymous'
  if (publishedBy)
    return `${publishedBy}, ${publishedWith === 'dashboard' ? 'from the browser' : `with a key${program}`}`
  return publishedWith ? 'a deleted account' : UNKNOWN
}

/** The numbers of files that differ from the compared version. */
export function formatChanges({ changes: counts }: Pick<VersionSummary, 'changes'>): string {
  if (!counts) return UNKNOWN
  const { added, changed, removed } = counts
  const parts = [
    added > 0 && `${formatNumber(added)} new`,
    changed > 0 && `${formatNumber(changed)} changed`,
    removed > 0 && `${formatNumber(removed)} removed`,
  ].filter((part) => part !== false)
  return parts.join(', ') || 'none'
}

/** For the changes of the oldest version. */
const UNKNOWN = '–'
