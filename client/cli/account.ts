import { resolve } from 'node:path'
import { isKey } from '../sdk/options.ts'
import type { Slipway } from '../sdk/slipway.ts'
import { AuthError, RefusedError, UsageError } from './cli-error.ts'
import { type CommandContext, type OptionValues, stringOption } from './command.ts'
import { quoteArgument } from './quote-argument.ts'
import { chooseServer, defaultServer, keyFor, namedServer } from './server.ts'
import { describeSite, type RememberedSite } from './state/site-memory.ts'
import { choose, confirmRisk } from './terminal/choose.ts'

/** The site of a command, with its server. */
export interface ChosenSite {
  server: string
  slug: string
  remembered: RememberedSite | undefined
}

/**
 * The server of a command without a site, or with one that was not published from the folder: the named one, otherwise
 * that of the site if the user has published it from here, otherwise that of the latest site of which this is true,
 * otherwise the default.
 */
export function resolveServer(work: CommandContext, options: OptionValues): string {
  const named = namedServer(stringOption(options, 'server'), work.settings)
  if (named !== undefined) return named
  const own = work.siteMemory.all().filter((site) => site.isOwn)
  const name = stringOption(options, 'site')
  const site = own.find(({ slug }) => slug === name) ?? own[0]
  return site?.server ?? defaultServer(work)
}

/** The server of a command that gives a program access to an account, or to this machine. A folder never chooses it. */
export function signInServer(work: CommandContext, options: OptionValues): string {
  return namedServer(stringOption(options, 'server'), work.settings) ?? defaultServer(work)
}

/** The command that signs in at a server. */
export function loginCommand(work: CommandContext, server: string): string {
  const login = `${work.settings.program} login`
  return signInServer(work, {}) === server ? login : `${login} --server ${quoteArgument(server)}`
}

/** The command after which a publish is one of an account: it signs in, or claims the site of the folder. */
export function accountCommand(
  work: CommandContext,
  {
    server,
    key,
    remembered,
  }: { server: string; key: string | undefined; remembered?: RememberedSite | undefined },
): string {
  if (key === undefined || remembered === undefined) return loginCommand(work, server)
  return `${work.settings.program} claim${siteArgument(work, remembered)}`
}

/** The option of a suggested command that names a site; empty where the command means that site without it. */
export function siteArgument(
  { siteMemory, settings }: Pick<CommandContext, 'siteMemory' | 'settings'>,
  { slug, server }: { slug: string; server: string },
): string {
  const known = siteMemory.all()
  const isOnly = known.length > 0 && known.every((site) => site.slug === slug && site.server === server)
  return isOnly && settings.site === undefined ? '' : ` --site ${quoteArgument(slug)}`
}

/** The key for a server, if there is one. Prints a note when SLIPWAY_KEY belongs to another server. */
export function resolveKey(work: CommandContext, options: OptionValues, server: string): string | undefined {
  const { settings, credentials, terminal } = work
  if (settings.key !== undefined && !isKey(settings.key))
    throw new AuthError(
      'SLIPWAY_KEY has characters that no API key has',
      'Set it to one API key, without quotes',
    )
  const key = keyFor(server, { option: stringOption(options, 'server'), settings, credentials })
  if (settings.key !== undefined && key !== settings.key) {
    terminal.printNote(
      `SLIPWAY_KEY was not sent to ${server}. If it belongs to that server, set SLIPWAY_URL as well.`,
    )
  }
  return key
}

/** The same for a publish. AuthError for an empty SLIPWAY_KEY: everyone could see a site that is published without an account. */
export function resolvePublisherKey(
  work: CommandContext,
  options: OptionValues,
  server: string,
): string | undefined {
  const key = resolveKey(work, options, server)
  if (key === undefined && work.settings.keyIsEmpty)
    throw new AuthError(
      'SLIPWAY_KEY is empty, as from a secret that is not set',
      'Set it to an API key. To publish without an account: unset SLIPWAY_KEY',
    )
  return key
}

/** A client with the account's key for this server. Throws an AuthError when it is not signed in there. */
export function accountClient(work: CommandContext, options: OptionValues, server: string): Slipway {
  const key = resolveKey(work, options, server)
  if (key === undefined) throw notSignedIn(work, server)
  return work.connect(server, key)
}

/** The error of a command that needs a key. */
export function notSignedIn(work: CommandContext, server: string): AuthError {
  return new AuthError(`You're not signed in to ${server}`, `Sign in: ${loginCommand(work, server)}`)
}

/**
 * The chosen site and a client with the account's key. Throws an AuthError when the site has no owner yet, or without a
 * key.
 */
export async function openSite(
  work: CommandContext,
  options: OptionValues,
): Promise<ChosenSite & { slipway: Slipway }> {
  const site = await chooseSite(work, options)
  if (site.remembered?.claimToken !== undefined) {
    throw new AuthError(
      `${describeSite(site)} is unclaimed, so it can only be updated and deleted`,
      `Claim it first: ${work.settings.program} claim --site ${quoteArgument(site.slug)}`,
    )
  }
  return { ...site, slipway: accountClient(work, options, site.server) }
}

/**
 * The site that is named by its slug or, as in `./folder`, by the folder that it was published from, or the one that was
 * published from here; on a terminal it asks which of several. One that only the state of the folder names, which a
 * stranger may have written, is a question, and without a terminal a UsageError.
 */
export async function chooseSite(work: CommandContext, options: OptionValues): Promise<ChosenSite> {
  const named = namedServer(stringOption(options, 'server'), work.settings)
  const known = work.siteMemory.all(named)
  const name = stringOption(options, 'site')
  const ofSlug = known.find((site) => site.slug === name)
  const site = name === undefined ? await siteFromHere(work, known) : (ofSlug ?? siteOf(work, name, named))
  const server = site ? await chooseServer(named, site.server, work) : resolveServer(work, options)
  if (site && !ofSlug && !site.isOwn) await confirmSite(work, site)
  return { server, slug: site?.slug ?? name!, remembered: site }
}

async function siteFromHere(work: CommandContext, published: RememberedSite[]): Promise<RememberedSite> {
  // Several folders can be published to one site, which is remembered for each of them.
  const isFirst = ({ slug, server }: RememberedSite, at: number) =>
    published.findIndex((other) => other.slug === slug && other.server === server) === at
  const known = published.filter(isFirst)
  if (known.length === 0) {
    const hint = `Name a site: --site SLUG (list them: ${work.settings.program} sites)`
    throw new UsageError('No site was published from this folder', hint)
  }
  return known.length === 1 ? known[0]! : await pickSite(work, known)
}

/** A name that can be a slug is never that of a folder, whose state could give it to any site. */
function siteOf(
  { siteMemory, cwd }: CommandContext,
  name: string,
  server: string | undefined,
): RememberedSite | undefined {
  return /^[a-z0-9-]+$/.test(name) ? undefined : siteMemory.find(resolve(cwd, name), server)
}

async function confirmSite({ terminal }: CommandContext, site: RememberedSite): Promise<void> {
  const situation = foreignSite(site)
  if (!terminal.interactive) throw new UsageError(situation, `If you mean that site: --site ${site.slug}`)
  terminal.printNote(situation)
  if (!(await confirmRisk(terminal, 'Use this site?')))
    throw new RefusedError('Nothing was changed', 'To use another site: --site SLUG')
}

/**
 * Stores the site of a folder, and that the user has used its server. Prints a note when the state came with the folder: a
 * repository that has it would commit the token of the site; and the claim link of the site that this one replaces,
 * because its token is stored nowhere else; it may have been claimed elsewhere.
 */
export function rememberSite(
  { siteMemory, credentials, terminal }: CommandContext,
  folder: string,
  site: Parameters<CommandContext['siteMemory']['remember']>[1],
): void {
  credentials.addServer(site.server)
  if (siteMemory.isForeign())
    terminal.printNote(
      'The .slipway folder here came with the folder, and stores your site from now on. If it is in a repository: git rm -r --cached .slipway',
    )
  const former = siteMemory.find(folder, site.server)
  siteMemory.remember(folder, site)
  if (!site.unlinked && former?.isOwn && former.claimUrl && former.slug !== site.slug)
    terminal.printNote(
      `The previous site of this folder may be unclaimed: ${describeSite(former)}. To keep it: ${former.claimUrl}`,
    )
}

/** The situation that only the state of a folder names a site. */
export function foreignSite(site: RememberedSite): string {
  const kind = site.claimToken === undefined ? 'a site' : 'a site without an owner'
  return `The .slipway folder here names ${kind} that you haven't published from it: ${describeSite(site)}`
}

async function pickSite({ terminal }: CommandContext, known: RememberedSite[]): Promise<RememberedSite> {
  if (!terminal.interactive) {
    const list = known.map(({ folder, slug, server }) => `--site ${slug} (${folder}, ${server})`)
    throw new UsageError('Several sites were published from this folder', 'Name one:', ...list)
  }
  const labels = known.map((site) => `${describeSite(site)} (${site.folder})`)
  const chosen = await choose(
    terminal,
    'Several sites were published from this folder. Which one?',
    labels.map((label, index) => [String(index), label]),
  )
  return known[Number(chosen)]!
}
