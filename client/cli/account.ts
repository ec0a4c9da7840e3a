import type { Slipway } from '../sdk/slipway.ts'
import { CliError } from './cli-error.ts'
import { type CommandContext, type OptionValues, stringOption } from './command.ts'
import { chooseServer, keyFor, namedServer } from './server.ts'
import type { RememberedSite } from './state/site-memory.ts'

/** The site of a command, with its server. */
export interface ChosenSite {
  server: string
  slug: string
  remembered: RememberedSite | undefined
}

/** The server of a command without a site. */
export function resolveServer(work: CommandContext, options: OptionValues): string {
  const named = namedServer(stringOption(options, 'server'), work.settings)
  return chooseServer(named, work.siteMemory.all()[0]?.server, work)
}

/** The command that signs in at a server. */
export function loginCommand(work: CommandContext, server: string): string {
  const login = `${work.settings.program} login`
  return resolveServer(work, {}) === server ? login : `${login} --server ${server}`
}

/** The key for a server, if there is one. Prints a note when SLIPWAY_KEY belongs to another server. */
export function resolveKey(work: CommandContext, options: OptionValues, server: string): string | undefined {
  const { settings, credentials, terminal } = work
  const key = keyFor(server, { option: stringOption(options, 'server'), settings, credentials })
  if (settings.key !== undefined && key !== settings.key) {
    terminal.printNote(`SLIPWAY_KEY is not sent to ${server}. If it is that server's, set SLIPWAY_URL to it.`)
  }
  return key
}

/** A client with the account's key for this server. Throws a CliError when it is not signed in there. */
export function accountClient(work: CommandContext, options: OptionValues, server: string): Slipway {
  const key = resolveKey(work, options, server)
  if (key === undefined) throw notSignedIn(work, server)
  return work.connect(server, key)
}

/** The error of a command that needs a key. */
export function notSignedIn(work: CommandContext, server: string): CliError {
  return new CliError(`You are not signed in at ${server}`, `Sign in: ${loginCommand(work, server)}`)
}

/**
 * A client for operations of a site's owner. Throws a CliError when the site has no owner yet, or without a key.
 */
export function ownerClient(
  work: CommandContext,
  options: OptionValues,
  { server, remembered }: ChosenSite,
): Slipway {
  if (remembered?.claimToken !== undefined) {
    throw new CliError(
      `${remembered.siteUrl} has no owner yet`,
      `Make it yours first: ${work.settings.program} claim`,
    )
  }
  return accountClient(work, options, server)
}

/** The named site, or the only one that was published from here. */
export function chooseSite(work: CommandContext, options: OptionValues): ChosenSite {
  const named = namedServer(stringOption(options, 'server'), work.settings)
  const known = work.siteMemory.all(named)
  const slug = stringOption(options, 'site')
  if (slug !== undefined) {
    const remembered = known.find((site) => site.slug === slug)
    return { server: chooseServer(named, remembered?.server, work), slug, remembered }
  }
  const [site, ...others] = known
  if (!site) {
    const hint = `Name one: --site SLUG (see: ${work.settings.program} sites)`
    throw new CliError('No site was published from this folder', hint)
  }
  if (others.length > 0) {
    const list = known.map(({ folder, slug: each, server }) => `--site ${each} (${folder}, ${server})`)
    throw new CliError('Several sites were published from here', 'Name one:', ...list)
  }
  return { server: site.server, slug: site.slug, remembered: site }
}
