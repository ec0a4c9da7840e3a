import type { AdminSite } from '../../protocol/api/admin/lists.schema.ts'
import { LIST_ORDERS } from '../../protocol/api/admin/lists.ts'
import type { ModeratedSite } from '../../protocol/api/admin/moderation.schema.ts'
import { ADMIN_PAGE_SIZES } from '../../protocol/api/admin/page.ts'
import { MAX_TITLE_LENGTH } from '../../protocol/api/publish.ts'
import { formatAlternatives, formatBytes } from '../../protocol/format.ts'
import { toPlainLine } from '../lib/plain-line.ts'
import type { ListRequest, Lists } from '../operations/administration/lists.ts'
import { COMMAND_LINE } from '../store/tables/administration.ts'
import { dataAction, runAction } from './actions.ts'
import { type Command, UsageError } from './command.ts'

const SLUG = ['the name of a site']
const DEFAULT_LIMIT = 50

const list = dataAction('site list', { takes: ['search', 'sort', 'limit'] }, async (data, { options }) => {
  const { search: q, sort: typedSort, limit: typedLimit = `${DEFAULT_LIMIT}` } = options
  const sort = LIST_ORDERS.find((order) => order === (typedSort ?? 'age'))
  if (!sort) throw new UsageError(`site list: --sort is ${formatAlternatives([...LIST_ORDERS])}.`)
  if (!/^[1-9]\d{0,5}$/.test(typedLimit)) throw new UsageError('site list: --limit is a number from 1.')
  const sites = await readSites(data.lists, { q, sort, limit: Number(typedLimit) })
  return [{ sites }, sites.map(formatListedSite)]
})

const show = dataAction('site show', { operands: SLUG }, async (data, { value }) => {
  const found = await data.moderatedSites.find(value)
  return [found, formatSite(found)]
})

const SUSPENSION = { takes: ['reason', 'public-reason', 'note'], operands: SLUG } as const

const suspend = dataAction('site suspend', SUSPENSION, async (data, { value: slug, statement }) => [
  await data.suspensions.changeSite(COMMAND_LINE, slug, statement),
  `${slug} is suspended.`,
])

const resume = dataAction('site resume', { operands: SLUG }, async (data, { value: slug }) => [
  await data.suspensions.changeSite(COMMAND_LINE, slug),
  `${slug} is not suspended.`,
])

const DELETION = { takes: ['reason'], operands: SLUG } as const

const remove = dataAction('site delete', DELETION, async (data, { value: slug, reason }) => [
  await data.removals.deleteSite(COMMAND_LINE, slug, reason),
  `${slug} is deleted permanently.`,
])

export const site: Command = {
  usage: [
    [
      'site list',
      'list the newest 50 sites; with --search TEXT up to 200 whose name, title, domain or owner begins with it; also --sort age|bytes|visits, --limit N',
    ],
    ['site show SLUG', 'show the owner, the domains, the suspension and the reports of a site'],
    [
      'site suspend SLUG --reason TEXT',
      'take a site offline: visitors get 451; the owner receives the reason; also --public-reason TEXT, --note TEXT',
    ],
    ['site resume SLUG', 'end the suspension of a site'],
    ['site delete SLUG --reason TEXT', 'delete a site permanently, also from the trash'],
  ],
  run: runAction('site', { list, show, suspend, resume, delete: remove }),
}

async function readSites(
  lists: Pick<Lists, 'sites'>,
  { limit, ...query }: Pick<ListRequest, 'q' | 'sort' | 'limit'>,
): Promise<AdminSite[]> {
  const sites: AdminSite[] = []
  let cursor: string | undefined
  do {
    const size = Math.min(limit - sites.length, ADMIN_PAGE_SIZES.max)
    const page = await lists.sites({ ...query, limit: size, cursor })
    sites.push(...page.rows)
    cursor = page.nextCursor ?? undefined
  } while (cursor !== undefined && sites.length < limit)
  return sites
}

function formatListedSite(site: AdminSite): string {
  const { slug, owner, bytes, visits, createdAt } = site
  const state = site.suspension || site.isOwnerSuspended ? 'suspended' : site.status
  const columns = [createdAt, state, formatBytes(bytes), `${visits} visits`, owner?.email ?? 'anonymous']
  return [slug, ...columns].join('  ')
}

function formatSite(site: ModeratedSite): string[] {
  const { siteUrl, owner, title, createdAt, expiresAt, deletedAt, hosts, reports } = site
  const rows: [string, string | null][] = [
    ['URL', siteUrl],
    ['title', title && toPlainLine(title, MAX_TITLE_LENGTH)],
    ['owner', owner?.email ?? 'none (anonymous)'],
    ['created', createdAt],
    ['expires', expiresAt],
    ['deleted', deletedAt],
    ['domains', hosts.join(', ') || null],
    ['reports', `${reports}`],
    ['suspended', describe(site.suspension)],
    ['owner suspended', describe(site.ownerSuspension)],
  ]
  return rows.flatMap(([name, value]) => (value === null ? [] : `${name.padEnd(16)} ${value}`))
}

function describe(suspension: ModeratedSite['suspension']): string | null {
  return suspension && `since ${suspension.since}: ${suspension.reason}`
}

const RELEASE = { takes: ['reason'], operands: ['a domain'] } as const

const release = dataAction('domain release', RELEASE, async (data, { value: domain, reason }) => [
  await data.removals.releaseDomain(COMMAND_LINE, domain, reason),
  `Any account can add ${domain} now.`,
])

export const domain: Command = {
  usage: [
    ['domain release DOMAIN --reason TEXT', 'remove an active domain from its site, or end a reservation'],
  ],
  run: runAction('domain', { release }),
}
