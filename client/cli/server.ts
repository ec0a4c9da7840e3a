import { RefusedError, UsageError } from './cli-error.ts'
import { quoteArgument } from './quote-argument.ts'
import type { Settings } from './settings.ts'
import type { CredentialStore } from './state/credentials.ts'
import { confirmRisk } from './terminal/choose.ts'
import type { Terminal } from './terminal/terminal.ts'

const DEFAULT_SERVER = 'http://localhost:8080'

/**
 * The explicitly named server: `--server`, otherwise `SLIPWAY_URL`. Throws a UsageError when it is invalid.
 */
export function namedServer(option: string | undefined, settings: Settings): string | undefined {
  const named = option ?? settings.server
  return named === undefined ? undefined : serverAddress(named)
}

interface ServerSources {
  settings: Settings
  credentials: CredentialStore
}

/**
 * The server to use: the named one, otherwise that of the folder's state, otherwise the default. The author of the folder
 * chose the second: a server that the user has not used is a question that names it, and without a terminal a UsageError.
 */
export async function chooseServer(
  named: string | undefined,
  ofFolder: string | undefined,
  work: ServerSources & { terminal: Terminal },
): Promise<string> {
  if (named !== undefined || ofFolder === undefined) return named ?? defaultServer(work)
  if (!isKnownServer(ofFolder, work)) await confirmServer(ofFolder, work)
  return ofFolder
}

/** Whether the user signed in or published there before, or uses it without naming one. */
function isKnownServer(server: string, sources: ServerSources): boolean {
  const { packageServer } = sources.settings
  return server === packageServer || server === defaultServer(sources) || sources.credentials.knows(server)
}

async function confirmServer(
  server: string,
  { terminal, credentials, settings }: ServerSources & { terminal: Terminal },
): Promise<void> {
  const situation = `The .slipway folder here names a server that you haven't used on this machine: ${server}`
  const unless = "If you didn't publish this folder yourself, delete its .slipway folder."
  if (!terminal.interactive)
    throw new UsageError(
      situation,
      `If you trust it${settings.key === undefined ? '' : ' with SLIPWAY_KEY'}: --server ${quoteArgument(server)}`,
      unless,
    )
  terminal.printNote(situation)
  if (!(await confirmRisk(terminal, 'Use this server?')))
    throw new RefusedError('Nothing was sent', 'To use another server: --server URL', unless)
  credentials.addServer(server)
}

/**
 * The key for a server: `SLIPWAY_KEY`, otherwise that of `slipway login`. `SLIPWAY_KEY` belongs to the named
 * server, or to the default; a folder's state cannot send it elsewhere.
 */
export function keyFor(
  server: string,
  { option, settings, credentials }: ServerSources & { option: string | undefined },
): string | undefined {
  if (settings.key === undefined) return credentials.keyFor(server)
  const home = namedServer(settings.server ?? option, settings) ?? defaultServer({ settings, credentials })
  return home === server ? settings.key : credentials.keyFor(server)
}

/**
 * The server of an npx command, that of the last sign-in, the one this program was downloaded from, or the
 * local one.
 */
export function defaultServer({ settings: { isNpx, packageServer }, credentials }: ServerSources): string {
  return (isNpx ? packageServer : undefined) ?? credentials.server ?? packageServer ?? DEFAULT_SERVER
}

/**
 * Throws a RefusedError unless a page that a server wants the user to open is on that server. The error names the other
 * server only: its page may be one that confirms a request of the first.
 */
export function assertOwnPage(page: string, server: string): void {
  const { origin, protocol } = parse(page) ?? {}
  if (origin === new URL(server).origin) return
  const other = /^https?:$/.test(protocol ?? '') ? origin : undefined
  throw new RefusedError(
    `${server} sent the address of a page on another server${other ? `: ${other}` : ''}`,
    `If you meant that server: --server ${other ?? 'URL'}`,
  )
}

/** Normalizes an address. Without a scheme it is https, or http on this machine. */
export function serverAddress(text: string): string {
  const local = /^(localhost|127(\.\d+){3}|\[::1\])(?![^:/])/i.test(text)
  const full = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `${local ? 'http' : 'https'}://${text}`
  const url = parse(full)
  const isWeb = url !== undefined && /^https?:$/.test(url.protocol)
  if (!isWeb || url.href !== `${url.origin}/`) {
    throw new UsageError(
      `${text.replace(/\/\/[^/]*@/, '//')} is not a server URL`,
      isWeb ? `A server URL ends with its host: ${url.origin}` : 'Example: https://slipway.example',
    )
  }
  return url.origin
}

function parse(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}
