import type {
  ReportPage,
  ReportedSite as ShownReports,
} from '../../../protocol/api/admin/moderation.schema.ts'
import type { ReportRequest } from '../../../protocol/api/reports.schema.ts'
import { MAX_REPORT_TEXT_LENGTH, type ReportReason } from '../../../protocol/api/reports.ts'
import { truncate } from '../../../protocol/format.ts'
import type { Caller } from '../../accounts/authorization.ts'
import { type RateLimits, REPORTS_PER_HOUR } from '../../accounts/rate-limits.ts'
import { Hosts } from '../../edge/resolve/host.ts'
import { Component } from '../../lib/component.ts'
import { ApiError, invalidField } from '../../lib/errors.ts'
import { decodeCursor, type PageRequest, toPage } from '../../lib/list-pages.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, toIso, toIsoOrNull } from '../../lib/time.ts'
import type { Parts } from '../../parts.ts'
import { deleteBefore, type Store } from '../../store/store.ts'
import type { AuditActor } from '../../store/tables/administration.ts'
import type { Report, ReportedSite, ReportState } from '../../store/tables/moderation.ts'
import type { Site } from '../../store/tables/sites.ts'
import { counterWindow } from '../../store/tables/usage.ts'
import { findTitle } from './moderated-sites.ts'
import { reportEmail } from './report-email.ts'

type ReportsParts = Pick<Parts, 'store' | 'mail' | 'addresses' | 'branding' | 'clock'> & {
  limits: Pick<RateLimits, 'charge'>
  /** '' for none. */
  email: string
}

type Reporter = Pick<Caller, 'address' | 'ofOtherPage'>

/** Each report writes these texts, and a list reads those of 200 sites. */
const MAX_LATEST = 20
const MAX_LATEST_CHARACTERS = 10_000

const MAX_URL_LENGTH = 2000

/** Except line feeds. In JSON they take six bytes. */
const CONTROLS = /[^\P{Cc}\n]/gu

const EMAIL_INTERVAL_MS = 10 * MINUTE_MS
const SITE_EMAIL_INTERVAL_MS = HOUR_MS
const SITES_PER_EMAIL = 20

/** Reports contain email addresses. */
const RETENTION_MS = 180 * DAY_MS

/** All reports of a site are one row with the last texts, however many there are. */
export class Reports extends Component<ReportsParts> {
  readonly #hosts = new Hosts(this.parts.addresses)

  /**
   * VALIDATION_ERROR when the address is not of a site, RATE_LIMITED for too many reports of a network. Opens a report
   * that was decided only if the site has changed since then, or is online after an action.
   */
  async add({ url, reason, text = '', email }: ReportRequest, from: Reporter): Promise<void> {
    const { store, clock } = this.parts
    await this.#charge(from)
    const slug = await this.#findSlug(url)
    const report: Report = {
      at: clock(),
      reason,
      url: new URL(url).href.slice(0, MAX_URL_LENGTH),
      text: truncate(text.toWellFormed().replace(CONTROLS, ' '), MAX_REPORT_TEXT_LENGTH),
      email: email ?? null,
    }
    await store.write('relaxed', { site: slug }, async (tx) => {
      const site = await tx.sites.find(slug)
      if (!site || site.deletedAt !== null) throw unknownSite()
      const known = await tx.reports.find(site.visitsKey)
      const owner = site.ownerId === null ? undefined : await tx.accounts.find(site.ownerId)
      const isOnline = !(site.suspension ?? owner?.suspension)
      await tx.rows.put('reports', withReport(known, site, { report, isOnline }))
    })
  }

  /** The last reported site first. VALIDATION_ERROR for an invalid cursor. */
  async list({ state, limit, cursor }: PageRequest & { state: ReportState }): Promise<ReportPage> {
    const { read } = this.parts.store
    const before = decodeCursor(cursor, 'lastAt', 'site')
    const found = await read.reports.list(state, { limit: limit + 1, before })
    const slugs = await read.sites.currentSlugs(found.map(({ site }) => site))
    const position = ({ lastAt, site }: ReportedSite) => [lastAt, site] as const
    const { rows, nextCursor } = toPage(found, { limit, show: (row) => row, position })
    const shown = await Promise.all(rows.map((row) => this.#describe(row, slugs.get(row.site) ?? row.site)))
    return { rows: shown, nextCursor }
  }

  /** Dismisses the reports of a site, or opens them again. NOT_FOUND without reports. */
  async decide(actor: AuditActor, slug: string, state: 'open' | 'dismissed'): Promise<{ slug: string }> {
    const { store, clock } = this.parts
    await store.write('durable', { site: slug }, async (tx) => {
      const now = clock()
      const site = await tx.sites.find(slug)
      const known = await tx.reports.find(site?.visitsKey ?? slug)
      if (!known) throw new ApiError('NOT_FOUND', `The site ${slug} has no reports`)
      if (known.state === state) return
      await tx.rows.put('reports', { ...known, state, decidedAt: now })
      const action = state === 'open' ? 'report.open' : 'report.dismiss'
      await tx.audit.add({ at: now, actor, action, target: slug })
    })
    return { slug }
  }

  /**
   * Deletes old reports, and sends the operator one email about sites with new ones, for a job with its store. Returns
   * the number of emails. Safe to run twice, and on two nodes concurrently. Rejects when an email was not sent.
   */
  async run(store: Store): Promise<number> {
    const { clock, mail, addresses, branding, email: to } = this.parts
    const before = clock() - RETENTION_MS
    await deleteBefore(store, 'reports', before)
    if (to === '') return 0
    const sites = await this.#findDue(store)
    if (sites.length === 0 || !(await this.#claimEmail(store))) return 0
    await mail.send(reportEmail({ to, sites, addresses, branding }))
    // Also when the job has ended since.
    for (const { slug, reports } of sites) await this.#recordEmail(this.parts.store, slug, reports)
    return 1
  }

  /** Sites with reports that the operator was not notified of; records those of names that were released as notified. */
  async #findDue(store: Store): Promise<{ slug: string; reports: ReportedSite }[]> {
    const { read } = store
    const rows = await read.reports.unmailed(this.parts.clock() - SITE_EMAIL_INTERVAL_MS, SITES_PER_EMAIL)
    const slugs = await read.sites.currentSlugs(rows.map(({ site }) => site))
    const due = []
    for (const reports of rows) {
      // A site whose name was released gets no more reports.
      const slug = slugs.get(reports.site) ?? reports.site
      const site = await read.sites.find(slug)
      if (site?.visitsKey === reports.site) due.push({ slug, reports })
      else await this.#recordEmail(store, slug, reports)
    }
    return due
  }

  async #claimEmail(store: Store): Promise<boolean> {
    const window = counterWindow(this.parts.clock(), EMAIL_INTERVAL_MS)
    const emails = await store.execute('relaxed', ({ counters }) =>
      counters.add('emails about reports', window),
    )
    return emails === 1
  }

  /** Does not count reports that were added since they were read. */
  async #recordEmail(store: Store, slug: string, { site, count }: ReportedSite): Promise<void> {
    await store.write('relaxed', { site: slug }, async (tx) => {
      const mailedAt = this.parts.clock()
      const known = await tx.reports.find(site)
      if (known) await tx.rows.put('reports', { ...known, mailedCount: count, mailedAt })
    })
  }

  async #charge({ address, ofOtherPage }: Reporter): Promise<void> {
    const caller = { address, ofOtherPage, account: undefined, signedInWith: 'anonymous' } as const
    const { admitted, secondsLeft } = await this.parts.limits.charge(caller, 'report')
    if (admitted) return
    const sentence = `Your network has sent ${REPORTS_PER_HOUR} reports within an hour. Try again later.`
    const details = { countedBy: 'address' }
    throw new ApiError('RATE_LIMITED', sentence, { retryAfterSeconds: secondsLeft, details })
  }

  async #findSlug(url: string): Promise<string> {
    const { read } = this.parts.store
    if (!URL.canParse(url) || url.length > MAX_URL_LENGTH) throw unknownSite()
    const { protocol, host: header } = new URL(url)
    // Administrators open the address from a list.
    if (protocol !== 'https:' && protocol !== 'http:') throw unknownSite()
    const host = this.#hosts.read(header)
    if (host.kind === 'site' || host.kind === 'version') return read.sites.currentName(host.slug)
    const domain = host.kind === 'domain' ? await read.domains.active(host.domain) : undefined
    if (domain) return domain.slug
    throw unknownSite()
  }

  async #describe(reports: ReportedSite, slug: string): Promise<ShownReports> {
    const { store, addresses } = this.parts
    const { read } = store
    const site = await read.sites.find(slug)
    const owner = site?.ownerId ? await read.accounts.find(site.ownerId) : undefined
    const { state, count, firstAt, lastAt, decidedAt, latest } = reports
    return {
      slug,
      siteUrl: addresses.site(slug),
      title: site ? await findTitle(read, site) : null,
      ownerEmail: owner?.email ?? null,
      isSuspended: Boolean(site?.suspension ?? owner?.suspension),
      ...{ state, count, firstAt: toIso(firstAt), lastAt: toIso(lastAt), decidedAt: toIsoOrNull(decidedAt) },
      latest: latest.map(({ at, reason, ...others }) => {
        return { ...others, at: toIso(at), reason: reason as ReportReason }
      }),
    }
  }
}

function withReport(
  known: ReportedSite | undefined,
  { visitsKey: site, updatedAt }: Site,
  { report, isOnline }: { report: Report; isOnline: boolean },
): ReportedSite {
  const { at: lastAt } = report
  const none = { site, state: 'open', count: 0, firstAt: lastAt, latest: [] } as const
  const before = known ?? { ...none, decidedAt: null, mailedCount: 0, mailedAt: null }
  const { state, count, decidedAt } = before
  // Also a draft or a preview, at their addresses.
  const hasChanged = decidedAt !== null && updatedAt > decidedAt
  const isOpen = hasChanged || (state === 'acted' && isOnline)
  const latest = selectLatest([report, ...before.latest])
  return { ...before, state: isOpen ? 'open' : state, count: count + 1, lastAt, latest }
}

function selectLatest(reports: readonly Report[]): Report[] {
  let characters = 0
  return reports.slice(0, MAX_LATEST).filter(({ url, text }) => {
    characters += url.length + text.length
    return characters <= MAX_LATEST_CHARACTERS
  })
}

function unknownSite(): ApiError {
  return invalidField('url', 'must be the address of a page of a site of this service')
}
