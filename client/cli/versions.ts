import type { VersionSummary } from '../../protocol/api/sites.ts'
import { formatBytes, formatNumber, formatUtc } from '../../protocol/format.ts'
import { chooseSite, ownerClient } from './account.ts'
import { type Command, JSON_OPTION, SERVER_OPTION, SITE_OPTION } from './command.ts'
import { formatTable } from './terminal/table.ts'

/** `slipway versions` */
export const versions: Command = {
  name: 'versions',
  operands: '',
  maxOperands: 0,
  summary: 'List the kept versions of a site',
  about:
    'Lists the versions of a site that are kept, drafts included: who made each, what is different from the one before, and an address of its own.',
  options: { site: SITE_OPTION, json: JSON_OPTION, server: SERVER_OPTION },
  async run(work, options) {
    const site = chooseSite(work, options)
    const { versions: found } = await ownerClient(work, options, site).versions(site.slug)
    if (options.json === true) return work.terminal.print(JSON.stringify(found, undefined, 2))
    for (const line of formatVersions(found)) work.terminal.print(line)
    if (found.length > 1)
      work.terminal.printNote(`To go back to one: ${work.settings.program} restore VERSION`)
  },
}

function formatVersions(found: VersionSummary[]): string[] {
  const head = ['VERSION', 'STATE', 'CREATED', 'BY', 'CHANGES', 'FILES', 'SIZE', 'ADDRESS']
  const rows = found.map((version) => [
    version.versionId,
    version.current ? 'live' : version.publishedAt === null ? 'draft' : 'kept',
    formatUtc(version.createdAt),
    formatAuthor(version),
    formatChanges(version),
    formatNumber(version.fileCount),
    formatBytes(version.totalBytes),
    version.previewUrl,
  ])
  return formatTable([head, ...rows])
}

function formatAuthor({ publishedBy, publishedWith }: VersionSummary): string {
  if (publishedWith === 'anonymous') return 'not signed in'
  if (publishedBy) return publishedWith === 'dashboard' ? 'you, in the dashboard' : 'you, with a key'
  return publishedWith ? 'somebody else' : UNKNOWN
}

function formatChanges({ changes: counts }: VersionSummary): string {
  if (!counts) return UNKNOWN
  const { added, changed, removed } = counts
  const parts = [
    added > 0 && `${formatNumber(added)} new`,
    changed > 0 && `${formatNumber(changed)} changed`,
    removed > 0 && `${formatNumber(removed)} gone`,
  ].filter((part) => part !== false)
  return parts.join(', ') || 'none'
}

/** For the oldest version, and for those from before this was recorded. */
const UNKNOWN = '–'
