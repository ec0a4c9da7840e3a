import { KEY_SCOPES, type KeyScope } from '../../protocol/api/keys.ts'
import type { Access } from '../../protocol/api/operations.schema.ts'
import { pluralize } from '../../protocol/format.ts'
import { ApiError } from '../lib/errors.ts'
import type { Queries } from '../store/queries.ts'
import type { Account } from '../store/tables/accounts.ts'

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
  const site = access.reach === 'site' && slug !== undefined ? await queries.sites.bySlug(slug) : undefined
  if (!site || !grant.sites.includes(site.visitsKey)) throw otherSite(access, grant.sites.length)
}

/** A publish with the name of a preview leaves the site as it is. */
export function publishScope(previewName: string | null | undefined): KeyScope {
  return typeof previewName === 'string' ? 'preview' : 'publish'
}

function rank(scope: KeyScope): number {
  return KEY_SCOPES.indexOf(scope)
}

function scopeMissing(scope: KeyScope, requiredScope: KeyScope): ApiError {
  return new ApiError(
    'INSUFFICIENT_SCOPE',
    `This needs a key of scope ${requiredScope}. The key of the request has scope ${scope}.`,
    { details: { requiredScope, scope } },
  )
}

function otherSite({ scope, reach }: Access, sites: number): ApiError {
  const needed = reach === 'site' ? 'this site' : 'the whole account'
  return new ApiError(
    'INSUFFICIENT_SCOPE',
    `This needs a key of scope ${scope} for ${needed}. The key of the request is limited to ${pluralize(sites, 'site')}.`,
    { details: { requiredScope: scope, requiredReach: reach } },
  )
}

function expiringKey(): ApiError {
  return new ApiError(
    'INSUFFICIENT_SCOPE',
    'This needs a key of scope manage that does not expire, or a browser session.',
    { details: { requiredScope: 'manage', requiredReach: 'credentials' } },
  )
}
