import type { AdminSite } from '../../protocol/api/admin/lists.schema.ts'
import { LIST_ORDERS } from '../../protocol/api/admin/lists.ts'
import type { ModeratedSite } from '../../protocol/api/admin/moderation.schema.ts'
import { ADMIN_PAGE_SIZES } from '../../protocol/api/admin/page.ts'
import { MAX_TITLE_LENGTH } from '../../protocol/api/publish.ts'
import { formatAlternatives, formatBytes } from '../../protocol/format.ts'
import { toPlainLine } from '../lib/plain-line.ts'
import type { ListRequest, Lists } from '../operations/administration/lists.ts'
import { COMMAND_LINE } from '../store/tables/administration.ts'
import { type Action, readOptions, requireReason, runAction } from './actions.ts'
import { type Command, UsageError } from './command.ts'

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

const DEFAULT_LIMIT = 50

async function list(...[context, args]: Parameters<Action>): Promise<number> {
  const takes = ['search', 'sort', 'limit', 'json'] as const
  const { options } = readOptions('site list', args, { takes, operands: [] })
  const { search: q, sort: typedSort, limit: typedLimit = `${DEFAULT_LIMIT}` } = options
  const sort = LIST_ORDERS.find((order) => order === (typedSort ?? 'age'))
  if (!sort) throw new UsageError(`site list: --sort is ${formatAlternatives([...LIST_ORDERS])}.`)
  if (!/^[1-9]\d{0,5}$/.test(typedLimit)) throw new UsageError('site list: --limit is a number from 1.')
  await using data = await context.openData()
  const sites = await readSites(data.lists, { q, sort, limit: Number(typedLimit) })
  if (options.json) context.print(JSON.stringify({ sites }))
  else for (const site of sites) context.print(formatListedSite(site))
  return 0
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

const SLUG = { operands: ['the name of a site'] }

async function show(...[context, args]: Parameters<Action>): Promise<number> {
  const { values, options } = readOptions('site show', args, { takes: ['json'], ...SLUG })
  await using data = await context.openData()
  const found = await data.moderatedSites.find(values[0]!)
  if (options.json) context.print(JSON.stringify(found))
  else for (const line of formatSite(found)) context.print(line)
  return 0
}

async function suspend(...[context, args]: Parameters<Action>): Promise<number> {
  const takes = ['reason', 'public-reason', 'note', 'json'] as const
  const { values, options } = readOptions('site suspend', args, { takes, ...SLUG })
  const [slug = ''] = values
  const { 'public-reason': publicReason, note } = options
  const reason = requireReason('site suspend', options)
  await using data = await context.openData()
  await data.suspensions.suspendSite(COMMAND_LINE, slug, { reason, publicReason, note })
  context.print(options.json ? JSON.stringify({ slug }) : `${slug} is suspended.`)
  return 0
}

async function resume(...[context, args]: Parameters<Action>): Promise<number> {
  const { values, options } = readOptions('site resume', args, { takes: ['json'], ...SLUG })
  const [slug = ''] = values
  await using data = await context.openData()
  await data.suspensions.resumeSite(COMMAND_LINE, slug)
  context.print(options.json ? JSON.stringify({ slug }) : `${slug} is not suspended.`)
  return 0
}

async function remove(...[context, args]: Parameters<Action>): Promise<number> {
  const { values, options } = readOptions('site delete', args, { takes: ['reason', 'json'], ...SLUG })
  const [slug = ''] = values
  const reason = requireReason('site delete', options)
  await using data = await context.openData()
  await data.removals.deleteSite(COMMAND_LINE, slug, reason)
  context.print(options.json ? JSON.stringify({ slug }) : `${slug} is deleted permanently.`)
  return 0
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

export const domain: Command = {
  usage: [
    ['domain release DOMAIN --reason TEXT', 'remove an active domain from its site, or end a reservation'],
  ],
  run: runAction('domain', { release }),
}

async function release(...[context, args]: Parameters<Action>): Promise<number> {
  const { values, options } = readOptions('domain release', args, {
    takes: ['reason', 'json'],
    operands: ['a domain'],
  })
  const [name = ''] = values
  const reason = requireReason('domain release', options)
  await using data = await context.openData()
  await data.removals.releaseDomain(COMMAND_LINE, name, reason)
  context.print(options.json ? JSON.stringify({ domain: name }) : `Any account can add ${name} now.`)
  return 0
}
