import { codeEmail, invitationEmail, lockEmail, signUpClosedEmail } from '../../accounts/emails.ts'
import { INVITATION_DAYS } from '../../accounts/invitations.ts'
import { findSwitch } from '../../accounts/notice-switches.ts'
import type { ServiceBranding } from '../../lib/branding.ts'
import { DAY_MS, HOUR_MS } from '../../lib/time.ts'
import type { Email } from '../../mail/mail.ts'
import { renderEmail } from '../../mail/template.ts'
import type { UrlBuilder } from '../../sites/urls.ts'
import type { NoticeEvent } from '../../store/tables/notices.ts'
import { reportEmail } from '../moderation/report-email.ts'
import { noticeEmail } from './emails.ts'

interface SampleOptions {
  to: string
  addresses: UrlBuilder
  branding: ServiceBranding
  now: number
}

const SAMPLE_SITE = { slug: 'amber-harbor-k7x3m2', title: 'Amber Harbor Bakery' }

const SAMPLE_REASON = 'The site copies the sign-in page of a bank'

/** The email of `review-shared` is that of `review`. */
type Events = { [Kind in Exclude<NoticeEvent['kind'], 'review-shared'>]: NoticeEvent & { kind: Kind } }

export function sampleEmails(options: SampleOptions): Email[] {
  const { to, addresses, branding, now } = options
  const service = { baseUrl: addresses.base, branding }
  const notices = Object.values<NoticeEvent>(sampleEvents(now)).map((event) => {
    const kind = findSwitch(event.kind)
    const unsubscribeUrl = kind && `${addresses.base}/unsubscribe?kind=${kind}`
    return noticeEmail({ to, event, addresses, branding, now, unsubscribeUrl })
  })
  return [
    codeEmail({ to, code: 'ABCD-EFGH', minutes: 10, ...service }),
    signUpClosedEmail({ to, ...service }),
    invitationEmail({ to, days: INVITATION_DAYS, ...service }),
    lockEmail({ to, lock: 'caller', hours: 24, ...service }),
    ...notices,
    sampleReport(options),
    testEmail(options),
  ]
}

function sampleReport({ to, addresses, branding, now }: SampleOptions): Email {
  const { slug } = SAMPLE_SITE
  const report = { at: now, reason: 'phishing', text: 'It copies the sign-in page of a bank', email: null }
  const latest = [{ ...report, url: addresses.site(slug) }]
  const sites = [{ slug, reports: { count: 1, mailedCount: 0, latest } }]
  return reportEmail({ to, sites, addresses, branding })
}

/** For `slipway-server mail test` and `slipway-server check --mail`. */
export function testEmail({ to, addresses, branding }: Omit<SampleOptions, 'now'>): Email {
  return renderEmail(branding, {
    ...{ kind: 'test', to, subject: `Test of the emails of ${branding.name}` },
    blocks: [`The emails of ${branding.name} at ${addresses.base} arrive.`],
    footer: `An operator of ${addresses.base} sent this email to test the mail server.`,
  })
}

function sampleEvents(now: number): Events {
  const site = SAMPLE_SITE
  const { slug } = site
  const domain = 'www.example.com'
  const reason = SAMPLE_REASON
  return {
    'site-expires': { kind: 'site-expires', ...site, expiresAt: now + 6 * HOUR_MS },
    'site-deleted': { kind: 'site-deleted', ...site, at: now, keptUntil: now + 30 * DAY_MS },
    'site-shared': { kind: 'site-shared', slug, ownerEmail: 'ann@example.com', to: 'bob@example.com' },
    'domain-fails': {
      ...{ kind: 'domain-fails', domain, slug, servedUntil: now + 3 * DAY_MS },
      problem: 'www.example.com has no CNAME record',
    },
    'domain-works': { kind: 'domain-works', domain, slug, failingSince: now - HOUR_MS },
    'certificate-fails': {
      ...{ kind: 'certificate-fails', domain, notAfter: now + 9 * DAY_MS },
      problem: 'CAA record for www.example.com prevents issuance',
    },
    'site-suspended': { kind: 'site-suspended', ...site, reason },
    'site-resumed': { kind: 'site-resumed', ...site, reason: null },
    'site-removed': { kind: 'site-removed', ...site, reason },
    'account-suspended': { kind: 'account-suspended', reason },
    'account-resumed': { kind: 'account-resumed', reason: null },
    'account-deleted': { kind: 'account-deleted', to: 'ann@example.com', at: now, reason: null },
    'domain-released': { kind: 'domain-released', domain, slug, reason },
    'limit-reached': {
      ...{ kind: 'limit-reached', part: 'bytes', percent: 80, used: 8e9, limit: 10e9 },
    },
    review: { kind: 'review', slug, preview: 'spring', author: 'Bob', what: 'comment' },
    'new-browser': {
      ...{ kind: 'new-browser', browser: 'Firefox on Windows', network: '192.0.2.0/24', at: now },
    },
  }
}
