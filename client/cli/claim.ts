import { isSlipwayError } from '../sdk/slipway-error.ts'
import { chooseSite, notSignedIn, resolveKey } from './account.ts'
import { CliError, UsageError } from './cli-error.ts'
import {
  type Command,
  type CommandContext,
  type OptionValues,
  SERVER_OPTION,
  SITE_OPTION,
} from './command.ts'
import type { PublishPlan } from './publish-target.ts'
import { serverAddress } from './server.ts'
import { signIn } from './sign-in.ts'
import { confirm } from './terminal/choose.ts'

/** `slipway claim [link]` */
export const claim: Command = {
  name: 'claim',
  operands: '[link]',
  maxOperands: 1,
  summary: 'Make an anonymous site yours, for good',
  about: `
Makes a site that was published without an account yours, so that it does not expire. Without a link it is the
site that was published from here. Signs you in first where that is needed.`,
  options: { site: SITE_OPTION, server: SERVER_OPTION },
  async run(work, options, [link]) {
    const { terminal, siteMemory } = work
    const { server, slug, claimToken } = link === undefined ? fromFolder(work, options) : fromLink(link)
    const key = resolveKey(work, options, server) ?? (await signInFirst(work, { server, slug, claimToken }))
    const { siteUrl, alreadyOwned } = await work.connect(server, key).claim(slug, claimToken)
    siteMemory.markClaimed(slug, server)
    const outcome = alreadyOwned ? 'was yours already' : 'is yours now and does not expire'
    terminal.printNote(`${terminal.green('✓')} ${slug} ${outcome}.`)
    terminal.print(siteUrl)
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
  const question = `${remembered.siteUrl} has no owner. Make it yours?`
  if (terminal.interactive && !(await confirm(terminal, question))) return plan
  try {
    await work.connect(server, key).claim(remembered.slug, claimToken)
  } catch (error) {
    if (!isSlipwayError(error)) throw error
    return plan
  }
  siteMemory.markClaimed(remembered.slug, server)
  terminal.printNote(`${remembered.siteUrl} is yours now and does not expire.`)
  return { ...plan, remembered: owned }
}

interface Claimable {
  server: string
  slug: string
  claimToken: string
}

function fromFolder(work: CommandContext, options: OptionValues): Claimable {
  const { server, slug, remembered } = chooseSite(work, options)
  if (remembered?.claimToken === undefined) {
    if (remembered) throw new CliError(`${remembered.siteUrl} has an owner already`)
    const hint = `Give the claim link: ${work.settings.program} claim LINK`
    throw new CliError(`There is no claim token for ${slug} here`, hint)
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
    throw new UsageError('That is not a claim link', 'It looks like https://…/claim?slug=…&token=…')
  }
  return { server: serverAddress(address.slice(0, -'/claim'.length)), slug, claimToken }
}

async function signInFirst(work: CommandContext, { server, slug, claimToken }: Claimable): Promise<string> {
  if (!work.terminal.interactive) throw notSignedIn(work, server)
  // Checks first that the site still exists, before asking to sign in.
  await work.connect(server, undefined).claimPreview(slug, claimToken)
  work.terminal.printNote(`To own a site you need an account at ${server}; an email address is enough.`)
  const key = await signIn(work, server)
  if (key === undefined) throw notSignedIn(work, server)
  return key
}
