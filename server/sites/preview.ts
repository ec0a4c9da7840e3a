import { hash as hashOnce } from 'node:crypto'
import type { PreviewAddress } from '../../protocol/api/fields.schema.ts'
import { pluralize } from '../../protocol/format.ts'
import { findRole } from '../accounts/authorization.ts'
import { releaseHolding } from '../accounts/quotas.ts'
import { ApiError } from '../lib/errors.ts'
import type { ChangeEffect } from '../lib/loading-cache.ts'
import { toIso } from '../lib/time.ts'
import type { Queries } from '../store/queries.ts'
import type { WriteTransaction } from '../store/store.ts'
import type { ReviewSubject } from '../store/tables/reviews.ts'
import type { Site } from '../store/tables/sites.ts'
import type { VersionHeader } from '../store/tables/versions.ts'
import { LABEL_PATTERN } from './slug.ts'
import type { UrlBuilder } from './urls.ts'
import { deleteVersions, forgetFormerOfPreview } from './version.ts'

/**
 * A preview name and a slug, with two hyphens between them, are one host label (RFC 1035, 2.3.4: 63 octets). This fits
 * with every slug, and no name has the 26 characters of a version id or of a preview link.
 */
export const MAX_PREVIEW_NAME_LENGTH = 25

/** Of two characters, it would be the prefix of a reserved label, such as `xn--` (RFC 5890, 2.3.1). */
const MIN_PREVIEW_NAME_LENGTH = 3

export const PREVIEW_NAME_RULE = `must have ${MIN_PREVIEW_NAME_LENGTH} to ${MAX_PREVIEW_NAME_LENGTH} lowercase letters, digits and single hyphens, such as pr-42, and begin and end with a letter or digit: it is a part of a host name`

export function isPreviewName(text: string): boolean {
  const { length } = text
  return length >= MIN_PREVIEW_NAME_LENGTH && length <= MAX_PREVIEW_NAME_LENGTH && LABEL_PATTERN.test(text)
}

/** The version that a preview shows; otherwise, and at first, the live one. */
export async function findReplacedId(
  { versions }: Queries,
  { slug, liveVersionId }: Site,
  previewName: string | null,
  now: number,
): Promise<string | null> {
  const named = previewName === null ? undefined : await versions.findPreview(slug, previewName)
  return named && isShown(named, now) ? named.id : liveVersionId
}

/** Undefined for a version without a name. */
export function describePreview(
  addresses: UrlBuilder,
  { slug, previewName, previewUntil }: Pick<VersionHeader, 'slug' | 'previewName' | 'previewUntil'>,
): PreviewAddress | undefined {
  if (previewName === null || previewUntil === null) return undefined
  return { name: previewName, url: addresses.preview(slug, previewName), expiresAt: toIso(previewUntil) }
}

/** When a pending version is finalized, its time to live begins, and its base is used. */
export function renewedPreview(
  { createdAt, previewUntil }: Pick<VersionHeader, 'createdAt' | 'previewUntil'>,
  now: number,
): { previewUntil: number; baseVersionId: null } {
  return { previewUntil: now + previewUntil! - createdAt, baseVersionId: null }
}

/** Deletes the version, or only its name if it was ever live, and its review unless another version takes the name. */
export async function endPreview(
  tx: WriteTransaction,
  version: VersionHeader,
  { now, effect, keepsReview = false }: { now: number; effect: ChangeEffect; keepsReview?: boolean },
): Promise<void> {
  const { id, slug, publishedAt, previewName } = version
  if (!keepsReview) await removeReview(tx, { slug, previewName: previewName! }, now)
  if (publishedAt === null) return deleteVersions(tx, slug, { ids: [id], now, effect })
  await tx.versions.update(id, { previewName: null, previewUntil: null, liveReload: false })
  await tx.notifyChanged(slug, effect)
}

/** With its threads, links and decisions, and the former files: the next preview of the name begins without them. */
export async function removeReview(tx: WriteTransaction, subject: ReviewSubject, now: number): Promise<void> {
  const bytes = await tx.reviews.remove(subject)
  const site = await tx.sites.find(subject.slug)
  if (!site) return
  await releaseHolding(tx, site, { bytes, sites: 0 })
  await forgetFormerOfPreview(tx, site, subject.previewName, now)
}

/** Within a write. PREVIEW_LIMIT_REACHED. */
export async function assertPreviewLimit(
  tx: Queries,
  { slug, name, max, now }: { slug: string; name: string; max: number; now: number },
): Promise<void> {
  if ((await tx.versions.findPreview(slug, name)) || (await tx.versions.countPreviews(slug, now)) < max)
    return
  throw new ApiError('PREVIEW_LIMIT_REACHED', `A site can have at most ${pluralize(max, 'preview')}`)
}

/** NOT_FOUND without a preview of this name, and after its end. */
export async function requirePreview(
  queries: Queries,
  { slug, name, now }: { slug: string; name: string; now: number },
): Promise<VersionHeader> {
  const version = await queries.versions.findPreview(slug, name)
  if (version && isShown(version, now)) return version
  throw previewNotFound()
}

export function isShown({ previewUntil }: VersionHeader, now: number): boolean {
  return previewUntil !== null && previewUntil > now
}

export function previewNotFound(): ApiError {
  return new ApiError('NOT_FOUND', 'The site has no preview of this name', {
    hint: 'List the previews with GET /api/v1/publish/{slug}/previews.',
  })
}

/** What a decision is about: the files, and the metadata that go live with them. */
export function reviewedHash(version: Pick<VersionHeader, 'contentHash' | 'metadata'>): string {
  const { contentHash, metadata } = version
  const chosen = Object.entries(metadata).sort(([one], [other]) => (one < other ? -1 : 1))
  return chosen.length === 0 ? contentHash! : hashOnce('sha256', JSON.stringify([contentHash, chosen]))
}

/** APPROVAL_REQUIRED unless this content has an approval that counts now, and no request for changes since. */
export async function requireApproval(queries: Queries, site: Site, version: VersionHeader): Promise<void> {
  const { slug, requireApproval: rule } = site
  if (rule === 'off') return
  const decisions = await queries.reviews.decisionsAbout(slug, reviewedHash(version), MAX_DECISIONS)
  for (const { decision, accountId } of decisions) {
    if (decision === 'changes-requested') break
    if (rule === 'anyone') return
    const reviewer = accountId === null ? undefined : await queries.accounts.find(accountId)
    if (reviewer && (await findRole(queries, site, reviewer))) return
  }
  const [last] = decisions
  const whose = rule === 'anyone' ? 'an approval' : 'the approval of a collaborator'
  const sentence =
    last?.decision === 'changes-requested'
      ? `${last.author.name} has requested changes of this version`
      : `This site requires ${whose} of exactly this version before it is promoted`
  throw new ApiError('APPROVAL_REQUIRED', sentence)
}

/** Newest decisions about a content that can contain the one that counts. */
const MAX_DECISIONS = 1000
