import type { Keyring } from './memory/keyring.ts'
import type { Settings } from './settings.ts'
import { UsageTrouble } from './trouble.ts'

const USUAL = 'http://localhost:8080'

/**
 * The server that was named outright: `--server`, else `SLIPWAY_URL`. Throws a UsageTrouble when that is no address.
 */
export function namedServer(option: string | undefined, settings: Settings): string | undefined {
  const named = option ?? settings.server
  return named === undefined ? undefined : serverAddress(named)
}

/** The server to use: the one named outright, the one that the folder remembers, that of the last sign-in, or here. */
export function chooseServer(
  named: string | undefined,
  remembered: string | undefined,
  keyring: Keyring,
): string {
  return named ?? remembered ?? keyring.server ?? USUAL
}

/**
 * The key for a server: `SLIPWAY_KEY`, else the one that `slipway login` received. `SLIPWAY_KEY` belongs to the server
 * that is named outright, or else to that of the last sign-in; a folder's memory cannot draw it elsewhere.
 */
export function keyFor(
  server: string,
  { option, settings, keyring }: { option: string | undefined; settings: Settings; keyring: Keyring },
): string | undefined {
  if (settings.key === undefined) return keyring.keyFor(server)
  const home = namedServer(settings.server ?? option, settings) ?? keyring.server ?? USUAL
  return home === server ? settings.key : keyring.keyFor(server)
}

/** An address in its one spelling. Without a scheme it is https, but http on this machine. */
export function serverAddress(text: string): string {
  const local = /^(localhost|127\.|\[::1\])/i.test(text)
  const full = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `${local ? 'http' : 'https'}://${text}`
  const url = parse(full)
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username) {
    throw new UsageTrouble(`${text} is not the address of a server`, 'It looks like https://slipway.example')
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
