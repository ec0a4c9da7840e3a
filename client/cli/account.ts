import type { Slipway } from '../sdk/slipway.ts'
import { text, type Values, type Workplace } from './command.ts'
import type { RememberedSite } from './memory/site-memory.ts'
import { chooseServer, keyFor, namedServer } from './server.ts'
import { Trouble } from './trouble.ts'

/** A site that a command is about, on its server. */
export interface ChosenSite {
  server: string
  slug: string
  remembered: RememberedSite | undefined
}

/** The server that a command without a site is about. */
export function serverOf({ settings, keyring, sites }: Workplace, options: Values): string {
  return chooseServer(namedServer(text(options, 'server'), settings), sites.all()[0]?.server, keyring)
}

/** What to type here to sign in at a server. */
export function loginCommand(work: Workplace, server: string): string {
  const login = `${work.settings.program} login`
  return serverOf(work, {}) === server ? login : `${login} --server ${server}`
}

/** The key for a server, if there is one. Says so when SLIPWAY_KEY is kept back. */
export function keyOf(work: Workplace, options: Values, server: string): string | undefined {
  const { settings, keyring, terminal } = work
  const key = keyFor(server, { option: text(options, 'server'), settings, keyring })
  if (settings.key !== undefined && key !== settings.key) {
    terminal.say(`SLIPWAY_KEY is not sent to ${server}. If it is that server's, set SLIPWAY_URL to it.`)
  }
  return key
}

/** A client that speaks as the account at this server. Throws Trouble when nobody is signed in there. */
export function asAccount(work: Workplace, options: Values, server: string): Slipway {
  const key = keyOf(work, options, server)
  if (key === undefined) throw notSignedIn(work, server)
  return work.connect(server, key)
}

/** What to say where a key is needed and there is none. */
export function notSignedIn(work: Workplace, server: string): Trouble {
  return new Trouble(`You are not signed in at ${server}`, `Sign in: ${loginCommand(work, server)}`)
}

/**
 * A client for what only a site's owner may do. Throws Trouble when the site has no owner yet, or nobody is signed in.
 */
export function asOwner(work: Workplace, options: Values, { server, remembered }: ChosenSite): Slipway {
  if (remembered?.claimToken !== undefined) {
    throw new Trouble(
      `${remembered.siteUrl} has no owner yet`,
      `Make it yours first: ${work.settings.program} claim`,
    )
  }
  return asAccount(work, options, server)
}

/** The site that is named, or the only one that was published from here. */
export function chooseSite(work: Workplace, options: Values): ChosenSite {
  const named = namedServer(text(options, 'server'), work.settings)
  const known = work.sites.all(named)
  const slug = text(options, 'site')
  if (slug !== undefined) {
    const remembered = known.find((site) => site.slug === slug)
    return { server: chooseServer(named, remembered?.server, work.keyring), slug, remembered }
  }
  const [site, ...others] = known
  if (!site) {
    const hint = `Name one: --site SLUG (see: ${work.settings.program} sites)`
    throw new Trouble('No site was published from this folder', hint)
  }
  if (others.length > 0) {
    const list = known.map(({ folder, slug: each, server }) => `--site ${each} (${folder}, ${server})`)
    throw new Trouble('Several sites were published from here', 'Name one:', ...list)
  }
  return { server: site.server, slug: site.slug, remembered: site }
}
