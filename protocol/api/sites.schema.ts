import { publishedFile, siteUrl, slug, status, suspension, versionId } from './fields.schema.ts'
import { headFields, metadataFields, publisherFields } from './publish.schema.ts'
import {
  bool,
  constant,
  either,
  integer,
  list,
  named,
  nullable,
  object,
  type Static,
  text,
  time,
} from './schema.ts'

import { MAX_PASSWORD_LENGTH } from './sites.ts'

// Sites (spec 2.1 and 4.7 to 4.12; contract, "Sites").

/** A collaborator reads a site and publishes to it; the owner also manages it. */
const role = text('Your role for the site', { enum: ['owner', 'collaborator'] })
export type SiteRole = Static<typeof role>

const kind = text('The main kind of content of the live version; null when it was not recorded', {
  enum: ['page', 'image', 'video', 'audio', 'document', 'files'],
})
export type SiteKind = Static<typeof kind>

const requireApproval = text(
  'Whose approval of exactly this content promoting a preview requires; `collaborators` includes the owner',
  { enum: ['off', 'anyone', 'collaborators'] },
)
export type ApprovalRule = Static<typeof requireApproval>

const siteFields = {
  slug,
  siteUrl,
  status,
  versionId,
  currentVersionId: nullable(text('The live version')),
  pendingVersionId: nullable(text('The newest version whose uploads are incomplete')),
  createdAt: time('Creation'),
  updatedAt: time('Last change'),
  expiresAt: nullable(time('Expiry; null when the site does not expire')),
  title: nullable(text('Page title: that of the site, else that of its start page')),
  iconUrl: nullable(text('Its icon; null without one, and for a site with a password')),
  thumbnailUrl: nullable(text('The thumbnail of the live version; null without one')),
  role,
  hasPassword: bool('Visitors need a password'),
  restorable: bool('A deletion puts it into the trash; false for a site that was never finalized'),
}
const sharedFields = {
  ownerEmail: text('The address of the owner of a site that is shared with you'),
  suspension,
}

/** Spec 2.1 and 4.7. */
const detailFields = {
  ...siteFields,
  ...publisherFields,
  title: siteFields.title,
  viewer: object(
    headFields,
    {},
    { description: 'The metadata of the site itself; for null, the value of the document is used' },
  ),
  requireApproval,
  files: list(publishedFile, 'The files of the current version'),
}

export const siteDetails = named('Site', detailFields, sharedFields)
export type SiteDetails = Static<typeof siteDetails>

export const undeleteResponse = named('RestoredSite', detailFields, {
  ...sharedFields,
  unchanged: constant(true, 'The site was not in the trash'),
})
export type UndeleteResponse = Static<typeof undeleteResponse>

const siteSummary = named(
  'SiteSummary',
  {
    ...siteFields,
    kind: nullable(kind),
    imageUrl: nullable(text('URL of its Open Graph image, its icon, or its only image; null without any')),
    fileCount: integer('Files'),
    totalBytes: integer('Bytes'),
    openThreads: integer('Threads of its reviews that are not resolved, also outdated ones'),
    openReview: nullable(text('A preview with such threads; empty: the live version; null: none')),
  },
  {
    ...sharedFields,
    deletedAt: time('When a site in the trash was deleted'),
    deletedUntil: time('When a site in the trash will be deleted permanently'),
  },
)
export type SiteSummary = Static<typeof siteSummary>

export const siteList = named(
  'SiteList',
  {
    publishes: list(siteSummary, 'Newest first; in the trash, the last deleted one first'),
    nextCursor: nullable(text('The cursor of the next page; null on the last page')),
  },
  { suspension },
)
export type SiteList = Static<typeof siteList>

export const listQuery = object(
  {},
  {
    limit: integer('Sites per page; default 50', { minimum: 1, maximum: 100 }),
    cursor: text('nextCursor of the previous page', { maxLength: 200 }),
    q: text('Words that all occur in the title or the slug', { maxLength: 100 }),
    deleted: bool('List the sites in the trash'),
  },
)

export const metadataRequest = named(
  'MetadataRequest',
  {},
  {
    ...metadataFields,
    requireApproval,
    password: nullable(
      text('The password that visitors must enter; null removes it', {
        minLength: 1,
        maxLength: MAX_PASSWORD_LENGTH,
      }),
    ),
  },
)
export type MetadataRequest = Static<typeof metadataRequest>

export const renameRequest = named('RenameRequest', { name: text('The new name', { maxLength: 100 }) })
export const renameResponse = named('RenamedSite', {
  slug,
  siteUrl,
  formerSlug: text('The former name'),
  redirectsUntil: nullable(time('Until when the former name redirects; null when the name did not change')),
})
export type RenameResponse = Static<typeof renameResponse>

export const nameCheck = named(
  'NameCheck',
  { name: text('The name'), available: bool('A new site of the account can have it') },
  { reason: text('Why it is not available, for people') },
)
export type NameCheck = Static<typeof nameCheck>

export const duplicateResponse = named('DuplicateResponse', {
  slug,
  siteUrl,
  versionId,
  copiedFrom: text('The source'),
  status: constant('active', 'The copy is live'),
})
export type DuplicateResponse = Static<typeof duplicateResponse>

export const deleteQuery = object({}, { permanent: bool('Delete the site permanently, also from the trash') })
export const deleteRequest = nullable(
  object({}, { claimToken: text('Of a site without an owner, in place of a key', { maxLength: 100 }) }),
)
export const deleteResponse = named('DeletedSite', {
  slug,
  deleted: constant(true, 'Always true'),
  deletedUntil: nullable(time('Until when it can be restored; null when it was deleted permanently')),
})
export type DeleteResponse = Static<typeof deleteResponse>

const claimOf = { claimToken: text('The claim token', { maxLength: 100 }) }
export const claimRequest = named('ClaimRequest', claimOf, {
  name: text('A name that the site gets with the claim; the former one redirects for 30 days'),
})
export type ClaimRequest = Static<typeof claimRequest>

export const claimResponse = named(
  'ClaimResponse',
  {
    success: constant(true, 'Always true'),
    slug,
    siteUrl,
    expiresAt: nullable(time('Null, unless the site was claimed before and has a time to live since')),
  },
  { alreadyOwned: constant(true, 'The site already belonged to this account') },
)
export type ClaimResponse = Static<typeof claimResponse>

export const claimPreviewRequest = named('ClaimPreviewRequest', claimOf)

/** A site that has no owner yet. */
const claimOffer = named('ClaimOffer', {
  slug,
  claimed: constant(false, 'The site has no owner'),
  siteUrl,
  status,
  title: siteFields.title,
  iconUrl: siteFields.iconUrl,
  thumbnailUrl: siteFields.thumbnailUrl,
  fileCount: integer('Files'),
  totalBytes: integer('Bytes'),
  createdAt: time('Creation'),
  expiresAt: nullable(time('Expiry')),
  currentVersionId: nullable(versionId, 'The displayed version; null while there is none'),
})
export type ClaimOffer = Static<typeof claimOffer>

/** What the holder of a claim link may see before signing in. */
export const claimPreview = either(
  'ClaimPreview',
  claimOffer,
  named('ClaimedSite', { slug, claimed: constant(true, 'The site has an owner') }),
)
export type ClaimPreview = Static<typeof claimPreview>
