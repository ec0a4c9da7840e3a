import { slug } from '../fields.schema.ts'
import { REPORT_REASONS } from '../reports.ts'
import { bool, integer, list, named, nullable, object, type Static, text, time } from '../schema.ts'
import { MAX_PUBLIC_REASON_LENGTH, MAX_REASON_LENGTH } from './moderation.ts'
import { page, pageQuery } from './page.schema.ts'

const YEAR_SECONDS = 365 * 86_400

const reason = text('For the owner, who receives it by email', { minLength: 1, maxLength: MAX_REASON_LENGTH })
const notes = {
  publicReason: text('For visitors', { minLength: 1, maxLength: MAX_PUBLIC_REASON_LENGTH }),
  note: text('For operators only', { minLength: 1, maxLength: MAX_REASON_LENGTH }),
}
export const moderationReason = named('ModerationReason', { reason })
export type ModerationReason = Static<typeof moderationReason>

export const suspensionRequest = named('SuspensionRequest', { reason }, notes)
export type SuspensionRequest = Static<typeof suspensionRequest>

const siteUrl = text('URL')
const title = nullable(text('Title'))
const ownerEmail = nullable(text('The email address of the owner; null for an anonymous site'))

const suspended = object({
  reason,
  publicReason: nullable(notes.publicReason),
  note: nullable(notes.note),
  since: time('When it was suspended'),
})
export type AdminSuspension = Static<typeof suspended>
export const adminSuspension = nullable(suspended, 'Null while it is not suspended')
export const siteOwner = nullable(
  object({ id: text('Identifier of the account'), email: text('Email address') }),
  'The account it belongs to; null for an anonymous site',
)

export const moderatedSite = named('ModeratedSite', {
  slug,
  siteUrl,
  title,
  owner: siteOwner,
  createdAt: time('Creation'),
  expiresAt: nullable(time('When it expires; null if it does not')),
  deletedAt: nullable(time('When it was moved to the trash')),
  hosts: list(text('A domain'), 'Its custom domains'),
  suspension: adminSuspension,
  ownerSuspension: adminSuspension,
  reports: integer('Reports by visitors'),
})
export type ModeratedSite = Static<typeof moderatedSite>

export const accountModerated = named(
  'AccountModerated',
  { email: text('Email address') },
  { message: text('What the operator should know, such as about their own account') },
)
export type AccountModerated = Static<typeof accountModerated>

export const siteModerated = named('SiteModerated', { slug })
export const domainReleased = named('DomainReleased', { domain: text('The host name') })

const kind = text('What is blocked', { enum: ['network', 'hash'] })
export type BlockKind = Static<typeof kind>

const value = text('A network such as `192.0.2.0/24`, or the SHA-256 of a file', {
  minLength: 1,
  maxLength: 100,
})
const blockReason = text('For operators', { minLength: 1, maxLength: MAX_REASON_LENGTH })
export const blockRequest = named(
  'BlockRequest',
  { kind, value, reason: blockReason },
  {
    seconds: integer('Seconds until it ends; absent for never', { minimum: 60, maximum: YEAR_SECONDS }),
    force: bool('Permits a network with the address of the request, or with local addresses'),
  },
)
export type BlockRequest = Static<typeof blockRequest>

export const blockTarget = named('BlockTarget', { kind, value })
export type BlockTarget = Static<typeof blockTarget>

export const block = named('Block', {
  kind,
  value,
  reason: blockReason,
  createdAt: time('When it began'),
  expiresAt: nullable(time('When it ends; null for never')),
})
export type BlockRecord = Static<typeof block>

export const blockList = named('BlockList', { blocks: list(block, 'Newest first') })

export type BlockList = Static<typeof blockList>

const state = text('`acted` after a suspension or deletion of the site', {
  enum: ['open', 'dismissed', 'acted'],
})
export type ReportState = Static<typeof state>

export const reportQuery = object({}, { ...pageQuery, state })
/** The reports of one site. */
const reportedSite = named('ReportedSite', {
  slug,
  siteUrl,
  title,
  ownerEmail,
  isSuspended: bool('Whether it or its owner is suspended'),
  state,
  count: integer('Number of reports'),
  firstAt: time('The first report'),
  lastAt: time('The last report'),
  decidedAt: nullable(time('When an operator last decided about them')),
  latest: list(
    object({
      at: time('When'),
      reason: text('What is wrong', { enum: REPORT_REASONS }),
      url: text('The reported address'),
      text: text('What the visitor wrote'),
      email: nullable(text('Of the visitor; null without')),
    }),
    'The last reports, newest first',
  ),
})
export type ReportedSite = Static<typeof reportedSite>

export const reportPage = page('ReportPage', reportedSite, 'The last reported site first')
export type ReportPage = Static<typeof reportPage>

export const reportDecision = named('ReportDecision', {
  state: text('The new state', { enum: ['open', 'dismissed'] }),
})
