import { isSlipwayError } from '../sdk/slipway-error.ts'
import { chooseSite, notSignedIn, resolveKey } from './account.ts'
import { CliError, RefusedError, UsageError } from './cli-error.ts'
import {
  type Command,
  type CommandContext,
  type OptionValues,
  printResult,
  SITE_OPTIONS,
  stringOption,
} from './command.ts'
import type { PublishPlan } from './publish-target.ts'
import { serverAddress } from './server.ts'
import { signIn } from './sign-in.ts'
import { NAME_OPTION } from './site-name.ts'
import { describeSite } from './state/site-memory.ts'
import { confirm } from './terminal/choose.ts'

/** `slipway claim [link]` */
export const claim: Command = {
  name: 'claim',
  operands: '[link]',
  summary: 'Claim an anonymous site',
  about: `
Moves a site that was published without an account to your account, so that it doesn't expire. Without a link it claims
the site that was published from this folder. Signs you in first, if needed. With --name the site gets that name in the
same step, and its former URL redirects for 30 days.`,
  options: { ...SITE_OPTIONS, name: NAME_OPTION },
  async run(work, options, [link]) {
    const { terminal, siteMemory } = work
    const { server, slug, claimToken } = link === undefined ? await fromFolder(work, options) : fromLink(link)
    const key = resolveKey(work, options, server) ?? (await signInFirst(work, { server, slug, claimToken }))
    const slipway = work.connect(server, key)
    const name = stringOption(options, 'name')
    const answer = await slipway.claim(slug, claimToken, name)
    siteMemory.markClaimed(slug, server)
    const isNamed = name === undefined || answer.slug === name
    const claimed = isNamed ? answer : { ...answer, ...(await slipway.renameSite(answer.slug, name)) }
    siteMemory.rename(slug, server, claimed.slug)
    const outcome = claimed.alreadyOwned ? 'is already yours' : "is now yours and won't expire"
    terminal.printDone(`${claimed.slug} ${outcome}`)
    printResult(work, options, claimed, () => terminal.print(claimed.siteUrl))
  },
}

/**
 * Claims the site of a plan that was published without an account when there is a key now; asks on a terminal. A site
 * that cannot be claimed stays as it is.
 */
export async function claimRemembered(work: CommandContext, plan: PublishPlan): Promise<PublishPlan> {
  const { server, key, remembered } = plan
  if (key === undefined || remembered?.claimToken === undefined) return plan
  const { claimToken, claimUrl: _url, expiresAt: _end, ...owned } = remembered
  const { terminal, siteMemory } = work
  const question = `${describeSite(remembered)} is unclaimed. Claim it for your account?`
  if (terminal.interactive && !(await confirm(terminal, question))) return plan
  try {
    await work.connect(server, key).claim(remembered.slug, claimToken)
  } catch (error) {
    if (!isSlipwayError(error)) throw error
    return plan
  }
  siteMemory.markClaimed(remembered.slug, server)
  terminal.printNote(`${describeSite(remembered)} is now yours and won't expire.`)
  return { ...plan, remembered: owned }
}

interface Claimable {
  server: string
  slug: string
  claimToken: string
}

async function fromFolder(work: CommandContext, options: OptionValues): Promise<Claimable> {
  const { server, slug, remembered } = await chooseSite(work, options)
  if (remembered?.claimToken === undefined) {
    const { program } = work.settings
    if (remembered) {
      const hint = `If it is yours, name it: ${program} settings --site ${slug} --name NAME`
      throw new RefusedError(`${describeSite(remembered)} already has an owner`, hint)
    }
    const hint = `Pass the claim link: ${program} claim LINK`
    throw new CliError(`This folder has no claim token for ${slug}`, hint)
  }
  return { server, slug, claimToken: remembered.claimToken }
}

/** `{base_url}/claim?slug=…&token=…` (spec 2.4) */
function fromLink(link: string): Claimable {
  const [address, query] = link.split('?')
  const parameters = new URLSearchParams(query)
  const slug = parameters.get('slug')
  const claimToken = parameters.get('token')
  if (!address?.endsWith('/claim') || !slug || !claimToken) {
    throw new UsageError('This claim link is incomplete', 'Example: https://…/claim?slug=…&token=…')
  }
  return { server: serverAddress(address.slice(0, -'/claim'.length)), slug, claimToken }
}

async function signInFirst(work: CommandContext, { server, slug, claimToken }: Claimable): Promise<string> {
  if (!work.terminal.interactive) throw notSignedIn(work, server)
  // Checks first that the site still exists, before asking to sign in.
  await work.connect(server, undefined).claimPreview(slug, claimToken)
  work.terminal.printNote(`Claiming needs an account at ${server}. Your email address is enough.`)
  const email = await work.terminal.prompt('Email:')
  const verified = await signIn(work, server, { email })
  if (verified === undefined) throw notSignedIn(work, server)
  return verified.apiKey
}
