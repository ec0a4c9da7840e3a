import type { SiteMetadata } from '../../protocol/api/publish.schema.ts'
import { RefusedError, UsageError } from './cli-error.ts'
import { type CommandContext, type CommandOption, type OptionValues, stringOption } from './command.ts'
import { parseDuration } from './duration.ts'

/** Options that set the metadata of a site. */
export const METADATA_OPTIONS: Record<string, CommandOption> = {
  title: { type: 'string', value: 'TEXT', help: "Title in browser tabs and link previews ('' removes it)" },
  description: { type: 'string', value: 'TEXT', help: "Description in link previews ('' removes it)" },
  spa: { type: 'boolean', help: 'Serve index.html for unknown paths (single-page apps)' },
  'no-spa': { type: 'boolean', help: 'Return 404 for unknown paths' },
  ttl: {
    type: 'string',
    value: 'TIME',
    help: 'Delete the site after this time, such as 10m, 24h or 7d; 0 for never (needs an account)',
  },
  password: {
    type: 'boolean',
    help: 'Set a password: asks, or uses SLIPWAY_SITE_PASSWORD (needs an account)',
    instead: 'The command asks for the password, or uses SLIPWAY_SITE_PASSWORD',
  },
  'no-password': { type: 'boolean', help: 'Remove the password' },
}

/** The metadata of these options; absent ones stay as they are. */
export function readMetadata(options: OptionValues): SiteMetadata {
  const title = stringOption(options, 'title')
  const description = stringOption(options, 'description')
  const ttl = stringOption(options, 'ttl')
  assertNotBoth(options, 'spa', 'no-spa')
  return {
    ...(title !== undefined && { title: title || null }),
    ...(description !== undefined && { description: description || null }),
    ...(options.spa === true && { spaMode: true }),
    ...(options['no-spa'] === true && { spaMode: false }),
    ...(ttl !== undefined && { ttlSeconds: parseDuration('--ttl', ttl, 'For a week: --ttl 7d') || null }),
  }
}

/** Throws a UsageError when both options are set. */
export function assertNotBoth(options: OptionValues, one: string, other: string): void {
  const isSet = (name: string) => options[name] !== undefined && options[name] !== false
  if (isSet(one) && isSet(other)) throw new UsageError(`--${one} and --${other} can't be used together`)
}

/** Whether the options change the password. */
export function changesPassword(options: OptionValues): boolean {
  return options.password === true || options['no-password'] === true
}

/** The password to set, `null` to remove it, undefined to keep it. Asks on a terminal. */
export async function readPassword(
  { terminal, settings }: Pick<CommandContext, 'terminal' | 'settings'>,
  options: OptionValues,
): Promise<string | null | undefined> {
  assertNotBoth(options, 'password', 'no-password')
  if (options['no-password'] === true) return null
  if (options.password !== true) return undefined
  if (settings.sitePassword !== undefined) return settings.sitePassword
  if (!terminal.interactive) {
    const sentence = "Can't ask for the password: this isn't an interactive terminal"
    throw new UsageError(sentence, 'Set SLIPWAY_SITE_PASSWORD')
  }
  const password = await terminal.promptSecret('Password for visitors:')
  if (password === '')
    throw new RefusedError('The password is empty', 'To remove the password: --no-password')
  return password
}
