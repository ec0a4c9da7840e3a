import type { PublishedWith } from '../../protocol/api/sites.ts'
import { ApiError, siteNotFound } from '../lib/errors.ts'
import { constantTimeEqual, hashToken } from '../lib/tokens.ts'
import type { Account } from '../store/contract/accounts.ts'
import type { Site } from '../store/contract/sites.ts'
import type { Queries } from '../store/store.ts'

/**
 * The caller of an operation: its account when a valid key or session was sent, and its address in any case.
 */
export interface Caller {
  account: Account | undefined
  address: string
  /** The kind of credential, if any. */
  signedInWith: PublishedWith
  /** The hash of the API key, if the caller signed in with one. */
  keyHash?: string
}

/** The site when it exists and belongs to the account; NOT_FOUND otherwise, SITE_EXPIRED after its expiry. */
export function requireOwner(site: Site | undefined, account: Account, now: number): Site {
  if (!site || site.ownerId !== account.id || isRetired(site)) throw siteNotFound()
  return requireNotExpired(site, now)
}

/**
 * The site when the caller may publish to it: with its owner's key, or with the claim token while it is
 * anonymous.
 */
export function requirePublisher(
  site: Site | undefined,
  caller: Caller,
  claimToken: string | undefined,
  now: number,
): Site {
  if (site?.ownerId === null && claimToken !== undefined) return requireClaimToken(site, claimToken, now)
  if (claimToken !== undefined && !caller.account && !site) throw siteNotFound()
  if (claimToken === undefined && !caller.account) throw needsKeyOrToken()
  return requireOwner(site, requireAccount(caller), now)
}

/** The site when it is there, has not expired, and the token is its claim token, whether it was claimed or not. */
export function requireClaimToken(site: Site | undefined, claimToken: string, now: number): Site {
  return requireNotExpired(withClaimToken(site, claimToken), now)
}

/** The same of a site that may have expired. */
export function withClaimToken(site: Site | undefined, claimToken: string): Site {
  if (!site || isRetired(site)) throw siteNotFound()
  if (site.claimTokenHash === null || !constantTimeEqual(hashToken(claimToken), site.claimTokenHash)) {
    throw new ApiError('INVALID_CLAIM_TOKEN', 'The claim token does not belong to this site')
  }
  return site
}

/** Whether the slug is answered as an unknown one: the site was deleted, or it is a former name of another one. */
export function isRetired({ deletionReason }: Site): boolean {
  return deletionReason === 'deleted' || deletionReason === 'renamed'
}

/** SITE_EXPIRED after the site's expiry. */
export function requireNotExpired(site: Site, now: number): Site {
  if (site.deletedAt !== null || (site.expiresAt !== null && site.expiresAt <= now)) {
    throw new ApiError('SITE_EXPIRED', 'The site has expired')
  }
  return site
}

/**
 * Within a write that gives an account something new: UNAUTHORIZED when the account was deleted since the
 * call began.
 */
export async function assertNotBeingDeleted(tx: Queries, account: Account): Promise<void> {
  const current = await tx.accounts.byId(account.id)
  if (current?.deletionStartedAt === null) return
  throw new ApiError('UNAUTHORIZED', 'This account has been deleted')
}

/** The account of a call that requires one; UNAUTHORIZED without. */
export function requireAccount(caller: Caller): Account {
  if (caller.account) return caller.account
  throw needsKey()
}

/** The hash of the API key of a call that requires one, not a session; UNAUTHORIZED without. */
export function requireKeyHash(caller: Caller): string {
  if (caller.keyHash !== undefined) return caller.keyHash
  throw needsKey()
}

function needsKey(): ApiError {
  return new ApiError('UNAUTHORIZED', 'API key required. Send it as "Authorization: Bearer sl_live_…".')
}

function needsKeyOrToken(): ApiError {
  return new ApiError(
    'UNAUTHORIZED',
    'API key or claim token required. Send the key as "Authorization: Bearer sl_live_…", or the claim token of an anonymous site as "X-Slipway-Claim-Token".',
  )
}
