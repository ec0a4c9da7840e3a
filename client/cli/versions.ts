import type { VersionSummary } from '../wire.ts'
import { figure, moment, size, table } from '../words.ts'
import { asOwner, chooseSite } from './account.ts'
import { type Command, JSON_OPTION, SERVER_OPTION, SITE_OPTION } from './command.ts'

/** `slipway versions` */
export const versions: Command = {
  name: 'versions',
  operands: '',
  most: 0,
  summary: 'List the kept versions of a site',
  about:
    'Lists the versions of a site that are kept, drafts included: who made each, what is different from the one before, and an address of its own.',
  options: { site: SITE_OPTION, json: JSON_OPTION, server: SERVER_OPTION },
  async run(work, options) {
    const site = chooseSite(work, options)
    const { versions: found } = await asOwner(work, options, site).versions(site.slug)
    if (options.json === true) return work.terminal.print(JSON.stringify(found, undefined, 2))
    for (const line of listing(found)) work.terminal.print(line)
    if (found.length > 1) work.terminal.say(`To go back to one: ${work.settings.program} restore VERSION`)
  },
}

function listing(found: VersionSummary[]): string[] {
  const head = ['VERSION', 'STATE', 'CREATED', 'BY', 'CHANGES', 'FILES', 'SIZE', 'ADDRESS']
  const rows = found.map((version) => [
    version.versionId,
    version.current ? 'live' : version.publishedAt === null ? 'draft' : 'kept',
    moment(version.createdAt),
    maker(version),
    changes(version),
    figure(version.fileCount),
    size(version.totalBytes),
    version.previewUrl,
  ])
  return table([head, ...rows])
}

function maker({ publishedBy, publishedWith }: VersionSummary): string {
  if (publishedWith === 'anonymous') return 'not signed in'
  if (publishedBy) return publishedWith === 'dashboard' ? 'you, in the dashboard' : 'you, with a key'
  return publishedWith ? 'somebody else' : UNKNOWN
}

function changes({ changes: counts }: VersionSummary): string {
  if (!counts) return UNKNOWN
  const { added, changed, removed } = counts
  const said = [
    added > 0 && `${figure(added)} new`,
    changed > 0 && `${figure(changed)} changed`,
    removed > 0 && `${figure(removed)} gone`,
  ].filter((part) => part !== false)
  return said.join(', ') || 'none'
}

/** Of the oldest version, and of those from before this was noted. */
const UNKNOWN = '–'
