import { isLoopbackUrl } from '../../../protocol/loopback.ts'

/** Schemes that a browser opens itself. */
const BROWSER_SCHEMES = new Set(['javascript:', 'vbscript:', 'data:', 'blob:', 'file:', 'about:'])

/** Responses of the service have these: its page would show a text of the program as one of the service. */
const ERROR_PARAMETERS = ['error', 'error_description']

/** `urn:ietf:wg:oauth:2.0:oob` is no address. */
export function isRedirectUri(uri: string): boolean {
  // The parser removes some characters that a header or a page would not.
  if (/[\s\p{C}]/u.test(uri) || !URL.canParse(uri)) return false
  const { protocol, hash, username, password, searchParams } = new URL(uri)
  if (ERROR_PARAMETERS.some((name) => searchParams.has(name))) return false
  if (hash !== '' || username !== '' || password !== '' || BROWSER_SCHEMES.has(protocol)) return false
  return protocol === 'http:' ? isLoopbackUrl(uri) : /^[a-z][a-z0-9+.-]*:\//i.test(uri)
}
