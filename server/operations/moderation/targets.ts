import { noAccount } from '../../accounts/administrators.ts'
import { readEmail } from '../../accounts/email-address.ts'
import { ApiError } from '../../lib/errors.ts'
import type { Queries } from '../../store/queries.ts'
import type { Account } from '../../store/tables/accounts.ts'
import type { Site } from '../../store/tables/sites.ts'

/** The site may be in the trash; NOT_FOUND when there is none or it was deleted permanently. */
export async function requirePresentSite(queries: Queries, slug: string): Promise<Site> {
  const site = await queries.sites.bySlug(slug)
  if (site && isPresent(site)) return site
  throw new ApiError('NOT_FOUND', `There is no site ${slug}`)
}

export function isPresent({ deletedAt, keptUntil }: Site): boolean {
  return deletedAt === null || keptUntil !== null
}

/** The one that the owner has set, or that of the live page; null without both. */
export async function findTitle(
  { versions }: Queries,
  { title, liveVersionId }: Pick<Site, 'title' | 'liveVersionId'>,
): Promise<string | null> {
  if (title !== null || liveVersionId === null) return title
  return (await versions.header(liveVersionId))?.title ?? null
}

/** By id or email address; NOT_FOUND. */
export async function requireAccountOf({ accounts }: Queries, target: string): Promise<Account> {
  const account = await (target.includes('@') ? accounts.byEmail(readEmail(target)) : accounts.byId(target))
  if (account) return account
  throw target.includes('@') ? noAccount(target) : new ApiError('NOT_FOUND', 'Account not found')
}
