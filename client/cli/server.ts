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

/** The server to use: the named one, the folder's, that of the last sign-in, or the local one. */
export function chooseServer(
  named: string | undefined,
  remembered: string | undefined,
  credentials: CredentialStore,
): string {
  return named ?? remembered ?? credentials.server ?? DEFAULT_SERVER
}

/**
 * The key for a server: `SLIPWAY_KEY`, otherwise that of `slipway login`. `SLIPWAY_KEY` belongs to the named
 * server, or to that of the last sign-in; a folder's state cannot send it elsewhere.
 */
export function keyFor(
  server: string,
  {
    option,
    settings,
    credentials,
  }: { option: string | undefined; settings: Settings; credentials: CredentialStore },
): string | undefined {
  if (settings.key === undefined) return credentials.keyFor(server)
  const home = namedServer(settings.server ?? option, settings) ?? credentials.server ?? DEFAULT_SERVER
  return home === server ? settings.key : credentials.keyFor(server)
}

/** Normalizes an address. Without a scheme it is https, or http on this machine. */
export function serverAddress(text: string): string {
  const local = /^(localhost|127\.|\[::1\])/i.test(text)
  const full = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `${local ? 'http' : 'https'}://${text}`
  const url = parse(full)
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username) {
    throw new UsageError(`${text} is not the address of a server`, 'It looks like https://slipway.example')
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
