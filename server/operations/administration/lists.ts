import type { AuditPage } from '../../../protocol/api/admin/audit.schema.ts'
import type {
  AdminAccount,
  AdminAccounts,
  AdminCertificate,
  AdminCertificates,
  AdminDomain,
  AdminDomains,
  AdminNodes,
  AdminSite,
  AdminSites,
} from '../../../protocol/api/admin/lists.schema.ts'
import type { ListOrder } from '../../../protocol/api/admin/lists.ts'
import type { AdminPage } from '../../../protocol/api/admin/page.schema.ts'
import { Component } from '../../lib/component.ts'
import { decodeCursor, type PageRequest, toPage } from '../../lib/list-pages.ts'
import { toIso, toIsoOrNull } from '../../lib/time.ts'
import type { Parts } from '../../parts.ts'
import type { FigureQueries } from '../../store/queries/figures.ts'
import type { AuditEntry } from '../../store/tables/administration.ts'
import type { CertificateSummary } from '../../store/tables/certificates.ts'
import { domainId, type ListKind } from '../../store/tables/figures.ts'
import { isSilent } from '../fleet/nodes.ts'
import { describeSuspension } from '../moderation/moderated-sites.ts'

type Listed<Name extends 'sites' | 'accounts' | 'domains'> = Awaited<ReturnType<FigureQueries[Name]>>[number]

/** Matches of a search, which are sorted and shown in one page. */
const MAX_MATCHES = 200

export interface ListRequest extends PageRequest {
  sort?: ListOrder | undefined
  q?: string | undefined
}

export class Lists extends Component<Pick<Parts, 'store' | 'addresses'>> {
  sites(request: ListRequest): Promise<AdminSites> {
    return this.#list('site', request, {
      load: (ids) => this.parts.store.read.figures.sites(ids),
      id: ({ slug }) => slug,
      show: (site) => this.#showSite(site),
    })
  }

  accounts(request: ListRequest): Promise<AdminAccounts> {
    return this.#list('account', request, {
      load: (ids) => this.parts.store.read.figures.accounts(ids),
      id: ({ id }) => id,
      show: showAccount,
    })
  }

  domains(request: ListRequest): Promise<AdminDomains> {
    return this.#list('domain', request, {
      load: (ids) => this.parts.store.read.figures.domains(ids),
      id: ({ domain, accountId }) => domainId(domain, accountId),
      show: showDomain,
    })
  }

  /** The first to expire first; with `q`, those whose names begin with it, by name. */
  async certificates({ limit, cursor, q }: Omit<ListRequest, 'sort'>): Promise<AdminCertificates> {
    const after = decodeCursor(cursor, 'notAfter', 'name')
    const prefix = q?.trim().toLowerCase() || undefined
    const rows = await this.parts.store.read.certificates.page({ limit: limit + 1, after, prefix })
    if (prefix !== undefined) return { rows: rows.slice(0, limit).map(showCertificate), nextCursor: null }
    const position = ({ notAfter, name }: CertificateSummary) => [notAfter ?? 0, name] as const
    return toPage(rows, { limit, show: showCertificate, position })
  }

  /** Of the changes by administrators, newest first. */
  async auditEntries(page: PageRequest & { target?: string | undefined }): Promise<AuditPage> {
    const { limit, cursor, target } = page
    const after = decodeCursor(cursor, 'at', 'id')
    const entries = await this.parts.store.read.audit.list({ limit: limit + 1, target, after })
    return toPage(entries, { limit, show: showAuditEntry, position: ({ at, id }) => [at, id] })
  }

  async nodes(): Promise<AdminNodes> {
    const now = this.parts.store.clock()
    const nodes = await this.parts.store.read.nodes.list()
    return {
      nodes: nodes.map((node) => ({
        id: node.id,
        host: node.host,
        release: node.release,
        startedAt: toIso(node.startedAt),
        seenAt: toIso(node.seenAt),
        isSilent: isSilent(node, now),
        lagSeconds: node.numbers.slipway_store_feed_lag_seconds ?? null,
        numbers: { ...node.numbers },
      })),
    }
  }

  async #list<Row extends Sortable, Shown>(
    kind: ListKind,
    { limit, cursor, sort = 'age', q = '' }: ListRequest,
    { load, id, show }: ListFunctions<Row, Shown>,
  ): Promise<AdminPage<Shown>> {
    const { figures } = this.parts.store.read
    const prefix = q.trim().toLowerCase()
    if (prefix !== '') {
      const rows = await load(await figures.search(kind, prefix, MAX_MATCHES))
      return { rows: rows.toSorted(compareBy(sort)).slice(0, limit).map(show), nextCursor: null }
    }
    const after = decodeCursor(cursor, 'value', 'id')
    const positions = await figures.order(kind, sort, { limit: limit + 1, after })
    const page = toPage(positions, { limit, show: (row) => row, position: (row) => [row.value, row.id] })
    const byId = new Map((await load(page.rows.map((row) => row.id))).map((row) => [id(row), row]))
    // What was deleted since it was counted is absent.
    return { ...page, rows: page.rows.flatMap((row) => byId.get(row.id) ?? []).map(show) }
  }

  #showSite(site: Listed<'sites'>): AdminSite {
    const { slug, ownerId, ownerEmail, expiresAt, isOwnerSuspended, bytes, visits } = site
    const isExpired = expiresAt !== null && expiresAt <= this.parts.store.clock()
    return {
      slug,
      siteUrl: this.parts.addresses.site(slug),
      title: site.title ?? site.versionTitle,
      owner: toOwner(ownerId, ownerEmail),
      status: isExpired ? 'expired' : site.liveVersionId === null ? 'pending' : 'active',
      hasPassword: site.passwordHash !== null,
      createdAt: toIso(site.createdAt),
      updatedAt: toIso(site.updatedAt),
      expiresAt: toIsoOrNull(expiresAt),
      suspension: describeSuspension(site.suspension),
      isOwnerSuspended,
      bytes,
      visits,
    }
  }
}

interface Sortable {
  createdAt: number
  bytes: number
  visits: number
}

interface ListFunctions<Row, Shown> {
  load(ids: readonly string[]): Promise<Row[]>
  id(row: Row): string
  show(row: Row): Shown
}

function compareBy(sort: ListOrder): (one: Sortable, other: Sortable) => number {
  const field = sort === 'age' ? 'createdAt' : sort
  return (one, other) => other[field] - one[field]
}

function showAccount(account: Listed<'accounts'>): AdminAccount {
  const { id, email, plan, limits, sites, bytes, visits } = account
  return {
    id,
    email,
    plan,
    limits: limits ?? {},
    suspension: describeSuspension(account.suspension),
    administrator: account.administratorSince !== null,
    isBeingDeleted: account.deletionStartedAt !== null,
    createdAt: toIso(account.createdAt),
    sites,
    bytes,
    visits,
  }
}

function showDomain(row: Listed<'domains'>): AdminDomain {
  const { domain, slug, accountId, ownerEmail, status, reason, bytes, visits } = row
  return {
    domain,
    slug,
    owner: toOwner(accountId, ownerEmail),
    status,
    problem: reason,
    createdAt: toIso(row.createdAt),
    checkedAt: toIsoOrNull(row.checkedAt),
    bytes,
    visits,
  }
}

function showCertificate(certificate: CertificateSummary): AdminCertificate {
  const { name, issuedAt, notAfter, renewAt, dueAt, failures, problem } = certificate
  return {
    name,
    issuedAt: toIsoOrNull(issuedAt),
    expiresAt: toIsoOrNull(notAfter),
    renewsAt: toIsoOrNull(renewAt),
    nextStepAt: toIsoOrNull(dueAt),
    failures,
    problem,
  }
}

function showAuditEntry(entry: AuditEntry): AuditPage['rows'][number] {
  const { id, at, actor, network, action, target, details } = entry
  return { id, at: toIso(at), actor, network, action, target, ...(details && { details: { ...details } }) }
}

function toOwner(id: string | null, email: string | null): AdminSite['owner'] {
  return id === null || email === null ? null : { id, email }
}
