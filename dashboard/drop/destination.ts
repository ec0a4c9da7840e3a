import type { PublishLimits } from '../../client/wire/page-settings.ts'
import { signedInAs } from '../api/session.ts'
import { settings } from '../api/settings.ts'
import type { AnonymousSite } from './anonymous-sites.ts'

/** Where a drop goes: a new site, one of the account, or one without an owner that this browser has the token of. */
export type Destination =
  | { kind: 'new' }
  | { kind: 'own'; slug: string }
  | { kind: 'anonymous'; site: AnonymousSite }

/** What can be published there. */
export function limitsOf({ kind }: Destination): PublishLimits {
  const isOwned = kind === 'own' || (kind === 'new' && signedInAs.value !== null)
  return isOwned ? settings.owned : settings.anonymous
}

/** The site that is updated; undefined for a new one. */
export function slugOf(destination: Destination): string | undefined {
  if (destination.kind === 'new') return undefined
  return destination.kind === 'own' ? destination.slug : destination.site.slug
}
