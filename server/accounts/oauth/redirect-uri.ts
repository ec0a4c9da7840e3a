import { isLoopbackUrl } from '../../../protocol/loopback.ts'

/** Schemes that a browser opens itself. */
const BROWSER_SCHEMES = new Set(['javascript:', 'vbscript:', 'data:', 'blob:', 'file:', 'about:'])

/** Whether a browser can return to a program there. `urn:ietf:wg:oauth:2.0:oob` is no address. */
export function isRedirectUri(uri: string): boolean {
  if (!URL.canParse(uri)) return false
  const { protocol, hash, username, password } = new URL(uri)
  if (hash !== '' || username !== '' || password !== '' || BROWSER_SCHEMES.has(protocol)) return false
  return protocol === 'http:' ? isLoopbackUrl(uri) : /^[a-z][a-z0-9+.-]*:\//i.test(uri)
}
