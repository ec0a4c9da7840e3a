import { MAX_NAME_LENGTH, MIN_NAME_LENGTH, suggestName as toName } from '../../protocol/site-name.ts'
import type { ResumableResult } from '../sdk/resume.ts'
import type { Slipway } from '../sdk/slipway.ts'
import { accountCommand } from './account.ts'
import { AuthError, RefusedError, UsageError } from './cli-error.ts'
import type { CommandContext, CommandOption } from './command.ts'
import type { PublishPlan } from './publish-target.ts'
import { findHolder, suggestInstead } from './suggest-name.ts'

export const NAME_OPTION: CommandOption = {
  type: 'string',
  value: 'NAME',
  help: 'Name of the site, as in NAME.example.com (needs an account)',
}

/** The first label of the address of a site, which commands print. */
const ADDRESS = /^(?:https?:\/\/)?([a-z0-9-]+)\.[^\s.]/i

/** Throws a UsageError for what cannot be the name of a site. */
export function assertIsName(name: string): void {
  const similar = toName(ADDRESS.exec(name)?.[1] ?? name)
  if (similar === name) return
  const rule = `A name has ${MIN_NAME_LENGTH} to ${MAX_NAME_LENGTH} lowercase letters, digits and single hyphens`
  const hint = similar === undefined ? [] : [`Did you mean: --site ${similar}`]
  throw new UsageError(`${JSON.stringify(name)} is not the name of a site`, rule, ...hint)
}

/** Renames a site, here and on the server; returns its slug. The former name redirects for 30 days. */
export async function renameSite(
  { siteMemory, terminal }: CommandContext,
  slipway: Slipway,
  { server, slug, name }: { server: string; slug: string; name: string },
): Promise<string> {
  const renamed = await slipway.renameSite(slug, name)
  siteMemory.rename(slug, server, renamed.slug)
  if (renamed.slug !== slug) terminal.printDone(`Renamed ${slug} to ${renamed.slug}`)
  return renamed.slug
}

/** Refuses a name before anything is published under it. A new site gets its name when it is created. */
export async function assertName(work: CommandContext, plan: PublishPlan): Promise<void> {
  const { server, key, name, remembered } = plan
  if (name === undefined) return
  if (key === undefined || remembered?.claimToken !== undefined)
    throw new AuthError('Choosing a name needs an account', `First: ${accountCommand(work, plan)}`)
  const slug = plan.slug ?? remembered?.slug
  if (slug === undefined || slug === name) return
  await assertRenamable(work.connect(server, key), slug, name)
}

/** Throws an error for a name that a site cannot get. It can take back its former ones. */
export async function assertRenamable(slipway: Slipway, slug: string, name: string): Promise<void> {
  const { available, reason = 'The name is not available.' } = await slipway.checkName(name)
  if (available) return
  if (toName(name) !== name) throw new UsageError(reason)
  const holder = await findHolder(slipway, name)
  if (holder?.slug !== slug) throw new RefusedError(reason, ...suggestInstead(holder, name))
}

/** Renames the published site of a plan, so that a publish that is refused changes no name. */
export async function applyName(
  work: CommandContext,
  { server, key, name }: PublishPlan,
  outcome: ResumableResult,
): Promise<ResumableResult> {
  const { site, published } = outcome
  if (name === undefined || site.slug === name) return outcome
  const slipway = work.connect(server, key)
  const slug = await renameSite(work, slipway, { server, slug: site.slug, name })
  const { siteUrl } = await slipway.details(slug)
  const previewUrl = published.previewUrl.replace(`--${site.slug}.`, `--${slug}.`)
  return { site: { ...site, slug, siteUrl }, published: { ...published, slug, siteUrl, previewUrl } }
}
