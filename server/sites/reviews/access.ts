import type { ReviewerRole } from '../../../protocol/api/reviews.schema.ts'
import { REVIEW_TOKEN_HEADER } from '../../../protocol/api/reviews.ts'
import {
  type Caller,
  FULL_GRANT,
  findRole,
  type Grant,
  mayManage,
  requireAccess,
  requireAccount,
  requireNotExpired,
  type SiteRight,
} from '../../accounts/authorization.ts'
import { grantedScope } from '../../accounts/oauth/programs.ts'
import { endFrames } from '../../accounts/review-frames.ts'
import { ApiError } from '../../lib/errors.ts'
import { hashToken } from '../../lib/tokens.ts'
import type { Queries } from '../../store/queries.ts'
import type { WriteTransaction } from '../../store/store.ts'
import type { Account } from '../../store/tables/accounts.ts'
import type { ReviewSubject, StoredReviewLink } from '../../store/tables/reviews.ts'
import type { Site } from '../../store/tables/sites.ts'
import type { VersionHeader } from '../../store/tables/versions.ts'
import { requirePreview } from '../preview.ts'

/** An account with access to the site, or the holder of a review link. */
export interface ReviewCaller extends Caller {
  reviewToken: string | undefined
}

export interface ReviewAccess {
  site: Site
  /** What is shown now. */
  version: VersionHeader
  role: ReviewerRole
  /** That the caller has; of a guest always. */
  link: StoredReviewLink | undefined
  /** As the credential of the caller may; for a guest that of the creator of the link. */
  mayDecide: boolean
}

/**
 * The one place that decides who may use a review. A token takes precedence: NOT_FOUND for a link that was revoked, has
 * expired or is about something else, and when its creator has no more access to the site. Without one, as for other
 * calls about the site. SITE_PENDING without a live version, NOT_FOUND for a preview that has ended.
 */
export async function requireReview(
  queries: Queries,
  caller: ReviewCaller,
  { subject, right, now }: { subject: ReviewSubject; right: SiteRight; now: number },
): Promise<ReviewAccess> {
  const { slug } = subject
  const { reviewToken, grant } = caller
  if (reviewToken === undefined) {
    const account = requireAccount(caller, NEEDS_LINK_OR_KEY)
    const site = await requireAccess(queries, right, { slug, account, now })
    const role = site.ownerId === account.id ? 'owner' : 'collaborator'
    const version = await requireShown(queries, site, subject, now)
    return { site, role, link: undefined, mayDecide: mayManage(grant!.scope), version }
  }
  const link = await requireLink(queries, caller, now)
  if (link.slug !== slug || link.previewName !== subject.previewName) throw linkEnded()
  const site = await requireSiteOf(queries, link, now)
  const creator = await requireCreator(queries, link, now)
  const role = await findReviewerRole(queries, site, caller, link)
  const { scope } = role === 'guest' ? creator : grant!
  const version = await requireShown(queries, site, subject, now)
  return { site, role, link, mayDecide: mayManage(scope), version }
}

/** Ends the links to all reviews of a site that an account created, and what all links to them show. */
export async function endReviewsOf(
  tx: WriteTransaction,
  { id }: Pick<Account, 'id'>,
  { slug, now }: { slug: string; now: number },
): Promise<void> {
  await tx.reviews.removeLinksBy(id, slug)
  await endFrames(tx, slug, now)
}

/** NOT_FOUND unless the caller has the token of a link that works. */
export async function requireLink(
  queries: Queries,
  { reviewToken }: Pick<ReviewCaller, 'reviewToken'>,
  now: number,
): Promise<StoredReviewLink> {
  const link =
    reviewToken === undefined ? undefined : await queries.reviews.linkByToken(hashToken(reviewToken))
  if (!link || (link.expiresAt !== null && link.expiresAt <= now)) throw linkEnded()
  return link
}

/**
 * The scope of the credential that created the link. NOT_FOUND when that has ended, and for an account that is deleted or
 * suspended; `endReviewsOf` ends the links of those who have no more access.
 */
async function requireCreator(
  queries: Queries,
  { createdBy, keyHash }: StoredReviewLink,
  now: number,
): Promise<Pick<Grant, 'scope'>> {
  const account = await queries.accounts.find(createdBy)
  if (account?.deletionStartedAt !== null || account.suspension) throw linkEnded()
  if (keyHash === null) return FULL_GRANT
  const key = (await queries.keys.find(keyHash))?.key
  if (key) return key
  const access = await queries.oauth.find(keyHash, now)
  if (!access) throw linkEnded()
  return { scope: grantedScope(access) }
}

/** For visitors, so that a suspension hides the site from all holders of links. */
async function requireSiteOf(queries: Queries, { slug }: StoredReviewLink, now: number): Promise<Site> {
  const site = await queries.sites.find(slug)
  if (!site || site.deletedAt !== null) throw linkEnded()
  const current = requireNotExpired(site, now)
  const owner = current.ownerId === null ? undefined : await queries.accounts.find(current.ownerId)
  // The reason is for the owner.
  if (!owner || owner.suspension || current.suspension)
    throw new ApiError('SITE_SUSPENDED', 'The operator of this service has suspended this site')
  return current
}

async function findReviewerRole(
  queries: Queries,
  site: Site,
  { account }: Caller,
  { audience }: StoredReviewLink,
): Promise<ReviewerRole> {
  const role = account && (await findRole(queries, site, account))
  if (role || audience === 'anyone') return role ?? 'guest'
  const sentence = 'This review is for the collaborators of the site'
  if (!account) throw new ApiError('UNAUTHORIZED', sentence, { hint: 'Sign in as one of them.' })
  throw new ApiError('NOT_FOUND', sentence, {
    hint: `You are signed in as ${account.email}. Ask the owner to add this address to the people of the site.`,
  })
}

async function requireShown(
  queries: Queries,
  { liveVersionId }: Site,
  { slug, previewName }: ReviewSubject,
  now: number,
): Promise<VersionHeader> {
  if (previewName !== '') return requirePreview(queries, { slug, name: previewName, now })
  const live = liveVersionId === null ? undefined : await queries.versions.header(liveVersionId)
  if (live) return live
  throw new ApiError('SITE_PENDING', 'The site has no live version that could be reviewed')
}

const NEEDS_LINK_OR_KEY = `Send ${REVIEW_TOKEN_HEADER} with the token of a review link, or Authorization: Bearer with the key of an account that has access to the site.`

function linkEnded(): ApiError {
  return new ApiError('NOT_FOUND', 'The review link has ended', { hint: 'Ask for a new link.' })
}
