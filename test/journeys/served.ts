import { once } from 'node:events'
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { buffer } from 'node:stream/consumers'

export interface Served {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

/**
 * What a visitor gets at an address. Names under localhost are this machine's, as browsers and curl take them;
 * the name lookup of Node does not everywhere.
 */
export async function served(address: string): Promise<Served> {
  const url = new URL(address)
  const asking = request({
    host: url.hostname.endsWith('.localhost') ? 'localhost' : url.hostname,
    port: url.port,
    path: url.pathname + url.search,
    headers: { Host: url.host },
    agent: false,
  })
  asking.end()
  const [answer] = (await once(asking, 'response')) as [IncomingMessage]
  return { status: answer.statusCode!, headers: answer.headers, body: await buffer(answer) }
}

/** The address of a file of a site, whatever characters are in its path. */
export function toUrl(siteUrl: string, path: string): string {
  return siteUrl + path.split('/').map(encodeURIComponent).join('/')
}
