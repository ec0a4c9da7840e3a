import { UsageError } from './cli-error.ts'
import type { Settings } from './settings.ts'
import type { CredentialStore } from './state/credentials.ts'

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

/** The server to use: the named one, the folder's, or the default. */
export function chooseServer(
  named: string | undefined,
  remembered: string | undefined,
  sources: ServerSources,
): string {
  return named ?? remembered ?? defaultServer(sources)
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
function defaultServer({ settings: { isNpx, packageServer }, credentials }: ServerSources): string {
  return (isNpx ? packageServer : undefined) ?? credentials.server ?? packageServer ?? DEFAULT_SERVER
}

/** Normalizes an address. Without a scheme it is https, or http on this machine. */
export function serverAddress(text: string): string {
  const local = /^(localhost|127\.|\[::1\])/i.test(text)
  const full = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `${local ? 'http' : 'https'}://${text}`
  const url = parse(full)
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username) {
    throw new UsageError(`${text} is not a server URL`, 'Example: https://slipway.example')
  }
  return url.origin + url.pathname.replace(/\/+$/, '')
}

function parse(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}
