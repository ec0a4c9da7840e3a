import { pluralize } from '../../../protocol/format.ts'
import type { ServiceBranding } from '../../lib/branding.ts'
import { toPlainLine } from '../../lib/plain-line.ts'
import type { Email } from '../../mail/mail.ts'
import { renderEmail } from '../../mail/template.ts'
import type { UrlBuilder } from '../../sites/urls.ts'
import type { ReportedSite } from '../../store/tables/moderation.ts'

/** An email quotes at least one report of each site. */
const MAX_QUOTED = 5
const MAX_QUOTED_CHARACTERS = 300

interface SiteReports {
  slug: string
  reports: Pick<ReportedSite, 'count' | 'mailedCount' | 'latest'>
}

interface ReportEmail {
  to: string
  sites: readonly SiteReports[]
  addresses: UrlBuilder
  branding: ServiceBranding
}

export function reportEmail({ to, sites, addresses, branding }: ReportEmail): Email {
  const maxQuoted = Math.ceil(MAX_QUOTED / sites.length)
  const [{ slug, reports }] = sites as [SiteReports]
  return renderEmail(branding, {
    ...{ kind: 'site-reported', to },
    subject:
      sites.length === 1
        ? `${slug} was reported: ${reports.latest[0]?.reason ?? 'other'}`
        : `${sites.length} sites were reported`,
    blocks: [
      ...sites.flatMap((site) => describeReports(site, addresses, maxQuoted)),
      { label: 'Open reports', url: `${addresses.base}/admin/reports` },
    ],
    footer: `You receive this email because SLIPWAY_REPORT_EMAIL of the service at ${addresses.base} is your address.`,
  })
}

function describeReports({ slug, reports }: SiteReports, addresses: UrlBuilder, maxQuoted: number): string[] {
  const { count, mailedCount, latest } = reports
  const added = pluralize(count - mailedCount, 'new report')
  const quoted = latest.slice(0, Math.min(maxQuoted, count - mailedCount))
  return [
    `The site at ${addresses.site(slug)} has ${added}, ${count} in total.`,
    ...quoted.map(({ reason, url, text }) =>
      toPlainLine(`${reason}, ${url}: ${text || 'no text'}`, MAX_QUOTED_CHARACTERS),
    ),
  ]
}
