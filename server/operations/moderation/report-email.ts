import { pluralize } from '../../../protocol/format.ts'
import type { ServiceBranding } from '../../lib/branding.ts'
import { toPlainLine } from '../../lib/plain-line.ts'
import type { Email } from '../../mail/mail.ts'
import { renderEmail } from '../../mail/template.ts'
import type { UrlBuilder } from '../../sites/urls.ts'
import type { ReportedSite } from '../../store/contract/reports.ts'

/** Reports that an email quotes, and characters of each. */
const MAX_QUOTED = 5
const MAX_QUOTED_CHARACTERS = 300

/** The email to the operator about the reports of a site. */
export function reportEmail({
  to,
  slug,
  reports,
  addresses,
  branding,
}: {
  to: string
  slug: string
  reports: Pick<ReportedSite, 'count' | 'mailedCount' | 'latest'>
  addresses: UrlBuilder
  branding: ServiceBranding
}): Email {
  const { count, mailedCount, latest } = reports
  const added = pluralize(count - mailedCount, 'new report')
  const quoted = latest.slice(0, Math.min(MAX_QUOTED, count - mailedCount))
  const content = {
    kind: 'site-reported',
    to,
    subject: `${slug} was reported: ${latest[0]?.reason ?? 'other'}`,
    blocks: [
      `The site at ${addresses.site(slug)} has ${added}, ${count} in total.`,
      ...quoted.map(({ reason, url, text }) =>
        toPlainLine(`${reason}, ${url}: ${text || 'no text'}`, MAX_QUOTED_CHARACTERS),
      ),
      { label: 'Open reports', url: `${addresses.base}/admin/reports` },
    ],
    footer: `You receive this email because SLIPWAY_REPORT_EMAIL of the service at ${addresses.base} is your address.`,
  }
  return renderEmail(content, branding)
}
