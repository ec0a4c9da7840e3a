import { KEY_SCOPES, type KeyScope } from '../../protocol/api/keys.ts'
import type { Access } from '../../protocol/api/operations.schema.ts'
import type { SiteRole } from '../../protocol/api/sites.schema.ts'
import type { PublishedWith } from '../../protocol/api/versions.schema.ts'
import { pluralize } from '../../protocol/format.ts'
import { ApiError, siteNotFound } from '../lib/errors.ts'
import { toIso, toIsoOrNull } from '../lib/time.ts'
import { constantTimeEqual, hashToken } from '../lib/tokens.ts'
import type { Queries } from '../store/queries.ts'
import type { Account, Suspension } from '../store/tables/accounts.ts'
import type { Site } from '../store/tables/sites.ts'

/** What a credential permits, within the rights of its account. */
export interface Grant {
  scope: KeyScope
  /** By `visitsKey`; null for all, and for everything else of the account. */
  sites: readonly string[] | null
  expiresAt: number | null
}

/** The grant of browser sessions and of keys without limits. */
export const FULL_GRANT: Grant = Object.freeze({ scope: 'manage', sites: null, expiresAt: null })

/** INSUFFICIENT_SCOPE unless the credential permits the operation. `slug` is a present or former slug of its site. */
export async function assertPermitted(
  queries: Queries,
  { account, grant }: { account: Account | undefined; grant?: Grant },
  access: Access,
  slug?: string,
): Promise<void> {
  if (!account) return
  if (!grant) throw new Error('A caller with an account has a grant')
  if (rank(grant.scope) < rank(access.previews || access.byName ? 'preview' : access.scope))
    throw scopeMissing(grant.scope, access.scope)
  if (access.reach === 'credentials' && grant.expiresAt !== null) throw expiringKey()
  if (grant.sites === null || access.byName) return
  const site = access.reach === 'site' && slug !== undefined ? await queries.sites.find(slug) : undefined
  if (!site || !grant.sites.includes(site.visitsKey)) throw otherSite(access, grant.sites.length)
}

export function givesLastingAccess({ scope, sites, expiresAt }: Grant): boolean {
  return mayManage(scope) && sites === null && expiresAt === null
}

export function mayManage(scope: KeyScope): boolean {
  return rank(scope) >= rank('manage')
}

export function mayPublish({ grant }: Caller): boolean {
  return !grant || rank(grant.scope) >= rank('publish')
}

/** A publish with the name of a preview leaves the site as it is. */
export function publishScope(previewName: string | null | undefined): KeyScope {
  return typeof previewName === 'string' ? 'preview' : 'publish'
}

function rank(scope: KeyScope): number {
  return KEY_SCOPES.indexOf(scope)
}

function scopeMissing(scope: KeyScope, requiredScope: KeyScope): ApiError {
  const sentence = `This needs a key of scope ${requiredScope}. The key of the request has scope ${scope}.`
  return new ApiError('INSUFFICIENT_SCOPE', sentence, { details: { requiredScope, scope } })
}

function otherSite({ scope, reach }: Access, sites: number): ApiError {
  const needed = reach === 'site' ? 'this site' : 'the whole account'
  const sentence = `This needs a key of scope ${scope} for ${needed}. The key of the request is limited to ${pluralize(sites, 'site')}.`
  const details = { requiredScope: scope, requiredReach: reach }
  return new ApiError('INSUFFICIENT_SCOPE', sentence, { details })
}

function expiringKey(): ApiError {
  const sentence = 'This needs a key of scope manage that does not expire, or a browser session.'
  const details = { requiredScope: 'manage', requiredReach: 'credentials' }
  return new ApiError('INSUFFICIENT_SCOPE', sentence, { details })
}

/** The address is always set; the account with a valid key or session. */
export interface Caller {
  account: Account | undefined
  address: string
  signedInWith: PublishedWith
  /** As the program names itself. */
  client?: string
  /** Required for a caller with an account. */
  grant?: Grant
  signedInAt?: number
  keyHash?: string
  accessHash?: string
  /** Calls `listener` once the client no longer waits for the response. */
  onDisconnect?: (listener: () => void) => void
  onUpdateByName?: () => void
  /** What a page of another origin has requested without the user. */
  ofOtherPage?: 'content' | 'window' | undefined
}

export function describePublisher({ account, signedInWith, client }: Caller) {
  return { publishedBy: account?.id ?? null, publishedWith: signedInWith, publishedClient: client ?? null }
}

/**
 * What an account may do with a site: its owner everything. A collaborator may publish, which includes reading it,
 * changing metadata and removing versions. A suspended site can only be read, and it and its parts can be deleted. A
 * suspended account only reads sites that are shared with it.
 */
export type SiteRight = 'read' | 'publish' | 'remove' | 'manage' | 'delete'

const OWNER_RIGHTS: ReadonlySet<SiteRight> = new Set(['manage', 'delete'])
const RIGHTS_WHILE_SUSPENDED: ReadonlySet<SiteRight> = new Set(['read', 'remove', 'delete'])

/** What others learn of a suspended account; its reason is for the account only. */
export const OWNER_SUSPENDED = 'The account of the owner of this site is suspended'

export interface SiteAccess {
  slug: string
  account: Account
  now: number
}

/**
 * Decides for accounts, `requireChangeable` for claim tokens. NOT_FOUND for an account that is neither owner nor collaborator, OWNER_REQUIRED for a
 * collaborator without the right, ACCOUNT_SUSPENDED for one whose account is suspended, SITE_EXPIRED, and SITE_SUSPENDED
 * for changes of a suspended site.
 */
export async function requireAccess(
  queries: Queries,
  right: SiteRight,
  { slug, account, now }: SiteAccess,
): Promise<Site> {
  return requireAccessTo(queries, right, await queries.sites.find(slug), { account, now })
}

/** For a site that these queries have returned; undefined when it does not exist. */
export async function requireAccessTo(
  queries: Queries,
  right: SiteRight,
  site: Site | undefined,
  { account, now }: Omit<SiteAccess, 'slug'>,
): Promise<Site> {
  const role = site && (await findRole(queries, site, account))
  if (!role) throw siteNotFound()
  if (isRetired(site)) throw role === 'owner' && isInTrash(site, now) ? siteInTrash(site) : siteNotFound()
  if (site.deletedAt !== null) throw siteExpired()
  // A suspended site is kept after its expiry, and its owner can take it along.
  const isKept = RIGHTS_WHILE_SUSPENDED.has(right) && (site.suspension ?? account.suspension)
  const current = isKept ? site : requireNotExpired(site, now)
  if (role !== 'owner' && OWNER_RIGHTS.has(right))
    throw new ApiError('OWNER_REQUIRED', 'Only the owner of this site can do this')
  if (role !== 'owner' && right !== 'read') assertAccountNotSuspended(account)
  if (!RIGHTS_WHILE_SUSPENDED.has(right)) await assertNotSuspended(queries, current, account)
  return current
}

/** The reason of a suspended account is for its owner only. */
async function assertNotSuspended(
  queries: Queries,
  { suspension, ownerId }: Site,
  account: Account,
): Promise<void> {
  if (suspension) throw siteSuspended(suspension)
  const owner = ownerId === account.id ? account : await queries.accounts.find(ownerId!)
  if (owner?.suspension) throw new ApiError('SITE_SUSPENDED', OWNER_SUSPENDED)
}

function siteSuspended({ reason, since }: Suspension): ApiError {
  const sentence = `The operator of this service has suspended this site: ${reason}`
  return new ApiError('SITE_SUSPENDED', sentence, { details: { reason, since: toIso(since) } })
}

/** ACCOUNT_SUSPENDED for an account that is suspended. */
export function assertAccountNotSuspended({ suspension }: Account): void {
  if (!suspension) return
  const { reason, since } = suspension
  const sentence = `The operator of this service has suspended this account: ${reason}`
  throw new ApiError('ACCOUNT_SUSPENDED', sentence, { details: { reason, since: toIso(since) } })
}

/** Undefined for a stranger. */
export async function findRole(
  queries: Queries,
  { slug, ownerId }: Site,
  account: Account,
): Promise<SiteRole | undefined> {
  if (ownerId === account.id) return 'owner'
  return (await queries.collaborators.has(slug, account.email)) ? 'collaborator' : undefined
}

interface PublisherAccess {
  slug: string
  claimToken: string | undefined
  now: number
  /** What the key must permit; with `manage`, the account must have that right. Default `publish`. */
  scope?: KeyScope
}

/** With a key of an account that has the right (INSUFFICIENT_SCOPE), or the claim token of an anonymous site. */
export async function requirePublisher(
  queries: Queries,
  caller: Caller,
  { slug, claimToken, now, scope = 'publish' }: PublisherAccess,
): Promise<Site> {
  if (claimToken === undefined && !caller.account) throw needsKeyOrToken()
  if (claimToken !== undefined) {
    const site = await queries.sites.find(slug)
    if (site?.ownerId === null) return requireClaimToken(site, claimToken, now)
    if (!caller.account && !site) throw siteNotFound()
  }
  const right = scope === 'manage' ? 'manage' : 'publish'
  const site = await requireAccess(queries, right, { slug, account: requireAccount(caller), now })
  await assertPermitted(queries, caller, { scope, reach: 'site' }, slug)
  return site
}

/** False with an owner or without a site. INVALID_CLAIM_TOKEN; SITE_EXPIRED once deleted, unless it is suspended. */
export async function isDeletableWith(
  queries: Queries,
  { slug, claimToken }: { slug: string; claimToken: string },
): Promise<boolean> {
  const site = await queries.sites.find(slug)
  if (site?.ownerId !== null) return false
  if (withClaimToken(site, claimToken).deletedAt !== null) throw siteExpired()
  return true
}

/** Also of a site that was claimed. SITE_EXPIRED after its expiry, SITE_SUSPENDED for one that is suspended. */
export function requireClaimToken(site: Site | undefined, claimToken: string, now: number): Site {
  return requireChangeable(withClaimToken(site, claimToken), now)
}

/** SITE_EXPIRED after the expiry of an anonymous site, SITE_SUSPENDED for one that is suspended. */
export function requireChangeable(site: Site, now: number): Site {
  const current = requireNotExpired(site, now)
  if (current.suspension) throw siteSuspended(current.suspension)
  return current
}

/** Also for a site that has expired. */
export function withClaimToken(site: Site | undefined, claimToken: string): Site {
  if (!site || isRetired(site)) throw siteNotFound()
  if (site.claimTokenHash === null || !constantTimeEqual(hashToken(claimToken), site.claimTokenHash)) {
    throw new ApiError('INVALID_CLAIM_TOKEN', 'The claim token does not belong to this site')
  }
  return site
}

/** Such a slug is answered as an unknown one. */
export function isRetired({ deletionReason }: Site): boolean {
  return deletionReason === 'deleted' || deletionReason === 'renamed'
}

/** Not one that is `BEING_DELETED`. */
export function isInTrash({ keptUntil, expiresAt }: Site, now: number): boolean {
  return keptUntil !== null && (now < keptUntil || keptUntil === expiresAt)
}

/** SITE_EXPIRED after the site's expiry. */
export function requireNotExpired(site: Site, now: number): Site {
  if (isExpired(site, now)) throw siteExpired()
  return site
}

/** Also of a deleted site. */
export function isExpired({ deletedAt, expiresAt }: Site, now: number): boolean {
  return deletedAt !== null || (expiresAt !== null && expiresAt <= now)
}

function siteExpired(): ApiError {
  return new ApiError('SITE_EXPIRED', 'The site has expired')
}

/** Within a write that gives something to an account. UNAUTHORIZED when it was deleted since the call began. */
export async function assertNotBeingDeleted(tx: Queries, account: Pick<Account, 'id'>): Promise<void> {
  const current = await tx.accounts.find(account.id)
  if (current?.deletionStartedAt === null) return
  throw new ApiError('UNAUTHORIZED', 'This account has been deleted')
}

/** UNAUTHORIZED without an account, with `hint` in place of that of the code. */
export function requireAccount(caller: Caller, hint?: string): Account {
  if (caller.account) return caller.account
  throw needsKey(hint)
}

/** UNAUTHORIZED without an API key, also for a session. */
export function requireKeyHash(caller: Caller): string {
  if (caller.keyHash !== undefined) return caller.keyHash
  throw needsKey()
}

function siteInTrash({ slug, keptUntil }: Site): ApiError {
  return new ApiError('NOT_FOUND', 'The site is in the trash', {
    details: { deletedUntil: toIsoOrNull(keptUntil) },
    hint: `Restore the site with POST /api/v1/publish/${slug}/undelete.`,
  })
}

function needsKey(hint?: string): ApiError {
  return new ApiError('UNAUTHORIZED', 'API key required. Send it as "Authorization: Bearer sl_live_…".', {
    hint,
  })
}

export function needsKeyOrToken(
  hint = 'For an anonymous site, send X-Slipway-Claim-Token with the claimToken from the response that created it; for a site of an account, send Authorization: Bearer with its API key.',
): ApiError {
  const sentence =
    'API key or claim token required. Send the key as "Authorization: Bearer sl_live_…", or the claim token of an anonymous site as "X-Slipway-Claim-Token".'
  return new ApiError('UNAUTHORIZED', sentence, { hint })
}
