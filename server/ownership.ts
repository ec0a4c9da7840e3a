import type { PublishedWith } from '../client/wire.ts'
import { Failure, noSuchSite } from './failure.ts'
import { hashOfSecret, sameSecret } from './key.ts'
import type { AccountRow, SiteRow } from './store/schema.ts'
import type { Queries } from './store/store.ts'

/** Who asks: an account when a valid key or session came, and the address in any case. */
export interface Caller {
  account: AccountRow | undefined
  address: string
  /** What the account showed, or that there is none. */
  signedInWith: PublishedWith
}

/** The site when it is there and the account's; NOT_FOUND otherwise, SITE_EXPIRED when its time is over. */
export function ownedSite(site: SiteRow | undefined, account: AccountRow, now: number): SiteRow {
  if (!site || site.owner_id !== account.id || site.gone_reason === 'deleted') throw noSuchSite()
  return unexpired(site, now)
}

/** The site when it is there and the token is its claim token, whether it was claimed or not. */
export function claimable(site: SiteRow | undefined, claimToken: string, now: number): SiteRow {
  if (!site || site.gone_reason === 'deleted') throw noSuchSite()
  if (site.claim_token_hash === null || !sameSecret(hashOfSecret(claimToken), site.claim_token_hash)) {
    throw new Failure('INVALID_CLAIM_TOKEN', 'The claim token does not belong to this site')
  }
  return unexpired(site, now)
}

/** SITE_EXPIRED when the site's time is over. */
export function unexpired(site: SiteRow, now: number): SiteRow {
  if (site.gone_at !== null || (site.expires_at !== null && site.expires_at <= now)) {
    throw new Failure('SITE_EXPIRED', 'The site has expired')
  }
  return site
}

/** Within a write that gives an account something new: UNAUTHORIZED when it was deleted since the call began. */
export async function refuseLeaver(tx: Queries, account: AccountRow): Promise<void> {
  const current = await tx.accounts.byId(account.id)
  if (current?.leaving_since === null) return
  throw new Failure('UNAUTHORIZED', 'This account was deleted')
}

/** The account of a call that needs one; UNAUTHORIZED without. */
export function signedIn(caller: Caller): AccountRow {
  if (caller.account) return caller.account
  throw new Failure('UNAUTHORIZED', 'This needs an API key: Authorization: Bearer sl_live_...')
}
