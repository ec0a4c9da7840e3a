import type { SiteMetadata } from '../../protocol/api/publish.schema.ts'
import { type METADATA_TEXTS, TTL_SECONDS } from '../../protocol/api/publish.ts'
import type { SiteDetails } from '../../protocol/api/sites.schema.ts'
import { checkAll, RefusedError, UsageError } from './cli-error.ts'
import { type CommandContext, type CommandOption, type OptionValues, stringOption } from './command.ts'
import { parseDuration } from './duration.ts'
import { formatLocalTime } from './terminal/time.ts'

/** How people set a field of a site, and how it is shown. */
interface Setting<Value> {
  options: Record<string, CommandOption>
  /** Undefined without its options. */
  read(options: OptionValues): Value | undefined
  heading: string
  format(site: SiteDetails, now: number): string
}

/** An image is chosen in the dashboard, or with the API. */
const SETTINGS: {
  [Field in Exclude<keyof SiteMetadata, 'ogImagePath'>]-?: Setting<SiteMetadata[Field]>
} = {
  title: {
    ...textOption('title', "Title in browser tabs and link previews ('' removes it)"),
    heading: 'Title',
    format: ({ title, viewer }) => viewer.title ?? (title === null ? 'None' : `${title} (from your HTML)`),
  },
  description: {
    ...textOption('description', "Description in link previews ('' removes it)"),
    heading: 'Description',
    format: ({ viewer }) => viewer.description ?? '(from your HTML, if it has one)',
  },
  spaMode: {
    options: {
      spa: { type: 'boolean', help: 'Serve index.html for unknown paths (single-page apps)' },
      'no-spa': { type: 'boolean', help: 'Return 404 for unknown paths' },
    },
    read(options) {
      assertNotBoth(options, 'spa', 'no-spa')
      return options.spa === true || (options['no-spa'] === true ? false : undefined)
    },
    heading: 'Single-page app',
    format: ({ spaMode }) => (spaMode ? 'On' : 'Off'),
  },
  ttlSeconds: {
    options: {
      ttl: {
        type: 'string',
        value: 'TIME',
        help: 'Delete the site after this time, such as 10m, 24h or 7d; 0 for never (needs an account)',
      },
    },
    read(options) {
      const ttl = stringOption(options, 'ttl')
      if (ttl === undefined) return undefined
      if (/^0[smhd]?$/.test(ttl)) return null
      return parseDuration(ttl, { option: '--ttl', bounds: TTL_SECONDS, hint: 'For a week: --ttl 7d' })
    },
    heading: 'Expires',
    format: ({ expiresAt }, now) => (expiresAt === null ? 'Never' : formatLocalTime(expiresAt, now)),
  },
}

/** Options that set the metadata of a site. */
export const METADATA_OPTIONS: Record<string, CommandOption> = {
  ...Object.assign({}, ...Object.values(SETTINGS).map(({ options }) => options)),
  password: {
    type: 'boolean',
    help: 'Set a password: asks, or uses SLIPWAY_SITE_PASSWORD (needs an account)',
    instead: 'The command asks for the password, or uses SLIPWAY_SITE_PASSWORD',
  },
  'no-password': { type: 'boolean', help: 'Remove the password' },
}

/** The option that sets a text. */
export function optionOf(field: keyof typeof METADATA_TEXTS): string {
  return Object.keys(SETTINGS[field].options)[0]!
}

/** The metadata of these options; absent ones stay as they are. */
export function readMetadata(options: OptionValues): SiteMetadata {
  const readers = Object.entries(SETTINGS).map(([field, { read }]) => () => [field, read(options)])
  const values = checkAll(...readers)
  return Object.fromEntries(values.filter(([, value]) => value !== undefined))
}

/** A row for each of them. */
export function formatMetadata(site: SiteDetails, now: number): string[][] {
  return Object.values(SETTINGS).map(({ heading, format }) => [heading, format(site, now)])
}

function textOption(name: string, help: string): Pick<Setting<string | null>, 'options' | 'read'> {
  return {
    options: { [name]: { type: 'string', value: 'TEXT', help } },
    read: (options) => {
      const text = stringOption(options, name)
      return text === undefined ? undefined : text || null
    },
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
