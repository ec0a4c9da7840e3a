import type { MetadataField } from '../../../protocol/api/publish.ts'
import type { ApprovalRule } from '../../../protocol/api/sites.schema.ts'
import { type EntityOf, flag, integer, json, jsonList, key, nullable, oneOf, Table, text } from '../table.ts'
import type { Suspension } from './accounts.ts'
import type { Domain } from './domains.ts'

/** What a publisher sets; `expiresAt` follows from the lifetime. */
const metadata = {
  title: nullable(text),
  description: nullable(text),
  ogImagePath: nullable(text),
  spaMode: flag,
} satisfies Record<Exclude<MetadataField, 'ttlSeconds'>, unknown>

const metadataTable = new Table(metadata)

/** What a cleared field is. */
export const NO_METADATA: EntityOf<typeof metadataTable> = { ...metadataTable.nulls, spaMode: false }

export const METADATA_COLUMNS = Object.keys(NO_METADATA) as (keyof typeof NO_METADATA)[]

/** `keptUntil` of a site that was deleted permanently, but still has versions: it is not in the trash. */
export const BEING_DELETED = 0

/**
 * A site. It is never removed, so that its slug is never reused; a deleted one has no versions, unless it is in the
 * trash, or `BEING_DELETED`. A former name of a site is one, too.
 */
export const siteTable = new Table({
  slug: key(text),
  /** Null while it is anonymous. */
  ownerId: nullable(text),
  claimTokenHash: nullable(text),
  /** Whether a version was ever finalized, also a draft or a preview that has ended since. */
  isFinalized: flag,
  liveVersionId: nullable(text),
  /** What a rollback makes live: the version that the live one replaced, or an earlier one after a rollback. */
  previousVersionId: nullable(text),
  liveSince: nullable(integer),
  ...metadata,
  passwordHash: nullable(text),
  createdAt: integer,
  updatedAt: integer,
  expiresAt: nullable(integer),
  deletedAt: nullable(integer),
  /** `renamed`: a former name of a site. */
  deletionReason: nullable(oneOf<'deleted' | 'expired' | 'abandoned' | 'renamed'>()),
  /** The current name of the site that had this one, while visitors are redirected. */
  renamedTo: nullable(text),
  /** The first name of the site, under which its visits are counted. */
  visitsKey: text,
  /** Of a deleted site: until when it is in the trash and can be restored; null when it cannot. */
  keptUntil: nullable(integer),
  keptDomains: jsonList<KeptDomain>(),
  /** While it is anonymous: the network that published it first, as a keyed hash. */
  network: nullable(text),
  /** Who must approve a preview before it is promoted. */
  requireApproval: oneOf<ApprovalRule>(),
  /** Changes when a review link is revoked, which ends what all of them show; null before. */
  reviewKey: nullable(text),
  /** Its own suspension; that of its owner applies too. */
  suspension: nullable(json<Suspension>()),
  /** Fingerprints of secrets that publishers of the site have declared public. */
  allowedSecrets: jsonList<string>(),
})

export type Site = EntityOf<typeof siteTable>

export type KeptDomain = Pick<Domain, 'domain' | 'verificationToken' | 'primaryDomain'>

export function emptySite(slug: string, now: number): Site {
  return {
    ...siteTable.nulls,
    ...NO_METADATA,
    slug,
    createdAt: now,
    updatedAt: now,
    visitsKey: slug,
    isFinalized: false,
    requireApproval: 'off',
    keptDomains: [],
    allowedSecrets: [],
  }
}

/** An address whose account may publish to a site of another account. */
export const collaboratorTable = new Table({
  slug: key(text),
  /** Normalized as the addresses of accounts. The account may not exist yet. */
  email: key(text),
  addedAt: integer,
})

export type Collaborator = EntityOf<typeof collaboratorTable>
