import type { SiteDetails } from '../../protocol/api/sites.schema.ts'
import type { Slipway } from '../sdk/slipway.ts'

/** The site of the account that has a name, or had it before. */
export async function findHolder(slipway: Slipway, name: string): Promise<SiteDetails | undefined> {
  return slipway.details(name).catch(() => undefined)
}

/** What to do about a name that is not available, as hints. */
export async function suggestName(slipway: Slipway, name: string): Promise<string[]> {
  return suggestInstead(await findHolder(slipway, name), name)
}

/** The same for a name of this site. */
export function suggestInstead(holder: SiteDetails | undefined, name: string): string[] {
  return holder?.role === 'owner'
    ? [`It is your site: update it with --site ${name}`]
    : ['Choose another name with --name.']
}
