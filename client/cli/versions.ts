import type { VersionSummary } from '../../protocol/api/sites.ts'
import { formatBytes, formatNumber } from '../../protocol/format.ts'
import { openSite } from './account.ts'
import { type Command, printResult, SITE_OPTIONS } from './command.ts'
import { formatTable } from './terminal/table.ts'
import { formatLocalTime } from './terminal/time.ts'

/** `slipway versions` */
export const versions: Command = {
  name: 'versions',
  operands: '',
  maxOperands: 0,
  summary: 'List the saved versions of a site',
  about:
    'Lists the saved versions of a site and its drafts: the author, the changes since the previous version, and the preview URL.',
  options: SITE_OPTIONS,
  async run(work, options) {
    const { slug, slipway } = await openSite(work, options)
    const { versions: found } = await slipway.versions(slug)
    printResult(work, options, { slug, versions: found }, () => {
      for (const line of formatVersions(found, work.retryPolicy.now())) work.terminal.print(line)
      if (found.length > 1) work.terminal.printNote(`Make one live: ${work.settings.program} restore VERSION`)
    })
  },
}

function formatVersions(found: VersionSummary[], now: number): string[] {
  const head = ['VERSION', 'STATE', 'CREATED', 'BY', 'CHANGES', 'FILES', 'SIZE', 'URL', 'MESSAGE']
  const rows = found.map((version) => [
    version.versionId,
    formatState(version),
    formatLocalTime(version.createdAt, now),
    formatAuthor(version),
    formatChanges(version),
    formatNumber(version.fileCount),
    formatBytes(version.totalBytes),
    version.previewUrl,
    version.message ?? '',
  ])
  return formatTable([head, ...rows])
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

/** For the oldest version, and for those from before this was recorded. */
const UNKNOWN = '–'
