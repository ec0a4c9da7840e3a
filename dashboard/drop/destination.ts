import { askLimits } from '../../client/sdk/limits.ts'
import type { FileLimits } from '../../protocol/api/publish.schema.ts'
import { signedInAs } from '../api/session.ts'
import { settings } from '../api/settings.ts'
import { slipway } from '../api/slipway.ts'
import type { AnonymousSite } from './anonymous-sites.ts'

/** The target of a drop: a new site, one of the account, or an anonymous one of this browser. */
export type Destination =
  | { kind: 'new' }
  | { kind: 'own'; slug: string }
  | { kind: 'anonymous'; site: AnonymousSite }

/** Limits of the target, for these files: of a site of an account undefined when the server need not be asked. */
export async function findLimits(
  destination: Destination,
  files: readonly { size: number }[],
): Promise<FileLimits | undefined> {
  const { kind } = destination
  const isOwned = kind === 'own' || (kind === 'new' && signedInAs.value !== null)
  return isOwned ? askLimits(slipway, files, getSlug(destination)) : settings.anonymous
}

/** The site to update; undefined for a new one. */
export function getSlug(destination: Destination): string | undefined {
  if (destination.kind === 'new') return undefined
  return destination.kind === 'own' ? destination.slug : destination.site.slug
}
