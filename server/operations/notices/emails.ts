import {
  formatBytes,
  formatCountLimit,
  formatDuration,
  formatLimit,
  formatNumber,
  truncate,
} from '../../../protocol/format.ts'
import type { ServiceBranding } from '../../lib/branding.ts'
import { formatUtc } from '../../lib/time.ts'
import type { Email } from '../../mail/mail.ts'
import { type EmailBlock, renderEmail } from '../../mail/template.ts'
import type { UrlBuilder } from '../../sites/urls.ts'
import type { NoticeEvent } from '../../store/tables/notices.ts'

interface NoticeEmail {
  to: string
  event: NoticeEvent
  addresses: UrlBuilder
  branding: ServiceBranding
  unsubscribeUrl?: string | undefined
  now: number
}

interface Content {
  subject: string
  blocks: EmailBlock[]
  /** Undefined when the recipient gets the email because of its account. */
  reason?: string
}

const MAX_TITLE_CHARACTERS = 60

export function noticeEmail(o: NoticeEmail): Email {
  const { to, event, addresses, unsubscribeUrl } = o
  const { base } = addresses
  const describe = CONTENTS[event.kind] as Describe<NoticeEvent>
  const { subject, blocks, reason } = describe(event, addresses, o.now)
  const off = unsubscribeUrl === undefined ? '' : ` Turn these emails off: ${base}/account`
  const footer = `${reason ?? `You receive this email because of your account at ${base}.`}${off}`
  return renderEmail(o.branding, { kind: event.kind, to, subject, blocks, footer, unsubscribeUrl })
}

type EventOf<Kind extends NoticeEvent['kind']> = Extract<NoticeEvent, { kind: Kind }>

type Describe<Event> = (event: Event, addresses: UrlBuilder, now: number) => Content

const CONTENTS: { [Kind in NoticeEvent['kind']]: Describe<EventOf<Kind>> } = {
  'site-expires'(event, addresses, now) {
    const { slug, expiresAt } = event
    const left = formatDuration(Math.max(60, (expiresAt - now) / 1000))
    return {
      subject: `${siteName(event)} expires in ${left}`,
      blocks: [
        `Your site ${siteName(event)} at ${addresses.site(slug)} expires on ${formatUtc(expiresAt)}. It then goes offline, and its files are deleted.`,
        'To keep it, change its expiry:',
        { label: 'Open settings', url: `${addresses.base}/sites/${slug}/settings` },
      ],
    }
  },

  'site-deleted'(event, addresses) {
    const { slug, at, keptUntil } = event
    const deletion = `Your site ${siteName(event)} at ${addresses.site(slug)} was deleted on ${formatUtc(at)}`
    return {
      subject: `${siteName(event)} was deleted`,
      blocks: [
        ...(keptUntil
          ? [
              `${deletion}. You can restore it until ${formatUtc(keptUntil)}.`,
              { label: 'Open the trash', url: `${addresses.base}/trash` },
            ]
          : [`${deletion}, with its files, versions, visits and domains.`]),
        `If it wasn't you, ${REMOVE_ACCESS}`,
        reviewAccount(addresses),
      ],
    }
  },

  /** Names nothing that the owner of a site can choose freely, because the recipient may be a stranger. */
  'site-shared'({ slug, ownerEmail, to }, addresses) {
    const { base } = addresses
    return {
      subject: `${ownerEmail} shared the site ${slug} with you`,
      blocks: [
        `${ownerEmail} has made you a collaborator of the site at ${addresses.site(slug)}. You can publish to it, restore versions and see its visits.`,
        `Sign in as ${to} to open it. You don't need to accept. To leave, open the site's page.`,
        { label: 'Open the site', url: `${base}/sites/${slug}` },
      ],
      reason: `You receive this email because ${ownerEmail} entered this address at ${base}. If you do not know the sender, ignore it.`,
    }
  },

  'domain-fails'(event, addresses) {
    const { domain, slug, problem, servedUntil } = event
    return {
      subject: `${domain} no longer points to your site`,
      blocks: [
        ...(servedUntil === null
          ? [
              `${domain} no longer shows your site at ${addresses.site(slug)}. ${problem}.`,
              `If the domain is yours, delete the TXT record of the other account at your DNS provider, and add yours again.`,
            ]
          : [
              `The DNS records of ${domain} no longer point to your site at ${addresses.site(slug)}: ${problem}.`,
              `Correct the records at your DNS provider by ${formatUtc(servedUntil)}. After that, ${domain} stops working until they are correct again.`,
            ]),
        { label: 'Check the DNS records', url: `${addresses.base}/domains` },
      ],
    }
  },

  'domain-works'({ domain, slug }, addresses) {
    return {
      subject: `${domain} points to your site again`,
      blocks: [
        `The DNS records of ${domain} point to your site at ${addresses.site(slug)} again. You don't need to do anything.`,
        { label: 'Open domains', url: `${addresses.base}/domains` },
      ],
    }
  },

  'certificate-fails'(event, addresses) {
    const { domain, problem, notAfter } = event
    const state =
      notAfter === null
        ? `${domain} has no certificate yet, so browsers cannot open it over HTTPS.`
        : `The certificate of ${domain} could not be renewed. It is valid until ${formatUtc(notAfter)}.`
    return {
      subject: `${domain} has a problem with its certificate`,
      blocks: [
        `${state} The service keeps trying.`,
        `Last error: ${problem.replace(/\.$/, '')}.`,
        { label: 'Open domains', url: `${addresses.base}/domains` },
      ],
    }
  },

  'site-suspended': siteModerated,
  'site-resumed': siteModerated,
  'site-removed': siteModerated,
  'account-suspended': accountModerated,
  'account-resumed': accountModerated,

  'account-deleted'({ at, reason }, { base }) {
    const blocks =
      reason === null
        ? [
            `Your account at ${base} was deleted on ${formatUtc(at)}, with all of its sites. It cannot be restored.`,
            `Wasn't it you? Another person had a session of your account, or one of its keys. Notify the operator of ${base}.`,
          ]
        : [
            `The operator of ${base} has deleted your account with all of its sites permanently.`,
            `The reason: ${reason}`,
          ]
    return {
      subject: 'Your account was deleted',
      blocks,
      reason: `You receive this email because you had an account at ${base}.`,
    }
  },

  'domain-released'({ domain, slug, reason }, addresses) {
    return {
      subject: `${domain} was removed from your site`,
      blocks: [
        `The operator of ${addresses.base} has removed ${domain} from your site at ${addresses.site(slug)}.`,
        `The reason: ${reason}`,
        { label: 'Open domains', url: `${addresses.base}/domains` },
      ],
    }
  },

  'limit-reached'({ part, percent, used, limit, refused }, addresses) {
    const [what, amount] =
      part === 'bytes'
        ? ['storage', `${formatBytes(used)} of ${formatLimit(limit)}`]
        : ['sites', `${formatNumber(used)} of ${formatCountLimit(limit, 'site')}`]
    const consequence = refused
      ? 'A publish that needs more was refused; published sites stay online.'
      : 'Once the limit is reached, publishing more is refused; published sites stay online.'
    return {
      subject: refused
        ? `A publish was refused: your ${what} ${part === 'bytes' ? 'is' : 'are'} used up`
        : `${percent} % of your ${what} ${part === 'bytes' ? 'is' : 'are'} used`,
      blocks: [
        `Your account at ${addresses.base} uses ${amount}. ${consequence}`,
        'Drafts, previews, earlier versions and the trash count too. Delete what you no longer need:',
        { label: 'Open your sites', url: `${addresses.base}/sites` },
      ],
    }
  },

  review: reviewed,
  'review-shared': reviewed,

  'new-browser'({ browser, network, at }, addresses) {
    return {
      subject: 'New sign-in to your account',
      blocks: [
        `Your account at ${addresses.base} was signed in to from ${browser ?? 'an unknown client'} in the network ${network} on ${formatUtc(at)}.`,
        `If it was you, you don't need to do anything. If not, ${REMOVE_ACCESS}`,
        reviewAccount(addresses),
      ],
    }
  },
}

/** The reviewer may be a stranger: the email has no words of the review, and a name without an address in it. */
function reviewed(
  { slug, preview, author, what }: EventOf<'review' | 'review-shared'>,
  { base }: UrlBuilder,
): Content {
  const subject = preview === null ? slug : `${preview} (${slug})`
  const query = preview === null ? '' : `?preview=${preview}`
  return {
    subject: `Review: ${subject}`,
    blocks: [
      `${author.replace(/[^\p{L}\p{N} -]/gu, '')} has ${REVIEWED[what]} ${preview === null ? 'the site' : `the preview ${preview} of the site`} ${slug}. There may be more since.`,
      { label: 'Open the review', url: `${base}/sites/${slug}/review${query}` },
    ],
  }
}

const REVIEWED = {
  comment: 'commented on',
  approved: 'approved',
  'changes-requested': 'requested changes of',
}

function siteModerated(
  event: EventOf<'site-suspended' | 'site-resumed' | 'site-removed'>,
  addresses: UrlBuilder,
): Content {
  const { kind, slug } = event
  const site = `${siteName(event)} at ${addresses.site(slug)}`
  const open: EmailBlock = { label: 'Open the site', url: `${addresses.base}/sites/${slug}` }
  if (kind === 'site-resumed')
    return {
      subject: `${siteName(event)} is online again`,
      blocks: [`The operator of ${addresses.base} has ended the suspension of your site ${site}.`, open],
    }
  const reason = `The reason: ${event.reason}`
  if (kind === 'site-removed')
    return {
      subject: `${siteName(event)} was removed`,
      blocks: [`The operator of ${addresses.base} has deleted your site ${site} permanently.`, reason],
    }
  return {
    subject: `${siteName(event)} was suspended`,
    blocks: [
      `The operator of ${addresses.base} has suspended your site ${site}. Visitors see a page that says so.`,
      reason,
      'You can read, download and delete the site. You cannot publish to it.',
      open,
    ],
  }
}

function accountModerated(
  { kind, reason }: EventOf<'account-suspended' | 'account-resumed'>,
  addresses: UrlBuilder,
): Content {
  const { base } = addresses
  if (kind === 'account-resumed')
    return {
      subject: 'Your account is active again',
      blocks: [`The operator of ${base} has ended the suspension of your account.`, reviewAccount(addresses)],
    }
  return {
    subject: 'Your account was suspended',
    blocks: [
      `The operator of ${base} has suspended your account. Your sites are offline.`,
      `The reason: ${reason}`,
      'You can sign in, read, download and delete your sites. You cannot publish.',
      reviewAccount(addresses),
    ],
  }
}

/** Names all that still has access after the sessions have ended. */
const REMOVE_ACCESS =
  "sign out the other sessions on the page of your account, replace its API key, and remove the named keys, programs and trusted repositories that you don't recognize. Check the collaborators of your sites, too."

function reviewAccount({ base }: UrlBuilder): EmailBlock {
  return { label: 'Open your account', url: `${base}/account` }
}

function siteName({ title, slug }: { title: string | null; slug: string }): string {
  if (!title) return slug
  return truncate(title, MAX_TITLE_CHARACTERS, '…')
}
