import type { IncomingHttpHeaders } from 'node:http'
import { isLoopbackUrl } from '../../protocol/loopback.ts'
import { isPrivateUrl } from '../../protocol/private-url.ts'

/**
 * A service of this machine or of a private network serves visitors without a credential: a page from outside must not
 * act in the place of the user who visits it. Pages of this machine are accepted, such as those of a development
 * server. On a public service no request is recognized.
 */
export function recognizeForeignPages(baseUrl: string): (headers: IncomingHttpHeaders) => boolean {
  if (!isPrivateUrl(baseUrl)) return () => false
  const own = new URL(baseUrl).origin
  return ({ origin }) =>
    origin !== undefined && origin !== own && !(URL.canParse(origin) && isLoopbackUrl(origin))
}
